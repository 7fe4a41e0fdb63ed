// SPDX-License-Identifier: Apache-2.0
// Packets take turns over the next hops of a switch, in a random order that is drawn anew now and
// then, as the switches of the UET simulator (uet-htsim) do. Several papers call this RPS; random
// spraying proper is another scheme, and its queues differ.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/round.h"

namespace heddle {
namespace {

class RrPkt final : public SwitchPolicy {
 public:
  RrPkt(int64_t reshuffle, Rng rng) : reshuffle_(reshuffle), rng_(rng) {}

  void Attach(SwitchView& view) override { uplinks_ = view.Uplinks().size(); }

  Decision OnPacket(SwitchView& /*view*/, const Packet& /*packet*/, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    if (candidates.id >= rounds_.size()) rounds_.resize(candidates.id + 1);
    return Decision::Forward(rounds_[candidates.id].Next(candidates, reshuffle_, rng_));
  }

  // One round; others are for other sets of next hops, after failures.
  size_t StateBytes() const override { return Round::StateBytes(uplinks_); }

 private:
  const int64_t reshuffle_;
  Rng rng_;
  size_t uplinks_ = 0;
  std::vector<Round> rounds_;  // By id of the candidates.
};

class RrPktBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("reshuffle", reshuffle_, Between<int64_t>(0, 1'000'000),
               "Rounds after which the order is drawn anew; 0: never.");
  }
  bool reorders() const override { return true; }
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<RrPkt>(reshuffle_, Rng::Stream(seed, "rr_pkt", id));
  }

 private:
  int64_t reshuffle_ = 1;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<RrPktBalancer>(
    {"rr_pkt", "The packets of each switch take turns over its next hops, in a random order.",
     "Routers' load sharing by packet"});

}  // namespace
}  // namespace heddle
