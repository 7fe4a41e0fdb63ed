// SPDX-License-Identifier: Apache-2.0
// Against numbers worked out by hand and by an independent program.

#include "lb/tr/fct_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <tuple>
#include <vector>

#include "core/random.h"

namespace heddle::tr_fct_model_test {

double Milliseconds(Duration d) { return Seconds(d) * 1e3; }

// Five paths of each kind, 1 Gbps.
TrCase Case(int packets, Duration bad_delay, double flows = 20) {
  return {.flows = flows, .packets = packets, .bad_delay = bad_delay};
}

TEST(TrModelTest, Disorder) {
  EXPECT_DOUBLE_EQ(TrDisorder(4, 3, 1, 1), 0.0625);
  EXPECT_DOUBLE_EQ(TrDisorder(5, 3, 1, 1), 0.1875);
  EXPECT_DOUBLE_EQ(TrDisorder(6, 3, 1, 1), 0.34375);
  EXPECT_NEAR(TrDisorder(10, 3, 5, 5), 0.828125, 1e-9);
  EXPECT_NEAR(TrDisorder(67, 3, 7, 1), 0.99979, 5e-6);
  EXPECT_EQ(TrDisorder(100, 3, 8, 0), 0);
  EXPECT_EQ(TrDisorder(100, 3, 0, 8), 0);
  EXPECT_EQ(TrDisorder(3, 3, 1, 1), 0);
  EXPECT_NEAR(TrDisorder(100'000, 3, 1, 1), 1, 1e-9);  // Saturates, and does not overflow.
}

// Every way in which packets of a flow can be spread over good and bad paths.
TEST(TrModelTest, DisorderIsWhatCountingAllDrawsGives) {
  const auto counted = [](int packets, int duplicates, double share) {
    double disorder = 0;
    for (unsigned draw = 0; draw < 1u << packets; ++draw) {
      double probability = 1;
      int first_bad = -1;
      int later_good = 0;
      for (int i = 0; i < packets; ++i) {
        const bool good = (draw >> i & 1) != 0;
        probability *= good ? share : 1 - share;
        if (!good && first_bad < 0) first_bad = i;
        if (good && first_bad >= 0) ++later_good;
      }
      if (first_bad >= 0 && later_good >= duplicates) disorder += probability;
    }
    return disorder;
  };
  for (int packets = 1; packets <= 10; ++packets) {
    for (int duplicates = 1; duplicates <= 5; ++duplicates) {
      EXPECT_NEAR(TrDisorder(packets, duplicates, 3, 1), counted(packets, duplicates, 0.75), 1e-12);
      EXPECT_NEAR(TrDisorder(packets, duplicates, 2, 6), counted(packets, duplicates, 0.25), 1e-12);
    }
  }
}

TEST(TrModelTest, CompletionTimesBySizeAndAsymmetry) {
  // Packets, delay of bad paths, F_RPS and F_TR in ms.
  const std::vector<std::tuple<int, Duration, double, double>> worked = {
      {69, 300_us, 2.650, 2.502},  {69, 500_us, 2.944, 2.699},   {69, 700_us, 3.238, 2.895},
      {137, 300_us, 5.261, 4.969}, {137, 500_us, 5.845, 5.358},  {137, 700_us, 6.430, 5.748},
      {240, 300_us, 9.216, 8.704}, {240, 500_us, 10.240, 9.387}, {240, 700_us, 11.264, 10.069}};
  for (const auto& [packets, bad_delay, f_rps, f_tr] : worked) {
    const TrPrediction found = PredictTr(Case(packets, bad_delay));
    EXPECT_NEAR(Milliseconds(found.f_rps), f_rps, 6e-4);
    EXPECT_NEAR(Milliseconds(found.f_tr), f_tr, 6e-4);
    EXPECT_NEAR(found.window, 62.5, 1e-6);
  }
  EXPECT_NEAR(Microseconds(PredictTr(Case(69, 300_us)).round), 1'800, 1e-3);
  EXPECT_NEAR(Microseconds(PredictTr(Case(69, 500_us)).round), 2'000, 1e-3);
  EXPECT_NEAR(Microseconds(PredictTr(Case(69, 700_us)).round), 2'200, 1e-3);
}

// 20 flows of 100 KB in 69 packets over five paths of each kind, whose delays differ by 3.5.
TEST(TrModelTest, WithoutSettingsItIsTheFirstSizeAtTheLargestAsymmetry) {
  const TrPrediction found = PredictTr({});
  EXPECT_NEAR(Milliseconds(found.f_rps), 3.238, 6e-4);
  EXPECT_NEAR(Milliseconds(found.f_tr), 2.895, 6e-4);
}

// Eqs. (2) to (8) as printed, for all kinds of numbers.
TEST(TrModelTest, CompletionTimesAreThoseOfTheEquations) {
  Rng rng = Rng::Stream(1, "tr cases", 0);
  const auto below = [&](uint32_t n) { return static_cast<int>(rng.Below(n)); };
  for (int i = 0; i < 300; ++i) {
    const TrCase given = {.flows = 1.0 + below(40),
                          .packets = 1 + below(40),
                          .good_paths = 1 + below(7),
                          .bad_paths = below(7),
                          .buffer = 10.0 + below(300),
                          .packet_time = 100_ns * (1 + below(200)),
                          .good_delay = 1_us * (10 + below(300)),
                          .bad_delay = 1_us * (300 + below(900)),
                          .duplicate_acks = 1 + below(5)};
    const double n = given.good_paths + given.bad_paths;
    const double disorder =
        TrDisorder(given.packets, given.duplicate_acks, given.good_paths, given.bad_paths);
    const double w = (1 - disorder / 2) * n * given.buffer / given.flows;
    const double good = std::pow(given.good_paths / n, w);
    const double waits = given.flows * w * Seconds(given.packet_time) / n;
    const double r =
        (1 - good) * Seconds(given.bad_delay) + good * Seconds(given.good_delay) + waits;
    const double w_tr = 0.75 * n * given.buffer / given.flows;
    const double r_tr =
        Seconds(given.bad_delay) + given.flows * w_tr * Seconds(given.packet_time) / n;
    const double f_tr = given.packets * r_tr / (0.75 * w_tr);
    const TrPrediction found = PredictTr(given);
    EXPECT_EQ(found.disorder, disorder);
    EXPECT_NEAR(found.window / w, 1, 1e-12);
    EXPECT_NEAR(Seconds(found.round) / r, 1, 1e-6);
    EXPECT_NEAR(Seconds(found.f_rps) / (given.packets * r / (0.75 * w)), 1, 1e-6);
    EXPECT_NEAR(Seconds(found.f_tr) / f_tr, 1, 1e-6);
    EXPECT_NEAR(Seconds(found.f_tr_consistent) / (0.75 * f_tr), 1, 1e-6);
  }
}

TEST(TrModelTest, CompletionTimesAreLinearInTheNumberOfFlows) {
  const double f_rps[] = {4.834, 9.668, 14.502, 19.337, 24.171};
  const double f_tr[] = {4.321, 8.643, 12.964, 17.286, 21.607};
  for (size_t i = 0; i < 5; ++i) {
    const TrPrediction found = PredictTr(Case(206, 700_us, 10.0 * static_cast<double>(i + 1)));
    EXPECT_NEAR(Milliseconds(found.f_rps), f_rps[i], 6e-4);
    EXPECT_NEAR(Milliseconds(found.f_tr), f_tr[i], 6e-4);
  }
}

TEST(TrModelTest, TheRatioOfBothDependsOnTheAsymmetryAlone) {
  for (const int packets : {137, 240}) {
    for (const double flows : {10.0, 50.0}) {
      const auto ratio = [&](Duration bad_delay) {
        const TrPrediction found = PredictTr(Case(packets, bad_delay, flows));
        return Seconds(found.f_rps) / Seconds(found.f_tr);
      };
      EXPECT_NEAR(ratio(300_us), 1.059, 6e-4);
      EXPECT_NEAR(ratio(500_us), 1.091, 6e-4);
      EXPECT_NEAR(ratio(700_us), 1.119, 6e-4);
    }
  }
}

TEST(TrModelTest, SprayingIsSlowerWithAnyBadPath) {
  for (int bad = 1; bad <= 9; ++bad) {
    TrCase given = Case(206, 700_us);
    given.good_paths = 10 - bad;
    given.bad_paths = bad;
    const TrPrediction found = PredictTr(given);
    EXPECT_GT(found.f_rps, found.f_tr) << bad;
  }
}

TEST(TrModelTest, WithoutBadPathsWindowsGrowToTheBuffers) {
  TrCase given = Case(206, 200_us);
  given.good_paths = 10;
  given.bad_paths = 0;
  const TrPrediction found = PredictTr(given);
  EXPECT_EQ(found.disorder, 0);
  EXPECT_EQ(found.window, 10 * 250 / 20.0);
}

TEST(TrModelTest, CountedWithTheGreatestWindowTrTakesThreeQuarters) {
  const TrPrediction found = PredictTr(Case(206, 700_us));
  EXPECT_NEAR(Seconds(found.f_tr_consistent) / Seconds(found.f_tr), 0.75, 1e-9);
  // S N (4 d_b + 3 B t) / (3 n B)
  EXPECT_NEAR(Milliseconds(found.f_tr_consistent),
              206.0 * 20 * (4 * 0.7 + 3 * 250 * 0.012) / (3 * 10 * 250), 1e-9);
}

}  // namespace heddle::tr_fct_model_test
