// SPDX-License-Identifier: Apache-2.0
// What the switches on a packet's way have told of the ports it left through. A packet has no room
// for it, so it lies beside the packet, on wires and in queues that carry telemetry.

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
  static constexpr size_t kMaxSwitches = 6;  // Those after them are not recorded.

  uint32_t path = 0;                       // A hash of the ports; not of how long the packet took.
  uint8_t hops = 0;                        // Switches recorded; the values of each by its number.
  std::array<Time, kMaxSwitches> at = {};  // When the first bit left.
  std::array<uint32_t, kMaxSwitches> sent_bytes = {};   // By the port before, ever; modulo 2^32.
  std::array<uint32_t, kMaxSwitches> queue_bytes = {};  // What the packet has left behind.
  std::array<uint32_t, kMaxSwitches> mbps = {};         // Rate of the port, at least 1.

  void Clear() {
    path = 0;
    hops = 0;
  }

  // A port that no other in the network shares its `id` with.
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

// Data packets collect it, and what answers them carries it back.
constexpr bool CarriesTelemetry(PacketKind kind) {
  return kind == PacketKind::kData || kind == PacketKind::kAck || kind == PacketKind::kNack;
}

}  // namespace heddle
