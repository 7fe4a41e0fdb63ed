// SPDX-License-Identifier: Apache-2.0

#include "experiment/warnings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/thread_counts.h"

namespace heddle::warnings_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

TEST(WarningsTest, LoadIsUncarriedBelow85Percent) {
  EXPECT_EQ(WarnOfUncarriedLoad(0.5, 0.425), std::nullopt);
  EXPECT_THAT(WarnOfUncarriedLoad(0.5, 0.424),
              Optional(AllOf(
                  HasSubstr("offered 0.5 of the hosts' links, and the network carried 0.424, 85 %"),
                  HasSubstr("no steady state"), HasSubstr("for longer"))));
  EXPECT_EQ(WarnOfUncarriedLoad(0, 0), std::nullopt);
}

// From 16 to 26 flows the difference is 10, and chance gives up to 2 sqrt(42) = 12.96.
TEST(WarningsTest, ABacklogGrowsIfItGrowsMoreThanChanceAllows) {
  EXPECT_EQ(WarnOfGrowingBacklog({{{16, 1e6}, {26, 9e6}}}), std::nullopt);
  EXPECT_THAT(WarnOfGrowingBacklog({{{16, 1e6}, {31, 9e6}}}),
              Optional(AllOf(HasSubstr("16 flows of 1 MB"), HasSubstr("31 of 9 MB"),
                             HasSubstr("lower the load"))));
  // With many flows chance is small, and a growth by half is the limit: of flows and of bytes.
  EXPECT_EQ(WarnOfGrowingBacklog({{{1000, 1e6}, {1500, 9e6}}}), std::nullopt);
  EXPECT_EQ(WarnOfGrowingBacklog({{{1000, 1e6}, {1501, 1.5e6}}}), std::nullopt);
  EXPECT_NE(WarnOfGrowingBacklog({{{1000, 1e6}, {1501, 1.51e6}}}), std::nullopt);
  EXPECT_EQ(WarnOfGrowingBacklog({{{1501, 9e6}, {1000, 1e6}}}), std::nullopt);
}

TEST(WarningsTest, AWarmUpIsShortIfMoreThanATenthOfTheTimeIsMissing) {
  const auto warning = [](Duration warm_up, Duration measured) {
    return WarnOfShortWarmUp({.slowest = "the flows of class XL",
                              .median_fct = 3_ms,
                              .warm_up = warm_up,
                              .measured = measured});
  };
  EXPECT_EQ(warning(3_ms, 1_ms), std::nullopt);
  EXPECT_EQ(warning(1_ms, 20_ms), std::nullopt);
  EXPECT_THAT(warning(1_ms, 19_ms),
              Optional(AllOf(HasSubstr("measured, 1ms after"), HasSubstr("class XL take 3ms"),
                             HasSubstr("11 % of the measured flows see too little load"),
                             HasSubstr("set measure.warm_up to 3ms or more"))));
  EXPECT_THAT(warning(1_ms, 2_ms), Optional(HasSubstr("so all measured flows see")));
}

ClassSummary ClassOf(const std::string& set, const std::string& label, int64_t flows) {
  return {.set = set, .label = label, .flows = flows, .fct_us = {}, .slowdown = {}};
}

TEST(WarningsTest, ClassesWithFewFlowsAreNamed) {
  std::vector<ClassSummary> rows = {ClassOf("all", "all", 1999), ClassOf("sml", "S", 1000),
                                    ClassOf("sml", "M", 0), ClassOf("sml", "L", 999)};
  EXPECT_THAT(WarnOfFewFlows(rows), Optional(HasSubstr("above the p99 of L (999): ")));
  rows.back().flows = 1000;
  EXPECT_EQ(WarnOfFewFlows(rows), std::nullopt);
  // Two sets have a class S.
  rows = {ClassOf("all", "all", 7), ClassOf("sml", "S", 7), ClassOf("smlxl", "S", 5)};
  EXPECT_THAT(WarnOfFewFlows(rows),
              Optional(HasSubstr("p99 of all flows (7), sml S (7), smlxl S (5): ")));
}

