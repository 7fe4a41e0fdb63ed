// SPDX-License-Identifier: Apache-2.0
// RateControl is the congestion control of a RoCE queue pair: it decides how fast the queue pair
// sends, and how it answers congestion. One object serves all queue pairs of an experiment and is
// called by the sender (roce_sender.h); the state of one queue pair is in its RateState. An
// algorithm is one file in transport/congestion/ that registers itself, see congestion_controls.h.

#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "core/own_state.h"
#include "core/telemetry.h"
#include "core/units.h"
#include "settings/fields.h"
#include "transport/auto_values.h"

namespace heddle {

struct RateState {
  double line = 0;         // Bits per second of the NIC, or as set for it.
  double packet_bits = 0;  // Bits of a full packet on the wire.
  double rate = 0;  // Bits per second on the wire; there is no pacing at the NIC's rate or more.
  double window = std::numeric_limits<double>::infinity();  // Packets in flight.
  Time deadline = kNever;                                   // The time to call OnTimer.
  Duration base_rtt{0};       // The round trip that the algorithm wants to know.
  Telemetry* told = nullptr;  // The algorithm's telemetry, no hops at first; null: none wanted.

  OwnState<96> own{};  // The algorithm's state of the queue pair.
};

// An ACK or a NACK.
struct AckSignal {
  Time now;
  Duration rtt;                          // The round trip of the packet that is answered.
  int64_t packets;                       // Packets newly acknowledged, in order,
  int64_t payload_bytes;                 // and their payload.
  int links;                             // Links from host to host.
  uint32_t next_expected = 0;            // The first packet not acknowledged,
  uint32_t next_to_send = 0;             // and the next one, unless a packet is sent again.
  const Telemetry* telemetry = nullptr;  // Collected by the packet on its way.
};

// The round trip that a congestion control wants to know beforehand: that of the idle network,
// between the hosts of the flow or the longest between any two.
enum class BaseRtt { kNone, kPair, kLongest };

// Says when a receiver sends congestion notifications (CNPs).
struct CnpRule {
  enum class Mode {
    kNone,
    kPacket,   // CNPs are packets, at most one in `interval` for each queue pair.
    kAckFlag,  // The ACK of each marked packet is a CNP too.
  };

  Mode mode = Mode::kNone;
  Duration interval{0};
  bool trailing = false;         // Marks within the interval cause one at its end.
  bool on_out_of_order = false;  // Packets that come out of order count as marked.
};

class RateControl {
 public:
  virtual ~RateControl() = default;

  // `line` and `packet_bits` are set, and `rate` is the line's.
  virtual void Start(RateState& /*state*/) const {}

  virtual void OnCnp(RateState& /*state*/, Time /*now*/) const {}
  virtual void OnAck(RateState& /*state*/, const AckSignal& /*ack*/) const {}

  // A packet of `bytes`, as buffered, has begun to leave.
  virtual void OnSent(RateState& /*state*/, int64_t /*bytes*/, Time /*now*/) const {}

  // OnLoss: a NACK has shown a loss. OnTimeout: the retransmission timeout has passed.
  virtual void OnLoss(RateState& /*state*/, Time /*now*/) const {}
  virtual void OnTimeout(RateState& /*state*/, Time /*now*/) const {}

  // state.deadline has come.
  virtual void OnTimer(RateState& /*state*/, Time /*now*/) const {}

  virtual CnpRule cnp_rule() const { return {}; }

  // Returns the values that settings with the value auto have for a queue pair that has just been
  // started in `state`.
  virtual AutoValues ValuesOfAuto(const RateState& /*state*/) const { return {}; }
};

// A rate control with its settings, as an experiment chooses it.
class RateControlModel {
 public:
  virtual ~RateControlModel() = default;
  virtual void Declare(Fields& fields) = 0;
  virtual std::unique_ptr<const RateControl> Prepare() const = 0;

  virtual BaseRtt base_rtt() const { return BaseRtt::kNone; }
  // Returns true if switches are to tell packets of the ports on their way.
  virtual bool wants_telemetry() const { return false; }
  // Returns true if it expects ECN marking between two queue lengths rather than above one.
  virtual bool wants_red() const { return false; }
};

}  // namespace heddle
