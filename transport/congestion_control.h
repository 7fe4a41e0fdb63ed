// SPDX-License-Identifier: Apache-2.0
// How a TCP sender's window answers acknowledgements, marks and losses. One object serves all flows
// of an experiment: what belongs to a flow is in its CongestionWindow.

#pragma once

#include <cstdint>
#include <limits>
#include <memory>

namespace heddle {

struct CongestionWindow {
  double mss = 0;   // Bytes.
  double cwnd = 0;  // Bytes; a fraction of a segment is kept, and not sent.
  double ssthresh = std::numeric_limits<double>::infinity();

  // Segment up to which there has been a reduction already: the next one when una has passed it.
  int64_t reduced_until = -1;

  // DCTCP (RFC 8257 section 3.3).
  double alpha = 0;
  int64_t bytes_acked = 0;
  int64_t bytes_marked = 0;
  int64_t window_end = 0;  // Segment at which the observation window ends.

  // variant: htsim. Segments that the window has allowed so far, sent or not.
  int64_t handed_over = 0;
};

// An acknowledgement that advances `una`.
struct Acknowledgement {
  int64_t bytes;  // Newly acknowledged.
  uint32_t una;   // Afterwards.
  uint32_t nxt;
  bool ecn_echo;
  bool in_recovery;     // Repairing a loss found by duplicate ACKs: the window does not grow.
  bool window_limited;  // The window, not the application, had held the sender back.
};

class CongestionControl {
 public:
  virtual ~CongestionControl() = default;

  // Data packets are ECN-capable; retransmissions too.
  virtual bool marks_data() const = 0;
  virtual bool marks_retransmissions() const { return marks_data(); }
  // The receiver repeats its echo until it sees CWR (RFC 3168), instead of echoing each mark once.
  virtual bool latches_echo() const { return false; }

  virtual void Start(CongestionWindow& /*window*/, uint32_t /*first_flight*/) const {}

  // The handshake is over.
  virtual void OnConnected(CongestionWindow& /*window*/) const {}

  // Returns true if the window was reduced because of marks.
  virtual bool OnAck(CongestionWindow& window, const Acknowledgement& ack) const = 0;

  // The window has been reduced because of a loss; the episode ends at segment `recover`.
  virtual void OnLoss(CongestionWindow& /*window*/, uint32_t /*recover*/) const {}
  virtual void OnTimeout(CongestionWindow& /*window*/, uint32_t /*nxt*/) const {}
};

// Slow start and congestion avoidance (RFC 5681 section 3.1, counting bytes as in RFC 3465): at
// most `limit` segments for one ACK in slow start; after it one segment for each window
// acknowledged, in fractions with each ACK.
void GrowWindow(CongestionWindow& window, int64_t bytes, int limit);

}  // namespace heddle
