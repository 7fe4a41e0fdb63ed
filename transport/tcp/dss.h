// SPDX-License-Identifier: Apache-2.0
// The data sequence signal of MPTCP (RFC 8684 section 3.3) in a packet. It says which segment of
// the connection a data packet of a subflow carries, and on ACKs which segment of the connection
// the receiver expects next. Numbers count segments of the connection, from 0.
//
// On data packets it takes the place of Packet::data.waited, so a run with MPTCP cannot measure
// queueing; on ACKs it takes the place of the third SACK block.

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/packet.h"

namespace heddle {

// Blocks that an ACK has room for beside the signal. TCP options have 40 bytes; with the timestamps
// that real senders use, two blocks are left there too.
inline constexpr size_t kSackBlocksBesideDss = 2;

inline void SetDataNumber(Packet& data, uint32_t number) {
  data.data.waited[0] = static_cast<uint16_t>(number);
  data.data.waited[1] = static_cast<uint16_t>(number >> 16);
}
inline uint32_t DataNumber(const Packet& data) {
  return uint32_t{data.data.waited[1]} << 16 | data.data.waited[0];
}

inline void SetDataAck(Packet& ack, uint32_t number) {
  ack.ack.sack[kSackBlocksBesideDss] = {static_cast<uint16_t>(number),
                                        static_cast<uint16_t>(number >> 16)};
}
inline uint32_t DataAck(const Packet& ack) {
  const SackBlock& block = ack.ack.sack[kSackBlocksBesideDss];
  return uint32_t{block.length} << 16 | block.start;
}

}  // namespace heddle
