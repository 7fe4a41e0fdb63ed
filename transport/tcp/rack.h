// SPDX-License-Identifier: Apache-2.0
// Rack detects losses by time (RFC 8985): a segment is lost if one sent later has arrived and it
// has had a round trip, and some patience, to arrive too. The scoreboard tells it of each delivery,
// and the TCP sender asks it for losses. It also measures how far packets overtake each other, from
// which a threshold of duplicate ACKs can learn.

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/units.h"
#include "transport/tcp/scoreboard.h"

namespace heddle {

class Rack {
 public:
  // Segment `number` has been acknowledged, or SACKed, for the first time (RFC 8985 section 6.2,
  // steps 1 to 3).
  void OnDelivered(uint32_t number, const Scoreboard::Segment& segment, Time now);

  // Called after everything that one ACK has delivered: the segments of one ACK do not count as
  // overtaking each other, whatever the order of its blocks.
  void EndAck() { forward_ = next_forward_; }

  // An ACK says that a segment has arrived twice; [una, nxt) is outstanding. Patience grows at most
  // once a round trip, and is kept for 16 recoveries (section 6.2 step 4).
  void OnDsack(uint32_t una, uint32_t nxt);
  void OnRecoveryEnd();

  // Returns how long a segment may be late beyond a round trip.
  Duration Patience(bool in_recovery, bool many_sacked, Duration srtt) const;

  // Marks overdue segments lost (section 6.2 step 5) and returns when the next one will be overdue,
  // kNever if none.
  Time Detect(Scoreboard& board, Time now, Duration patience) const;

  // The most segments that have overtaken one that then arrived. It counts segments sent once, and
  // segments sent again in this episode if a DSACK proves the retransmission spurious.
  uint32_t extent() const { return extent_; }
  void BeginEpisode() { resent_extent_ = 0; }

 private:
  bool SentLater(uint32_t number, Time sent) const {
    return sent > sent_ || (sent == sent_ && number >= number_);
  }

  // The segment sent last among those delivered.
  Time sent_{-1};
  uint32_t number_ = 0;
  Duration rtt_{0};

  Duration min_rtt_{kNever.ps};
  uint32_t forward_ = 0;       // One past the highest segment delivered before this ACK,
  uint32_t next_forward_ = 0;  // and with it.
  uint32_t extent_ = 0;
  uint32_t resent_extent_ = 0;
  int32_t patience_ = 1;       // The multiple of a quarter of min_rtt_.
  int32_t patience_left_ = 0;  // Recoveries until it is 1 again.
  int64_t dsack_round_ = -1;   // Segment at which the round trip of the last DSACK ends.
};

}  // namespace heddle
