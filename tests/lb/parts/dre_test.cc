// SPDX-License-Identifier: Apache-2.0
// The discounting rate estimator: as published, and as if a timer decayed it.

#include "lb/parts/dre.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "core/random.h"

namespace heddle::dre_test {

// An estimator with a timer: it decays at every multiple of the period, even if nobody reads it.
class EagerDre {
 public:
  explicit EagerDre(const DreSettings& settings) : settings_(settings) {}

  void RunTo(Time now) {
    for (; next_ <= now; next_ += settings_.period) {
      value *= 1 - settings_.alpha;
      if (value < 1e-6) value = 0;
    }
  }

  double value = 0;

 private:
  const DreSettings settings_;
  Time next_ = Time{} + settings_.period;
};

TEST(DreTest, IsToTheLastBitWhatATimerWouldMakeOfIt) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng = Rng::Stream(seed, "dre", 0);
    const DreSettings settings{.period = 1_ns * (1 + rng.Below(100'000)),
                               .alpha = 0.05 + 0.9 * rng.Uniform()};
    Dre lazy(settings);
    EagerDre eager(settings);
    Time now;
    for (int i = 0; i < 5'000; ++i) {
      // Mostly within a period; now and then exactly at its end, or hundreds of them later.
      const uint32_t kind = rng.Below(100);
      if (kind < 90) now += Duration{rng.Below(static_cast<uint32_t>(settings.period.ps / 3 + 2))};
      if (kind == 98) now = Time{(now.ps / settings.period.ps + 1) * settings.period.ps};
      if (kind == 99) now += settings.period * rng.Below(400);
      const double amount = 64 + rng.Below(1'500);
      eager.RunTo(now);
      if (rng.Below(3) != 0) {
        eager.value += amount;
        lazy.Add(amount, now);
      }
      ASSERT_EQ(lazy.Read(now), eager.value) << "seed " << seed << ", step " << i;
    }
  }
}

// A saturated port reads between 1 - alpha, right after a decay, and 1, right before it.
TEST(DreTest, ReadsTheWholeOfASaturatedPort) {
  const DreSettings settings;
  EXPECT_EQ(settings.tau(), 160_us);
  const double full = Dre::FullBytes(10_Gbps, settings);
  EXPECT_DOUBLE_EQ(full, 200'000);  // 10 Gbps for 160 us.
  Dre dre(settings);
  Time now;
  for (; now < Time{} + 10_ms; now += 1'200_ns) dre.Add(1'500, now);
  const Time decay = Time{} + 32_us * 313;
  for (; now < decay; now += 1'200_ns) dre.Add(1'500, now);
  EXPECT_NEAR(dre.Read(decay - 1_ps) / full, 1.0, 0.01);
  EXPECT_NEAR(dre.Read(decay) / full, 0.8, 0.01);
}

// Worked example: packets are counted, alpha 0.5, 50 ms, a link of 8 Mbps that is saturated with
// packets of 1500 bytes: 33.3 of them in a period.
TEST(DreTest, CountsPacketsJustAsWell) {
  Dre dre({.period = 50_ms, .alpha = 0.5});
  const double after_decay[] = {50. / 3, 25, 29.17, 31.25};
  Time now;
  for (int period = 1; period <= 4; ++period) {
    const Time decay = Time{} + 50_ms * period;
    for (; now < decay; now += 10_us) dre.Add(10. / 1'500, now);
    EXPECT_NEAR(dre.Read(decay), after_decay[period - 1], 0.01);
  }
  for (; now < Time{} + 2_s; now += 10_us) dre.Add(10. / 1'500, now);
  EXPECT_NEAR(dre.Read(Time{} + 2_s - 1_ps), 66.7, 0.05);
}

TEST(DreTest, QuantisesDownAndClamps) {
  EXPECT_EQ(Dre::Quantise(0, 100, 3), 0u);
  EXPECT_EQ(Dre::Quantise(12.4, 100, 3), 0u);
  EXPECT_EQ(Dre::Quantise(12.5, 100, 3), 1u);
  EXPECT_EQ(Dre::Quantise(99.9, 100, 3), 7u);
  EXPECT_EQ(Dre::Quantise(100, 100, 3), 7u);  // Not 8, which would be 0 in three bits.
  EXPECT_EQ(Dre::Quantise(1e12, 100, 3), 7u);
  EXPECT_EQ(Dre::Quantise(50, 100, 6), 32u);
}

TEST(DreTest, AnIdlePortIsForgotten) {
  Dre dre(DreSettings{});
  dre.Add(1'500, Time{});
  EXPECT_GT(dre.Read(Time{} + 1_ms), 0);
  EXPECT_EQ(dre.Read(Time{} + 10_s), 0);
}

}  // namespace heddle::dre_test
