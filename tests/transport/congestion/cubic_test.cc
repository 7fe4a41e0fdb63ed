// SPDX-License-Identifier: Apache-2.0
// CUBIC against RFC 9438: its equations with numbers worked out by hand, the average windows of its
// tables, and what it says of timeouts, of ECN and of flows that something else limits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/support/controls_from.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/window_kit.h"

namespace heddle::cubic_test {

using testing::HasSubstr;

// One flow. Windows are in segments, times in seconds.
class Flow {
 public:
  explicit Flow(double cwnd, const std::string& settings = "", double srtt = 0)
      : control_(WindowControlFrom("{kind: cubic" + settings + "}")),
        window_(WindowOf(cwnd)),
        srtt_(Time{} + 1_us * std::llround(1e6 * srtt) - Time{}) {
    control_->Start(window_, 10);
  }

  // A loss while the whole window, or this number of segments, is outstanding, and its repair.
  void Lose() { Lose(cwnd()); }
  void Lose(double flight) {
    control_->SetThreshold(window_, flight * kTestMss);
    window_.cwnd = window_.ssthresh;
    control_->OnLoss(window_, una_);
  }
  void TimeOut() {
    control_->SetThreshold(window_, window_.cwnd);
    window_.cwnd = window_.mss;
    control_->OnTimeout(window_, una_);
  }
  // The ACK of one segment, `after` the last ACK.
  bool Ack(double after, bool limited = true, bool echo = false, uint32_t flight = 50) {
    now_ += 1_ns * std::llround(1e9 * after);
    Acknowledgement ack = Acked(++una_, flight, echo);
    ack.window_limited = limited;
    ack.now = now_;
    ack.srtt = srtt_;
    return control_->OnAck(window_, ack);
  }
  // The ACK of this number of segments at once.
  void AckAtOnce(int segments) {
    una_ += static_cast<uint32_t>(segments);
    Acknowledgement ack = Acked(una_, 50);
    ack.bytes = segments * static_cast<int64_t>(kTestMss);
    ack.now = now_;
    control_->OnAck(window_, ack);
  }
  // Its own clock: the ACKs of one window are spread over a round trip.
  void AckClocked(double seconds) {
    const Time end = now_ + 1_ns * std::llround(1e9 * seconds);
    while (now_ < end) Ack(Seconds(srtt_) / std::floor(cwnd()));
  }

  double cwnd() const { return window_.cwnd / kTestMss; }
  double ssthresh() const { return window_.ssthresh / kTestMss; }
  Time now() const { return now_; }
  const WindowControl& control() const { return *control_; }
  CongestionWindow& window() { return window_; }

