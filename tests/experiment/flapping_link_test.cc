// SPDX-License-Identifier: Apache-2.0
// Links that go down and come up at the same instant lose what they carry. What is sent next must
// arrive, whichever of the engine's two sides runs first, and however the nodes are grouped.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/experiment_kit.h"
#include "tests/support/one_side.h"
#include "tests/support/thread_counts.h"

namespace heddle::flapping_link_test {

std::string Flapping(const std::string& link, const std::string& host_delay) {
  return fmt::format(
      "topology: {{kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 4,\n"
      "  host_link: {{rate: 100Gbps, delay: {}}}, fabric_link: {{rate: 400Gbps, delay: 1us}}}}\n"
      "transport: {{kind: dctcp, min_rto: 500us}}\n"
      "lb: ecmp\n"
      "workload: [{{kind: permutation, size: 500KB, cross_rack: true}}]\n"
      "schedule:\n"
      "  - {{at: 30us, links: [{}], state: down}}\n"
      "  - {{at: 30us, links: [{}], state: up}}\n",
      host_delay, link, link);
}

TEST(FlappingLinkTest, GoesOnAtTheSameInstant) {
  for (const char* host_delay : {"1us", "25ns"}) {
    for (const char* link : {"leaf0-spine0", "leaf1-spine0", "host1-leaf0", "host6-leaf1"}) {
      SCOPED_TRACE(fmt::format("{}, {}", link, host_delay));
      const Experiment experiment = ExperimentFrom(Flapping(link, host_delay));
      OneSide one_side;
      SimulationOptions options;
      options.instruments = {&one_side};
      const FinishedRun expected = RunExperiment(experiment, options);
      EXPECT_EQ(expected.result.unfinished, 0);
      EXPECT_GT(CsvTable(expected.files.flows).rows.size(), 0u);
      for (const int threads : ThreadCounts({1, 2, 3})) {
        EXPECT_TRUE(RunExperiment(experiment, threads).files == expected.files) << threads;
      }
    }
  }
}

}  // namespace heddle::flapping_link_test
