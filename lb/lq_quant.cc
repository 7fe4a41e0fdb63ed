// SPDX-License-Identifier: Apache-2.0
// Each packet takes a random port among those in the lowest queue band, by a slightly outdated
// measurement: least queue with the precision and delay of hardware (uet-htsim).

#include <cstdint>

#include "core/random.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/port_bands.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

class LqQuant final : public SwitchPolicy {
 public:
  LqQuant(const PortBandSettings& settings, Rng rng) : bands_(settings), rng_(rng) {}

  bool only_chooses() const override { return true; }

  void Attach(SwitchView& view) override { bands_.Attach(view.ports()); }
  Decision OnPacket(SwitchView& view, const Packet& /*packet*/, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    return Decision::Forward(LeastOf(candidates.ports, kNoPort, rng_,
                                     [&](PortIndex port) { return bands_.QueueBand(view, port); }));
  }
  size_t StateBytes() const override { return bands_.memory_bytes(); }

 private:
  PortBands bands_;
  Rng rng_;
};

class LqQuantBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override { settings_.Declare(fields); }
  bool reorders() const override { return true; }
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<LqQuant>(settings_, Rng::Stream(seed, "lq_quant", id));
  }

 private:
  PortBandSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<LqQuantBalancer>(
    {"lq_quant", "Every packet takes a random port whose queue is in the lowest of four bands.",
     "The simulator uet-htsim"});

}  // namespace
}  // namespace heddle
