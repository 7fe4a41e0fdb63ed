// SPDX-License-Identifier: Apache-2.0
// Reno's window, ACK by ACK, and the growth that other windows share with it.

#include <gtest/gtest.h>

#include "tests/support/controls_from.h"
#include "tests/support/window_kit.h"

namespace heddle::reno_test {

constexpr double kMss = kTestMss;

TEST(WindowGrowthTest, IsOneSegmentPerAckInSlowStartAndPerWindowAfterIt) {
  CongestionWindow window = WindowOf(10);
  GrowWindow(window, 1'000, 1);
  EXPECT_EQ(window.cwnd, 11 * kMss);
  GrowWindow(window, 5'000, 1);
  EXPECT_EQ(window.cwnd, 12 * kMss);
  GrowWindow(window, 5'000, 2);
  EXPECT_EQ(window.cwnd, 14 * kMss);
  GrowWindow(window, 100, 2);
  EXPECT_EQ(window.cwnd, 14.1 * kMss);
  window = WindowOf(100);
  window.ssthresh = window.cwnd;
  for (int i = 0; i < 100; ++i) GrowWindow(window, 1'000, 1);
  EXPECT_NEAR(window.cwnd, 101 * kMss, 0.01 * kMss);
}

TEST(WindowGrowthTest, WaitsForAWindowThatLimitsAndForTheEndOfRecovery) {
  for (const char* kind : {"reno", "dctcp"}) {
    SCOPED_TRACE(kind);
    const auto control = WindowControlFrom(kind);
    CongestionWindow window = WindowOf(10);
    control->Start(window, 10);
    Acknowledgement ack = Acked(1, 9);
    ack.window_limited = false;
    EXPECT_FALSE(control->OnAck(window, ack));
    EXPECT_EQ(window.cwnd, 10 * kMss);
    ack = Acked(2, 9);
    ack.in_recovery = true;
    control->OnAck(window, ack);
    EXPECT_EQ(window.cwnd, 10 * kMss);
    control->OnAck(window, Acked(3, 9));
    EXPECT_EQ(window.cwnd, 11 * kMss);
  }
}

// L of RFC 3465 is 2 where an ACK may stand for two segments.
TEST(WindowGrowthTest, MayBeOfTwoSegmentsWhereAcksAreDelayed) {
  TcpSettings tcp;
  tcp.delack_count = 2;
  for (const char* kind : {"reno", "dctcp"}) {
    SCOPED_TRACE(kind);
    const auto control = WindowControlFrom(kind, tcp);
    CongestionWindow window = WindowOf(10);
    control->Start(window, 10);
    Acknowledgement ack = Acked(2, 8);
    ack.bytes = 2'000;
    control->OnAck(window, ack);
    EXPECT_EQ(window.cwnd, 12 * kMss);
  }
}

// RFC 3168 section 6.1.2.
TEST(RenoWindowTest, HalvesOncePerWindowOfMarks) {
  const auto reno = WindowControlFrom("reno");
  CongestionWindow window = WindowOf(100);
  reno->Start(window, 100);
  EXPECT_TRUE(reno->OnAck(window, Acked(1, 100, true)));
  EXPECT_EQ(window.cwnd, 50 * kMss);
  EXPECT_FALSE(reno->OnAck(window, Acked(101, 50, true)));
  EXPECT_EQ(window.cwnd, 50 * kMss);
  EXPECT_TRUE(reno->OnAck(window, Acked(102, 3, true)));
  EXPECT_EQ(window.cwnd, 2 * kMss);  // The minimum.
  window.cwnd = kMss;                // After a timeout.
  EXPECT_TRUE(reno->OnAck(window, Acked(106, 1, true)));
  EXPECT_EQ(window.cwnd, kMss);
}

// RFC 5681 equation (4): half of what is outstanding, whatever the window; two segments at least.
// The loss has reduced the window. An ACK beyond all that had been sent then may still be one of
// the recovery, if it ends it.
TEST(MarkTest, InARecoveryReducesNothingMore) {
  for (const char* kind : {"reno", "cubic", "dctcp"}) {
    SCOPED_TRACE(kind);
    const auto control = WindowControlFrom(kind);
    CongestionWindow window = WindowOf(20);
    control->Start(window, 20);
    control->OnLoss(window, 30);
    Acknowledgement ack = Acked(35, 10, true);
    ack.in_recovery = true;
    EXPECT_FALSE(control->OnAck(window, ack));
    EXPECT_EQ(window.cwnd, 20 * kTestMss);
    EXPECT_TRUE(control->OnAck(window, Acked(36, 10, true)));
    EXPECT_LT(window.cwnd, 20 * kTestMss);
  }
}

TEST(RenoWindowTest, TakesHalfOfWhatIsOutstandingForItsThreshold) {
  const auto reno = WindowControlFrom("reno");
  CongestionWindow window = WindowOf(100);
  reno->Start(window, 100);
  reno->SetThreshold(window, 60 * kMss);
  EXPECT_EQ(window.ssthresh, 30 * kMss);
  EXPECT_EQ(window.cwnd, 100 * kMss);
  reno->SetThreshold(window, 3 * kMss);
  EXPECT_EQ(window.ssthresh, 2 * kMss);
}

TEST(RenoWindowTest, TakesBackWhatAFalseLossHasCost) {
  const auto reno = WindowControlFrom("reno");
  CongestionWindow window = WindowOf(100);
  reno->Start(window, 100);
  const CongestionWindow before = window;
  window.cwnd = window.ssthresh = 50 * kMss;
  reno->Undo(window, before);
  EXPECT_EQ(window.cwnd, 100 * kMss);
  EXPECT_EQ(window.ssthresh, before.ssthresh);
  window.cwnd = 120 * kMss;  // Larger than it was.
  reno->Undo(window, before);
  EXPECT_EQ(window.cwnd, 120 * kMss);
}

}  // namespace heddle::reno_test
