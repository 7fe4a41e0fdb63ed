// SPDX-License-Identifier: Apache-2.0
// Load balancers that end the program when the first packet comes.

#include <cstdlib>

#include "core/check.h"
#include "lb/load_balancer.h"

namespace heddle {
namespace {

template <bool kCrashes>
class FailingPolicy final : public SwitchPolicy {
 public:
  Decision OnPacket(SwitchView& /*view*/, const Packet& /*packet*/, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    if (kCrashes) std::abort();
    HEDDLE_CHECK(candidates.ports.empty(), "this one always breaks");
    return Decision::Forward(candidates.ports[0]);
  }
  size_t StateBytes() const override { return 0; }
};

template <bool kCrashes>
class Failing final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {}
  std::unique_ptr<SwitchPolicy> ForSwitch(SwitchId /*id*/, uint64_t /*seed*/) const override {
    return std::make_unique<FailingPolicy<kCrashes>>();
  }
};

[[maybe_unused]] const bool crashes =
    LoadBalancers().Add<Failing<true>>({"crashing", "Crashes.", ""});
[[maybe_unused]] const bool breaks =
    LoadBalancers().Add<Failing<false>>({"breaking", "Breaks an invariant.", ""});

}  // namespace
}  // namespace heddle