 private:
  std::unique_ptr<const WindowControl> control_;
  CongestionWindow window_;
  const Duration srtt_;
  Time now_;
  uint32_t una_ = 100;
};

// --- The cubic function (sections 4.2, 4.4 and 4.5) ---

// K = cbrt((100 - 70) / 0.4) = 4.2171633. Two seconds after the first ACK W_cubic(2.2) = 100 - 0.4
// * 2.0171633^3 = 96.716866, so the second adds (96.716866 - 70.007563) / 70.007563.
TEST(CubicTest, StepsTowardsWhereTheFunctionIsARoundTripLater) {
  Flow flow(100, "", 0.2);
  flow.Lose();
  EXPECT_DOUBLE_EQ(flow.cwnd(), 70);
  flow.Ack(0.1);
  // W_cubic(0) is 70: the window is that of Reno-friendly growth, 70 + 0.5294118 / 70.
  EXPECT_NEAR(flow.cwnd(), 70.007563, 1e-6);
  flow.Ack(2);
  EXPECT_NEAR(flow.cwnd(), 70.389082, 1e-5);
}

// After a minute the function would be at 69,000 segments: the target is 1.5 windows at most.
TEST(CubicTest, GrowsByHalfASegmentPerAckAtMost) {
  Flow flow(100, "", 0.2);
  flow.Lose();
  flow.Ack(0.1);
  flow.Ack(60);
  EXPECT_NEAR(flow.cwnd(), 70.507563, 1e-6);
  const double before = flow.cwnd();
  flow.Ack(0.1);
  EXPECT_NEAR(flow.cwnd() - before, 0.5, 1e-9);
}

// The ACK clock of a round trip of 200 ms keeps the window between where the function is and where
// it will be a round trip later: concave up to 100 segments at 4.2 s, convex beyond.
TEST(CubicTest, FollowsTheFunctionThroughItsPlateau) {
  Flow flow(100, "", 0.2);
  flow.Lose();
  flow.Ack(0.1);
  const Time epoch = flow.now();
  const auto function = [](double t) { return 0.4 * std::pow(t - std::cbrt(75.0), 3) + 100; };
  double flattest = 10;
  double before = flow.cwnd();
  for (int step = 1; step <= 40; ++step) {
    flow.AckClocked(0.2);
    const double t = Seconds(flow.now() - epoch);
    EXPECT_GE(flow.cwnd(), function(t - 0.2) - 0.2) << t;
    EXPECT_LE(flow.cwnd(), function(t + 0.2) + 0.2) << t;
    const double grown = flow.cwnd() - before;
    before = flow.cwnd();
    if (grown < flattest) {
      flattest = grown;
      EXPECT_LE(t, 4.8);  // It is steeper before the plateau and after it.
    }
  }
  EXPECT_LT(flattest, 0.1);
  EXPECT_GT(flow.cwnd(), 115);  // function(8) is 121.6.
}

TEST(CubicTest, TakesTheConstantOfTheFunctionFromItsSettings) {
  // K = cbrt(30 / c), and the function is an eighth of 30 segments below 100 at half of that time.
  for (const double c : {0.001, 0.4, 4.0, 25.0, 300.0, 4e4, 4e7, 1e9}) {
    SCOPED_TRACE(c);
    Flow flow(100, ", c: " + std::to_string(c));
    flow.Lose();
    flow.window().cwnd = 100 * kTestMss;
    flow.Lose();  // Not at a smaller window than before: W_max stays (section 4.7).
    flow.Ack(0.1);
    flow.Ack(std::cbrt(30 / c) / 2);
    EXPECT_NEAR(flow.cwnd(), 70.007563 + (96.25 - 70.007563) / 70.007563, 2e-6);
  }
}

// --- The Reno-friendly region (section 4.3) ---

// alpha = 3 * 0.3 / 1.7 = 9/17 segments a round trip, and 1 from the window of the last event on.
// The cubic function does not move in a round trip of 1 ms.
TEST(CubicTest, IsNoSlowerThanReno) {
  Flow flow(20, "", 0.001);
  flow.Lose();
  EXPECT_DOUBLE_EQ(flow.cwnd(), 14);
  flow.AckClocked(0.010);
  EXPECT_NEAR(flow.cwnd(), 14 + 10 * 9.0 / 17, 0.3);
  // 6 / (9/17) = 11.3 round trips to 20 segments.
  flow.AckClocked(0.0013);
  EXPECT_NEAR(flow.cwnd(), 20, 0.3);
  const double there = flow.cwnd();
  flow.AckClocked(0.010);
  EXPECT_NEAR(flow.cwnd() - there, 10, 0.4);
}

// Equation 4 counts segments, however many an ACK acknowledges.
TEST(CubicTest, GrowsLikeRenoForEachSegmentOfADelayedAck) {
  Flow flow(20);
  flow.Lose();
  flow.AckAtOnce(2);
  EXPECT_NEAR(flow.cwnd(), 14 + 2 * 9.0 / 17 / 14, 1e-9);
}

// The average window over 20 cycles in which one of so many packets is lost, after 10 others. The
// RFC derives its figures from cycles that end on the plateau; from below the approach to these
// takes hundreds of cycles, so they begin there: the plateau is 1 / 0.925 of the average (equation
// 5).
double AverageWindow(double rtt, int64_t packets_per_loss, double begin) {
  Flow flow(begin, ", fast_convergence: false", rtt);
  flow.Lose();
  Time from;
  for (int cycle = 0; cycle < 30; ++cycle) {
    if (cycle == 10) from = flow.now();
    for (int64_t packet = 0; packet < packets_per_loss; ++packet) flow.Ack(rtt / flow.cwnd());
    flow.Lose();
  }
  return 20 * static_cast<double>(packets_per_loss) * rtt / Seconds(flow.now() - from);
}

// Tables 1 and 2 of section 5.1. In the first two cases the cubic function decides, in the others
// Reno-friendly growth.
TEST(CubicTest, HasTheAverageWindowsOfTheRfcsTables) {
  EXPECT_NEAR(AverageWindow(0.1, 10'000, 187 / 0.925) / 187, 1, 0.01);
  EXPECT_NEAR(AverageWindow(0.1, 100'000, 1'054 / 0.925) / 1'054, 1, 0.01);
  EXPECT_NEAR(AverageWindow(0.01, 1'000, 38) / 38, 1, 0.03);
  EXPECT_NEAR(AverageWindow(0.01, 10'000, 120) / 120, 1, 0.03);
}

// --- Multiplicative decrease and fast convergence (sections 4.6 and 4.7) ---

TEST(CubicTest, KeepsSevenTenthsOfWhatIsOutstandingAndTwoSegmentsAtLeast) {
  Flow flow(100);
  flow.Lose(60);
  EXPECT_DOUBLE_EQ(flow.cwnd(), 42);
  EXPECT_DOUBLE_EQ(flow.ssthresh(), 42);
  flow.Lose(2.5);
  EXPECT_DOUBLE_EQ(flow.cwnd(), 2);
  Flow half(100, ", beta: 0.5");
  half.Lose();
  EXPECT_DOUBLE_EQ(half.cwnd(), 50);
}

// The second loss comes at 70 segments, below the 100 of the first: W_max is 70 * 0.85 = 59.5, and
// K = cbrt((59.5 - 49) / 0.4) = 2.9720. Without it W_max is 70 and K = cbrt(52.5) = 3.7444.
TEST(CubicTest, AimsLowerAfterALossAtASmallerWindow) {
  for (const bool fast : {true, false}) {
    SCOPED_TRACE(fast);
    Flow flow(100, fast ? "" : ", fast_convergence: false");
    flow.Lose();
    flow.Lose();
    EXPECT_DOUBLE_EQ(flow.cwnd(), 49);
    flow.Ack(0.1);
    const double begun = 49 + 9.0 / 17 / 49;
    EXPECT_NEAR(flow.cwnd(), begun, 1e-9);
    const double k = std::cbrt((fast ? 10.5 : 21.0) / 0.4);
    flow.Ack(k);
    EXPECT_NEAR(flow.cwnd(), begun + ((fast ? 59.5 : 70) - begun) / begun, 1e-6);
  }
}

// --- Marks (section 4.6) ---

TEST(CubicTest, AnswersMarksOncePerWindowAndDownToOneSegment) {
  Flow flow(100);
  EXPECT_TRUE(flow.Ack(0.1, true, true, 100));
  EXPECT_DOUBLE_EQ(flow.cwnd(), 70);
  EXPECT_DOUBLE_EQ(flow.ssthresh(), 70);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(flow.Ack(1e-3, true, true, 70));
  EXPECT_DOUBLE_EQ(flow.cwnd(), 70);  // It does not grow on an ACK with an echo.
  EXPECT_TRUE(flow.Ack(1e-3, true, true, 1));
  EXPECT_DOUBLE_EQ(flow.cwnd(), 1);
  EXPECT_DOUBLE_EQ(flow.ssthresh(), 2);
}

TEST(CubicTest, CountsALossAsTheReductionOfItsWindow) {
  Flow flow(100);
  flow.Lose();  // Recovery ends at segment 100.
  flow.control().OnLoss(flow.window(), 103);
  for (int una = 101; una <= 103; ++una) EXPECT_FALSE(flow.Ack(1e-3, true, true));
  EXPECT_TRUE(flow.Ack(1e-3, true, true));
}

// --- Timeouts (section 4.8) and slow start (section 4.10) ---

// Slow start to 70 segments; there the function begins on its plateau: K is 0 and W_max 70.
TEST(CubicTest, BeginsOnThePlateauAfterATimeout) {
  Flow flow(100);
  flow.TimeOut();
  EXPECT_DOUBLE_EQ(flow.cwnd(), 1);
  EXPECT_DOUBLE_EQ(flow.ssthresh(), 70);
  for (int i = 0; i < 69; ++i) flow.Ack(0.001);
  EXPECT_DOUBLE_EQ(flow.cwnd(), 70);
  flow.Ack(0.001);
  const double begun = 70 + 9.0 / 17 / 70;
  EXPECT_NEAR(flow.cwnd(), begun, 1e-9);
  flow.Ack(2);  // W_cubic(2) = 70 + 0.4 * 2^3 = 73.2.
  EXPECT_NEAR(flow.cwnd(), begun + (73.2 - begun) / begun, 1e-9);
}

// A flow that comes to congestion avoidance without a congestion event, as one that goes on with
// the window of an earlier flow: K is 0, W_max the window, and alpha 1.
TEST(CubicTest, BeginsOnThePlateauWithoutACongestionEvent) {
  Flow flow(70);
  flow.window().ssthresh = 70 * kTestMss;
  flow.Ack(0.001);
  EXPECT_NEAR(flow.cwnd(), 70 + 1.0 / 70, 1e-9);
  const double begun = flow.cwnd();
  flow.Ack(2);
  EXPECT_NEAR(flow.cwnd(), begun + (73.2 - begun) / begun, 1e-9);
}

// --- Flows that something else limits (section 5.8) ---

TEST(CubicTest, NeitherGrowsNorAgesWhileSomethingElseLimitsTheFlow) {
  Flow busy(100, "", 0.1);
  Flow idle(100, "", 0.1);
  for (Flow* flow : {&busy, &idle}) {
    flow->Lose();
    flow->Ack(0.1);
    flow->Ack(1);
  }
  const double before = idle.cwnd();
  for (int i = 0; i < 50; ++i) idle.Ack(1, /*limited=*/false);
  EXPECT_EQ(idle.cwnd(), before);
  for (int i = 0; i < 20; ++i) {
    busy.Ack(0.1);
    idle.Ack(0.1);
    EXPECT_EQ(idle.cwnd(), busy.cwnd());
  }
}

// --- Spurious losses (section 4.9.2) ---

TEST(CubicTest, TakesUpItsFunctionAgainAfterALossThatWasNone) {
  Flow sound(100, "", 0.2);
  Flow fooled(100, "", 0.2);
  for (Flow* flow : {&sound, &fooled}) {
    flow->Lose();
    flow->Ack(0.1);
    flow->Ack(1);
  }
  const CongestionWindow before = fooled.window();
  fooled.Lose();
  EXPECT_LT(fooled.cwnd(), sound.cwnd());
  fooled.control().Undo(fooled.window(), before);
  EXPECT_EQ(fooled.cwnd(), sound.cwnd());
  for (int i = 0; i < 20; ++i) {
    sound.Ack(0.1);
    fooled.Ack(0.1);
    EXPECT_EQ(fooled.cwnd(), sound.cwnd());
  }
}

TEST(CubicTest, KeepsAWindowThatHasGrownBeyondTheOneToTakeBack) {
  Flow flow(100);
  const CongestionWindow before = flow.window();
  flow.Lose();
  flow.window().cwnd = 120 * kTestMss;
  flow.control().Undo(flow.window(), before);
  EXPECT_DOUBLE_EQ(flow.cwnd(), 120);
  EXPECT_DOUBLE_EQ(flow.ssthresh(), 70);
}

// --- In a network ---

// The NIC is ten times as fast as the second link: all 40 segments are in the network at the loss.
TEST(CubicTest, KeepsSevenTenthsOfTheWindowOfAFlow) {
  for (const char* recovery : {"sack", "newreno"}) {
    SCOPED_TRACE(recovery);
    Lab lab({.graph = Line({{100_Gbps, 5_us}, {10_Gbps, 5_us}}),
             .transport = std::string("{kind: tcp, cc: cubic, iw: 40, max_cwnd: 40, recovery: ") +
                          recovery + "}",
             .switch_policy = Scripted({DropAt(0, Data(0, 20)).Times(1)})});
    lab.AddFlow(0, 1, 2'000'000);
    double cwnd = 1e9;
    double ssthresh = 1e9;
    lab.SampleEvery(5_us, [&](Time) {
      const TcpSender* sender = lab.Sender(0);
      if (sender == nullptr) return;
      cwnd = std::min(cwnd, sender->cwnd());
      ssthresh = std::min(ssthresh, sender->window().ssthresh);
    });
    lab.Run();
    EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
    EXPECT_DOUBLE_EQ(ssthresh, 28 * 1'460);
    // NewReno leaves recovery with what is outstanding then (RFC 6582 section 3.2 step 3).
    EXPECT_DOUBLE_EQ(cwnd, (recovery == std::string("sack") ? 28 : 2) * 1'460);
  }
}

struct Seen {
  int capable = 0;
  int answered = 0;  // Packets with CWR.
  int again = 0;
};

Seen RunMarked(const std::string& ecn) {
  Seen seen;
  const auto note = [&](const SwitchView&, const Packet& p) {
    seen.capable += p.Has(Packet::kEct) ? 1 : 0;
    seen.answered += p.Has(Packet::kCwr) ? 1 : 0;
    seen.again += p.Has(Packet::kRetransmission) ? 1 : 0;
  };
  Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
           .transport = "{kind: tcp, cc: cubic, ecn: " + ecn + "}",
           .switch_policy = Scripted({MarkAt(0, Data(0, 4)), WatchAt(1, AllData(0), note)})});
  lab.AddFlow(0, 1, 146'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return seen;
}

TEST(CubicTest, WorksWithAndWithoutEcn) {
  const Seen without = RunMarked("\"off\"");
  EXPECT_EQ(without.capable, 0);
  EXPECT_EQ(without.answered, 0);
  const Seen with = RunMarked("rfc3168");
  EXPECT_EQ(with.capable, 100);
  EXPECT_EQ(with.answered, 1);
  EXPECT_EQ(with.again, 0);
}

TEST(CubicTest, IsOfTcpAlone) {
  EXPECT_THAT(ErrorsOf("topology: {kind: fat_tree, k: 4}\nlb: ecmp\nworkload: [{kind: "
                       "permutation, size: 1KB}]\ntransport: {kind: rocev2, cc: cubic}\n"),
              HasSubstr("\"cubic\" is a congestion control of kind: tcp"));
}

}  // namespace heddle::cubic_test
