// SPDX-License-Identifier: Apache-2.0
// Least queue: each packet takes the port that has least to send, a random one if several do. Known
// as join-the-shortest-queue, or as adaptive routing.

#include <cstdint>

#include "core/random.h"
#include "lb/load_balancer.h"
#include "lb/port_load.h"
#include "lb/ties.h"

namespace heddle {
namespace {

class Lq final : public SwitchPolicy {
 public:
  Lq(LoadMetric metric, Rng rng) : metric_(metric), rng_(rng) {}

  Decision OnPacket(SwitchView& view, const Packet& /*packet*/, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    return Decision::Forward(LeastOf(candidates.ports, kNoPort, rng_,
                                     [&](PortIndex port) { return LoadOf(view, port, metric_); }));
  }

  size_t StateBytes() const override { return sizeof(rng_); }

 private:
  const LoadMetric metric_;
  Rng rng_;
};

class LqBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override { DeclareMetric(fields, metric_); }
  std::unique_ptr<SwitchPolicy> ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Lq>(metric_, Rng::Stream(seed, "lq", id));
  }

 private:
  LoadMetric metric_ = LoadMetric::kBytes;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<LqBalancer>(
    {"lq", "Every packet takes the port with the shortest queue.", ""});

}  // namespace
}  // namespace heddle
