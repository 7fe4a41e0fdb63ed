// SPDX-License-Identifier: Apache-2.0
// Scoreboard stores what a TCP sender knows of each segment between the oldest unacknowledged and
// the highest sent. The sender updates it with every transmission and ACK, and reads from it which
// segments are lost and how many are in the network (RFC 6675 sections 3 and 4, in segments).
//
//   1. Segments [first, end) are kept, in a ring.
//   2. A segment is SACKed, or lost, or neither. A lost one may have been sent again since.
//   3. pipe = outstanding - SACKed - lost + lost ones sent again.

#pragma once

#include <cstdint>

#include "core/ring.h"
#include "core/units.h"
#include "transport/segment_set.h"

namespace heddle {

class Rack;

class Scoreboard {
 public:
  struct Segment {
    Time sent;                    // The latest transmission,
    uint32_t tx_id = 0;           // and its number.
    uint32_t previous_tx_id = 0;  // Number of the transmission before it, if sent again.
    bool lost = false;
    bool sent_again = false;  // Since it was marked lost.
    bool ever_retransmitted = false;
  };

  void Reset();

  uint32_t first() const { return first_; }
  uint32_t end() const { return first_ + static_cast<uint32_t>(segments_.size()); }
  uint32_t outstanding() const { return static_cast<uint32_t>(segments_.size()); }
  uint32_t pipe() const { return outstanding() - sacked_.size() - lost_ + sent_again_; }
  uint32_t sacked() const { return sacked_.size(); }

  const Segment& At(uint32_t segment) const { return segments_[segment - first_]; }
  bool IsSacked(uint32_t segment) const { return sacked_.Contains(segment); }

  // The segment at end() is sent for the first time.
  void Append(Time now, uint32_t tx_id) { segments_.emplace_back(now, tx_id); }

  // An old segment is sent again.
  void Resend(uint32_t segment, Time now, uint32_t tx_id);

  // Sets the observer that is told of each segment when it is first acknowledged, with the time
  // given below; null: none.
  void SetObserver(Rack* observer) { observer_ = observer; }

  // Takes a cumulative acknowledgement. Returns when the last segment that it is the first to
  // acknowledge had been sent. Returns kNever if there is none, or if any that it covers was sent
  // again: that one may be what the acknowledgement had to wait for (Karn's rule, RFC 6298 section
  // 3).
  Time Acknowledge(uint32_t first, Time now);

  // Takes a SACK of [first, last), cut to the outstanding segments. Returns the number of newly
  // SACKed segments.
  uint32_t Sack(uint32_t first, uint32_t last, Time now);

  // Marks lost every segment that is not SACKed and has at least `dupthresh` SACKed above it.
  void MarkLostBySacks(uint32_t dupthresh);

  // Marks one segment lost, or after a timeout all that are not SACKed, sent again or not.
  void MarkLost(uint32_t segment);
  void MarkAllLost();

  // Marks lost the copy sent last, even if an earlier one was lost already. Not for SACKed
  // segments.
  void MarkLatestCopyLost(uint32_t segment);

  bool FirstIsLost() const { return !segments_.empty() && segments_.front().lost; }

  // HasLost() returns true if a lost segment waits to be sent again; NextLost() returns the lowest
  // one.
  bool HasLost() const { return lost_ > sent_again_; }
  uint32_t NextLost();

  // The highest segment that is outstanding and not SACKed; there must be one.
  uint32_t HighestUnsacked() const;

  size_t memory_bytes() const {
    return segments_.capacity() * sizeof(Segment) + sacked_.memory_bytes();
  }

 private:
  void ForgetFront();
  void TellObserver(uint32_t segment, Time now) const;

  Rack* observer_ = nullptr;
  Ring<Segment> segments_;
  SegmentSet sacked_;
  uint32_t first_ = 0;
  uint32_t lost_ = 0;
  uint32_t sent_again_ = 0;      // Lost segments sent again.
  uint32_t loss_scan_ = 0;       // Below it, all segments are SACKed or have been found lost.
  uint32_t sacked_at_scan_ = 0;  // SACKed segments at or above loss_scan_.
  uint32_t resend_scan_ = 0;     // Below it, no lost segment waits to be sent again.
};

}  // namespace heddle
