// SPDX-License-Identifier: Apache-2.0
// The timers of the flows of one host. Timers of one instant fire by kind, then by flow id.

#pragma once

#include <cstdint>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/host.h"

namespace heddle {

enum class FlowTimer : uint8_t {
  kRetransmit,  // Sender: the retransmission timer, or that of the SYN.
  kDelayedAck,  // Receiver.
  kSettle,      // Sender: all drops before its end are known by now.
  kClose,       // Receiver: the sender's end has become known here.
  kReorder,     // Sender: a segment has been late for long enough (RFC 8985 section 6.2).
  kProbe,       // Sender: a tail loss probe (RFC 8985 section 7).
  kRate,        // Sender: the congestion control's own.
  kPace,        // Sender: the next packet may leave.
  kNotify,      // Receiver: a CNP for marks that came too soon after the last one.
  kHold,        // Receiver: gives up the hole in front of held packets.
  kPull,        // Host, of no flow: its receivers' next pull (uet).
};

constexpr uint64_t TimerKey(FlowTimer kind, FlowId flow) {
  return static_cast<uint64_t>(kind) << 32 | flow;
}
constexpr FlowTimer TimerKind(uint64_t key) { return static_cast<FlowTimer>(key >> 32); }
constexpr FlowId TimerFlow(uint64_t key) { return static_cast<FlowId>(key); }

// A sender's last timeout. While PFC or pacing holds back what it asked for, another timeout would
// say nothing new, so the sender only restarts its timer.
class LastTimeout {
 public:
  // `transmissions` is the sender's number of transmissions so far.
  void Note(uint32_t transmissions) { transmissions_ = transmissions; }
  bool HasSentSince(uint32_t transmissions) const { return transmissions != transmissions_; }

 private:
  uint32_t transmissions_ = ~uint32_t{0};  // None: there was no timeout.
};

// A timer that every packet sets anew. The host holds one timer for it, which fires at the old
// deadline and is then set again if the deadline has moved on.
struct LazyTimer {
  Time deadline = kNever;
  Time armed = kNever;  // The earliest that the host holds.

  void Set(Host& host, uint64_t key, Time at) {
    deadline = at;
    if (at >= armed) return;  // The timer that fires earlier will set it anew.
    armed = at;
    host.SetTimer(at, key);
  }

  // Returns true if the timer, which has fired, is due; if its deadline has moved on, sets it
  // again.
  bool IsDue(Host& host, uint64_t key) {
    const Time now = host.now();
    if (now != armed) return false;  // An earlier one has taken its place.
    armed = kNever;
    if (deadline > now) {
      if (deadline != kNever) Set(host, key, deadline);
      return false;
    }
    deadline = kNever;
    return true;
  }
};

}  // namespace heddle
