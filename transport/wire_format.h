// SPDX-License-Identifier: Apache-2.0
// WireFormat describes a transport's packets on the wire, for code that writes them to captures.

#pragma once

#include <cstdint>

#include "transport/packet_sizes.h"

namespace heddle {

struct WireFormat {
  enum class Protocol { kTcp, kMptcp, kRoceV2 };

  Protocol protocol = Protocol::kTcp;
  PacketSizes sizes;
  bool timestamps = false;  // TCP: RFC 7323's option.
  bool sack = true;         // TCP: whether the sender asks for blocks (RFC 2018).
  int64_t ack_every = 1;    // RoCE: one in this many packets asks for an ACK.
  // MPTCP: the source ports of data packets are those of the subflow, xor Packet::entropy.
  bool varies_ports = false;
};

}  // namespace heddle