TEST(WarningsTest, RetransmissionsAreNeedlessIfReorderingCausesThem) {
  const auto warning = [](const Needless& counts) {
    return WarnOfNeedlessRetransmissions(counts, "rps", "set transport.resequencing");
  };
  const Needless counts{.packets_sent = 1000, .spurious = 10, .loss = 3, .recoveries = 4};
  EXPECT_THAT(warning(counts),
              Optional(AllOf(HasSubstr("1 % of the data packets"), HasSubstr("lost ones 4 times"),
                             HasSubstr("rather than rps; set transport.resequencing"))));
  EXPECT_EQ(warning({.packets_sent = 1001, .spurious = 10, .loss = 3, .recoveries = 4}),
            std::nullopt);
  // Go-back-N sends again what follows a lost packet.
  EXPECT_EQ(warning({.packets_sent = 1000, .spurious = 900, .loss = 4, .recoveries = 4}),
            std::nullopt);
  EXPECT_EQ(warning({}), std::nullopt);
}

// 16 hosts on two leaves; the uplinks of a leaf carry as much as its hosts' links do, at `rate`.
std::string Fabric(const std::string& rate) {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 8, "
         "host_link: {rate: 10Gbps, delay: 1us}, fabric_link: {rate: " +
         rate + ", delay: 1us}}\n";
}

std::string WarningsOfRun(const std::string& yaml, int threads = 1) {
  const Experiment experiment = ExperimentFrom(yaml);
  const SimulationResult result = RunExperiment(experiment, threads).result;
  return testing::PrintToString(WarningsOf(experiment, result, Summarise(experiment, result)));
}

// Flows of 20 KB last some tens of us, which 1 ms of warm-up and 20 ms of measuring cover.
const std::string kSteady =
    "lb: ecmp\nworkload: [{kind: poisson, sizes: 'fixed:20KB', load: 0.3, duration: 20ms}]\n"
    "measure: {warm_up: 1ms, classes: [all]}\n";

TEST(WarningsOfRunTest, ThereAreNoneInASteadyState) {
  EXPECT_EQ(WarningsOfRun(Fabric("40Gbps") + kSteady), "{}");
}

// The flows between leaves load uplinks of 2 x 5 Gbps with four times their rate.
TEST(WarningsOfRunTest, AnOverloadShowsInLoadAndBacklog) {
  const std::string overload =
      "lb: ecmp\nworkload: [{kind: poisson, sizes: 'fixed:20KB', load: 0.5, pairs: inter_rack, "
      "duration: 5ms, overload: true}]\nmeasure: {warm_up: 1ms, classes: [all], unfinished: inf, "
      "t_max: 8ms}\n";
  const std::string warnings = WarningsOfRun(Fabric("5Gbps") + overload);
  EXPECT_THAT(warnings, AllOf(HasSubstr("load: "), HasSubstr("backlog: ")));
  for (const int threads : ThreadCounts({2, 3})) {
    EXPECT_EQ(WarningsOfRun(Fabric("5Gbps") + overload, threads), warnings) << threads;
  }
}

// No load is too high here, but flows of 2 MB last for most of the 4 ms in which they start.
TEST(WarningsOfRunTest, LongFlowsNeedALongWarmUp) {
  const std::string warnings = WarningsOfRun(
      Fabric("40Gbps") +
      "lb: ecmp\nworkload: [{kind: poisson, sizes: 'fixed:2MB', load: 0.5, duration: 4ms}]\n"
      "measure: {classes: [all]}\n");
  EXPECT_THAT(warnings, AllOf(HasSubstr("load: "), HasSubstr("warm-up: the network still fills "),
                              HasSubstr("half of all flows take"), HasSubstr("few flows: ")));
}

// Flows that all start at once have no steady state, and need none.
TEST(WarningsOfRunTest, AFixedSetOfFlowsHasOnlyFewFlows) {
  const std::string warnings =
      WarningsOfRun(Fabric("40Gbps") + "lb: ecmp\nworkload: [{kind: permutation, size: 100KB}]\n");
  EXPECT_THAT(warnings, AllOf(HasSubstr("few flows: "), HasSubstr("all flows (16), M (16)"),
                              Not(HasSubstr("load: ")), Not(HasSubstr("backlog: ")),
                              Not(HasSubstr("warm-up: "))));
}

// The flows end after some 0.1 ms. A repair may be scheduled for later than that.
TEST(WarningsOfRunTest, AFailureAfterTheEndDoesNotHappen) {
  const auto warnings = [](const std::string& schedule) {
    return WarningsOfRun(
        Fabric("40Gbps") +
        "lb: ecmp\nworkload: [{kind: permutation, size: 100KB}]\nschedule: " + schedule + "\n");
  };
  EXPECT_THAT(warnings("[{at: 1us, links: [leaf0-spine0], state: down}, "
                       "{at: 2s, links: [leaf0-spine0], state: up}]"),
              Not(HasSubstr("schedule: ")));
  EXPECT_THAT(warnings("[{at: 1us, links: [leaf0-spine0], loss: 0.001}, "
                       "{at: 2s, links: [leaf0-spine0], state: down}, "
                       "{at: 3s, switches: [spine1], drop: 0.1}]"),
              AllOf(HasSubstr("schedule: the run ends at "),
                    HasSubstr("so what is scheduled at 2s or later does not happen in it")));
  EXPECT_THAT(warnings("[{at: 3s, switches: [spine1], drop: 0.1}]"), HasSubstr("scheduled at 3s"));
}

