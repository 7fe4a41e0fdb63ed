// SPDX-License-Identifier: Apache-2.0
// Adaptive routing as today's switches and network cards offer it together. A data packet takes a
// random port among those in the lowest load band, as measured a moment ago; all other packets are
// hashed. The receiver's card places data in memory in any order: choose a transport that does.
//
// This is a reconstruction: vendors publish the principle, not the bands. Paused ports are in a
// band below all others. How switches report congestion to each other is not published, and not
// modelled here.

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/port_bands.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

struct SwitchArSettings {
  PortBandSettings bands;
  Bytes smallest{0};
};

class SwitchAr final : public SwitchPolicy {
 public:
  SwitchAr(const SwitchArSettings& settings, uint64_t salt, Rng rng)
      : smallest_(settings.smallest), salt_(salt), bands_(settings.bands), rng_(rng) {}

  bool only_chooses() const override { return true; }

  void Attach(SwitchView& view) override { bands_.Attach(view.ports()); }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    if (packet.kind != PacketKind::kData || packet.bytes < smallest_.count) {
      return Decision::Forward(EcmpPort(packet, salt_, candidates.ports));
    }
    ++sprayed_;
    return Decision::Forward(LeastOf(candidates.ports, kNoPort, rng_, [&](PortIndex port) {
      return view.IsPaused(port, packet.priority) ? PortBands::kWorst + 1
                                                  : bands_.QueueBand(view, port);
    }));
  }

  size_t StateBytes() const override { return sizeof(salt_) + bands_.memory_bytes(); }
  std::vector<Counter> Counters() const override { return {{"sprayed", sprayed_}}; }

 private:
  const Bytes smallest_;
  const uint64_t salt_;
  PortBands bands_;
  Rng rng_;
  int64_t sprayed_ = 0;
};

class SwitchArBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    settings_.bands.Declare(fields);
    fields.Add("smallest", settings_.smallest, {.at_least = Bytes{0}, .at_most = Bytes{65'535}},
               "Smaller data packets are hashed, as if their sender had not marked them.");
  }
  bool reorders() const override { return true; }
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<SwitchAr>(settings_, EcmpSalt(id, seed),
                                      Rng::Stream(seed, "switch_ar", id));
  }

 private:
  SwitchArSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<SwitchArBalancer>(
    {"switch_ar",
     "A reconstruction of vendors' adaptive routing: data packets take a random port of the lowest "
     "load band; all other packets are hashed.",
     "What vendors publish of their switches"});

}  // namespace
}  // namespace heddle
