// SPDX-License-Identifier: Apache-2.0

#include "experiment/scheme_checks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "settings/writer.h"
#include "tests/support/experiment_kit.h"

namespace heddle::scheme_checks_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

// Links of 100 Gbps. A path has two queues, which DCTCP's marks hold at 300 KB, or 24 us.
std::string Fabric(const std::string& port = "{}", const std::string& more = "") {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2, "
         "host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us}, "
         "port: " +
         port + more + "}\nworkload: [{kind: permutation, size: 1MB}]\n";
}

std::optional<Duration> Difference(const std::string& fabric, const std::string& transport) {
  const Experiment experiment = ExperimentFrom(fabric + "lb: ecmp\ntransport: " + transport + "\n");
  const TransportModel& model = *experiment.settings.transport.settings;
  return LargestPathDifference(
      Routing(experiment.graph), experiment.settings.topology.settings->port, model,
      UsualMarkingFor(model, experiment.base_rtt, SlowestNic(experiment.graph)));
}

TEST(PathDifferenceTest, IsFromEmptyToFullQueues) {
  EXPECT_THAT(Difference(Fabric(), "dctcp"), Optional(48_us));
  EXPECT_THAT(Difference(Fabric("{ecn_above: 25KB}"), "dctcp"), Optional(4_us));
  // DCQCN's queues are marked for certain from 400 KB on.
  EXPECT_THAT(Difference(Fabric(), "rocev2"), Optional(64_us));
  // Without a reaction to marks the buffer counts.
  EXPECT_THAT(Difference(Fabric("{buffer: 1MB}"), "tcp"), Optional(160_us));
  EXPECT_THAT(Difference(Fabric("{buffer: 1MB}"), "{kind: rocev2, cc: timely}"), Optional(160_us));
  EXPECT_THAT(Difference(Fabric("{memory: {model: dt, size: 20MB}}"), "tcp"), Optional(3200_us));
  // Packets have 1518 bytes in a buffer.
  EXPECT_THAT(Difference(Fabric("{buffer: 100pkts}"), "tcp"),
              Optional(2 * SerializationDelay(Bytes{100 * 1518}, 100_Gbps)));
}

// Both links of a path through spine 0 are longer by 10 us.
TEST(PathDifferenceTest, CountsTheLengthsOfPaths) {
  EXPECT_THAT(Difference(Fabric("{}", ", asymmetry: [{spines: [0], delay: 11us}]"), "dctcp"),
              Optional(68_us));
}

TEST(PathDifferenceTest, IsUnknownWithoutALimitOrAChoice) {
  EXPECT_EQ(Difference(Fabric("{buffer: unlimited}"), "tcp"), std::nullopt);
  const std::string lossless = "{buffer: 1MB, pfc: {classes: [3]}}";
  EXPECT_EQ(Difference(Fabric(lossless), "{kind: rocev2, cc: timely}"), std::nullopt);
  EXPECT_THAT(Difference(Fabric(lossless), "rocev2"), Optional(64_us));
  EXPECT_EQ(Difference("topology: {kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 2}\n"
                       "workload: [{kind: permutation, size: 1MB}]\n",
                       "dctcp"),
            std::nullopt);
}

std::string WarningsFrom(const std::string& yaml) {
  return testing::PrintToString(ExperimentFrom(yaml).warnings);
}

TEST(FlowletGapTest, IsLongFromFourTimesTheDifferenceOn) {
  const auto warnings = [](const std::string& lb) {
    return WarningsFrom(Fabric() + "lb: " + lb + "\n");
  };
  EXPECT_THAT(warnings("{kind: letflow, gap: 193us}"),
              AllOf(HasSubstr("lb.gap: is 193us, over 4 times 48us"), HasSubstr("ECN threshold"),
                    HasSubstr("set a gap near 48us")));
  EXPECT_EQ(warnings("{kind: letflow, gap: 192us}"), "{}");
  EXPECT_THAT(warnings("letflow"), HasSubstr("lb.gap: is 500us"));
  EXPECT_EQ(warnings("clove_ecn"), "{}");  // Its gap follows from the fabric.
  EXPECT_EQ(warnings("ecmp"), "{}");
}

// The published 500us suit its 10 Gbps, where a queue takes 78 us.
TEST(FlowletGapTest, AsPublishedIsNotLongAtTheRateOfThePaper) {
  EXPECT_EQ(WarningsFrom("topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
                         "workload: [{kind: permutation, size: 1MB}]\nlb: letflow\n"),
            "{}");
}

