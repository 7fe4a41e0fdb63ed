// SPDX-License-Identifier: Apache-2.0
// The coupled congestion controls of MPTCP, ACK by ACK, against numbers computed by hand.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/settings_from.h"
#include "tests/support/window_kit.h"
#include "transport/congestion_controls.h"

namespace heddle::coupled_test {

constexpr double kMss = kTestMss;

// Subflows in congestion avoidance with round trip times of 100 us.
class Subflows {
 public:
  Subflows(const std::string& kind, const std::vector<double>& segments)
      : control_(KindFrom(kind, CongestionControls().subflows()).settings->Prepare({})) {
    windows_.reserve(segments.size());
    for (const double size : segments) {
      CongestionWindow& window = windows_.emplace_back(WindowOf(size));
      window.ssthresh = window.cwnd;
      window.srtt = 100_us;
      window.coupling = &coupling_;
      control_->Start(window, 1);
      coupling_.windows.push_back(&window);
    }
  }

  CongestionWindow& operator[](size_t i) { return windows_[i]; }
  const WindowControl& control() const { return *control_; }
  const Coupling& coupling() const { return coupling_; }

  // Returns by how many segments the ACK of one segment makes window i grow.
  double GrowthOf(size_t i) {
    const double before = windows_[i].cwnd;
    control_->OnAck(windows_[i], Acked(++una_, 100));
    return (windows_[i].cwnd - before) / kMss;
  }

 private:
  const std::unique_ptr<const WindowControl> control_;
  std::vector<CongestionWindow> windows_;
  Coupling coupling_;
  uint32_t una_ = 0;
};

// --- LIA ---

TEST(LiaTest, GrowsByTheNumbersComputedByHand) {
  EXPECT_NEAR(Subflows("lia", {10, 10}).GrowthOf(0), 0.025, 1e-9);
  EXPECT_NEAR(Subflows("lia", {10, 10}).GrowthOf(1), 0.025, 1e-9);
  EXPECT_NEAR(Subflows("lia", std::vector<double>(8, 5)).GrowthOf(3), 0.003125, 1e-9);
  for (const size_t i : {0, 1}) {
    Subflows unequal("lia", {10, 10});
    unequal[1].srtt = 200_us;
    EXPECT_NEAR(unequal.GrowthOf(i), 0.8888889 / 20, 1e-7);
    EXPECT_NEAR(unequal.coupling().alpha, 0.8888889, 1e-7);
  }
}

// Alpha is 14.6 here, so the long path would grow by 0.35 on each ACK; a TCP alone by 1 in 40.
TEST(LiaTest, NeverGrowsFasterThanATcp) {
  Subflows flows("lia", {2, 40});
  flows[0].srtt = 10_us;
  flows[1].srtt = 1_ms;
  EXPECT_NEAR(flows.GrowthOf(1), 1.0 / 40, 1e-9);
  EXPECT_NEAR(flows.coupling().alpha, 42 * 0.02 / (0.24 * 0.24), 1e-6);
}

TEST(LiaTest, IsRenoAlone) {
  Subflows alone("lia", {10});
  EXPECT_NEAR(alone.GrowthOf(0), 0.1, 1e-9);
  Subflows unmeasured("lia", {10, 10});
  unmeasured[1].srtt = Duration{0};
  EXPECT_NEAR(unmeasured.GrowthOf(0), 0.1, 1e-9);
}

// RFC 6356 section 4.1: alpha is kept until some window passes a whole segment, and at a loss.
TEST(LiaTest, ComputesAlphaWhenAWindowPassesASegment) {
  Subflows flows("lia", {10, 10});
  flows.GrowthOf(0);
  flows.GrowthOf(0);  // The first ACK has noted ten segments.
  const double alpha = flows.coupling().alpha;
  flows[1].srtt = 1_ms;
  flows.GrowthOf(0);
  EXPECT_EQ(flows.coupling().alpha, alpha);
  while (flows[0].cwnd < 11 * kMss) flows.GrowthOf(0);
  flows.GrowthOf(0);
  EXPECT_GT(flows.coupling().alpha, alpha);

  Subflows lossy("lia", {10, 10});
  lossy.GrowthOf(0);
  lossy.GrowthOf(0);
  const double before = lossy.coupling().alpha;
  lossy[1].cwnd = 5 * kMss;
  lossy.control().OnLoss(lossy[1], 1);
  lossy.GrowthOf(0);
  EXPECT_NE(lossy.coupling().alpha, before);
}

// RFC 6356 section 4: the window may be inflated then.
TEST(LiaTest, CountsSsthreshOfASubflowInRecovery) {
  Subflows flows("lia", {10, 30});
  flows[1].ssthresh = 10 * kMss;
  flows[1].in_recovery = true;
  EXPECT_NEAR(flows.GrowthOf(0), 0.025, 1e-9);
}

TEST(CoupledTest, SlowStartIsThatOfATcp) {
  for (const char* kind : {"lia", "olia"}) {
    Subflows flows(kind, {10, 10});
    flows[0].ssthresh = 100 * kMss;
    EXPECT_EQ(flows.GrowthOf(0), 1) << kind;
  }
}

// RFC 6356 section 3.
TEST(CoupledTest, SsthreshFallsToOneSegmentWithSeveralSubflows) {
  for (const char* kind : {"lia", "olia"}) {
    SCOPED_TRACE(kind);
    Subflows flows(kind, {10, 10});
    flows.control().SetThreshold(flows[0], 10 * kMss);
    EXPECT_EQ(flows[0].ssthresh, 5 * kMss);
    flows.control().SetThreshold(flows[0], kMss);
    EXPECT_EQ(flows[0].ssthresh, kMss);
    Subflows alone(kind, {10});
    alone.control().SetThreshold(alone[0], kMss);
    EXPECT_EQ(alone[0].ssthresh, 2 * kMss);
  }
}

TEST(CoupledTest, AMarkHalvesTheSubflowOncePerWindow) {
  for (const char* kind : {"lia", "olia"}) {
    SCOPED_TRACE(kind);
    Subflows flows(kind, {10, 10});
    EXPECT_TRUE(flows.control().OnAck(flows[0], Acked(1, 9, true)));
    EXPECT_EQ(flows[0].cwnd, 4.5 * kMss);
    EXPECT_FALSE(flows.control().OnAck(flows[0], Acked(2, 9, true)));
    EXPECT_EQ(flows[0].cwnd, 4.5 * kMss);
    EXPECT_EQ(flows[1].cwnd, 10 * kMss);
  }
}

// --- OLIA ---

// Acknowledges bytes in recovery, in which the window does not grow.
void Deliver(Subflows& flows, size_t i, int64_t bytes) {
  Acknowledgement ack = Acked(1, 100);
  ack.bytes = bytes;
  ack.in_recovery = true;
  flows.control().OnAck(flows[i], ack);
}

// Subflow 0 has the largest window and subflow 1 the most bytes between losses: 100 and 400.
TEST(OliaTest, GrowsByTheNumbersComputedByHand) {
  for (const bool after_a_loss : {false, true}) {
    for (const size_t i : {0, 1}) {
      Subflows flows("olia", {10, 4});
      Deliver(flows, 0, 100'000 - (i == 0 && !after_a_loss ? 1'000 : 0));
      Deliver(flows, 1, 400'000 - (i == 1 && !after_a_loss ? 1'000 : 0));
      if (after_a_loss) {
        for (const size_t k : {0, 1}) flows.control().OnLoss(flows[k], 0);
      }
      EXPECT_NEAR(flows.GrowthOf(i), i == 0 ? 0.00102 : 0.1454, 1e-5);
    }
  }
}

