// SPDX-License-Identifier: Apache-2.0
// A switch's coarse view of its ports: bands of queue length and of utilisation, refreshed at an
// interval, as in the adaptive routing of uet-htsim. Policies call QueueBand() and UseBand()
// instead of reading a port's state for every packet.

#pragma once

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "fabric/switch.h"
#include "lb/parts/dre.h"
#include "settings/fields.h"

namespace heddle {

struct PortBandSettings {
  Bytes full = 375_KB;
  Duration refresh = 100_ns;

  void Declare(Fields& fields) {
    fields.Add("full", full, {.at_least = 1_B, .at_most = Bytes{10'000'000'000}},
               "The bands are shares of this queue length: below 5%, 10%, 20%, and more.");
    fields.Add(
        "refresh", refresh, {.at_least = Duration{0}, .at_most = 1_s},
        "The queue of a port is read anew when its last reading is older than this; 0ps: always.");
  }
};

class PortBands {
 public:
  static constexpr uint32_t kWorst = 3;

  explicit PortBands(const PortBandSettings& settings) : settings_(settings) {}

  void Attach(size_t ports) {
    known_.assign(ports, {});
    estimators_.assign(ports, Dre(kUse));
  }

  // Returns 0 to 3, by the port's queue.
  uint32_t QueueBand(const SwitchView& view, PortIndex port) { return Known(view, port).queue; }

  // Returns 0 to 3, by the port's utilisation. The policy must call OnTransmit() for each packet.
  uint32_t UseBand(const SwitchView& view, PortIndex port) { return Known(view, port).use; }

  void OnTransmit(const SwitchView& view, const Packet& packet, PortIndex port) {
    estimators_[port].Add(static_cast<double>(view.WireBytes(packet).count), view.now());
  }

  size_t memory_bytes() const { return known_.size() * (sizeof(Bands) + sizeof(Dre)); }

 private:
  // A time constant of 10 us: tens of packets at 100 Gbps.
  static constexpr DreSettings kUse{.period = 1_us, .alpha = 0.1};

  struct Bands {
    Time at{-kNever.ps};
    uint8_t queue = 0;
    uint8_t use = 0;
  };

  // Returns the index of the first limit that is above the share; 3 if none is.
  static uint8_t BandOf(double share, double first, double second, double third) {
    return share < first ? 0 : share < second ? 1 : share < third ? 2 : 3;
  }

  const Bands& Known(const SwitchView& view, PortIndex port) {
    Bands& known = known_[port];
    if (view.now() - known.at < settings_.refresh) return known;
    const double queue =
        static_cast<double>(view.Unsent(port).count) / static_cast<double>(settings_.full.count);
    const double use = estimators_[port].Read(view.now()) / Dre::FullBytes(view.Rate(port), kUse);
    known = {view.now(), BandOf(queue, 0.05, 0.1, 0.2), BandOf(use, 1e-3, 0.15, 0.5)};
    return known;
  }

  const PortBandSettings settings_;
  std::vector<Bands> known_;     // By port.
  std::vector<Dre> estimators_;  // By port.
};

}  // namespace heddle
