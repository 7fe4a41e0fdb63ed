// SPDX-License-Identifier: Apache-2.0
// Packet trimming (Cheng et al., NSDI 2014; Handley et al., SIGCOMM 2017): a port without room for
// a data packet cuts its payload off and sends the header ahead of all data, so that the receiver
// learns of the loss at once. Trimming keeps the settings and the counters of a switch's ports;
// QueuedPorts decides which packets are cut, and Switch sends their headers.
//
// Headers go to class 0, which all other control packets share, and which then has a limit.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "core/random.h"
#include "core/telemetry.h"
#include "fabric/fifo_port.h"
#include "fabric/marking.h"

namespace heddle {

struct TrimSettings {
  enum class When : uint8_t {
    kOff,
    kPort,       // The class's queue would exceed a threshold, or the port refuses the packet.
    kAdmission,  // The port refuses the packet.
    kMark,       // The packet would be ECN-marked at enqueue, or the port refuses it.
  };
  enum class Victim : uint8_t { kCoin, kArriving, kNewest };
  enum class Overflow : uint8_t { kDrop, kBack };

  When when = When::kOff;
  Victim victim = Victim::kCoin;
  Overflow overflow = Overflow::kDrop;
  uint8_t classes = 0;   // Classes whose data packets may be cut; bit mask.
  uint16_t header = 64;  // Bytes that are left of a packet.
};

// The limits of one port, in bytes.
struct TrimLimits {
  int64_t threshold = kUnlimited;  // kPort: the longest queue of a class.
  int64_t headers = kUnlimited;    // The most bytes of class 0.
  Marking marking;                 // kMark.
};

struct TrimTotals {
  int64_t trimmed = 0;         // Packets cut,
  int64_t trimmed_newest = 0;  // and those of them that had been in the queue.
  int64_t cut_bytes = 0;       // Bytes cut off.
  int64_t header_full = 0;     // Class-0 packets that exceeded the limit and were dropped.
  int64_t returned = 0;        // Headers that exceeded the limit and went back to their senders.
  int64_t header_peak = 0;     // The most bytes of class 0 that the port has held.
  int64_t offered_bytes = 0;   // Bytes of all packets offered to the port,
  int64_t dropped_bytes = 0;   // and of those that it dropped or sent back.
  bool was_down = false;       // The link has been down; the bytes lost then are in no count.
};

class Trimming {
 public:
  Trimming(const TrimSettings& settings, const std::vector<TrimLimits>& ports, uint64_t seed,
           uint64_t switch_id);

  // A packet that is to be cut, as it came to the switch through port `in`.
  struct Cut {
    Packet packet;
    Telemetry telemetry;
    PortIndex in = 0;
    bool was_queued = false;
  };
  // The packets cut for the last packet offered: at most that packet and one from the queue.
  std::array<Cut, 2> cut;
  size_t cuts = 0;

  const TrimSettings& settings() const { return settings_; }
  const TrimLimits& limits(PortIndex port) const { return ports_[port].limits; }
  TrimTotals& totals(PortIndex port) { return ports_[port].totals; }
  const TrimTotals& totals(PortIndex port) const { return ports_[port].totals; }

  bool MayCut(const Packet& packet) const {
    return packet.kind == PacketKind::kData && (settings_.classes >> packet.priority & 1) != 0;
  }
  // Returns true if the packet is to be cut though the port has room for it. `length` is the queue
  // of its class with the packet.
  bool Cuts(PortIndex port, int64_t length);
  // Returns true if the newest packet in the queue is to be cut rather than the arriving one.
  bool CutsNewest(PortIndex port);

  // Cuts the packet and counts it.
  Packet HeaderOf(const Packet& whole, PortIndex port, bool was_queued, bool at_last_hop);

 private:
  struct Port {
    TrimLimits limits;
    TrimTotals totals;
    Rng rng;
  };

  const TrimSettings settings_;
  std::vector<Port> ports_;
};

}  // namespace heddle
