// SPDX-License-Identifier: Apache-2.0
// DCTCP's window, ACK by ACK.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/controls_from.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/window_kit.h"

namespace heddle::dctcp_test {

constexpr double kMss = kTestMss;

double AlphaOf(const WindowControl& control, const CongestionWindow& window) {
  return control.MarkedShare(window).value();
}

TEST(DctcpWindowTest, MovesAlphaByTheShareOfMarkedBytesOncePerWindow) {
  Rng rng = Rng::Stream(1, "dctcp", 0);
  const auto dctcp = WindowControlFrom("dctcp");
  CongestionWindow window = WindowOf(20);
  dctcp->Start(window, 20);
  EXPECT_EQ(AlphaOf(*dctcp, window), 1);
  double alpha = 1;
  int64_t acked = 0;
  int64_t marked = 0;
  uint32_t window_end = 20;
  for (uint32_t una = 1; una < 5'000; ++una) {
    const bool echo = rng.Below(100) < una % 100;
    ++acked;
    marked += echo ? 1 : 0;
    dctcp->OnAck(window, Acked(una, 20, echo));
    if (una > window_end) {
      alpha = alpha * 15 / 16 + static_cast<double>(marked) / static_cast<double>(acked) / 16;
      acked = marked = 0;
      window_end = una + 20;
    }
    ASSERT_NEAR(AlphaOf(*dctcp, window), alpha, 1e-9) << una;
  }
}

TEST(DctcpWindowTest, ShrinksByHalfOfAlphaAtMostOncePerWindow) {
  const auto dctcp = WindowControlFrom("{kind: dctcp, alpha0: 0.5}");
  CongestionWindow window = WindowOf(100);
  dctcp->Start(window, 100);
  EXPECT_TRUE(dctcp->OnAck(window, Acked(1, 100, true)));
  EXPECT_DOUBLE_EQ(window.cwnd, 75 * kMss);
  EXPECT_EQ(window.ssthresh, window.cwnd);
  for (uint32_t una = 2; una <= 101; ++una) {
    EXPECT_FALSE(dctcp->OnAck(window, Acked(una, 100, una % 2 == 0)));
    ASSERT_DOUBLE_EQ(window.cwnd, 75 * kMss) << "neither shrinks nor grows before " << una;
  }
  EXPECT_TRUE(dctcp->OnAck(window, Acked(102, 100, true)));
}

TEST(DctcpWindowTest, CountsALossAsTheReductionOfItsWindow) {
  const auto dctcp = WindowControlFrom("dctcp");
  CongestionWindow window = WindowOf(100);
  dctcp->Start(window, 100);
  dctcp->OnLoss(window, 120);
  EXPECT_FALSE(dctcp->OnAck(window, Acked(120, 50, true)));
  EXPECT_TRUE(dctcp->OnAck(window, Acked(121, 50, true)));
}

// After a timeout the window is one segment, less than min_cwnd.
TEST(DctcpWindowTest, AMarkNeverRaisesTheWindow) {
  const auto dctcp = WindowControlFrom("dctcp");
  CongestionWindow window = WindowOf(1);
  dctcp->Start(window, 1);
  EXPECT_TRUE(dctcp->OnAck(window, Acked(1, 1, true)));
  EXPECT_EQ(window.cwnd, kMss);
}

TEST(DctcpWindowTest, KeepsItsMinimumAndItsAlphaThroughATimeout) {
  const auto dctcp = WindowControlFrom("dctcp");
  CongestionWindow window = WindowOf(3);
  dctcp->Start(window, 3);
  dctcp->OnAck(window, Acked(1, 3, true));
  EXPECT_EQ(window.cwnd, 2 * kMss);
  const double alpha = AlphaOf(*dctcp, window);
  dctcp->OnTimeout(window, 50);
  EXPECT_EQ(AlphaOf(*dctcp, window), alpha);
}

// The mark before the timeout is forgotten. The observation ends with the first ACK beyond segment
// 50: two of its 40 ACKs had a mark.
TEST(DctcpWindowTest, ObservesAfreshAfterATimeout) {
  const auto dctcp = WindowControlFrom("dctcp");
  CongestionWindow window = WindowOf(40);
  dctcp->Start(window, 40);
  for (uint32_t una = 1; una <= 11; ++una) dctcp->OnAck(window, Acked(una, 40, true));
  EXPECT_EQ(AlphaOf(*dctcp, window), 1);
  dctcp->OnTimeout(window, 50);
  for (uint32_t una = 12; una <= 50; ++una) dctcp->OnAck(window, Acked(una, 40, una <= 13));
  EXPECT_EQ(AlphaOf(*dctcp, window), 1);
  dctcp->OnAck(window, Acked(51, 40));
  EXPECT_DOUBLE_EQ(AlphaOf(*dctcp, window), 15.0 / 16 + 2.0 / 40 / 16);
}

TEST(DctcpWindowTest, GrowsInTheReducedWindowOnlyIfToldTo) {
  for (const bool grow : {false, true}) {
    const auto dctcp =
        WindowControlFrom(grow ? "{kind: dctcp, grow_in_cwr: true}" : "{kind: dctcp}");
    CongestionWindow window = WindowOf(100);
    dctcp->Start(window, 100);
    dctcp->OnAck(window, Acked(1, 100, true));
    const double reduced = window.cwnd;
    dctcp->OnAck(window, Acked(2, 100));
    EXPECT_EQ(window.cwnd > reduced, grow);
  }
}

// The window was reduced at segment 1, for all 100 that were under way, when a timeout came.
TEST(DctcpWindowTest, GrowsAfterATimeoutWhateverCameBefore) {
  const auto dctcp = WindowControlFrom("dctcp");
  CongestionWindow window = WindowOf(100);
  dctcp->Start(window, 100);
  dctcp->OnAck(window, Acked(1, 100, true));
  window.cwnd = kMss;
  dctcp->OnTimeout(window, 101);
  dctcp->OnAck(window, Acked(2, 99));
  EXPECT_EQ(window.cwnd, 2 * kMss);
}

// Segments 10 and 20 to 39 of forty are lost, and the retransmission of 10 as well. Returns how
// many segments are sent in each round trip of 80 us after the timeout.
std::vector<int> RoundsAfterATimeout(const std::string& kind, bool marks_ten) {
  std::vector<Rule> rules = {DropAt(0, Data(0, 10)).Times(2)};
  for (uint32_t segment = 20; segment < 40; ++segment) {
    rules.push_back(DropAt(0, Data(0, segment)).Times(1));
  }
  if (marks_ten) rules.push_back(MarkAt(2, Data(0, 10)));
  std::vector<int> rounds;
  Time last;
  rules.push_back(WatchAt(1, AllData(0), [&](const SwitchView& view, const Packet&) {
    if (view.now() < Time{} + 10_ms) return;
    if (view.now() - last > 30_us) rounds.push_back(0);
    ++rounds.back();
    last = view.now();
  }));
  Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
           .transport = "{kind: " + kind + ", iw: 40}",
           .switch_policy = Scripted(std::move(rules))});
  lab.AddFlow(0, 1, 40 * 1'460);
  lab.Run();
  EXPECT_EQ(lab.Record(0).sender.timeouts, 1);
  return rounds;
}

TEST(DctcpNetworkTest, ATimeoutInTheWindowOfALossIsFollowedBySlowStart) {
  const std::vector<int> doubling = {1, 2, 4, 8, 6};
  EXPECT_EQ(RoundsAfterATimeout("tcp", false), doubling);
  EXPECT_EQ(RoundsAfterATimeout("dctcp", false), doubling);
}

// An ACK with an echo lets no window grow; and as the loss has reduced the window of forty, it
// reduces nothing more.
TEST(DctcpNetworkTest, AMarkAfterATimeoutInTheWindowOfALossOnlyDelaysGrowth) {
  EXPECT_EQ(RoundsAfterATimeout("dctcp", true), (std::vector<int>{1, 1, 2, 4, 8, 5}));
}

}  // namespace heddle::dctcp_test