std::string WarningsBeforeRun(const std::string& yaml) {
  return testing::PrintToString(WarningsBefore(ExperimentFrom(Fabric("40Gbps") + yaml)));
}

// The run gives the same warnings once it has ended.
TEST(WarningsBeforeRunTest, WhatCannotHappenBeforeTMaxIsTold) {
  const std::string late =
      "lb: ecmp\nworkload: [{kind: poisson, sizes: 'fixed:20KB', load: 0.3, duration: 5ms}]\n"
      "measure: {warm_up: 0ps, t_max: 1ms, unfinished: drop}\n"
      "schedule: [{at: 500us, links: [leaf0-spine0], loss: 0.001}, "
      "{at: 1ms, switches: [spine1], drop: 0.1}]\n";
  EXPECT_THAT(
      WarningsBeforeRun(late),
      AllOf(HasSubstr("t_max ends the run at 1ms, before all flows have started; they start until "
                      "5ms"),
            HasSubstr("schedule: the run ends at 1ms at the latest, so what is scheduled at 1ms or "
                      "later does not happen in it")));
  EXPECT_THAT(WarningsOfRun(Fabric("40Gbps") + late),
              AllOf(HasSubstr("t_max ends the run at 1ms, before all flows have started"),
                    HasSubstr("so what is scheduled at 1ms or later does not happen in it")));
}

// Flows of 4 ms to 5 ms are not measured, and messages of jobs have no starts before the run.
TEST(WarningsBeforeRunTest, WhatMayHappenBeforeTMaxIsNoWarning) {
  EXPECT_EQ(
      WarningsBeforeRun("lb: ecmp\nworkload: [{kind: poisson, sizes: 'fixed:20KB', load: 0.3, "
                        "duration: 5ms}]\nmeasure: {cool_down: 1ms, t_max: 4ms}\nschedule: "
                        "[{at: 3999us, links: [leaf0-spine0], state: down}, "
                        "{at: 9ms, links: [leaf0-spine0], state: up}]\n"),
      "{}");
  EXPECT_EQ(WarningsBeforeRun("lb: ecmp\ntransport: rocev2\nworkload: [{kind: collective, "
                              "op: all_reduce, size: 100MB, ranks: 16}]\nmeasure: {t_max: 1ms}\n"),
            "{}");
}

// One spine is farther by 100 us, the time of 80 packets.
TEST(WarningsOfRunTest, ATransportThatBearsReorderingGivesNoWarningOfIt) {
  const auto warnings = [](const std::string& lb, const std::string& transport) {
    return WarningsOfRun(
        "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, "
        "asymmetry: [{spines: [0], delay: 100us}]}\n"
        "workload: [{kind: permutation, size: 1MB, cross_rack: true}]\nlb: " +
        lb + "\ntransport: " + transport + "\n");
  };
  EXPECT_THAT(warnings("rps", "dctcp"),
              AllOf(HasSubstr("reordering: "),
                    HasSubstr("set transport.resequencing, or raise transport.dupthresh")));
  EXPECT_THAT(warnings("ecmp", "dctcp"), Not(HasSubstr("reordering: ")));
  EXPECT_THAT(warnings("rps", "{kind: dctcp, dupthresh: inf}"), Not(HasSubstr("reordering: ")));
  EXPECT_THAT(warnings("rps", "{kind: dctcp, resequencing: {kind: timeout, timeout: 1ms}}"),
              Not(HasSubstr("reordering: ")));
  EXPECT_THAT(warnings("rps", "{kind: rocev2, recovery: irn}"),
              AllOf(HasSubstr("reordering: "), HasSubstr("raise transport.nack_threshold")));
  EXPECT_THAT(warnings("rps", "{kind: rocev2, recovery: gbn}"),
              AllOf(HasSubstr("reordering: "), HasSubstr("transport.recovery: irn")));
  EXPECT_THAT(warnings("rps", "{kind: rocev2, recovery: sr}"),
              AllOf(HasSubstr("reordering: "), HasSubstr("transport.recovery: ddp")));
}

}  // namespace heddle::warnings_test
