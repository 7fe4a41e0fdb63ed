// SPDX-License-Identifier: Apache-2.0
// Packets to each leaf take turns over the next hops, in a random order for each leaf and from a
// random start. Small packets take separate turns: if they alternated with large ones, all large
// packets would take every other path. With separate turns per leaf, a permutation of hosts queues
// a constant number of packets; turns shared by all destinations may queue as many as there are
// paths (Cao et al., CoNEXT 2013).

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/round.h"

namespace heddle {
namespace {

class RrDst final : public SwitchPolicy {
 public:
  RrDst(Bytes small, Rng rng) : small_(small), rng_(rng) {}

  bool only_chooses() const override { return true; }

  void Attach(SwitchView& view) override {
    rounds_.resize(2 * view.leaves());
    uplinks_ = view.Uplinks().size();
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    const size_t size_class = packet.bytes < small_.count ? 1 : 0;
    const size_t number = 2 * size_t{view.GroupOf(packet.dst)} + size_class;
    if (number >= rounds_.size()) rounds_.resize(number + 1);  // After a failure.
    Round& round = rounds_[number];
    return Decision::Forward(round.Next(candidates, /*reshuffle=*/0, rng_));
  }

  size_t StateBytes() const override { return rounds_.size() * Round::StateBytes(uplinks_); }

 private:
  const Bytes small_;
  Rng rng_;
  size_t uplinks_ = 0;
  // By group of hosts (SwitchView::GroupOf): the round of large packets, then of small ones.
  std::vector<Round> rounds_;
};

class RrDstBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("small", small_, {.at_least = Bytes{0}, .at_most = 64_KB},
               "Packets of fewer bytes than this take turns of their own.");
  }
  bool reorders() const override { return true; }
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<RrDst>(small_, Rng::Stream(seed, "rr_dst", id));
  }

 private:
  Bytes small_ = 100_B;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<RrDstBalancer>(
    {"rr_dst", "The packets to each leaf take turns over the next hops, in a random order.",
     "Ofan, preprint 2025"});

}  // namespace
}  // namespace heddle