TEST(FlowletGapTest, IsNotJudgedWherePathsChange) {
  EXPECT_EQ(WarningsFrom(Fabric() + "lb: letflow\nschedule: [{at: 1us, links: [leaf0-spine0], "
                                    "rate: 1Gbps}]\n"),
            "{}");
}

TEST(FlowletGapTest, IsKnownOfEverySchemeThatHasOne) {
  size_t with_gap = 0;
  for (const std::string& kind : LoadBalancers().Names()) {
    const Chosen<LoadBalancer> lb = LoadBalancers().Make(kind);
    const auto fields = DescribeFields([&](Fields& f) { lb.settings->Declare(f); });
    const bool has_gap = std::ranges::any_of(fields, [](const FieldInfo& field) {
      return field.path == "gap" && field.meaning.starts_with("Flowlet gap");
    });
    const bool wraps_one = kind == "rlb";  // Its default is LetFlow inside.
    EXPECT_EQ(lb.settings->flowlet_gap().has_value(), has_gap || wraps_one) << kind;
    with_gap += has_gap ? 1 : 0;
  }
  EXPECT_GT(with_gap, 5u);
}

// The share of data packets that others overtake with a scheme, in a lossless fabric of equal
// paths.
double ShareReordered(const std::string& kind) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 4, spines: 4, hosts_per_leaf: 4, "
      "host_link: {rate: 25Gbps, delay: 1us}, fabric_link: {rate: 25Gbps, delay: 1us}, "
      "port: {buffer: unlimited, pfc: {classes: [3], xoff: 256KB}}}\n"
      "transport: " +
      std::string(kind == "themis" ? "{kind: rocev2, recovery: sr}" : "rocev2") + "\nlb: " + kind +
      "\nworkload: [{kind: poisson, sizes: websearch, load: 0.6, flows: 150, pairs: inter_rack}]\n"
      "measure: {unfinished: inf, t_max: 30ms}\n"));
  int64_t reordered = 0;
  int64_t received = 0;
  for (const ClassCounters& counters : run.result.counters) {
    reordered += counters.reordered;
    received += counters.packets_received;
  }
  return static_cast<double>(reordered) / static_cast<double>(received);
}

// Under go-back-N an overtaken packet costs a window. Schemes that keep flows in order, but for a
// few moves, have shares up to 0.03 %, the others 0.48 % and more.
TEST(OrderTest, EverySchemeThatReordersSaysSo) {
  for (const std::string& kind : LoadBalancers().Names()) {
    if (kind == "turned_by_controller") continue;  // Another test registers it.
    const bool reorders = LoadBalancers().Make(kind).settings->reorders();
    const double share = ShareReordered(kind);
    EXPECT_EQ(share > 0.0015, reorders) << kind << ": " << share;
  }
}

// In a large fabric whose leaves are not alike, each counts.
TEST(BaseRttTest, IsTheLongestOfAllLeaves) {
  for (const int slow : {1, 2, 65}) {
    const Experiment experiment = ExperimentFrom(fmt::format(
        "topology: {{kind: leaf_spine, leaves: 66, spines: 2, hosts_per_leaf: 1, asymmetry: "
        "[{{links: [leaf{0}-spine0, leaf{0}-spine1], delay: 200us}}]}}\n"
        "lb: ecmp\nworkload: [{{kind: permutation, size: 1KB}}]\n",
        slow));
    EXPECT_GT(experiment.base_rtt, 400_us) << slow;
  }
}

// Among the next hops to the other leaf, p0 has a host, so it is no higher than the leaf.
TEST(SchemeChecksTest, WarnsOfPathsThatHostsCannotTellApart) {
  const auto warns = [](const std::string& p0, const std::string& lb) {
    const Experiment experiment = ExperimentFrom(
        "topology: {kind: custom, hosts: 3, switches: [{name: l0}, {name: l1}, " + p0 +
        ", {name: p1}], links: [{a: host0, b: l0}, {a: host1, b: l1}, {a: host2, b: p0}, {a: l0, "
        "b: "
        "p0}, {a: l0, b: p1}, {a: l1, b: p0}, {a: l1, b: p1}]}\n"
        "lb: " +
        lb + "\nworkload: [{kind: permutation, size: 1KB}]\n");
    return std::ranges::any_of(experiment.warnings, [](const std::string& warning) {
      return warning.find("l0 has equally short paths over uplinks and over other links") !=
             std::string::npos;
    });
  };
  EXPECT_TRUE(warns("{name: p0}", "presto"));
  EXPECT_FALSE(warns("{name: p0}", "ecmp"));
  EXPECT_FALSE(warns("{name: p0, tier: 1}", "presto"));
}

}  // namespace heddle::scheme_checks_test
