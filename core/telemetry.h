// SPDX-License-Identifier: Apache-2.0
// In-band telemetry: what the switches on a packet's path recorded about the ports it left through.
// A packet has no room for it, so it lies beside the packet, on wires and in queues that carry
// telemetry. Queued ports add to it, and congestion controls such as HPCC read it.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/packet.h"
#include "core/units.h"

namespace heddle {

struct alignas(64) Telemetry {
  static constexpr size_t kMaxSwitches = 6;  // Experiments with longer paths are refused.

  uint32_t path = 0;                       // A hash of the ports on the path.
  uint8_t hops = 0;                        // Number of switches recorded; it indexes the arrays.
  std::array<Time, kMaxSwitches> at = {};  // When the packet's first bit left.
  std::array<uint32_t, kMaxSwitches> sent_bytes = {};   // Sent by the port so far; modulo 2^32.
  std::array<uint32_t, kMaxSwitches> queue_bytes = {};  // Queue behind the packet.
  std::array<uint32_t, kMaxSwitches> mbps = {};         // Rate of the port, at least 1.

  void Clear() {
    path = 0;
    hops = 0;
  }

  // Adds a port, whose `id` is unique in the network.
  void Add(uint32_t id, Time start, int64_t sent, int64_t queue, BitRate rate) {
    path = (path ^ id) * 0x9e3779b1u + 1;
    if (hops == kMaxSwitches) return;
    at[hops] = start;
    sent_bytes[hops] = static_cast<uint32_t>(sent);
    queue_bytes[hops] = static_cast<uint32_t>(queue);
    mbps[hops] = static_cast<uint32_t>(std::max<int64_t>(rate.bps / 1'000'000, 1));
    ++hops;
  }
};

static_assert(sizeof(Telemetry) == 128);
static_assert(std::is_trivially_copyable_v<Telemetry>);

// Returns true if packets of this kind carry telemetry: data packets collect it, and ACKs and NACKs
// carry it back.
constexpr bool CarriesTelemetry(PacketKind kind) {
  return kind == PacketKind::kData || kind == PacketKind::kAck || kind == PacketKind::kNack;
}

}  // namespace heddle
