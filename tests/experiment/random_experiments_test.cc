// SPDX-License-Identifier: Apache-2.0
// A few of the whole experiments drawn at random that scripts/random-experiments checks.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/random_experiment.h"

namespace heddle {
namespace {

TEST(RandomExperimentTest, KeepsEveryInvariantWithAnyNumberOfThreads) {
  int ran = 0;
  int refused = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::string last;
    const CheckedSeed checked = CheckSeed(seed, [&](const std::string& yaml) { last = yaml; });
    ASSERT_EQ(checked.problem, "") << "seed " << seed << ":\n" << last;
    ran += checked.ran ? 1 : 0;
    refused += checked.refused;
  }
  EXPECT_GE(ran, 20);
  EXPECT_GE(refused, 10);
}

}  // namespace
}  // namespace heddle
