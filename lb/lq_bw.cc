// SPDX-License-Identifier: Apache-2.0
// Each packet takes the best port by coarse bands: ports that are not paused come first, then the
// band of the queue counts, then the band of utilisation (uet-htsim).

#include <cstdint>

#include "core/random.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/port_bands.h"
#include "lb/parts/port_load.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

class LqBw final : public SwitchPolicy {
 public:
  LqBw(const PortBandSettings& settings, Rng rng) : bands_(settings), rng_(rng) {}

  void Attach(SwitchView& view) override { bands_.Attach(view.ports()); }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    return Decision::Forward(LeastOf(candidates.ports, kNoPort, rng_, [&](PortIndex port) {
      return PausedLast(view, packet, port,
                        int64_t{bands_.QueueBand(view, port)} << 2 | bands_.UseBand(view, port));
    }));
  }
  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    bands_.OnTransmit(view, packet, port);
  }
  size_t StateBytes() const override { return bands_.memory_bytes(); }

 private:
  PortBands bands_;
  Rng rng_;
};

class LqBwBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override { settings_.Declare(fields); }
  bool reorders() const override { return true; }
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<LqBw>(settings_, Rng::Stream(seed, "lq_bw", id));
  }

 private:
  PortBandSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<LqBwBalancer>(
    {"lq_bw", "Every packet takes the best port by bands: not paused, short queue, little used.",
     "The simulator uet-htsim"});

}  // namespace
}  // namespace heddle
