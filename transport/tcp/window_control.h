// SPDX-License-Identifier: Apache-2.0
// WindowControl is the congestion control of a TCP sender: it decides how the window answers
// acknowledgements, ECN marks and losses. One object serves all flows of an experiment and is
// called by the sender (tcp_sender.h); the state of one flow is in its CongestionWindow. An
// algorithm is one file in transport/congestion/ that registers itself, see congestion_controls.h.

#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/own_state.h"
#include "core/units.h"
#include "settings/fields.h"
#include "transport/tcp/tcp_settings.h"

namespace heddle {

struct Coupling;

struct CongestionWindow {
  double mss = 0;   // Bytes.
  double cwnd = 0;  // Bytes; a fraction of a segment is kept, and not sent.
  double ssthresh = std::numeric_limits<double>::infinity();

  OwnState<56> own{};  // The algorithm's state of the flow.

  // What a control that couples the subflows of an MPTCP connection reads of each.
  Duration srtt{0};              // 0: not measured yet.
  bool in_recovery = false;      // Repairing a loss found by duplicate ACKs.
  Coupling* coupling = nullptr;  // Null: the flow is no subflow that is coupled with others.
};

// The connected subflows of one MPTCP connection, which a coupled congestion control looks at
// together.
struct Coupling {
  std::vector<const CongestionWindow*> windows;
  double alpha = 0;      // LIA's aggressiveness (RFC 6356 section 3),
  bool is_stale = true;  // which must be computed again.
};

// An acknowledgement that advances `una`.
struct Acknowledgement {
  int64_t bytes;  // Bytes newly acknowledged.
  uint32_t una;   // The first segment that is not acknowledged, afterwards.
  uint32_t nxt;   // The next segment to send.
  bool ecn_echo;
  bool in_recovery;     // Repairing a loss found by duplicate ACKs: the window does not grow.
  bool window_limited;  // The window, not the application, had held the sender back.
  Time now{};
  Duration srtt{0};  // 0: not measured yet.
};

class WindowControl {
 public:
  virtual ~WindowControl() = default;

  // A flow begins. Its first flight ends before segment `first_flight`.
  virtual void Start(CongestionWindow& /*window*/, uint32_t /*first_flight*/) const {}

  // The handshake is over.
  virtual void OnConnected(CongestionWindow& /*window*/) const {}

  // Returns true if the window was reduced because of marks.
  virtual bool OnAck(CongestionWindow& window, const Acknowledgement& ack) const = 0;

  // A loss has been found while `flight` bytes were outstanding: sets ssthresh, from which the
  // sender sets cwnd afterwards. This default is RFC 5681 equation (4).
  virtual void SetThreshold(CongestionWindow& window, double flight) const;

  // The sender has set ssthresh and cwnd because of a loss; the recovery ends at segment `recover`.
  virtual void OnLoss(CongestionWindow& /*window*/, uint32_t /*recover*/) const {}
  // The same for the retransmission timer; `nxt` is the next segment to send.
  virtual void OnTimeout(CongestionWindow& /*window*/, uint32_t /*nxt*/) const {}

  // The last loss was spurious (undo: dsack). `before` is the window as it was then.
  virtual void Undo(CongestionWindow& window, const CongestionWindow& before) const;

  // The algorithm's estimate of the share of marked bytes, if it has one.
  virtual std::optional<double> MarkedShare(const CongestionWindow& /*window*/) const {
    return std::nullopt;
  }
};

// Slow start and congestion avoidance (RFC 5681 section 3.1, counting bytes as in RFC 3465): at
// most `limit` segments for one ACK in slow start; after it one segment for each window
// acknowledged, in fractions with each ACK.
void GrowWindow(CongestionWindow& window, int64_t bytes, int limit);

// The `limit` of GrowWindow: L of RFC 3465, 2 where ACKs are delayed.
inline int GrowthLimit(const TcpSettings& tcp) { return tcp.delack_count == 1 ? 1 : 2; }

// A window control with its settings, as an experiment chooses it.
class WindowControlModel {
 public:
  virtual ~WindowControlModel() = default;
  virtual void Declare(Fields& fields) = 0;
  virtual std::unique_ptr<const WindowControl> Prepare(const TcpSettings& tcp) const = 0;

  // How marks are echoed to it; not set: the setting `ecn` decides.
  virtual std::optional<TcpSettings::Ecn> own_ecn() const { return std::nullopt; }

  // Checks that the transport's settings meet the algorithm's needs; `fields` has the settings.
  virtual void Check(const TcpSettings& /*tcp*/, Fields& /*fields*/) const {}
};

// One that couples the windows of subflows, and so serves MPTCP only.
class CoupledControlModel : public WindowControlModel {};

}  // namespace heddle
