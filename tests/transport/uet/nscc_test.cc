// SPDX-License-Identifier: Apache-2.0
// NSCC's constants and reactions, against values computed by hand for three tiers of 100 Gbps and
// links of 1 us, with trimming.

#include "transport/uet/nscc.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "tests/support/nscc_kit.h"
#include "tests/support/printers.h"

namespace heddle::nscc_test {

using namespace nscc_kit;

TEST(NsccTest, ItsConstantsFollowFromTheNetwork) {
  const NsccRules slow = Rules();
  EXPECT_NEAR(slow.scale(), 1.16856, 1e-5);
  EXPECT_NEAR(slow.proportional(), 1'591.58, 0.01);
  EXPECT_NEAR(slow.fair(), 23'873.7, 0.1);
  EXPECT_NEAR(slow.eta(), 716.21, 0.01);
  EXPECT_NEAR(slow.fast(), 0.29214, 1e-5);
  EXPECT_EQ(slow.target, 10'517'040_ps);
  const NsccRules fast = Rules(8'337'120_ps, 400e9);
  EXPECT_NEAR(fast.scale(), 2.77904, 1e-5);
  EXPECT_NEAR(fast.proportional(), 3'785.05, 0.01);
  EXPECT_NEAR(fast.fair(), 56'775.8, 0.1);
  EXPECT_NEAR(fast.eta(), 1'703.27, 0.01);
  EXPECT_EQ(fast.target, 6'252'840_ps);
  Nscc control;
  control.Start(slow, kRtt, 0);
  EXPECT_DOUBLE_EQ(control.greatest(), 262'926);
  EXPECT_DOUBLE_EQ(control.window(), 262'926);
  control.Start(slow, kRtt, 1);  // Less than a packet; window: 1B.
  EXPECT_EQ(control.window(), 1);
}

// The increase of one ACK of 16,600 bytes at a window of 200,000, when it takes effect. The first
// ACK, after more than a round trip, begins the period of adjustment and adds eta.
double IncreaseAt(Duration delay) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 200'000 - rules.eta());
  control.OnAck(At(100_us), false, delay, 0, 0);
  const double before = control.window();
  EXPECT_DOUBLE_EQ(before, 200'000);
  control.OnBytes(33'200);  // Of earlier ACKs: the next one adjusts.
  control.OnBytes(16'600);
  control.OnAck(At(101_us), false, delay, 16'600, 0);
  return control.window() - before;
}

TEST(NsccTest, IncreasesByDelay) {
  EXPECT_NEAR(IncreaseAt(2_us), 1'125, 1);
  EXPECT_NEAR(IncreaseAt(500_ns), 1'323, 1);
  EXPECT_NEAR(IncreaseAt(12_us), 1'981, 1);
}

TEST(NsccTest, AWindowOfFairIncreaseAddsFi) {
  const NsccRules rules = Rules();
  EXPECT_NEAR(rules.fair() * 200'000 / 200'000, 23'873.7, 0.1);
  double sum = 0;
  for (int ack = 0; ack < 12; ++ack) sum += IncreaseAt(12_us);
  EXPECT_NEAR(sum * 200'000 / (12 * 16'600), 23'873.7, 1);
}

// A whole window almost without delay is followed by fast increase.
TEST(NsccTest, AnEmptyPathLetsTheWindowGrowFast) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 40'000);
  for (int ack = 0; ack < 2; ++ack) control.OnAck(At(1_us), false, 0_ps, 20'000, 0);
  EXPECT_DOUBLE_EQ(control.window(), 40'000);
  control.OnAck(At(1_us), false, 0_ps, 10'000, 0);
  EXPECT_NEAR(control.window(), 40'000 + 10'000 * rules.fast(), 1e-6);
  const double grown = control.window();
  control.OnAck(At(1_us), false, 2_us, 10'000, 0);  // Not fast any more.
  EXPECT_DOUBLE_EQ(control.window(), grown);
}

// Feeds marked samples until the average delay is `share` of the target, then one marked ACK.
double CutAt(double share) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 200'000);
  const Duration delay{static_cast<int64_t>(share * static_cast<double>(rules.target.ps))};
  for (int sample = 0; sample < 20'000; ++sample) control.OnSample(delay, true);
  control.OnAck(At(20_us), true, delay, 0, 0);
  const double cut = control.window() / 200'000;
  control.OnAck(At(21_us), true, delay, 0, 0);  // Within a round trip.
  EXPECT_DOUBLE_EQ(control.window() / 200'000, cut);
  control.OnAck(At(34'022'720_ps), true, delay, 0, 0);
  EXPECT_LT(control.window() / 200'000, cut);
  return cut;
}

// The last ACK of CutAt also adjusts, so the cuts are measured before it.
TEST(NsccTest, CutsByTheAverageDelayOncePerRoundTrip) {
  const double eta = Rules().eta() / 200'000;  // The first adjustment adds it.
  EXPECT_NEAR(CutAt(1.1), 0.9273 + eta, 1e-3);
  EXPECT_NEAR(CutAt(1.5), 0.7333 + eta, 1e-3);
  EXPECT_NEAR(CutAt(2), 0.6 + eta, 1e-3);
  EXPECT_NEAR(CutAt(2.667), 0.5 + eta, 1e-3);
  EXPECT_NEAR(CutAt(4), 0.5 + eta, 1e-3);
}

TEST(NsccTest, AMarkWithoutDelayChangesNothing) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 100'000);
  control.OnAck(At(10_us), true, 1_us, 4'150, 0);
  EXPECT_DOUBLE_EQ(control.window(), 100'000);
}

TEST(NsccTest, ANackTakesItsPacketFromTheWindow) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 100'000);
  control.OnNack(At(1_us), 4'150, 100'000);
  EXPECT_DOUBLE_EQ(control.window(), 95'850);
  control.OnTimeout(4'150);
  EXPECT_DOUBLE_EQ(control.window(), 91'700);
}

// At the last hop the receiver's credit takes care of congestion. Rules that do not aim at a delay
// shrink the window all the same, as in uet-htsim.
TEST(NsccTest, ANackFromTheLastHopLeavesTheWindowToTheReceiver) {
  for (const auto& [kind, window] : {std::pair(NsccRules::Kind::kNscc, 100'000.0),
                                     std::pair(NsccRules::Kind::kSmartt, 100'000.0),
                                     std::pair(NsccRules::Kind::kDctcpAck, 95'850.0),
                                     std::pair(NsccRules::Kind::kConstant, 100'000.0)}) {
    NsccRules rules = Rules();
    rules.kind = kind;
    Nscc control;
    control.Start(rules, kRtt, 100'000);
    control.OnNack(At(1_us), 4'150, 100'000, /*receiver_acts=*/true);
    EXPECT_DOUBLE_EQ(control.window(), window);
  }
}

// Quick adapt heeds such a NACK as any other.
TEST(NsccTest, QuickAdaptHeedsANackFromTheLastHop) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 200'000);
  control.OnNack(At(1_us), 4'150, 200'000, /*receiver_acts=*/true);
  control.OnBytes(20'000);
  control.OnNack(At(30_us), 4'150, 150'000, /*receiver_acts=*/true);
  EXPECT_DOUBLE_EQ(control.window(), 20'000);
}

TEST(NsccTest, WithoutAWindowAnythingMayBeInFlight) {
  NsccRules rules = Rules();
  rules.kind = NsccRules::Kind::kNone;
  Nscc control;
  control.Start(rules, kRtt, 0);
  EXPECT_TRUE(control.Allows(1'000'000'000));
  control.OnNack(At(1_us), 4'150, 100'000);
  control.OnTimeout(4'150);
  control.OnPenalty(25'500, 0);
  control.OnAck(At(2_us), true, 50_us, 4'150, 0);
  EXPECT_DOUBLE_EQ(control.window(), control.greatest());
  rules.kind = NsccRules::Kind::kConstant;
  control.Start(rules, kRtt, 100'000);
  EXPECT_TRUE(control.Allows(100'000));
  EXPECT_FALSE(control.Allows(100'001));
}

// The period of quick adapt that began at 1 us ends a round trip and a target later.
TEST(NsccTest, QuickAdaptTakesWhatArrivedAsTheWindow) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 200'000);
  control.OnNack(At(1_us), 4'150, 200'000);
  control.OnBytes(20'000);
  control.OnAck(At(30_us), false, 2_us, 20'000, 150'000);
  EXPECT_DOUBLE_EQ(control.window(), 20'000);
  // Marked ACKs do nothing until what was in flight has been acknowledged or trimmed.
  for (int i = 0; i < 7; ++i) {
    control.OnBytes(20'000);
    control.OnAck(At(31_us), true, 40_us, 20'000, 0);
    EXPECT_DOUBLE_EQ(control.window(), 20'000);
  }
}

// Quick adapt, which a NACK brings about, forgets the increases that earlier ACKs have collected.
TEST(NsccTest, QuickAdaptForgetsIncreasesThatNoAdjustmentHasMade) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 200'000);
  control.OnNack(At(1_us), 4'150, 200'000);
  control.OnBytes(20'000);
  control.OnAck(At(10_us), false, 2_us, 20'000, 150'000);  // Too early for an adjustment.
  EXPECT_DOUBLE_EQ(control.window(), 195'850);
  control.OnNack(At(30_us), 4'150, 150'000);
  EXPECT_DOUBLE_EQ(control.window(), 20'000);
  control.OnBytes(10'000);
  control.OnAck(At(31_us), false, 2_us, 10'000, 100'000);
  const double increase = rules.proportional() * 10'000 * 8.51704;
  EXPECT_NEAR(control.window(), 20'000 + increase / 20'000 + rules.eta(), 0.1);
}

// The same for a NACK while bytes of before quick adapt are still ignored.
TEST(NsccTest, AnIgnoredNackChangesNoWindowAndForgetsIncreases) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 200'000);
  control.OnNack(At(1_us), 4'150, 200'000);
  control.OnBytes(20'000);
  control.OnNack(At(30_us), 4'150, 150'000);  // Quick adapt: the next 150,000 bytes are ignored.
  EXPECT_DOUBLE_EQ(control.window(), 20'000);
  control.OnBytes(10'000);
  control.OnAck(At(31_us), false, 2_us, 10'000, 100'000);  // Adjusts; the next one does not.
  const double adjusted = control.window();
  control.OnBytes(30'000);
  control.OnAck(At(32_us), false, 2_us, 30'000, 90'000);
  control.OnNack(At(33_us), 4'150, 80'000);
  EXPECT_DOUBLE_EQ(control.window(), adjusted);
  control.OnBytes(4'000);  // With 30,000 it would be more than eight packets.
  control.OnAck(At(34_us), false, 2_us, 4'000, 70'000);
  EXPECT_DOUBLE_EQ(control.window(), adjusted);
  control.OnBytes(10'000);
  control.OnAck(At(46_us), false, 2_us, 10'000, 60'000);
  const double increase = rules.proportional() * 14'000 * 8.51704;
  EXPECT_NEAR(control.window(), adjusted + increase / adjusted + rules.eta(), 0.1);
}

TEST(NsccTest, AReceiversPenaltyTakesItsShareOfTheBytes) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 100'000);
  control.OnPenalty(25'500, 255);
  EXPECT_DOUBLE_EQ(control.window(), 100'000);
  control.OnPenalty(25'500, 204);  // Four fifths stay.
  EXPECT_DOUBLE_EQ(control.window(), 94'900);
  control.OnPenalty(25'500, 0);
  EXPECT_DOUBLE_EQ(control.window(), 69'400);
  control.OnPenalty(100'000, 0);
  EXPECT_DOUBLE_EQ(control.window(), 4'150);
}

TEST(NsccTest, QuickAdaptLeavesAWindowThatFillsThePath) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 200'000);
  control.OnNack(At(1_us), 4'150, 200'000);
  control.OnBytes(40'000);  // More than an eighth of the greatest window.
  control.OnNack(At(30_us), 4'150, 150'000);
  EXPECT_DOUBLE_EQ(control.window(), 200'000 - 2 * 4'150);
}

TEST(NsccTest, ShorterRoundTripsLowerTheGreatestWindow) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 0);
  EXPECT_EQ(control.OnRoundTrip(20_us), 20_us - kRtt);
  EXPECT_EQ(control.OnRoundTrip(7_us), 0_ps);
  EXPECT_EQ(control.base_rtt(), 7_us);
  EXPECT_DOUBLE_EQ(control.greatest(), 131'250);
}

TEST(NsccTest, TheAlternativesGrowByAcksAndShrinkByMarks) {
  for (const auto& [kind, cut] : {std::pair(NsccRules::Kind::kDctcpAck, 1'383.0),
                                  std::pair(NsccRules::Kind::kMprdmaAck, 1'037.0)}) {
    NsccRules rules = Rules();
    rules.kind = kind;
    Nscc control;
    control.Start(rules, kRtt, 100'000);
    control.OnAck(At(1_us), false, 0_ps, 4'150, 0);
    EXPECT_NEAR(control.window(), 100'000 + 4'150.0 * 4'150 / 100'000, 1e-6);
    const double before = control.window();
    control.OnAck(At(2_us), true, 0_ps, 4'150, 0);
    EXPECT_NEAR(before - control.window(), cut, 1);
  }
  NsccRules rules = Rules();
  rules.kind = NsccRules::Kind::kConstant;
  Nscc control;
  control.Start(rules, kRtt, 41'500);
  control.OnAck(At(1_us), true, 50_us, 4'150, 0);
  control.OnNack(At(1_us), 4'150, 0);
  control.OnTimeout(4'150);
  EXPECT_DOUBLE_EQ(control.window(), 41'500);
}

// --- SMaRTT ---

NsccRules Smartt() {
  NsccRules rules = Rules();
  rules.kind = NsccRules::Kind::kSmartt;
  rules.target = kRtt / 2;
  return rules;
}

// The share of marks exceeds a quarter at the first n for which 1 - 0.9875^n > 0.25.
constexpr int kMarksBeforeDecrease = 23;

TEST(SmarttTest, NothingDecreasesBeforeAQuarterOfAllAcksIsMarked) {
  const NsccRules rules = Smartt();
  for (const Duration delay : {1_us, 40_us}) {
    Nscc control;
    control.Start(rules, kRtt, 100'000);
    for (int i = 0; i < 200; ++i) control.OnSample(delay, true);
    for (int i = 1; i < kMarksBeforeDecrease; ++i) {
      control.OnAck(At(1_us), true, delay, 4'150, 0);
      EXPECT_EQ(control.window(), 100'000) << i;
    }
    control.OnAck(At(1_us), true, delay, 4'150, 0);
    EXPECT_LT(control.window(), 100'000);
  }
}

TEST(SmarttTest, AcksWithoutMarkLowerTheShare) {
  const NsccRules rules = Smartt();
  Nscc control;
  control.Start(rules, kRtt, 100'000);
  for (int i = 1; i < kMarksBeforeDecrease; ++i) control.OnAck(At(1_us), true, 1_us, 0, 0);
  for (int i = 0; i < 5; ++i) control.OnAck(At(1_us), false, 1_us, 0, 0);
  const double before = control.window();
  control.OnAck(At(1_us), true, 1_us, 4'150, 0);
  EXPECT_EQ(control.window(), before);
}

// The average takes an eightieth of each sample. A long delay without a mark counts as a quarter of
// a round trip; a NACK as a round trip, like a mark.
TEST(NsccTest, AveragesDelays) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 100'000);
  double expected = 0;
  const auto learn = [&](double ps) { expected += (ps - expected) / 80; };
  control.OnSample(20_us, false);
  learn(14'022'720 / 4.0);
  EXPECT_NEAR(static_cast<double>(control.average().ps), expected, 1);
  control.OnSample(20_us, true);
  learn(20'000'000);
  EXPECT_NEAR(static_cast<double>(control.average().ps), expected, 1);
  control.OnSample(10_us, false);
  learn(10'000'000);
  EXPECT_NEAR(static_cast<double>(control.average().ps), expected, 1);
  control.OnNack(At(1_us), 4'150, 50'000);
  learn(14'022'720);
  EXPECT_NEAR(static_cast<double>(control.average().ps), expected, 1);
}

// 0.8 of the bytes, times the window over a bandwidth-delay product.
TEST(SmarttTest, AMarkWithoutDelayTakesAFairShare) {
  const NsccRules rules = Smartt();
  Nscc control;
  control.Start(rules, kRtt, 100'000);
  for (int i = 1; i < kMarksBeforeDecrease; ++i) control.OnAck(At(1_us), true, 1_us, 0, 0);
  control.OnAck(At(1_us), true, 1_us, 4'150, 0);
  EXPECT_NEAR(control.window(), 100'000 - 0.8 * 4'150 * 100'000 / 175'284, 0.01);
}

// The same ACK leaves NSCC's window alone: its load balancer moves instead.
TEST(SmarttTest, NsccLeavesMarksWithoutDelayToTheLoadBalancer) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 100'000);
  for (int i = 0; i < 100; ++i) control.OnAck(At(1_us), true, 1_us, 4'150, 0);
  EXPECT_EQ(control.window(), 100'000);
}

// With delay it decreases as NSCC does, by the average delay against the target.
TEST(SmarttTest, AMarkWithDelayDecreasesAsNsccDoes) {
  const NsccRules rules = Smartt();
  Nscc control;
  control.Start(rules, kRtt, 200'000);
  for (int i = 0; i < 2'000; ++i) control.OnSample(rules.target * 2, true);
  for (int i = 1; i < kMarksBeforeDecrease; ++i) {
    control.OnAck(At(1_us), true, rules.target * 2, 0, 0);
  }
  control.OnAck(At(1_us), true, rules.target * 2, 0, 0);
  EXPECT_NEAR(control.window(), 200'000 * 0.6, 1);
  control.OnAck(At(2_us), true, rules.target * 2, 0, 0);  // Once in a round trip.
  EXPECT_NEAR(control.window(), 200'000 * 0.6, 1);
}

// The window adjusts when more than eight packets have arrived, or a round trip has passed: 33,200
// bytes are not more. The times are within a round trip of the start.
TEST(NsccTest, EightPacketsAreNotYetAnAdjustment) {
  const NsccRules rules = Rules();
  Nscc control;
  control.Start(rules, kRtt, 100'000);
  double window = 100'000;
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    control.OnBytes(33'200);
    control.OnAck(At(1_us), false, 2_us, 33'200, 0);
    EXPECT_DOUBLE_EQ(control.window(), window);
    control.OnBytes(1);
    control.OnAck(At(1_us), false, 2_us, 1, 0);
    window += rules.proportional() * 33'201 * 8.51704 / window;
    EXPECT_NEAR(control.window(), window, 1e-3);
    window = control.window();
  }
}

// Quick adapt begins the count of bytes again, whether a NACK or a long delay brings it about.
TEST(NsccTest, EightPacketsAfterQuickAdaptAreNotYetAnAdjustment) {
  const NsccRules rules = Rules();
  for (const bool by_nack : {true, false}) {
    Nscc control;
    control.Start(rules, kRtt, 200'000);
    control.OnAck(At(1_us), false, 2_us, 0, 0);   // The period lasts to 25.54 us.
    control.OnAck(At(15_us), false, 2_us, 0, 0);  // Adjusts; the next time is after 29 us.
    control.OnBytes(10'000);
    if (by_nack) {
      control.OnNack(At(26_us), 4'150, 100'000);
    } else {
      control.OnAck(At(26_us), false, 50_us, 10'000, 100'000);
    }
    EXPECT_DOUBLE_EQ(control.window(), 10'000);
    control.OnBytes(33'200);
    control.OnAck(At(27_us), false, 2_us, 33'200, 0);
    EXPECT_DOUBLE_EQ(control.window(), 10'000);
    control.OnBytes(1);
    control.OnAck(At(27_us), false, 2_us, 1, 0);
    EXPECT_GT(control.window(), 10'000);
  }
}

}  // namespace heddle::nscc_test
