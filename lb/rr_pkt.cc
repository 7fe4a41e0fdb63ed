// SPDX-License-Identifier: Apache-2.0
// Packets take turns over the next hops of a switch in a random order, which is drawn anew from
// time to time, as in the switches of the UET simulator (uet-htsim). Several papers call this RPS;
// true random spraying is another scheme, with different queues.

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

  bool only_chooses() const override { return true; }

  void Attach(SwitchView& view) override { uplinks_ = view.Uplinks().size(); }

  Decision OnPacket(SwitchView& /*view*/, const Packet& /*packet*/, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    if (candidates.id >= rounds_.size()) rounds_.resize(candidates.id + 1);
    return Decision::Forward(rounds_[candidates.id].Next(candidates, reshuffle_, rng_));
  }

  // Counts one round; after failures other sets of next hops have rounds of their own.
  size_t StateBytes() const override { return Round::StateBytes(uplinks_); }

 private:
  const int64_t reshuffle_;
  Rng rng_;
  size_t uplinks_ = 0;
  std::vector<Round> rounds_;  // By the candidates' id.
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
