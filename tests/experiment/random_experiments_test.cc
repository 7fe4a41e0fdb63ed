// SPDX-License-Identifier: Apache-2.0
// A few of the whole experiments drawn at random that scripts/random-experiments checks.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/random_experiment.h"
#include "tests/support/thread_counts.h"

namespace heddle::random_experiments_test {

TEST(RandomExperimentTest, KeepsEveryInvariantWithAnyNumberOfThreads) {
  const int seeds = kUnderThreadSanitizer ? 12 : 40;
  int ran = 0;
  int refused = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    std::string last;
    const CheckedSeed checked =
        CheckSeed(static_cast<uint64_t>(seed), [&](const std::string& yaml) { last = yaml; });
    ASSERT_EQ(checked.problem, "") << "seed " << seed << ":\n" << last;
    ran += checked.ran ? 1 : 0;
    refused += checked.refused;
  }
  EXPECT_GE(ran, kUnderThreadSanitizer ? 4 : 20);
  EXPECT_GE(refused, kUnderThreadSanitizer ? 3 : 10);
}

// The packets of one flow take turns over the two links of its receiver, which takes less time than
// the best single way, and counts as one path.
TEST(RandomExperimentTest, AFlowMayTakeSeveralWaysThatForkDownwards) {
  const Verdict verdict = CheckWildExperiment(
      "topology: {kind: custom, hosts: 2, switches: [{name: s0}, {name: s1}, {name: s2}],\n"
      "  links: [{a: s0, b: s1}, {a: s0, b: s2}, {a: host0, b: s0}, {a: host1, b: s1},\n"
      "    {a: host1, b: s2}], link: {rate: 1Gbps, delay: 7us}}\n"
      "transport: {kind: dctcp}\n"
      "lb: {kind: rr_pkt}\n"
      "workload: [{kind: incast, fan_in: 1, bytes_each: 8000B, receiver: 1}]\n"
      "measure: {warm_up: 0ps, classes: [all]}\n");
  EXPECT_FALSE(verdict.refused) << verdict.errors;
  EXPECT_EQ(verdict.problem, "");
}

}  // namespace heddle::random_experiments_test
