// SPDX-License-Identifier: Apache-2.0
// Rack beside a plain model that follows RFC 8985 section 6.2 step by step, over random
// transmissions, ACKs, SACKs and losses; and what takes a window back (RFC 3708).

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/random.h"
#include "tests/support/printers.h"
#include "tests/support/window_kit.h"
#include "transport/rack.h"
#include "transport/scoreboard.h"
#include "transport/window_undo.h"

namespace heddle::rack_model_test {

class RackModel {
 public:
  struct Segment {
    Time sent;
    bool retransmitted = false;
    bool delivered = false;
    bool lost = false;  // And not sent again since.
  };

  std::vector<Segment> segments;  // All of the flow.
  uint32_t una = 0;

  // Step 1 to 3, and how far others had overtaken the segment.
  void OnDelivered(uint32_t number, Time now) {
    Segment& segment = segments[number];
    if (segment.delivered) return;
    segment.delivered = true;
    segment.lost = false;
    const Duration rtt = now - segment.sent;
    uint32_t overtakers = 0;
    if (number < fack_) overtakers = fack_ - number - 1;
    fack_with_ack_ = std::max(fack_with_ack_, number + 1);
    if (!segment.retransmitted) {
      min_rtt_ = std::min(min_rtt_, rtt.ps);
      extent_ = std::max(extent_, overtakers);
    } else {
      unproven_extent_ = std::max(unproven_extent_, overtakers);
      if (rtt.ps < min_rtt_) return;  // Of the copy before.
    }
    if (has_latest_ && !SentAfter(segment.sent, number, latest_sent_, latest_)) return;
    has_latest_ = true;
    latest_sent_ = segment.sent;
    latest_ = number;
    rtt_ = rtt;
  }
  void EndAck() { fack_ = fack_with_ack_; }

  // Step 4.
  void OnDsack() {
    extent_ = std::max(extent_, unproven_extent_);
    if (in_dsack_round_ && una < dsack_round_end_) return;
    in_dsack_round_ = true;
    dsack_round_end_ = static_cast<uint32_t>(segments.size());
    ++multiple_;
    recoveries_left_ = 16;
  }
  void OnRecoveryEnd() {
    if (recoveries_left_ == 0) return;
    if (--recoveries_left_ == 0) multiple_ = 1;
  }
  Duration Patience(bool in_recovery, bool many_sacked, Duration srtt) const {
    if (extent_ == 0 && (in_recovery || many_sacked)) return Duration{0};
    if (min_rtt_ == std::numeric_limits<int64_t>::max()) return Duration{0};
    return Duration{std::min(min_rtt_ * multiple_ / 4, srtt.ps)};
  }

  // Step 5. Returns when the next segment will be overdue.
  Time Detect(Time now, Duration patience) {
    Time next = kNever;
    for (uint32_t number = una; number < segments.size(); ++number) {
      Segment& segment = segments[number];
      if (segment.delivered || segment.lost || !has_latest_) continue;
      if (!SentAfter(latest_sent_, latest_, segment.sent, number)) continue;
      const Time overdue = segment.sent + rtt_ + patience;
      if (overdue <= now) {
        segment.lost = true;
      } else {
        next = std::min(next, overdue);
      }
    }
    return next;
  }

  uint32_t extent() const { return extent_; }
  void BeginEpisode() { unproven_extent_ = 0; }

 private:
  static bool SentAfter(Time a, uint32_t number_a, Time b, uint32_t number_b) {
    return a > b || (a == b && number_a > number_b);
  }

  bool has_latest_ = false;
  Time latest_sent_;
  uint32_t latest_ = 0;
  Duration rtt_{0};
  int64_t min_rtt_ = std::numeric_limits<int64_t>::max();
  uint32_t fack_ = 0;
  uint32_t fack_with_ack_ = 0;
  uint32_t extent_ = 0;
  uint32_t unproven_extent_ = 0;
  int64_t multiple_ = 1;
  int recoveries_left_ = 0;
  bool in_dsack_round_ = false;
  uint32_t dsack_round_end_ = 0;
};

class Comparison {
 public:
  explicit Comparison(uint64_t seed) : rng_(Rng::Stream(seed, "rack", 0)) {
    board_.Reset();
    board_.SetObserver(&rack_);
  }

  void Step() {
    if (rng_.Below(3) > 0) now_ = now_ + 1_ns * rng_.Below(400);
    const uint32_t end = board_.end();
    switch (rng_.Below(9)) {
      case 0:
      case 1:
        for (uint32_t n = rng_.Below(6); n-- > 0;) {
          board_.Append(now_, 0);
          model_.segments.push_back({.sent = now_});
        }
        break;
      case 2:
      case 3:
        if (end > board_.first()) Acknowledge();
        break;
      case 4:
        while (board_.HasLost() && rng_.Below(3) > 0) Resend(board_.NextLost());
        break;
      case 5:
        if (end > board_.first()) Resend(board_.first() + rng_.Below(end - board_.first()));
        break;
      case 6:
        rack_.OnDsack(board_.first(), end);
        model_.OnDsack();
        break;
      case 7:
        for (uint32_t n = rng_.Below(9); n-- > 0;) {
          rack_.OnRecoveryEnd();
          model_.OnRecoveryEnd();
        }
        break;
      default:
        if (rng_.Below(3) == 0) {
          rack_.BeginEpisode();
          model_.BeginEpisode();
        } else if (rng_.Below(3) == 0) {
          board_.MarkAllLost();
          for (uint32_t s = model_.una; s < end; ++s) {
            model_.segments[s].lost = !model_.segments[s].delivered;
          }
        }
    }
    Compare();
  }

