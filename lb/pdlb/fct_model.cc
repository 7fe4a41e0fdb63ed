// SPDX-License-Identifier: Apache-2.0

#include "lb/pdlb/fct_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/check.h"

namespace heddle {
namespace {

constexpr double kPacketBits = 12'000;  // 1500 bytes.

Duration ToDuration(double seconds) {
  constexpr double kLongest = 1e6;  // 11 days: fits 63 bits of picoseconds, longer than any flow.
  return {std::llround(std::min(seconds, kLongest) * kPicosecondsPerSecond)};
}

// Returns the number of cells that a window of `window` packets is cut into.
int CellsOf(double window, int granularity, int paths) {
  const double cells = std::ceil(window / granularity);
  return static_cast<int>(std::clamp(cells, 1.0, static_cast<double>(paths)));
}

// Sums over the rounds of a flow, which are enough for the prediction.
struct Totals {
  double windows = 0;  // W_0 + ... + W_r: at least F.
  double cells = 0;    // n_1 + ... + n_r
  int rounds = 0;      // r
};

Totals RunRounds(const PdlbCase& given, int granularity) {
  HEDDLE_CHECK(given.paths >= 1 && given.max_window >= 1 && granularity >= 1,
               "{} paths, windows of {} packets and cells of {}", given.paths, given.max_window,
               granularity);
  double window = given.paths * given.max_window;
  Totals totals{.windows = window};
  int known_cells = 0;
  double disorder = 0;
  while (totals.windows < given.packets) {
    const int cells = CellsOf(window, granularity, given.paths);
    if (cells != known_cells) disorder = PdlbDisorder(cells, given.slow_share);
    known_cells = cells;
    window =
        std::min(cells * given.max_window, (window + 1) * (1 - disorder) + window / 2 * disorder);
    totals.windows += window;
    totals.cells += cells;
    ++totals.rounds;
  }
  return totals;
}

}  // namespace

double PdlbDisorder(int cells, double slow_share) {
  const double fast_share = 1 - slow_share;
  // Probability that, for some k, the first k cells take fast paths and all others slow ones.
  double in_order = 0;
  double all_fast = 1;
  for (int k = 0; k <= cells; ++k) {
    in_order = in_order * slow_share + all_fast;
    all_fast *= fast_share;
  }
  return std::max(0.0, 1 - in_order);
}

PdlbPrediction PredictPdlb(const PdlbCase& given, int granularity, PdlbForm form) {
  const Totals totals = RunRounds(given, granularity);
  const double packets_per_second = static_cast<double>(given.rate.bps) / kPacketBits;
  const bool literal = form == PdlbForm::kLiteral;
  PdlbPrediction prediction;
  prediction.mean_cells = totals.rounds > 0 ? totals.cells / totals.rounds
                                            : CellsOf(given.packets, granularity, given.paths);
  prediction.mean_window =
      totals.windows / (literal ? std::max(totals.rounds, 1) : totals.rounds + 1);
  const double slow_weight = literal ? std::pow(given.slow_share, prediction.mean_window)
                                     : 1 - std::pow(1 - given.slow_share, prediction.mean_cells);
  const double round_trip = ((given.slowness - 1) * slow_weight + 1) * Seconds(given.delay);
  const double transmission = literal
                                  ? granularity / packets_per_second
                                  : given.packets / (prediction.mean_cells * packets_per_second);
  prediction.fct = ToDuration(given.packets / prediction.mean_window * round_trip + transmission);
  return prediction;
}

int BestPdlbGranularity(const PdlbCase& given, PdlbForm form, std::span<const int> granularities) {
  int best = granularities.front();
  Duration least{std::numeric_limits<int64_t>::max()};
  for (const int granularity : granularities) {
    const Duration fct = PredictPdlb(given, granularity, form).fct;
    if (fct >= least) continue;
    least = fct;
    best = granularity;
  }
  return best;
}

std::vector<int> AllPdlbGranularities() {
  std::vector<int> all(kLargestPdlbCell);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

double PdlbMaxWindow(BitRate rate, Duration delay, double queue) {
  return std::floor(static_cast<double>(rate.bps) / kPacketBits * Seconds(delay)) + queue;
}

}  // namespace heddle
