// SPDX-License-Identifier: Apache-2.0
// ECMP with exceptions: a packet whose port is in the worst queue band moves, with probability
// `move`, to the least loaded port (uet-htsim).

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/port_bands.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

class EcmpAr final : public SwitchPolicy {
 public:
  EcmpAr(const PortBandSettings& settings, double move, uint64_t salt, Rng rng)
      : move_(move), salt_(salt), bands_(settings), rng_(rng) {}

  bool only_chooses() const override { return true; }

  void Attach(SwitchView& view) override { bands_.Attach(view.ports()); }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    const auto band = [&](PortIndex port) { return bands_.QueueBand(view, port); };
    const std::span<const PortIndex> ports = candidates.ports;
    const PortIndex hashed = EcmpPort(packet, salt_, ports);
    if (band(hashed) < PortBands::kWorst || rng_.Uniform() >= move_) {
      return Decision::Forward(hashed);
    }
    const PortIndex port = LeastOf(ports, kNoPort, rng_, band);
    reroutes_ += port != hashed ? 1 : 0;
    return Decision::Forward(port);
  }

  size_t StateBytes() const override { return sizeof(salt_) + bands_.memory_bytes(); }
  std::vector<Counter> Counters() const override { return {{"reroutes", reroutes_}}; }

 private:
  const double move_;
  const uint64_t salt_;
  PortBands bands_;
  Rng rng_;
  int64_t reroutes_ = 0;
};

class EcmpArBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    bands_.Declare(fields);
    fields.Add("move", move_, {.at_least = 0.0, .at_most = 1.0},
               "Probability that a packet leaves a port in the worst band.");
  }
  bool reorders() const override { return true; }
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<EcmpAr>(bands_, move_, EcmpSalt(id, seed),
                                    Rng::Stream(seed, "ecmp_ar", id));
  }

 private:
  PortBandSettings bands_;
  double move_ = 0.5;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<EcmpArBalancer>(
    {"ecmp_ar", "ECMP, but half of the packets leave a port whose queue is in the worst band.",
     "The simulator uet-htsim"});

}  // namespace
}  // namespace heddle
