// SPDX-License-Identifier: Apache-2.0
// Load balancers that end the program when the first packet comes or when they are asked for their
// settings, or never end, or make nothing of use.

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "core/check.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

enum class How { kCrashes, kBreaks, kExits, kHangs, kThrows };

template <How kHow>
class FailingPolicy final : public SwitchPolicy {
 public:
  Decision OnPacket(SwitchView& /*view*/, const Packet& /*packet*/, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    if (kHow == How::kCrashes) std::abort();
    if (kHow == How::kExits) _exit(0);
    if (kHow == How::kThrows) throw std::runtime_error("no path pleases me");
    while (kHow == How::kHangs) pause();
    HEDDLE_CHECK(candidates.ports.empty(), "this one always breaks");
    return Decision::Forward(candidates.ports[0]);
  }
  size_t StateBytes() const override { return 0; }
};

template <How kHow>
class Failing final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {}
  SwitchPolicyPtr ForSwitch(SwitchId /*id*/, uint64_t /*seed*/) const override {
    return std::make_unique<FailingPolicy<kHow>>();
  }
};

template <How kHow>
class FailingDeclaration final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {
    if (kHow == How::kCrashes) std::abort();
    if (kHow == How::kExits) _exit(0);
    while (kHow == How::kHangs) pause();
  }
  SwitchPolicyPtr ForSwitch(SwitchId /*id*/, uint64_t /*seed*/) const override { return nullptr; }
};

template <bool kThrows>
class Making final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {}
  SwitchPolicyPtr ForSwitch(SwitchId /*id*/, uint64_t /*seed*/) const override {
    if (kThrows) throw 42;
    return nullptr;
  }
};

[[maybe_unused]] const bool crashes =
    LoadBalancers().Add<Failing<How::kCrashes>>({"crashing", "Crashes.", ""});
[[maybe_unused]] const bool breaks =
    LoadBalancers().Add<Failing<How::kBreaks>>({"breaking", "Breaks an invariant.", ""});
[[maybe_unused]] const bool exits = LoadBalancers().Add<Failing<How::kExits>>(
    {"exiting", "Ends the process as if all was well.", ""});
[[maybe_unused]] const bool hangs =
    LoadBalancers().Add<Failing<How::kHangs>>({"hanging", "Decides nothing, ever.", ""});
[[maybe_unused]] const bool throws_at_packets = LoadBalancers().Add<Failing<How::kThrows>>(
    {"throwing_at_packets", "Throws at the first packet.", ""});
[[maybe_unused]] const bool crashes_early = LoadBalancers().Add<FailingDeclaration<How::kCrashes>>(
    {"crashing_early", "Crashes before any run.", ""});
[[maybe_unused]] const bool exits_early = LoadBalancers().Add<FailingDeclaration<How::kExits>>(
    {"exiting_early", "Ends the process before any run.", ""});
[[maybe_unused]] const bool hangs_early = LoadBalancers().Add<FailingDeclaration<How::kHangs>>(
    {"hanging_early", "Never declares its settings.", ""});
[[maybe_unused]] const bool throws =
    LoadBalancers().Add<Making<true>>({"throwing", "Throws a number.", ""});
[[maybe_unused]] const bool makes_nothing =
    LoadBalancers().Add<Making<false>>({"none", "Makes no policies.", ""});

}  // namespace
}  // namespace heddle
