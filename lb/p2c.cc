// SPDX-License-Identifier: Apache-2.0
// Each packet takes the better of two random ports: DRILL's sampling without its memory. A paused
// port is worse than one that is not.

#include <cstdint>

#include "core/random.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/port_load.h"

namespace heddle {
namespace {

class TwoChoices final : public SwitchPolicy {
 public:
  TwoChoices(LoadMetric metric, Rng rng) : metric_(metric), rng_(rng) {}

  bool only_chooses() const override { return true; }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    const uint32_t n = static_cast<uint32_t>(candidates.ports.size());
    if (n == 1) return Decision::Forward(candidates.ports.front());
    const uint32_t first = rng_.Below(n);
    const uint32_t second = (first + 1 + rng_.Below(n - 1)) % n;  // A different port.
    const PortIndex a = candidates.ports[first];
    const PortIndex b = candidates.ports[second];
    const auto cost = [&](PortIndex port) {
      return PausedLast(view, packet, port, LoadOf(view, port, metric_));
    };
    return Decision::Forward(cost(b) < cost(a) ? b : a);
  }

  size_t StateBytes() const override { return sizeof(rng_); }

 private:
  const LoadMetric metric_;
  Rng rng_;
};

class TwoChoicesBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override { DeclareMetric(fields, metric_); }
  bool reorders() const override { return true; }
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<TwoChoices>(metric_, Rng::Stream(seed, "p2c", id));
  }

 private:
  LoadMetric metric_ = LoadMetric::kBytes;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<TwoChoicesBalancer>(
    {"p2c", "Every packet takes the one of two random ports that has the shorter queue.",
     "Mitzenmacher, IEEE TPDS 2001"});

}  // namespace
}  // namespace heddle
