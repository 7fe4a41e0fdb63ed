// SPDX-License-Identifier: Apache-2.0
// Checks when datagrams are due: to the picosecond where it can be computed, within the bounds of
// theory where it is drawn.

#include "transport/udp_pattern.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/limits.h"
#include "tests/support/printers.h"

namespace heddle::udp_pattern_test {

using Kind = UdpPattern::Kind;
using Lengths = UdpPattern::Lengths;

constexpr Bytes kWire{1'538};

std::vector<Time> Instants(const UdpPattern& pattern, Bytes wire, BitRate rate, size_t count,
                           uint64_t stream = 0) {
  UdpClock clock(pattern, wire, rate, Time{} + 5_us, Rng::Stream(1, "test", stream));
  std::vector<Time> instants;
  for (; instants.size() < count; clock.Advance()) instants.push_back(clock.next());
  return instants;
}

// Datagrams due before `end`.
double CountBefore(const UdpPattern& pattern, BitRate rate, Duration end, uint64_t stream) {
  UdpClock clock(pattern, kWire, rate, Time{}, Rng::Stream(2, "test", stream));
  double count = 0;
  for (; clock.next() < Time{} + end; clock.Advance()) ++count;
  return count;
}

// Above a shape of 1 a Pareto distribution has a mean.
TEST(UdpPatternTest, EachSettingHasItsLimits) {
  const auto mistakes = [](const SettingValues& its, const std::string& value) {
    return MistakesIn<UdpPattern>("{" + its.setting + ": " + value + "}");
  };
  const std::vector<std::string> lengths = {"exponential", "constant", "pareto"};
  ExpectTakenAndRefused(
      {{"pattern", {"cbr", "poisson", "onoff"}, {"off"}},
       {"jitter", {"0", "1"}, {"-0.001", "1.001"}},
       {"mean_on", {"1ns", "1000s"}, {"999ps", "1000000000000001ps"}},
       {"mean_off", {"1ns", "1000s"}, {"999ps", "1000000000000001ps"}},
       {"on_dist", lengths, {"uniform"}},
       {"off_dist", lengths, {"uniform"}},
       {"shape", {"1.001", "100"}, {"1", "100.001"}}},
      mistakes, [](const SettingValues& its, const std::string&) { return its.setting + ": "; });
}

TEST(CbrTest, ComesAtExactlyItsRate) {
  // 1538 bytes at 3 Gbps last 4101333 1/3 ps: a third of a picosecond is never lost.
  const std::vector<Time> at = Instants({.jitter = 0}, kWire, 3_Gbps, 100'000);
  for (size_t n = 0; n < at.size(); ++n) {
    ASSERT_EQ(at[n].ps, 5'000'000 + static_cast<int64_t>(n) * 12'304'000 / 3);
  }
}

TEST(CbrTest, GivesAsManyDatagramsAsGapsFit) {
  // 1 Gbps for 10 ms: 812 gaps of 12304 ns fit.
  EXPECT_EQ(CountBefore({.jitter = 0}, 1_Gbps, 10_ms, 0), 813);
  EXPECT_EQ(CountBefore({.jitter = 0}, 1_Gbps, 812 * 12'304_ns, 0), 812);
}

TEST(CbrTest, JitterVariesEachGapAndKeepsTheMean) {
  const double gap = 1'230'400;
  for (const double jitter : {0.1, 1.0}) {
    const std::vector<Time> at = Instants({.jitter = jitter}, kWire, 10_Gbps, 100'001);
    EXPECT_GE(at[0], Time{} + 5_us);
    EXPECT_LT(at[0].ps, 5'000'000 + gap);
    double least = 1e18;
    double most = 0;
    for (size_t n = 1; n < at.size(); ++n) {
      const double ps = static_cast<double>((at[n] - at[n - 1]).ps);
      least = std::min(least, ps);
      most = std::max(most, ps);
    }
    EXPECT_GE(least, gap * (1 - jitter) - 1);
    EXPECT_LE(most, gap * (1 + jitter) + 1);
    EXPECT_GT(most - least, 1.99 * jitter * gap);
    // Uniform in +-jitter: the sum of n has a deviation of jitter sqrt(n / 3).
    const double off = static_cast<double>((at.back() - at[0]).ps) / gap - 100'000;
    EXPECT_LT(std::abs(off), 4 * jitter * std::sqrt(100'000 / 3.0));
  }
}

// Also sources that are hardly ever off, so that they begin on.
TEST(CbrTest, SourcesBeginAtDifferentPointsOfTheirFirstGap) {
  for (const UdpPattern& pattern :
       {UdpPattern{}, UdpPattern{.kind = Kind::kOnOff, .mean_on = 1_s, .mean_off = 1_ns}}) {
    double sum = 0;
    for (uint64_t s = 0; s < 1'000; ++s) {
      sum += static_cast<double>((Instants(pattern, kWire, 10_Gbps, 1, s)[0] - Time{} - 5_us).ps);
    }
    EXPECT_NEAR(sum / 1'000 / 1'230'400, 0.5, 4 / std::sqrt(12'000));
  }
}

TEST(UdpPoissonTest, HasExponentialGapsOfTheRightMean) {
  constexpr size_t kCount = 100'000;
  const std::vector<Time> at = Instants({.kind = Kind::kPoisson}, kWire, 10_Gbps, kCount + 1);
  EXPECT_GT(at[0], Time{} + 5_us);
  const double mean = static_cast<double>((at.back() - at[0]).ps) / kCount;
  EXPECT_NEAR(mean / 1'230'400, 1, 4 / std::sqrt(kCount));
  double longer = 0;
  for (size_t n = 1; n < at.size(); ++n) longer += (at[n] - at[n - 1]).ps > 1'230'400 ? 1 : 0;
  const double p = std::exp(-1);
  EXPECT_NEAR(longer / kCount, p, 4 * std::sqrt(p * (1 - p) / kCount));
}

TEST(OnOffTest, SendsAtTheRateOfItsTimesOn) {
  EXPECT_EQ((UdpPattern{.kind = Kind::kOnOff}).PeakRate(1_Gbps), 2_Gbps);
  EXPECT_EQ((UdpPattern{.kind = Kind::kOnOff, .mean_on = 1_ms, .mean_off = 4_ms}).PeakRate(1_Gbps),
            5_Gbps);
  EXPECT_EQ((UdpPattern{.kind = Kind::kPoisson}).PeakRate(1_Gbps), 1_Gbps);
}

// 1250 bytes at 3 Gbps, a third of the time: three fit into 10 us exactly, the next one opens the
// next time on.
TEST(OnOffTest, IsExactWithConstantLengths) {
  const std::vector<Time> at = Instants({.kind = Kind::kOnOff,
                                         .jitter = 0,
                                         .mean_on = 10_us,
                                         .mean_off = 20_us,
                                         .on = Lengths::kConstant,
                                         .off = Lengths::kConstant},
                                        Bytes{1'250}, 1_Gbps, 3'000);
  const Duration late = at[0] - Time{};
  EXPECT_TRUE(late == 5_us || late == 25_us) << "on or off to begin with";
  for (size_t n = 0; n < at.size(); ++n) {
    const int64_t k = static_cast<int64_t>(n);
    ASSERT_EQ((at[n] - at[0]).ps, k / 3 * 30'000'000 + k % 3 * 10'000'000 / 3);
  }
}

TEST(OnOffTest, BeginsOnAsOftenAsItIsOn) {
  const UdpPattern pattern{.kind = Kind::kOnOff,
                           .jitter = 0,
                           .mean_on = 1_ms,
                           .mean_off = 3_ms,
                           .on = Lengths::kConstant,
                           .off = Lengths::kConstant};
  double on = 0;
  for (uint64_t s = 0; s < 2'000; ++s) {
    on += Instants(pattern, kWire, 1_Gbps, 1, s)[0] == Time{} + 5_us ? 1 : 0;
  }
  EXPECT_NEAR(on / 2'000, 0.25, 4 * std::sqrt(0.25 * 0.75 / 2'000));
}

// The time on within T of alternating times of means and deviations (m, s) and (n, r) has the
// variance T (n^2 s^2 + m^2 r^2) / (m + n)^3.
TEST(OnOffTest, MeetsItsMeanRateWhateverTheLengths) {
  struct Case {
    Lengths on, off;
    double s, r;  // Multiples of the mean.
  };
  const double pareto = std::sqrt(1 / (3.0 * (3.0 - 2)));  // Shape 3.
  for (const Case& c : {Case{Lengths::kExponential, Lengths::kExponential, 1, 1},
                        Case{Lengths::kPareto, Lengths::kExponential, pareto, 1},
                        Case{Lengths::kConstant, Lengths::kPareto, 0, pareto}}) {
    const UdpPattern pattern{.kind = Kind::kOnOff,
                             .mean_on = 200_us,
                             .mean_off = 600_us,
                             .on = c.on,
                             .off = c.off,
                             .shape = 3};
    constexpr double kTotal = 2e6;  // us.
    const double expected = kTotal * 1e-6 * 1e9 / (8 * 1'538);
    const double variance =
        kTotal * (600 * 600 * std::pow(c.s * 200, 2) + 200 * 200 * std::pow(c.r * 600, 2)) /
        std::pow(800, 3);
    const double deviation = std::sqrt(variance) / (kTotal / 4) * expected;
    EXPECT_NEAR(CountBefore(pattern, 1_Gbps, 2_s, 0), expected, 4 * deviation + 500);
  }
}

// Times on that are shorter than a gap still add up.
TEST(OnOffTest, MeetsItsMeanRateWithShortTimesOn) {
  const UdpPattern pattern{.kind = Kind::kOnOff, .mean_on = 1_us, .mean_off = 1_us};
  // Gaps of 6.152 us: in 1 s, 81274; the deviation is sqrt(1e-6 s / 1 s), relatively.
  EXPECT_NEAR(CountBefore(pattern, 1_Gbps, 1_s, 0), 81'274, 4 * 81'274 * 1e-3 + 1);
}

TEST(UdpClockTest, RepeatsItselfAndDiffersFromOtherStreams) {
  for (const Kind kind : {Kind::kCbr, Kind::kPoisson, Kind::kOnOff}) {
    const auto one = Instants({.kind = kind}, kWire, 1_Gbps, 1'000, 7);
    EXPECT_EQ(one, Instants({.kind = kind}, kWire, 1_Gbps, 1'000, 7));
    EXPECT_NE(one, Instants({.kind = kind}, kWire, 1_Gbps, 1'000, 8));
  }
}

TEST(UdpClockTest, SurvivesLengthsBeyondAllTimes) {
  const UdpPattern pattern{.kind = Kind::kOnOff,
                           .mean_on = 1000_s,
                           .mean_off = 1000_s,
                           .on = Lengths::kPareto,
                           .off = Lengths::kPareto,
                           .shape = 1.01};
  UdpClock clock(pattern, kWire, BitRate{1}, Time{}, Rng::Stream(1, "test", 0));
  for (int i = 0; i < 10'000; ++i) {
    const Time before = clock.next();
    clock.Advance();
    ASSERT_GE(clock.next(), before);
    ASSERT_LE(clock.next(), kNever);
  }
}

}  // namespace heddle::udp_pattern_test
