// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp/rack.h"

namespace heddle {
namespace {

constexpr int32_t kRecoveriesOfPatience = 16;

}  // namespace

void Rack::OnDelivered(uint32_t number, const Scoreboard::Segment& segment, Time now) {
  const Duration rtt = now - segment.sent;
  const uint32_t overtaken_by = number + 1 < forward_ ? forward_ - number - 1 : 0;
  next_forward_ = std::max(next_forward_, number + 1);
  if (!segment.ever_retransmitted) {
    min_rtt_ = std::min(min_rtt_, rtt);
    extent_ = std::max(extent_, overtaken_by);
  } else {
    resent_extent_ = std::max(resent_extent_, overtaken_by);
    if (rtt < min_rtt_) return;  // An earlier copy has arrived.
  }
  if (!SentLater(number, segment.sent)) return;
  sent_ = segment.sent;
  number_ = number;
  rtt_ = rtt;
}

void Rack::OnDsack(uint32_t una, uint32_t nxt) {
  extent_ = std::max(extent_, resent_extent_);
  if (una < dsack_round_) return;
  dsack_round_ = nxt;
  ++patience_;
  patience_left_ = kRecoveriesOfPatience;
}

void Rack::OnRecoveryEnd() {
  if (patience_left_ > 0 && --patience_left_ == 0) patience_ = 1;
}

Duration Rack::Patience(bool in_recovery, bool many_sacked, Duration srtt) const {
  const bool reordering_seen = extent_ > 0;
  if (!reordering_seen && (in_recovery || many_sacked)) return Duration{0};
  if (min_rtt_.ps == kNever.ps) return Duration{0};
  const Duration patience = min_rtt_ * patience_ / 4;
  return srtt.ps > 0 ? std::min(patience, srtt) : patience;  // 0: no sample yet.
}

Time Rack::Detect(Scoreboard& board, Time now, Duration patience) const {
  Time next = kNever;
  for (uint32_t number = board.first(); number != board.end(); ++number) {
    const Scoreboard::Segment& segment = board.At(number);
    if (SentLater(number, segment.sent)) {
      if (!segment.ever_retransmitted) break;  // All above it were sent later still.
      continue;
    }
    if (board.IsSacked(number) || (segment.lost && !segment.sent_again)) continue;
    const Time overdue = segment.sent + rtt_ + patience;
    if (overdue <= now) {
      board.MarkLatestCopyLost(number);
    } else {
      next = std::min(next, overdue);
    }
  }
  return next;
}

}  // namespace heddle
