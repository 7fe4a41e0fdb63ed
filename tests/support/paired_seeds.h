// SPDX-License-Identifier: Apache-2.0
// Compares two numbers over five seeds or more. Both sides meet the same traffic at the same seed,
// so the effect of a seed cancels out.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/statistics.h"

namespace heddle {

// The values that `measure` returns at seeds 1 to `last`.
template <class Measure>
std::vector<double> AtSeeds(uint64_t last, const Measure& measure) {
  std::vector<double> found;
  for (uint64_t seed = 1; seed <= last; ++seed) found.push_back(static_cast<double>(measure(seed)));
  return found;
}
template <class Measure>
std::vector<double> AtFiveSeeds(const Measure& measure) {
  return AtSeeds(5, measure);
}

inline std::vector<double> Times(double factor, std::vector<double> numbers) {
  for (double& number : numbers) number *= factor;
  return numbers;
}

// Succeeds if `more` is the larger one: the 95 % interval of the mean difference excludes 0.
inline testing::AssertionResult IsLess(const std::vector<double>& less,
                                       const std::vector<double>& more) {
  if (less.size() != more.size()) return testing::AssertionFailure() << "not as many seeds";
  Replications difference;
  for (size_t i = 0; i < less.size(); ++i) difference.Add(more[i] - less[i]);
  // An interval that is not a number excludes nothing.
  const bool excludes_0 = difference.mean() > difference.half_width();
  return (excludes_0 ? testing::AssertionSuccess() : testing::AssertionFailure())
         << "the difference is " << difference.mean() << " +- " << difference.half_width()
         << ", of " << testing::PrintToString(less) << " and " << testing::PrintToString(more);
}

}  // namespace heddle
