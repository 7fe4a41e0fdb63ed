// SPDX-License-Identifier: Apache-2.0
// Tests links that differ from the others, as topo/leaf_spine.h defines them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/experiment_kit.h"

namespace heddle::asymmetry_test {

Experiment With(const std::string& asymmetry, const std::string& more = "",
                const std::vector<std::string>& sets = {}) {
  return ExperimentFrom(
      "topology:\n  kind: leaf_spine\n  leaves: 3\n  spines: 4\n  hosts_per_leaf: 2\n"
      "  fabric_link: {rate: 40Gbps, delay: 2us}\n  asymmetry: " +
          asymmetry + "\n" + more + "lb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n",
      sets);
}

const Graph::Link& Link(const Experiment& experiment, const std::string& name) {
  for (const Graph::Link& link : experiment.graph.links) {
    if (link.name == name) return link;
  }
  throw std::runtime_error("no link " + name);
}

// Names of links that send faster or slower than they would without asymmetry, either way.
std::vector<std::string> Changed(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const Graph::Link& link : experiment.graph.links) {
    const BitRate rate = experiment.graph.IsHost(link.a) ? 10_Gbps : 40_Gbps;
    if (link.a_to_b.rate != rate || link.b_to_a.rate != rate) names.push_back(link.name);
  }
  return names;
}

TEST(AsymmetryTest, NamesLinksOfHostsAndOfTheFabric) {
  const Experiment experiment =
      With("[{links: [leaf2-spine1, host5-leaf2], rate: 1Gbps, delay: 9us}]");
  EXPECT_THAT(Changed(experiment), testing::ElementsAre("host5-leaf2", "leaf2-spine1"));
  EXPECT_EQ(Link(experiment, "leaf2-spine1").a_to_b.delay, 9_us);
  EXPECT_EQ(experiment.stage.host_rate[5], 1_Gbps);
  EXPECT_EQ(experiment.stage.uplink_bps[2], 3 * 40'000'000'000 + 1'000'000'000);
  EXPECT_EQ(experiment.stage.uplink_bps[0], 4 * 40'000'000'000);
}

TEST(AsymmetryTest, MeansAllLinksOfASpine) {
  EXPECT_THAT(Changed(With("[{spines: [1, 3], rate: 1Gbps}]")),
              testing::ElementsAre("leaf0-spine1", "leaf0-spine3", "leaf1-spine1", "leaf1-spine3",
                                   "leaf2-spine1", "leaf2-spine3"));
}

TEST(AsymmetryTest, UpIsTowardsTheSpine) {
  const Experiment up = With("[{links: [leaf0-spine0], rate: 1Gbps, direction: up}]");
  EXPECT_EQ(Link(up, "leaf0-spine0").a_to_b.rate, 1_Gbps);
  EXPECT_EQ(Link(up, "leaf0-spine0").b_to_a.rate, 40_Gbps);
  const Experiment down = With("[{links: [leaf0-spine0], rate: 1Gbps, direction: down}]");
  EXPECT_EQ(Link(down, "leaf0-spine0").a_to_b.rate, 40_Gbps);
  EXPECT_EQ(Link(down, "leaf0-spine0").b_to_a.rate, 1_Gbps);
}

TEST(AsymmetryTest, LaterEntriesWinAndLeaveTheRestAlone) {
  const Experiment experiment =
      With("[{spines: [0], rate: 1Gbps, delay: 7us}, {links: [leaf1-spine0], rate: 2Gbps}]");
  EXPECT_EQ(Link(experiment, "leaf0-spine0").a_to_b.rate, 1_Gbps);
  EXPECT_EQ(Link(experiment, "leaf1-spine0").a_to_b.rate, 2_Gbps);
  EXPECT_EQ(Link(experiment, "leaf1-spine0").a_to_b.delay, 7_us);
}

TEST(AsymmetryTest, AParallelLinkHasItsOwnNumber) {
  const std::string parallel = "  links_per_pair: 2\n";
  EXPECT_THAT(Changed(With("[{links: ['leaf0-spine0#1'], rate: 1Gbps}]", parallel)),
              testing::ElementsAre("leaf0-spine0#1"));
  EXPECT_THAT(Changed(With("[{links: [leaf0-spine0], rate: 1Gbps}]", parallel)),
              testing::ElementsAre("leaf0-spine0#0", "leaf0-spine0#1"));
}

TEST(AsymmetryTest, DrawsAsManyAsAskedFromTheSeed) {
  std::map<std::string, int> met;
  for (int seed = 0; seed < 60; ++seed) {
    const std::vector<std::string> sets = {"seed=" + std::to_string(seed)};
    const std::string links = "[{random_links: 3, rate: 1Gbps}]";
    const std::vector<std::string> changed = Changed(With(links, "", sets));
    EXPECT_EQ(changed.size(), 3u);
    EXPECT_EQ(changed, Changed(With(links, "", sets)));
    for (const std::string& name : changed) ++met[name];
    EXPECT_EQ(Changed(With("[{random_spines: 2, rate: 1Gbps}]", "", sets)).size(), 6u);
  }
  // Every link of the fabric in turn, and no host's.
  EXPECT_EQ(met.size(), 12u);
  for (const auto& [name, times] : met) EXPECT_TRUE(name.starts_with("leaf")) << name;
}

TEST(PortWarningTest, LooksAtEveryRateThatASwitchSendsAt) {
  const std::string port = "  port: {buffer: 1MB, ecn_above: 400KB}\n";
  const auto warnings = [&](const std::string& asymmetry) {
    return testing::PrintToString(With(asymmetry, port).warnings);
  };
  EXPECT_THAT(warnings("[{links: [leaf0-spine0], rate: 3Gbps, direction: up}]"),
              testing::HasSubstr(
                  "at 3Gbps: the ECN threshold is more than 4 times the base bandwidth-delay"));
  EXPECT_THAT(warnings("[{links: [leaf0-spine0], rate: 3Gbps, direction: down}]"),
              testing::HasSubstr(
                  "at 3Gbps: the ECN threshold is more than 4 times the base bandwidth-delay"));
}

// Hosts at 10 Gbps behind short cables: K is 97.5KB, several times the bandwidth-delay product.
TEST(PortWarningTest, TakesADefaultForGrantedUnlessTheBufferIsTooSmallForIt) {
  EXPECT_THAT(With("[]").warnings, testing::IsEmpty());
  EXPECT_THAT(testing::PrintToString(With("[]", "  port: {buffer: 100KB}\n").warnings),
              testing::HasSubstr("at 10Gbps: the ECN threshold, by default 97500 bytes, is more "
                                 "than half the buffer of 100000; set ecn_above"));
}

}  // namespace heddle::asymmetry_test
