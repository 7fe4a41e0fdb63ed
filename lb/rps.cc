// SPDX-License-Identifier: Apache-2.0
// Random packet spraying (Dixit et al., INFOCOM 2013): every packet, data or ACK, takes a random
// path.

#include <cstdint>

#include "core/random.h"
#include "lb/load_balancer.h"

namespace heddle {
namespace {

enum class Weights { kEqual, kRate };

class Rps final : public SwitchPolicy {
 public:
  Rps(Weights weights, Rng rng) : weights_(weights), rng_(rng) {}

  Decision OnPacket(SwitchView& view, const Packet& /*packet*/, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    const uint32_t n = static_cast<uint32_t>(candidates.ports.size());
    if (weights_ == Weights::kEqual) return Decision::Forward(candidates.ports[rng_.Below(n)]);
    return Decision::Forward(DrawByRate(view, candidates));
  }

  size_t StateBytes() const override { return sizeof(rng_); }

 private:
  PortIndex DrawByRate(const SwitchView& view, const Candidates& candidates) {
    int64_t total = 0;
    for (const PortIndex port : candidates.ports) total += view.Rate(port).bps;
    int64_t draw = static_cast<int64_t>(rng_.Uniform() * static_cast<double>(total));
    for (const PortIndex port : candidates.ports) {
      draw -= view.Rate(port).bps;
      if (draw < 0) return port;
    }
    return candidates.ports.back();
  }

  const Weights weights_;
  Rng rng_;
};

class RpsBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Choice(
        "weights", weights_, {{"equal", Weights::kEqual}, {"rate", Weights::kRate}},
        "equal: every port is as likely, as published; rate: in proportion to the rate of "
        "the switch's own ports.");
  }

  std::unique_ptr<SwitchPolicy> ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Rps>(weights_, Rng::Stream(seed, "rps", id));
  }

 private:
  Weights weights_ = Weights::kEqual;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<RpsBalancer>(
    {"rps", "Every packet takes a random path.", "Dixit et al., INFOCOM 2013"});

}  // namespace
}  // namespace heddle
