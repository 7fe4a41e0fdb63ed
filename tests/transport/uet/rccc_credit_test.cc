// SPDX-License-Identifier: Apache-2.0
// The arithmetic of receiver-driven congestion control (RCCC): credit at senders, wishes at
// receivers, and the rate at which receivers grant where the fabric is congested.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/packet.h"
#include "tests/support/host_bench.h"
#include "transport/uet/uet_credit.h"
#include "transport/uet/uet_fabric_rate.h"
#include "transport/uet/uet_pacer.h"

namespace heddle::rccc_credit_test {

// --- The receiver's pacer ---

// With grants: whole, each lost packet adds the quanta of a full one, which is one of 4150 bytes;
// they are counted up to 65535, and the demand of a flow that loses more does not begin anew.
TEST(UetPacerTest, CountsLostPacketsUpToItsLimit) {
  host_bench::Bench bench;
  UetShared shared{
      .settings = {}, .sizes = {}, .rules = {}, .bandwidth_delay = nullptr, .close_delay = 0_us};
  shared.settings.framing = UetSettings::Framing::kHtsim;
  shared.settings.rccc.grants = RcccSettings::Grants::kWhole;
  for (const auto& [quantum, each] : {std::pair(1, 4'150), std::pair(512, 9), std::pair(830, 5)}) {
    shared.settings.rccc.quantum = Bytes{quantum};
    shared.sizes = shared.settings.Sizes();
    UetPacer pacer(bench.host(), shared);
    UetDemand demand;
    for (int lost = 1; lost <= 20; ++lost) {
      pacer.NoteDemand(Packet(), demand, true);
      EXPECT_EQ(demand.repairs, std::min(lost * each, 65'535)) << quantum;
      EXPECT_FALSE(demand.is_active);
    }
  }
}

// --- The sender's credit ---

void Begin(UetCredit& credit, int64_t window) {
  credit.Start({.is_needed = true, .first = window, .most = window});
}

TEST(UetCreditTest, SpeculationEndsWithTheFirstAnswer) {
  UetCredit credit;
  Begin(credit, 262'926);
  EXPECT_TRUE(credit.Allows());
  credit.Spend(4'150);
  credit.EndSpeculation();
  EXPECT_FALSE(credit.Allows());
  credit.OnPull(64);
  EXPECT_TRUE(credit.Allows());
  credit.EndSpeculation();  // It has ended before.
  // 16,384 bytes are four packets of 4150 bytes, the last of which exceeds the credit.
  for (int packet = 0; packet < 4; ++packet) {
    EXPECT_TRUE(credit.Allows());
    credit.Spend(4'150);
  }
  EXPECT_FALSE(credit.Allows());
}

// A debt of the speculation stays.
TEST(UetCreditTest, TheEndOfSpeculationForgivesNoDebt) {
  UetCredit credit;
  Begin(credit, 4'000);
  credit.Spend(4'150);
  credit.OnPull(1);  // 256 bytes, of which 150 have been spent.
  EXPECT_TRUE(credit.Allows());
  credit.Spend(106);
  EXPECT_FALSE(credit.Allows());
}

TEST(UetCreditTest, TheNextPullMakesUpForALostOne) {
  UetCredit credit;
  Begin(credit, 262'926);
  credit.OnPull(128);  // The pull with 64 was lost,
  credit.OnPull(64);   // or comes late.
  credit.Spend(128 * 256 - 1);
  EXPECT_TRUE(credit.Allows());
  credit.Spend(1);
  EXPECT_FALSE(credit.Allows());
}

TEST(UetCreditTest, IsNeverMoreThanTheGreatestWindow) {
  UetCredit credit;
  Begin(credit, 262'926);
  credit.OnPull(10'000);
  credit.Spend(262'925);
  EXPECT_TRUE(credit.Allows());
  credit.Spend(1);
  EXPECT_FALSE(credit.Allows());
}

TEST(UetCreditTest, CountsWrap) {
  UetCredit credit;
  Begin(credit, 262'926);
  for (const uint32_t granted : {0x7000'0000u, 0xe000'0000u, 0xffff'fff0u}) credit.OnPull(granted);
  credit.Spend(262'926);
  EXPECT_FALSE(credit.Allows());
  credit.OnPull(0xffff'ffe0u);  // Overtaken by the one before.
  EXPECT_FALSE(credit.Allows());
  credit.OnPull(0x10u);  // 32 quanta.
  EXPECT_EQ(
      credit.Target({.wanted = 32 * 256 + 256, .has_backlog = true, .packet = 4'150, .sharing = 1}),
      0x11u);
  credit.Spend(32 * 256 - 1);
  EXPECT_TRUE(credit.Allows());
  credit.Spend(1);
  EXPECT_FALSE(credit.Allows());
}

// Relative to 0, as a signed number.
int32_t TargetOf(const UetCredit& credit, int64_t wanted, int64_t sharing = 1,
                 bool has_backlog = true) {
  return static_cast<int32_t>(credit.Target(
      {.wanted = wanted, .has_backlog = has_backlog, .packet = 4'150, .sharing = sharing}));
}

// ceil((min(wanted, greatest window) - credit) / (256 k)) beyond the last pull.
TEST(UetCreditTest, TheTargetIsWhatWaitsLessWhatIsThere) {
  UetCredit credit;
  Begin(credit, 262'926);
  EXPECT_EQ(TargetOf(credit, 100'000), 17);    // Speculating: a packet, rounded up to quanta,
  EXPECT_EQ(TargetOf(credit, 100'000, 4), 5);  // shared.
  EXPECT_EQ(TargetOf(credit, 0, 1, false), -1'027);
  EXPECT_EQ(TargetOf(credit, 4'150, 1, false), -1'010);  // A repair has credit enough.
  credit.EndSpeculation();
  EXPECT_EQ(TargetOf(credit, 0), 0);
  EXPECT_EQ(TargetOf(credit, 1), 1);
  EXPECT_EQ(TargetOf(credit, 100'000), 391);
  EXPECT_EQ(TargetOf(credit, 100'000, 4), 98);
  EXPECT_EQ(TargetOf(credit, 100'000'000), 1'028);
  credit.OnPull(100);  // 25,600 bytes.
  EXPECT_EQ(TargetOf(credit, 100'000), 100 + 291);
  EXPECT_EQ(TargetOf(credit, 25'600), 100);
  EXPECT_EQ(TargetOf(credit, 1'000), 100 - 96);
  credit.Spend(25'700);  // 100 bytes too many.
  EXPECT_EQ(TargetOf(credit, 100'000), 100 + 392);
  EXPECT_EQ(TargetOf(credit, 0, 1, false), 101);
}

TEST(UetCreditTest, WithoutReceiversThatGrantItNoneIsNeeded) {
  UetCredit credit;
  credit.Start({.first = 262'926, .most = 262'926});
  credit.Spend(1'000'000);
  credit.EndSpeculation();
  EXPECT_TRUE(credit.Allows());
}

TEST(UetCreditTest, TheTargetSurvivesThePacket) {
  for (const uint32_t target : {0u, 1u, 65'536u, 0xffff'fff0u}) {
    Packet packet;
    SetPullTarget(packet, target);
    EXPECT_EQ(PullTarget(packet), target);
  }
}

// --- The receiver's part ---

TEST(UetDemandTest, WishesGrowModulo2To32) {
  UetDemand demand;
  EXPECT_TRUE(demand.Raise(0x7000'0000));
  EXPECT_FALSE(demand.Raise(0x6fff'ffff));  // An older packet,
  EXPECT_FALSE(demand.Raise(0x7000'0000));  // or the same wish.
  EXPECT_TRUE(demand.Raise(0xe000'0000));
  EXPECT_TRUE(demand.Raise(0xffff'fff0));
  EXPECT_TRUE(demand.Raise(0x10));
  demand.granted = 0xffff'fff0;
  EXPECT_EQ(demand.missing(), 32);
  demand.granted = 0x50;
  EXPECT_EQ(demand.missing(), -64);
}

Packet Arriving(uint8_t flags) {
  Packet packet;
  packet.flags = flags;
  return packet;
}

// By hand: of 10 packets one is trimmed within the fabric, so a tenth is taken off; the next steps
// are 1, 2, 4 and 8 hundredths while no packet is marked.
TEST(UetFabricRateTest, TrimmedPacketsTakeTheirShareAndStepsDouble) {
  UetFabricRate fabric;
  for (int i = 0; i < 9; ++i) fabric.OnArrival(Arriving(0));
  fabric.OnArrival(Arriving(Packet::kTrimmed));
  fabric.EndPeriod();
  EXPECT_NEAR(fabric.rate(), 0.9, 1e-12);
  for (const double expected : {0.91, 0.93, 0.97, 1.0}) {
    EXPECT_FALSE(fabric.is_at_rest());  // Periods without packets raise it, too.
    fabric.OnArrival(Arriving(0));
    fabric.EndPeriod();
    EXPECT_NEAR(fabric.rate(), expected, 1e-12);
  }
  EXPECT_TRUE(fabric.is_at_rest());
  fabric.OnArrival(Arriving(0));
  EXPECT_FALSE(fabric.is_at_rest());
}

TEST(UetFabricRateTest, PacketsTrimmedAtTheLastHopCountAsNoCongestionOfTheFabric) {
  UetFabricRate fabric;
  for (int i = 0; i < 10; ++i) fabric.OnArrival(Arriving(Packet::kTrimmed | Packet::kCutAtLastHop));
  fabric.EndPeriod();
  EXPECT_EQ(fabric.rate(), 1);
}

// The average share of marks is half of the last one and half of the average before: 0.5, 0.75,
// 0.875. Beyond 0.3 the rate loses half of the excess; then, with a mark in each period, it grows
// by 0.01. Trimmed packets do not count among those that could be marked.
TEST(UetFabricRateTest, ManyMarksTakeHalfOfTheirExcess) {
  UetFabricRate fabric;
  double rate = 1;
  for (const double average : {0.5, 0.75, 0.875}) {
    for (int i = 0; i < 4; ++i) fabric.OnArrival(Arriving(Packet::kCe));
    fabric.OnArrival(Arriving(Packet::kTrimmed | Packet::kCutAtLastHop));
    fabric.EndPeriod();
    rate *= 1 - 0.5 * (average - 0.3);
    EXPECT_NEAR(fabric.rate(), rate, 1e-12);
  }
  // One mark in ten packets: averages 0.4875, 0.29375, 0.196875.
  for (const double average : {0.4875, 0.29375, 0.196875}) {
    for (int i = 0; i < 9; ++i) fabric.OnArrival(Arriving(0));
    fabric.OnArrival(Arriving(Packet::kCe));
    fabric.EndPeriod();
    rate = average > 0.3 ? rate * (1 - 0.5 * (average - 0.3)) : rate + 0.01;
    EXPECT_NEAR(fabric.rate(), rate, 1e-12);
  }
  EXPECT_FALSE(fabric.is_at_rest());
}

// Three marks in five packets are an average of exactly 0.3, which is allowed: the rate grows.
TEST(UetFabricRateTest, AnAverageOfThreeTenthsIsNoCongestion) {
  UetFabricRate fabric;
  for (int i = 0; i < 3; ++i) fabric.OnArrival(Arriving(0));
  fabric.OnArrival(Arriving(Packet::kTrimmed));
  fabric.EndPeriod();
  EXPECT_NEAR(fabric.rate(), 0.75, 1e-12);
  for (int i = 0; i < 5; ++i) fabric.OnArrival(Arriving(i < 3 ? Packet::kCe : 0));
  fabric.EndPeriod();
  EXPECT_NEAR(fabric.rate(), 0.76, 1e-12);
}

// Steps double up to 1.28, and begin again after congestion.
TEST(UetFabricRateTest, StepsBeginAgainAfterCongestion) {
  UetFabricRate fabric;
  const auto period = [&](int trimmed, int whole) {
    for (int i = 0; i < trimmed; ++i) fabric.OnArrival(Arriving(Packet::kTrimmed));
    for (int i = 0; i < whole; ++i) fabric.OnArrival(Arriving(0));
    fabric.EndPeriod();
    return fabric.rate();
  };
  EXPECT_NEAR(period(5, 5), 0.5, 1e-12);
  EXPECT_NEAR(period(0, 5), 0.51, 1e-12);
  EXPECT_NEAR(period(0, 5), 0.53, 1e-12);
  EXPECT_NEAR(period(1, 9), 0.43, 1e-12);
  EXPECT_NEAR(period(0, 5), 0.44, 1e-12);
  EXPECT_NEAR(period(0, 0), 0.46, 1e-12) << "a period without packets is one without congestion";
  for (int i = 0; i < 40; ++i) period(0, 1);
  EXPECT_EQ(fabric.rate(), 1);
  EXPECT_FALSE(period(1, 99) == 1);
}

TEST(UetFabricRateTest, NeverLeavesOneHundredthToOne) {
  UetFabricRate fabric;
  fabric.OnArrival(Arriving(Packet::kTrimmed));
  fabric.EndPeriod();
  EXPECT_EQ(fabric.rate(), 0.01);
  for (int i = 0; i < 20; ++i) fabric.EndPeriod();
  EXPECT_EQ(fabric.rate(), 1);
}

}  // namespace heddle::rccc_credit_test