 private:
  void Acknowledge() {
    const uint32_t first = board_.first();
    const uint32_t outstanding = board_.end() - first;
    const uint32_t una = first + (rng_.Below(2) == 0 ? rng_.Below(outstanding + 1) : 0);
    for (uint32_t blocks = rng_.Below(4); blocks-- > 0;) {
      const uint32_t from = first + rng_.Below(outstanding);
      const uint32_t to = from + 1 + rng_.Below(3);
      board_.Sack(from, to, now_);
      for (uint32_t s = from; s < std::min(to, board_.end()); ++s) model_.OnDelivered(s, now_);
    }
    board_.Acknowledge(una, now_);
    for (uint32_t s = first; s < una; ++s) model_.OnDelivered(s, now_);
    model_.una = una;
    rack_.EndAck();
    model_.EndAck();
  }

  void Resend(uint32_t segment) {
    if (board_.IsSacked(segment)) return;
    board_.Resend(segment, now_, 0);
    RackModel::Segment& its = model_.segments[segment];
    its.sent = now_;
    its.retransmitted = true;
    its.lost = false;
  }

  void Compare() {
    ASSERT_EQ(rack_.extent(), model_.extent());
    for (const Duration srtt : {1_ns, 100_ns, 10_us}) {
      for (const bool in_recovery : {false, true}) {
        for (const bool many : {false, true}) {
          ASSERT_EQ(rack_.Patience(in_recovery, many, srtt),
                    model_.Patience(in_recovery, many, srtt));
        }
      }
    }
    const Duration patience = rack_.Patience(rng_.Below(2) == 0, rng_.Below(2) == 0, 10_us);
    const Time next = model_.Detect(now_, patience);
    ASSERT_EQ(rack_.Detect(board_, now_, patience), next);
    for (uint32_t s = board_.first(); s != board_.end(); ++s) {
      const Scoreboard::Segment& segment = board_.At(s);
      ASSERT_EQ(segment.lost && !segment.sent_again, model_.segments[s].lost) << s;
    }
    // The timer may fire at that instant, or a picosecond before.
    if (next == kNever || rng_.Below(4) > 0) return;
    now_ = next - 1_ps * rng_.Below(2);
    ASSERT_EQ(rack_.Detect(board_, now_, patience), model_.Detect(now_, patience));
  }

  Rng rng_;
  Scoreboard board_;
  Rack rack_;
  RackModel model_;
  Time now_;
};

TEST(RackModelTest, FindsLostWhatTheRfcFindsLost) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Comparison comparison(seed);
    for (int step = 0; step < 300; ++step) ASSERT_NO_FATAL_FAILURE(comparison.Step()) << step;
  }
}

// --- Taking a window back ---

class PlainControl final : public WindowControl {
  bool OnAck(CongestionWindow&, const Acknowledgement&) const override { return false; }
};

// RFC 3708: the window comes back with the DSACK of the last retransmission of an episode, once.
TEST(WindowUndoTest, NeedsADsackForEachRetransmissionOfTheEpisode) {
  const PlainControl control;
  for (const int retransmissions : {1, 2, 5}) {
    WindowUndo undo;
    EXPECT_FALSE(undo.possible());
    CongestionWindow window = WindowOf(40);
    window.ssthresh = 30 * kTestMss;
    undo.Begin(window);
    EXPECT_TRUE(undo.possible());
    window.cwnd = 20 * kTestMss;
    window.ssthresh = 20 * kTestMss;
    undo.OnDsack(window, control);  // Of an earlier episode.
    for (int i = 0; i < retransmissions; ++i) undo.OnRetransmission();
    for (int i = 0; i < retransmissions; ++i) {
      EXPECT_TRUE(undo.possible());
      EXPECT_DOUBLE_EQ(window.cwnd, 20 * kTestMss);
      EXPECT_DOUBLE_EQ(window.ssthresh, 20 * kTestMss);
      undo.OnDsack(window, control);
    }
    EXPECT_FALSE(undo.possible());
    EXPECT_DOUBLE_EQ(window.cwnd, 40 * kTestMss);
    EXPECT_DOUBLE_EQ(window.ssthresh, 30 * kTestMss);
    // A window of a later episode counts from there on; more DSACKs of this one change nothing.
    window.cwnd = 10 * kTestMss;
    undo.OnRetransmission();
    undo.OnDsack(window, control);
    EXPECT_DOUBLE_EQ(window.cwnd, 10 * kTestMss);
    undo.Begin(window);
    undo.OnRetransmission();
    undo.OnRetransmission();
    undo.Begin(window);  // Forgets what was unproven before.
    window.cwnd = 5 * kTestMss;
    undo.OnRetransmission();
    undo.OnDsack(window, control);
    EXPECT_DOUBLE_EQ(window.cwnd, 10 * kTestMss);
  }
}

// Nothing to take back before the first episode.
TEST(WindowUndoTest, ChangesNothingBeforeTheFirstEpisode) {
  WindowUndo undo;
  CongestionWindow window = WindowOf(0);
  window.ssthresh = 0;
  undo.OnRetransmission();
  undo.OnDsack(window, PlainControl());
  EXPECT_DOUBLE_EQ(window.cwnd, 0);
  EXPECT_DOUBLE_EQ(window.ssthresh, 0);
}

}  // namespace heddle::rack_model_test