// Alpha is 0 for all, which leaves the term w / rtt^2 / sum(w / rtt)^2.
TEST(OliaTest, HasNoAlphaIfTheBestSubflowsHaveTheLargestWindows) {
  Subflows flows("olia", {10, 4});
  Deliver(flows, 0, 400'000);
  Deliver(flows, 1, 100'000);
  EXPECT_NEAR(flows.GrowthOf(0), 10.0 / 196, 1e-9);
  Subflows equal("olia", {10, 10});
  Deliver(equal, 0, 1'000);
  Deliver(equal, 1, 2'000);
  equal.GrowthOf(0);  // Both have 2000 bytes now.
  equal[0].cwnd = 10 * kMss;
  EXPECT_NEAR(equal.GrowthOf(1), 10.0 / 400, 1e-9);
}

// A third subflow, neither best nor largest, has alpha 0.
TEST(OliaTest, OnlyTheBestAndTheLargestHaveAlpha) {
  Subflows flows("olia", {10, 4, 6});
  Deliver(flows, 0, 100'000);
  Deliver(flows, 1, 400'000);
  Deliver(flows, 2, 200'000);
  EXPECT_NEAR(flows.GrowthOf(2), 6.0 / 400, 1e-9);
  EXPECT_NEAR(flows.GrowthOf(0), 10.0 / (20.015 * 20.015) - 1.0 / 3 / 10, 1e-4);
}

TEST(OliaTest, KeepsAWindowOfOneSegment) {
  Subflows flows("olia", {1.01, 1});
  Deliver(flows, 1, 400'000);
  flows[1].ssthresh = flows[0].ssthresh = kMss;
  for (int i = 0; i < 100; ++i) flows.GrowthOf(0);
  EXPECT_GE(flows[0].cwnd, kMss);
}

// Every control of TCP serves subflows too, each on its own.
TEST(CoupledTest, TheControlsOfTcpRunOnSubflowsAlone) {
  for (const std::string& kind : CongestionControls().windows().Names()) {
    EXPECT_TRUE(CongestionControls().subflows().Knows(kind)) << kind;
  }
  EXPECT_FALSE(CongestionControls().windows().Knows("lia"));
  EXPECT_NEAR(Subflows("reno", {10, 10}).GrowthOf(0), 0.1, 1e-9);
}

}  // namespace heddle::coupled_test
