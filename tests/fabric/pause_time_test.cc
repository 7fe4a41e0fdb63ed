// SPDX-License-Identifier: Apache-2.0
// Tests pauses that expire, IEEE 802.1Qbb: their length, their extension and their end.

#include "fabric/pause_time.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/switch_bench.h"
#include "tests/support/traces.h"

namespace heddle::pause_time_test {

// The longest pause that a frame can ask for. Counted in bytes, 65,535 quanta are 4.2 MB, whose
// bits times 10^12 do not fit into 63 bits.
TEST(PauseTimeTest, IsRightForTheLongestPause) {
  EXPECT_EQ(PauseTime(65'535, 100_Gbps), 335'539'200_ps);
  EXPECT_EQ(PauseTime(65'535, 10_Gbps), 3'355'392_ns);
  EXPECT_EQ(PauseTime(65'535, 3_Gbps), 11'184'640_ns);
  EXPECT_EQ(PauseTime(65'535, 1_Mbps), 33'553'920_us);
}

TEST(PauseTimeTest, IsRoundedUp) {
  EXPECT_EQ(PauseTime(1, 100_Gbps), 5'120_ps);
  EXPECT_EQ(PauseTime(1, 3_Gbps), 170'667_ps);
  EXPECT_EQ(PauseTime(2, 3_Gbps), 341'334_ps);
  EXPECT_EQ(PauseTime(3, 3_Gbps), 512_ns);
}

TEST(PauseTimeTest, HasNoOverflowOnLinksThatHardlyMove) {
  Duration longer{0};
  for (const int64_t bps : {100, 10, 2, 1}) {
    const Duration pause = PauseTime(65'535, {bps});
    EXPECT_GE(pause, longer);
    EXPECT_LT(pause.ps, kNever.ps);
    longer = pause;
  }
  EXPECT_GT(longer, 1'000'000_s);
}

// Returns when a packet of 125 bytes leaves. It came 50 us after the start, to a port that had been
// told to pause. At 10 Gbps a quantum is 51.2 ns.
Time DepartureBehind(const std::vector<Offer>& frames, uint16_t quanta, Duration response = {0}) {
  const Duration delay = 1_us;
  SwitchPlan plan;
  plan.ports = {2, {.rate = 10_Gbps, .delay = delay, .wire_overhead = 0_B}};
  plan.queues = {.classes = 0b10, .marking = {}};
  plan.shares = std::vector<SharedMemory::Port>(2, {.buffer = kUnlimited});
  plan.queueing.pause = {.response = response, .quanta = quanta};
  SwitchBench bench(plan);
  std::vector<Offer> offers = frames;
  offers.push_back({Time{} + 50_us, 1, PacketOf(125, 1)});
  bench.Run(offers);
  EXPECT_EQ(bench.received(0).size(), 1u);
  return bench.received(0)[0].arrival - delay - 100_ns;
}

TEST(ExpiringPauseTest, EndsByItself) {
  const std::vector<Offer> stop = {{Time{} + 10_us, 0, PauseOf(0b10, true)}};
  EXPECT_EQ(DepartureBehind(stop, 1'000), Time{} + 10_us + 51'200_ns);
  EXPECT_EQ(DepartureBehind(stop, 1'000, 2_us), Time{} + 12_us + 51'200_ns);
  EXPECT_EQ(DepartureBehind(stop, 65'535), Time{} + 10_us + 3'355'392_ns);
  EXPECT_EQ(DepartureBehind(stop, 700), Time{} + 50_us);  // It had ended.
}

TEST(ExpiringPauseTest, LastsFromTheLastFrame) {
  const Offer stop{Time{} + 10_us, 0, PauseOf(0b10, true)};
  const Offer again{Time{} + 40_us, 0, PauseOf(0xff, true)};  // Of all classes.
  const Offer resume{Time{} + 55_us, 0, PauseOf(0b10, false)};
  EXPECT_EQ(DepartureBehind({stop, again}, 1'000), Time{} + 40_us + 51'200_ns);
  EXPECT_EQ(DepartureBehind({stop, again, resume}, 1'000), Time{} + 55_us);
}

// A pause that takes effect when a packet comes holds it (the order of events in core/node.h).
TEST(ExpiringPauseTest, HoldsAPacketOfTheInstantAtWhichItBegins) {
  const std::vector<Offer> frames = {{Time{} + 48_us, 0, PauseOf(0b10, true)},
                                     {Time{} + 58_us, 0, PauseOf(0b10, false)}};
  EXPECT_EQ(DepartureBehind(frames, 0, 2_us), Time{} + 60_us);
  EXPECT_EQ(DepartureBehind(frames, 0, 2_us + 1_ps), Time{} + 50_us);
}

// The end of a pause that was lifted does not end the next one.
TEST(ExpiringPauseTest, IsForgottenWhenItIsLifted) {
  const std::vector<Offer> frames = {{Time{} + 10_us, 0, PauseOf(0b10, true)},
                                     {Time{} + 20_us, 0, PauseOf(0b10, false)},
                                     {Time{} + 30_us, 0, PauseOf(0b10, true)}};
  EXPECT_EQ(DepartureBehind(frames, 1'000), Time{} + 30_us + 51'200_ns);
}

}  // namespace heddle::pause_time_test
