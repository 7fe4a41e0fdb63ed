// SPDX-License-Identifier: Apache-2.0

#include "lb/tr/fct_model.h"

#include <algorithm>
#include <cmath>

namespace heddle {
namespace {

Duration FromSeconds(double seconds) { return {std::llround(seconds * kPicosecondsPerSecond)}; }

// Returns the logarithm of n over k: flows have many packets.
double LogChoose(int n, int k) {
  return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
}

// Probability that at least k of n packets take a good path, with probability p each.
double AtLeast(int k, int n, double p) {
  if (k > n) return 0;
  if (p >= 1) return 1;
  double fewer = 0;
  for (int i = 0; i < k; ++i) {
    fewer += std::exp(LogChoose(n, i) + i * std::log(p) + (n - i) * std::log1p(-p));
  }
  return std::max(0.0, 1 - fewer);
}

}  // namespace

double TrDisorder(int packets, int duplicate_acks, int good_paths, int bad_paths) {
  if (good_paths == 0 || bad_paths == 0) return 0;
  const double good = static_cast<double>(good_paths) / (good_paths + bad_paths);
  double disorder = 0;
  double all_good = 1;  // Probability that all packets before the i-th take good paths.
  for (int i = 1; i <= packets - duplicate_acks; ++i) {
    disorder += all_good * (1 - good) * AtLeast(duplicate_acks, packets - i, good);
    all_good *= good;
  }
  return disorder;
}

TrPrediction PredictTr(const TrCase& given) {
  const double paths = given.good_paths + given.bad_paths;
  const double share = paths * given.buffer / given.flows;  // n B / N
  const double packet_time = Seconds(given.packet_time);
  const double bad_delay = Seconds(given.bad_delay);
  TrPrediction prediction;
  prediction.disorder =
      TrDisorder(given.packets, given.duplicate_acks, given.good_paths, given.bad_paths);
  prediction.window = share * (1 - prediction.disorder / 2);  // Eq. (3)
  const double all_good = std::pow(given.good_paths / paths, prediction.window);
  const double round = (1 - all_good) * bad_delay + all_good * Seconds(given.good_delay) +
                       given.flows * prediction.window * packet_time / paths;  // Eq. (6)
  prediction.round = FromSeconds(round);
  prediction.f_rps =
      FromSeconds(4.0 * given.packets * round / (3 * prediction.window));  // Eqs. (2), (7)
  const double tr_window = 0.75 * share;
  const double tr_round = bad_delay + given.flows * tr_window * packet_time / paths;
  const double f_tr = 4.0 * given.packets * tr_round / (3 * tr_window);  // Eq. (8)
  prediction.f_tr = FromSeconds(f_tr);
  prediction.f_tr_consistent = FromSeconds(0.75 * f_tr);
  return prediction;
}

}  // namespace heddle
