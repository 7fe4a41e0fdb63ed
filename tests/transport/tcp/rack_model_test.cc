// SPDX-License-Identifier: Apache-2.0
// Rack beside a plain model that follows RFC 8985 section 6.2 step by step, over random
// transmissions, ACKs, SACKs and losses; and what takes a window back (RFC 3708).

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "core/random.h"
#include "tests/support/printers.h"
#include "tests/support/rack_model.h"
#include "tests/support/window_kit.h"
#include "transport/tcp/rack.h"
#include "transport/tcp/scoreboard.h"
#include "transport/tcp/window_undo.h"

namespace heddle::rack_model_test {

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
    for (const Duration srtt : {0_ps, 1_ns, 100_ns, 10_us}) {
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
