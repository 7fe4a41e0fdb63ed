// SPDX-License-Identifier: Apache-2.0
// The timers of the TCP flows of one host. Those of one instant fire by kind, then by flow id.

#pragma once

#include <cstdint>

#include "core/packet.h"
#include "core/units.h"

namespace heddle {

enum class TcpTimer : uint8_t {
  kRetransmit,  // Sender: the retransmission timer, or that of the SYN.
  kDelayedAck,  // Receiver.
  kSettle,      // Sender: every drop before its end is known.
  kClose,       // Receiver: the sender's end has become known here.
  kReorder,     // Sender: a segment has been late for long enough (RFC 8985 section 6.2).
  kProbe,       // Sender: a tail loss probe (RFC 8985 section 7).
};

constexpr uint64_t TimerKey(TcpTimer kind, FlowId flow) {
  return static_cast<uint64_t>(kind) << 32 | flow;
}
constexpr TcpTimer TimerKind(uint64_t key) { return static_cast<TcpTimer>(key >> 32); }
constexpr FlowId TimerFlow(uint64_t key) { return static_cast<FlowId>(key); }

// A timer that is set anew with every packet: the host holds one, which is left to fire and then
// set again if the deadline has moved on.
struct LazyTimer {
  Time deadline = kNever;
  Time armed = kNever;  // The earliest that the host holds.
};

}  // namespace heddle
