// SPDX-License-Identifier: Apache-2.0
// The fields of a selective acknowledgement of the Ultra Ethernet transport, as a packet carries
// them. Packet::seq is the next packet expected. The flags kEce and kRetransmission repeat those of
// the data packet that is answered. RoCE's NICs that place packets out of order use the same
// fields.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/packet.h"

namespace heddle {

struct UetAck {
  static constexpr uint32_t kMapped = 64;

  uint32_t expected = 0;  // All packets below have arrived.
  uint32_t acked = 0;     // The packet that is answered.
  uint32_t first = 0;     // Bit i of the map: packet first + i has arrived.
  uint64_t map = 0;
  uint16_t held = 0;        // Packets beyond `expected` that have arrived,
  bool holds_last = false;  // and whether the flow's last packet is one of them.

  void WriteTo(Packet& packet) const {
    const int64_t offset = int64_t{acked} - int64_t{expected};
    const uint16_t near = static_cast<uint16_t>(std::clamp<int64_t>(offset, -32'768, 32'767));
    packet.seq = expected;
    packet.ack.sack = std::bit_cast<decltype(packet.ack.sack)>(
        Fields{{static_cast<uint16_t>(map), static_cast<uint16_t>(map >> 16),
                static_cast<uint16_t>(map >> 32), static_cast<uint16_t>(map >> 48)},
               near,
               static_cast<uint16_t>(held << 2 | (holds_last ? 2 : 0) | (first == acked ? 1 : 0))});
  }

  static UetAck From(const Packet& packet) {
    const Fields fields = std::bit_cast<Fields>(packet.ack.sack);
    UetAck ack{.expected = packet.seq};
    ack.acked = packet.seq + static_cast<uint32_t>(static_cast<int16_t>(fields.acked));
    for (int i = 3; i >= 0; --i) ack.map = ack.map << 16 | fields.map[i];
    ack.first = (fields.held & 1) != 0 ? ack.acked : FirstOf(ack.acked, ack.expected);
    ack.held = fields.held >> 2;
    ack.holds_last = (fields.held & 2) != 0;
    return ack;
  }

  // Where the map of an ordinary ACK begins: it ends at the packet answered, if that is beyond the
  // packets that it covers in any case.
  static uint32_t FirstOf(uint32_t acked, uint32_t expected) {
    const uint32_t back = acked < kMapped ? 0 : acked - (kMapped - 1);
    return std::max(back, expected + 1);
  }

 private:
  struct Fields {
    uint16_t map[4];
    uint16_t acked;  // Relative to `expected`.
    uint16_t held;   // Above two bits: holds_last, and whether the map begins at `acked`.
  };
  static_assert(sizeof(Fields) == sizeof(Packet::ack.sack));
};

}  // namespace heddle
