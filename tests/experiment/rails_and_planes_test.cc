// SPDX-License-Identifier: Apache-2.0
// Every load balancer on the fabrics of GPU servers: it runs there, or says why not.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "lb/parts/load_balancer.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/thread_counts.h"

namespace heddle::rails_and_planes_test {

const std::string kRail =
    "{kind: rail, pods: 2, servers: 2, rails: 4, spines: 4,\n"
    "  host_link: {rate: 10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}";
const std::string kPlanes =
    "{kind: planes, planes: 2, leaves: 2, spines: 2, hosts_per_leaf: 4,\n"
    "  host_link: {rate: 10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}";

const std::string kPlaneAlone =
    "{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4,\n"
    "  host_link: {rate: 10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}";

std::string Yaml(const std::string& topology, const std::string& lb) {
  return "topology: " + topology + "\nlb: " + lb +
         "\ntransport: {kind: rocev2, cc: dcqcn}\n"
         "workload:\n"
         "  - {kind: collective, op: all_to_all, size: 160KB, ranks: 8, placement: spread,\n"
         "     iterations: 2}\n"
         "  - {kind: permutation, size: 100KB}\n";
}

size_t PermutationFlows(const std::string& topology) {
  return topology == kPlanes || topology == kPlaneAlone ? 8 : 16;
}

// The schemes that refuse a fabric, whatever the reason.
std::set<std::string> RefusedOn(const std::string& topology) {
  std::set<std::string> refused;
  for (const std::string& name : LoadBalancers().Names()) {
    SCOPED_TRACE(name);
    const std::string yaml = Yaml(topology, name);
    const std::string errors = ErrorsOf(yaml);
    if (!errors.empty()) {
      EXPECT_NE(errors.find("lb"), std::string::npos) << errors;
      refused.insert(name);
      continue;
    }
    const FinishedRun run = RunExperiment(ExperimentFrom(yaml));
    EXPECT_EQ(run.result.unfinished, 0);
    EXPECT_FALSE(run.result.cut_short);
    EXPECT_EQ(CsvTable(run.files.flows).rows.size(), 2u * 8 * 7 + PermutationFlows(topology));
  }
  return refused;
}

TEST(RailsAndPlanesTest, AreFabricsForTheSchemesOfLeafAndSpine) {
  const std::string leaf_spine =
      "{kind: leaf_spine, leaves: 4, spines: 4, hosts_per_leaf: 4,\n"
      "  host_link: {rate: 10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}";
  const std::set<std::string> usual = RefusedOn(leaf_spine);
  EXPECT_EQ(RefusedOn(kRail), usual);
  for (const char* name : {"ecmp", "letflow", "conga", "drill", "conweave", "reps", "flb", "tr",
                           "best_nexthop", "switch_ar", "hula"}) {
    EXPECT_FALSE(usual.contains(name)) << name;
  }
}

TEST(RailsAndPlanesTest, SchemesRunWithinEachPlane) {
  EXPECT_EQ(RefusedOn(kPlanes), RefusedOn(kPlaneAlone));
  const FinishedRun run = RunExperiment(ExperimentFrom(Yaml(kPlanes, "ecmp")));
  const CsvTable links(run.files.links);
  std::set<std::string> used;
  for (size_t row = 0; row < links.rows.size(); ++row) {
    if (links.Real(row, "payload_bytes") > 0) used.insert(links.At(row, "node"));
  }
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) EXPECT_TRUE(used.contains(leaf));
}

TEST(RailsAndPlanesTest, ThreadsDoNotChangeResults) {
  for (const std::string& topology : {kRail, kPlanes}) {
    const Experiment experiment = ExperimentFrom(Yaml(topology, "letflow"));
    const FinishedRun one = RunExperiment(experiment);
    for (const int threads : ThreadCounts({2, 3})) {
      EXPECT_TRUE(RunExperiment(experiment, threads).files == one.files) << topology << threads;
    }
  }
}

}  // namespace heddle::rails_and_planes_test
