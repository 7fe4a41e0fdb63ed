// SPDX-License-Identifier: Apache-2.0
// Against numbers worked out by hand and by an independent program.

#include "lb/pdlb/fct_model.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

namespace heddle::pdlb_fct_model_test {

double Milliseconds(Duration d) { return Seconds(d) * 1e3; }

PdlbCase Case(double slow_paths, double slowness) {
  return {.slow_share = slow_paths / 8, .slowness = slowness};
}

int Best(const PdlbCase& given, PdlbForm form = PdlbForm::kCorrected) {
  return BestPdlbGranularity(given, form, AllPdlbGranularities());
}

TEST(PdlbModelTest, DisorderOfCells) {
  for (const double share : {0.0, 0.1, 0.5, 1.0}) {
    EXPECT_EQ(PdlbDisorder(0, share), 0);
    EXPECT_NEAR(PdlbDisorder(1, share), 0, 1e-15);
  }
  const std::vector<std::tuple<int, double, double>> worked = {
      {2, 0.25, 0.187500},  {3, 0.25, 0.375000},  {4, 0.25, 0.527344}, {8, 0.25, 0.849838},
      {8, 0.125, 0.599123}, {8, 0.375, 0.942379}, {8, 0.5, 0.964844},  {4, 1.0, 0}};
  for (const auto& [cells, share, disorder] : worked) {
    EXPECT_NEAR(PdlbDisorder(cells, share), disorder, 1e-6) << cells << " " << share;
  }
}

// The probability is that of a sequence of draws.
TEST(PdlbModelTest, DisorderIsWhatCountingAllDrawsGives) {
  constexpr double kSlow = 0.3;
  for (int cells = 1; cells <= 10; ++cells) {
    double disorder = 0;
    for (unsigned draw = 0; draw < 1u << cells; ++draw) {
      double probability = 1;
      bool seen_slow = false;
      bool in_order = true;
      for (int i = 0; i < cells; ++i) {
        const bool slow = (draw >> i & 1) != 0;
        probability *= slow ? kSlow : 1 - kSlow;
        if (seen_slow && !slow) in_order = false;
        seen_slow = seen_slow || slow;
      }
      if (!in_order) disorder += probability;
    }
    EXPECT_NEAR(PdlbDisorder(cells, kSlow), disorder, 1e-12);
  }
}

// W_0, W_1, ... from the predictions for flows that just need one round more: each adds one window
// to the sum that the mean is taken of.
std::vector<double> WindowsOf(PdlbCase given, int granularity, size_t count) {
  std::vector<double> windows;
  double sent = 0;
  while (windows.size() < count) {
    given.packets = sent + 1e-3;
    const double mean = PredictPdlb(given, granularity, PdlbForm::kCorrected).mean_window;
    windows.push_back(mean * static_cast<double>(windows.size() + 1) - sent);
    sent += windows.back();
  }
  return windows;
}

TEST(PdlbModelTest, FirstWindows) {
  const std::vector<double> expected = {224, 128.9683, 74.3174, 42.8886, 24.8146};
  const std::vector<double> one = WindowsOf(Case(2, 3), 1, expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(one[i], expected[i], 1e-4);
  const std::vector<double> others = {224, 128.9683, 87.7617, 65.0941, 53.5139, 49.3095};
  const std::vector<double> large = WindowsOf(Case(2, 3), 27, others.size());
  for (size_t i = 0; i < others.size(); ++i) EXPECT_NEAR(large[i], others[i], 1e-4);
}

TEST(PdlbModelTest, CompletionTimes) {
  const int cells[] = {1, 2, 4, 8, 16, 24, 27, 28, 32, 44};
  const double literal[] = {339.68, 230.53, 124.30, 109.15, 58.79,
                            39.98,  35.85,  34.17,  33.97,  34.25};
  const double corrected[] = {766.55, 523.77, 294.58, 264.80, 176.56,
                              149.44, 144.10, 163.72, 163.82, 166.57};
  for (size_t i = 0; i < std::size(cells); ++i) {
    const auto fct = [&](PdlbForm form) {
      return Milliseconds(PredictPdlb(Case(2, 3), cells[i], form).fct);
    };
    EXPECT_NEAR(fct(PdlbForm::kLiteral) / literal[i], 1, 2e-4) << cells[i];
    EXPECT_NEAR(fct(PdlbForm::kCorrected) / corrected[i], 1, 1e-4) << cells[i];
  }
}

struct Optimum {
  PdlbCase given;
  PdlbForm form;
  int granularity;
  double fct_ms;
};

TEST(PdlbModelTest, BestGranularities) {
  const PdlbForm literal = PdlbForm::kLiteral;
  const PdlbForm corrected = PdlbForm::kCorrected;
  const auto fast = [](double slow_paths) {
    PdlbCase given = Case(slow_paths, 3);
    given.rate = 10_Gbps;
    given.max_window = 148;
    return given;
  };
  const std::vector<Optimum> worked = {
      {Case(0, 3), literal, 1, 4.38},      {Case(1, 3), literal, 33, 32.41},
      {Case(2, 3), literal, 34, 33.93},    {Case(3, 3), literal, 33, 34.31},
      {Case(4, 3), literal, 32, 34.42},    {Case(0, 3), corrected, 1, 19.46},
      {Case(1, 3), corrected, 27, 117.35}, {Case(2, 3), corrected, 27, 144.10},
      {Case(3, 3), corrected, 27, 160.15}, {Case(4, 3), corrected, 27, 171.72},
      {Case(0, 6), corrected, 1, 19.46},   {Case(1, 6), corrected, 27, 137.96},
      {Case(2, 6), corrected, 27, 179.91}, {Case(3, 6), corrected, 27, 211.18},
      {Case(4, 6), corrected, 29, 236.56}, {fast(0), corrected, 1, 2.34},
      {fast(1), corrected, 44, 26.34},     {fast(2), corrected, 44, 37.16},
      {fast(4), corrected, 44, 49.37}};
  for (const Optimum& optimum : worked) {
    SCOPED_TRACE(optimum.fct_ms);
    const int best = Best(optimum.given, optimum.form);
    EXPECT_EQ(best, optimum.granularity);
    EXPECT_NEAR(Milliseconds(PredictPdlb(optimum.given, best, optimum.form).fct), optimum.fct_ms,
                0.006);
  }
}

TEST(PdlbModelTest, ASmallShareOfSlowPathsIsEnoughForLargeCells) {
  const std::vector<std::pair<double, int>> at_1g = {
      {0.005, 1}, {0.01, 14}, {0.02, 27}, {0.05, 29}, {0.125, 27}, {0.9, 27}, {1.0, 1}};
  for (const auto& [share, best] : at_1g) {
    EXPECT_EQ(Best({.slow_share = share, .slowness = 3}), best) << share;
  }
  for (const auto& [share, best] : {std::pair{0.03, 1}, {0.05, 44}}) {
    EXPECT_EQ(Best({.slow_share = share, .slowness = 3, .rate = 10_Gbps, .max_window = 148}), best);
  }
}

TEST(PdlbModelTest, WithoutSlowPathsSmallestCellsWinEverywhere) {
  for (const PdlbForm form : {PdlbForm::kLiteral, PdlbForm::kCorrected}) {
    for (const BitRate rate : {1_Gbps, 10_Gbps, 100_Gbps}) {
      for (const Duration delay : {10_us, 100_us, 1_ms}) {
        for (const double window : {1.0, 28.0, 148.0}) {
          for (const double packets : {1.0, 100.0, 10'000.0}) {
            EXPECT_EQ(Best({.packets = packets,
                            .slowness = 3,
                            .delay = delay,
                            .rate = rate,
                            .max_window = window},
                           form),
                      1)
                << rate.bps << " " << delay.ps << " " << window << " " << packets;
          }
        }
      }
    }
  }
}

TEST(PdlbModelTest, AsymmetryRaisesTheGranularity) {
  for (const PdlbForm form : {PdlbForm::kLiteral, PdlbForm::kCorrected}) {
    const int none = Best(Case(0, 3), form);
    for (int slow = 1; slow < 8; ++slow) EXPECT_GT(Best(Case(slow, 3), form), none);
  }
}

// A cell as large as a path's window never uses a second path.
TEST(PdlbModelTest, TimeFallsUpTo27PacketsThenJumpsUp) {
  const auto fct = [](int g) { return PredictPdlb(Case(2, 3), g, PdlbForm::kCorrected).fct; };
  for (int g = 1; g < 27; ++g) EXPECT_GT(fct(g), fct(g + 1)) << g;
  EXPECT_GT(fct(28).ps, 1.1 * static_cast<double>(fct(27).ps));
}

TEST(PdlbModelTest, SlownessCountsOnlyInTheCorrectedForm) {
  for (int slow = 1; slow < 8; ++slow) {
    for (const int g : {1, 2, 8, 27, 44}) {
      const auto fct = [&](double slowness, PdlbForm form) {
        return Seconds(PredictPdlb(Case(slow, slowness), g, form).fct);
      };
      EXPECT_GT(fct(3, PdlbForm::kCorrected), fct(2, PdlbForm::kCorrected));
      EXPECT_GT(fct(6, PdlbForm::kCorrected), fct(3, PdlbForm::kCorrected));
      if (slow > 2 || PredictPdlb(Case(slow, 2), g, PdlbForm::kLiteral).mean_window <= 8) continue;
      EXPECT_NEAR(fct(6, PdlbForm::kLiteral) / fct(2, PdlbForm::kLiteral), 1, 1e-3);
    }
  }
}

TEST(PdlbModelTest, AFlowOfOneWindowHasNoRounds) {
  const PdlbPrediction one =
      PredictPdlb({.packets = 100, .slow_share = 0.25, .slowness = 3}, 20, PdlbForm::kCorrected);
  EXPECT_EQ(one.mean_window, 224);
  EXPECT_EQ(one.mean_cells, 5);
  EXPECT_GT(one.fct, 0_ps);
}

TEST(PdlbModelTest, MaxWindowIsAPathsProductAndItsQueue) {
  EXPECT_EQ(PdlbMaxWindow(1_Gbps, 100_us, 20), 28);
  EXPECT_EQ(PdlbMaxWindow(10_Gbps, 100_us, 65), 148);
}

}  // namespace heddle::pdlb_fct_model_test
