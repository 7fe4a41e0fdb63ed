// SPDX-License-Identifier: Apache-2.0
// A number that stands for every delivery of a run: which packet of which flow came to which host,
// and when. Two runs with the same number did the same.

#pragma once

#include <cstdint>
#include <deque>

#include "core/tap.h"
#include "measure/instrument.h"

namespace heddle {

struct Fingerprint {
  int64_t deliveries = 0;
  uint64_t hash = 0;

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// Taps on all hosts.
class DeliveryTaps final : public Instrument {
 public:
  // The number of all that has arrived so far.
  Fingerprint Sum() const;

 private:
  void Begin() override;

  // Sums up one host: packets of one link in their order, links whatever their order.
  class HostTap final : public Tap {
   public:
    explicit HostTap(Host& host);
    void OnArrival(uint32_t point, const Packet& packet) override;

    TappedNode tapped;
    std::vector<Fingerprint> links;
  };

  std::deque<HostTap> hosts_;  // They stay where they are.
};

}  // namespace heddle
