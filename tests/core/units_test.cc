// SPDX-License-Identifier: Apache-2.0

#include "core/units.h"

#include <gtest/gtest.h>

#include <concepts>

namespace heddle::units_test {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

static_assert(1_us == Duration{1'000'000} && 1_s == 1'000_ms && 1_ns == 1'000_ps);
static_assert(25_Gbps == BitRate{25'000'000'000} && 1'000_Mbps == 1_Gbps);
static_assert(64_KB == 64'000_B && 1_MB == 1'000_KB);
static_assert(Time{} + 3_us - 1_us == Time{2'000'000});
static_assert(Time{5'000} - Time{2'000} == 3_ns);
static_assert(7_ns / 2_ns == 3 && 7_ns / 2 == 3'500_ps && 3 * 2_ns == 6_ns);
static_assert(SerializationDelay(1'538_B, 10_Gbps) == Duration{1'230'400});
static_assert(SerializationDelay(1'500_B, 100_Gbps) == 120_ns);
static_assert(SerializationDelay(1_B, 800_Gbps) == 10_ps);

static_assert(Addable<Time, Duration> && Addable<Duration, Time>);
static_assert(!Addable<Time, Time> && !Addable<Time, Bytes> && !Addable<Bytes, BitRate>);
static_assert(!Addable<Duration, int> && !Comparable<Time, Duration>);
static_assert(!std::convertible_to<int64_t, Time>);

TEST(SerializationDelayTest, RoundsUpSoThatNoPacketIsEarly) {
  EXPECT_EQ(SerializationDelay(1_B, 3_Gbps), 2'667_ps);  // 8000 / 3 = 2666.7
  EXPECT_EQ(SerializationDelay(1_B, BitRate{8'000'000'000'001}), 1_ps);
  EXPECT_EQ(SerializationDelay(0_B, 10_Gbps), 0_ps);
}

TEST(SerializationDelayTest, IsExactForEthernetRates) {
  for (const int64_t gbps : {1, 10, 25, 40, 50, 100, 200, 400, 800}) {
    const BitRate rate{gbps * 1'000'000'000};
    for (const int64_t bytes : {1, 64, 84, 1'500, 1'538, 9'018}) {
      EXPECT_EQ(SerializationDelay({bytes}, rate).ps * gbps, bytes * 8'000) << gbps << " " << bytes;
    }
  }
}

TEST(SerializationDelayTest, HoldsTheLargestSizeItPromises) {
  EXPECT_EQ(SerializationDelay(1'150_KB, BitRate{10'000'000'000'000}), 920_ns);
  EXPECT_EQ(SerializationDelay(1'150_KB, 1_Mbps), 9'200_ms);
}

TEST(TimeTest, NeverIsLaterThanAnyDelayAddedToOneAgain) {
  EXPECT_GT(kNever, Time{} + 2'000'000_s);
  EXPECT_GT(kNever + Duration{kNever.ps}, kNever);
  EXPECT_DOUBLE_EQ(Seconds(1'500_ms), 1.5);
  EXPECT_DOUBLE_EQ(Microseconds(1'500_ns), 1.5);
}

}  // namespace heddle::units_test
