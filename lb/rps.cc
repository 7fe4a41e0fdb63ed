// SPDX-License-Identifier: Apache-2.0
// Random packet spraying (Dixit et al., INFOCOM 2013): every packet, data or ACK, takes a random
// path.

#include <cstdint>
#include <span>

#include "core/random.h"
#include "lb/load_balancer.h"

namespace heddle {
namespace {

enum class Weights { kEqual, kRate, kCapacity };

class Rps final : public SwitchPolicy {
 public:
  Rps(Weights weights, Rng rng) : weights_(weights), rng_(rng) {}

  uint32_t hooks() const override {
    return weights_ == Weights::kCapacity ? uint32_t{kNextHops} : 0;
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    const std::span<const PortIndex> ports = candidates.ports;
    if (weights_ == Weights::kEqual) {
      return Decision::Forward(ports[rng_.Below(static_cast<uint32_t>(ports.size()))]);
    }
    if (weights_ == Weights::kRate) {
      return Decision::Forward(Draw(ports, [&](size_t i) { return view.Rate(ports[i]).bps; }));
    }
    const std::span<const NextHop> hops = view.NextHopsTo(packet.dst);
    return Decision::Forward(Draw(ports, [&](size_t i) { return hops[i].capacity; }));
  }

  size_t StateBytes() const override { return sizeof(rng_); }

 private:
  // With probabilities in proportion to `weight`.
  template <class Weight>
  PortIndex Draw(std::span<const PortIndex> ports, const Weight& weight) {
    int64_t total = 0;
    for (size_t i = 0; i < ports.size(); ++i) total += weight(i);
    int64_t draw = static_cast<int64_t>(rng_.Uniform() * static_cast<double>(total));
    for (size_t i = 0; i < ports.size(); ++i) {
      draw -= weight(i);
      if (draw < 0) return ports[i];
    }
    return ports.back();
  }

  const Weights weights_;
  Rng rng_;
};

class RpsBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Choice(
        "weights", weights_,
        {{"equal", Weights::kEqual}, {"rate", Weights::kRate}, {"capacity", Weights::kCapacity}},
        "equal: every port is as likely, as published; rate: in proportion to the rate of "
        "the switch's own ports; capacity: to that of the paths behind them, as in WCMP.");
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
