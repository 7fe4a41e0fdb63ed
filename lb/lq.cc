// SPDX-License-Identifier: Apache-2.0
// Least queue: each packet takes the port with the least to send, a random one if several tie. Also
// known as join-the-shortest-queue, or as adaptive routing. Paused ports come last, because their
// queues do not tell how long a packet would wait.

#include <cstdint>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/port_load.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

struct LqSettings {
  LoadMetric metric = LoadMetric::kBytes;
  bool per_class = false;
  Bytes hash_below{0};
};

class Lq final : public SwitchPolicy {
 public:
  Lq(const LqSettings& settings, uint64_t salt, Rng rng)
      : settings_(settings), salt_(salt), rng_(rng) {}

  bool only_chooses() const override { return true; }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    if (packet.bytes < settings_.hash_below.count) {
      return Decision::Forward(EcmpPort(packet, salt_, candidates.ports));
    }
    return Decision::Forward(LeastOf(candidates.ports, kNoPort, rng_, [&](PortIndex port) {
      return PausedLast(view, packet, port, LoadFor(view, packet, port));
    }));
  }

  size_t StateBytes() const override { return sizeof(salt_) + sizeof(rng_); }

 private:
  int64_t LoadFor(const SwitchView& view, const Packet& packet, PortIndex port) const {
    return settings_.per_class ? LoadBefore(view, port, packet.priority, settings_.metric)
                               : LoadOf(view, port, settings_.metric);
  }

  const LqSettings settings_;
  const uint64_t salt_;
  Rng rng_;
};

class LqBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    DeclareMetric(fields, settings_.metric);
    DeclarePerClass(fields, settings_.per_class);
    fields.Add("hash_below", settings_.hash_below, {.at_least = Bytes{0}, .at_most = 64_KB},
               "Packets of fewer bytes, such as ACKs, take the path of their hash; uet-htsim has "
               "100B.");
  }
  bool reorders() const override { return true; }
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Lq>(settings_, EcmpSalt(id, seed), Rng::Stream(seed, "lq", id));
  }

 private:
  LqSettings settings_;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<LqBalancer>({"lq", "Every packet takes the port with the shortest queue.",
                                     "Known as join the shortest queue"});

}  // namespace
}  // namespace heddle
