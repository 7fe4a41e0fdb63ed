// SPDX-License-Identifier: Apache-2.0
// Random packet spraying (Dixit et al., INFOCOM 2013), outside of Heddle's tree. It draws from the
// stream that the built-in `rps` draws from, so the results of both are the same.

#include <lb/parts/load_balancer.h>

namespace heddle {
namespace {

class MySpray final : public SwitchPolicy {
 public:
  explicit MySpray(Rng rng) : rng_(rng) {}

  Decision OnPacket(SwitchView& /*view*/, const Packet& /*packet*/, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    const auto count = static_cast<uint32_t>(candidates.ports.size());
    return Decision::Forward(candidates.ports[rng_.Below(count)]);
  }
  size_t StateBytes() const override { return sizeof(rng_); }

 private:
  Rng rng_;
};

class MySprayBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {}
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<MySpray>(Rng::Stream(seed, "rps", id));
  }
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<MySprayBalancer>(
    {"my_spray", "Every packet takes a random path.", "Dixit et al., INFOCOM 2013"});

}  // namespace
}  // namespace heddle
