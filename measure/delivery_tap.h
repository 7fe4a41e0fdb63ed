// SPDX-License-Identifier: Apache-2.0
// A fingerprint of all deliveries of a run: which packet of which flow came to which host, and
// when. Tests compare it: two runs with the same fingerprint behaved the same.

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

// Taps all hosts and computes the fingerprint.
class DeliveryTaps final : public Instrument {
 public:
  // Returns the fingerprint of all packets that have arrived so far.
  Fingerprint Sum() const;

 private:
  void Begin() override;

  // Sums up one host. The order of packets on one link counts, the order of links does not.
  class HostTap final : public Tap {
   public:
    explicit HostTap(Host& host);
    void OnArrival(uint32_t point, const Packet& packet) override;

    TappedNode tapped;
    std::vector<Fingerprint> links;
  };

  std::deque<HostTap> hosts_;  // A deque, so that taps keep their addresses.
};

}  // namespace heddle
