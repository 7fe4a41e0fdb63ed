// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp/scoreboard.h"

#include <algorithm>

#include "transport/tcp/rack.h"

namespace heddle {

void Scoreboard::Reset() {
  segments_.clear();
  sacked_.Reset(0);
  first_ = lost_ = sent_again_ = loss_scan_ = sacked_at_scan_ = resend_scan_ = 0;
}

void Scoreboard::Resend(uint32_t segment, Time now, uint32_t tx_id) {
  Segment& again = segments_[segment - first_];
  again.sent = now;
  again.previous_tx_id = again.tx_id;
  again.tx_id = tx_id;
  again.ever_retransmitted = true;
  if (again.lost && !again.sent_again) {
    again.sent_again = true;
    ++sent_again_;
  }
}

Time Scoreboard::Acknowledge(uint32_t first, Time now) {
  Time sample = kNever;
  bool ambiguous = false;
  while (first_ != first && !segments_.empty()) {
    const Segment& front = segments_.front();
    ambiguous = ambiguous || front.ever_retransmitted;
    if (!IsSacked(first_)) {
      sample = front.sent;
      TellObserver(first_, now);
    }
    ForgetFront();
  }
  first_ = first;
  loss_scan_ = std::max(loss_scan_, first);
  resend_scan_ = std::max(resend_scan_, first);
  if (!sacked_.empty()) sacked_.AdvanceTo(first);
  return ambiguous ? kNever : sample;
}

void Scoreboard::ForgetFront() {
  const Segment& front = segments_.front();
  lost_ -= front.lost ? 1 : 0;
  sent_again_ -= front.sent_again ? 1 : 0;
  if (!sacked_.empty() && first_ >= loss_scan_ && sacked_.Contains(first_)) --sacked_at_scan_;
  segments_.pop_front();
  ++first_;
}

void Scoreboard::TellObserver(uint32_t segment, Time now) const {
  if (observer_ != nullptr) observer_->OnDelivered(segment, At(segment), now);
}

uint32_t Scoreboard::Sack(uint32_t first, uint32_t last, Time now) {
  first = std::max(first, first_);
  last = std::min(last, end());
  if (first >= last) return 0;
  if (sacked_.empty()) sacked_.Reset(first_);
  const uint32_t before = sacked_.size();
  sacked_.Insert(first, last, [this, now](uint32_t segment) {
    TellObserver(segment, now);
    Segment& arrived = segments_[segment - first_];
    lost_ -= arrived.lost ? 1 : 0;
    sent_again_ -= arrived.sent_again ? 1 : 0;
    arrived.lost = arrived.sent_again = false;
    if (segment >= loss_scan_) ++sacked_at_scan_;
  });
  return sacked_.size() - before;
}

void Scoreboard::MarkLostBySacks(uint32_t dupthresh) {
  while (loss_scan_ < end()) {
    const bool is_sacked = sacked_.Contains(loss_scan_);
    const uint32_t above = sacked_at_scan_ - (is_sacked ? 1 : 0);
    if (above < dupthresh) return;
    if (!is_sacked) MarkLost(loss_scan_);
    sacked_at_scan_ = above;
    ++loss_scan_;
  }
}

void Scoreboard::MarkLost(uint32_t segment) {
  Segment& lost = segments_[segment - first_];
  if (lost.lost || sacked_.Contains(segment)) return;
  lost.lost = true;
  ++lost_;
  resend_scan_ = std::min(resend_scan_, segment);
}

void Scoreboard::MarkLatestCopyLost(uint32_t segment) {
  Segment& lost = segments_[segment - first_];
  if (!lost.lost) return MarkLost(segment);
  if (!lost.sent_again) return;
  lost.sent_again = false;
  --sent_again_;
  resend_scan_ = std::min(resend_scan_, segment);
}

void Scoreboard::MarkAllLost() {
  lost_ = sent_again_ = 0;
  for (uint32_t segment = first_; segment != end(); ++segment) {
    Segment& lost = segments_[segment - first_];
    lost.sent_again = false;
    lost.lost = !sacked_.Contains(segment);
    lost_ += lost.lost ? 1 : 0;
  }
  loss_scan_ = end();
  sacked_at_scan_ = 0;
  resend_scan_ = first_;
}

uint32_t Scoreboard::NextLost() {
  for (;; ++resend_scan_) {
    const Segment& segment = segments_[resend_scan_ - first_];
    if (segment.lost && !segment.sent_again) return resend_scan_;
  }
}

uint32_t Scoreboard::HighestUnsacked() const {
  uint32_t segment = end() - 1;
  while (sacked_.Contains(segment)) --segment;
  return segment;
}

}  // namespace heddle
