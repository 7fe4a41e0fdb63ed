// SPDX-License-Identifier: Apache-2.0
// Adaptive routing as switches and network cards of today offer it together: a packet that its
// sender has marked as fit for any order takes a random port of those with the least load, in
// coarse bands and as known a moment ago, and all others are hashed. The receiver's card puts data
// where they belong in whatever order they come: choose a transport that does.
//
// A reconstruction: vendors publish the principle, not the bands. Paused ports are in a band below
// all others. What switches tell each other of congestion further on is not published, nor here.

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "lb/parts/ecmp_hash.h"
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

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<SwitchArBalancer>({"switch_ar",
                                           "A reconstruction of vendors' adaptive routing: data "
                                           "take a random port of the least load, all "
                                           "else is hashed.",
                                           "What vendors publish of their switches"});

}  // namespace
}  // namespace heddle
