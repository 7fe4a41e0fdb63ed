// SPDX-License-Identifier: Apache-2.0
// The congestion control of a RoCE queue pair: how fast it sends, and how it answers congestion.
// One object serves all queue pairs of an experiment, and is called by the sender (roce_sender.h);
// what belongs to one queue pair is in its RateState. An algorithm is one file in
// transport/congestion/ that registers itself, see congestion_controls.h.

#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "core/own_state.h"
#include "core/telemetry.h"
#include "core/units.h"
#include "settings/fields.h"

namespace heddle {

struct RateState {
  double line = 0;         // Of the NIC, or that is set for it; bits per second.
  double packet_bits = 0;  // Of a full packet on the wire.
  double rate = 0;         // Bits per second on the wire; at the NIC's or more nothing is paced.
  double window = std::numeric_limits<double>::infinity();  // Packets in flight.
  Time deadline = kNever;                                   // When OnTimer is to be called.
  Duration base_rtt{0};       // The round trip that the algorithm wants to know.
  Telemetry* told = nullptr;  // Where it keeps telemetry, no hops at first; null: it gets none.

  OwnState<96> own{};  // What the algorithm keeps of the queue pair.
};

// An ACK or a NACK.
struct AckSignal {
  Time now;
  Duration rtt;                          // Of the packet that gave rise to it.
  int64_t packets;                       // Newly acknowledged, in order,
  int64_t payload_bytes;                 // and their payload.
  int links;                             // From host to host.
  uint32_t next_expected = 0;            // The first packet not acknowledged,
  uint32_t next_to_send = 0;             // and the next one, unless a packet is sent again.
  const Telemetry* telemetry = nullptr;  // What the packet was told on its way.
};

// The round trip that a congestion control wants to know beforehand: that of the idle network,
// between the hosts of the flow or the longest between any two.
enum class BaseRtt { kNone, kPair, kLongest };

// When a receiver sends congestion notifications (CNPs).
struct CnpRule {
  enum class Mode {
    kNone,
    kPacket,   // As packets of their own, at most one in `interval` for each queue pair.
    kAckFlag,  // With the ACK of each marked packet.
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

  // A loss has been found out by a NACK, or by a timeout.
  virtual void OnLoss(RateState& /*state*/, Time /*now*/) const {}
  virtual void OnTimeout(RateState& /*state*/, Time /*now*/) const {}

  // state.deadline has come.
  virtual void OnTimer(RateState& /*state*/, Time /*now*/) const {}

  virtual CnpRule cnp_rule() const { return {}; }
};

// A rate control with its settings, as an experiment chooses it.
class RateControlModel {
 public:
  virtual ~RateControlModel() = default;
  virtual void Declare(Fields& fields) = 0;
  virtual std::unique_ptr<const RateControl> Prepare() const = 0;

  virtual BaseRtt base_rtt() const { return BaseRtt::kNone; }
  // Whether switches are to tell packets of the ports on their way.
  virtual bool wants_telemetry() const { return false; }
  // Whether it expects switches to mark between two lengths of queue rather than above one.
  virtual bool wants_red() const { return false; }
};

}  // namespace heddle
