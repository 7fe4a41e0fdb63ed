// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "experiment/experiment_file.h"
#include "settings/digest.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"

namespace heddle::sweep_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

std::vector<Experiment> Load(const std::string& sweep, const std::vector<std::string>& sets = {},
                             std::optional<uint64_t> seed = std::nullopt) {
  Diagnostics diagnostics;
  auto experiments = LoadExperimentsFromText(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
      "lb: ecmp\n"
      "workload: [{kind: poisson, sizes: small, load: 0.4, flows: 50}]\n" +
          sweep,
      "test.yaml", ".", {sets, seed}, diagnostics);
  EXPECT_EQ(diagnostics.Report(), "0 errors\n");
  return experiments;
}

std::vector<std::string> Labels(const std::vector<Experiment>& experiments) {
  std::vector<std::string> labels;
  for (const Experiment& experiment : experiments) labels.push_back(experiment.label);
  return labels;
}

std::string SweepErrors(const std::string& sweep, const std::vector<std::string>& sets = {}) {
  return ErrorsOf(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
      "workload: [{kind: permutation, size: 1KB}]\nlb: ecmp\n" +
          sweep,
      sets);
}

TEST(SweepTest, WithoutOneThereIsOneExperimentWithoutLabel) {
  EXPECT_THAT(Labels(Load("")), ElementsAre(""));
}

TEST(SweepTest, RunsEveryCombinationTheLastAxisFastest) {
  EXPECT_THAT(Labels(Load("sweep: {seed: [1, 2], lb: [ecmp, rps]}\n")),
              ElementsAre("seed=1,lb=ecmp", "seed=1,lb=rps", "seed=2,lb=ecmp", "seed=2,lb=rps"));
}

TEST(SweepTest, SetsNestedKeysAndListElements) {
  const auto experiments =
      Load("sweep:\n  topology.host_link.rate: [10Gbps, 25Gbps]\n  workload[0].load: [0.2, 0.3]\n");
  EXPECT_THAT(Labels(experiments), ElementsAre("rate=10Gbps,load=0.2", "rate=10Gbps,load=0.3",
                                               "rate=25Gbps,load=0.2", "rate=25Gbps,load=0.3"));
  EXPECT_EQ(experiments[3].stage.host_rate.front(), 25_Gbps);
  EXPECT_NEAR(experiments[3].forecasts.front().host_load, 0.3, 1e-12);
  EXPECT_EQ(experiments[3].axes[0].first, "topology.host_link.rate");
  EXPECT_EQ(experiments[3].axes[0].second, "25Gbps");
}

TEST(SweepTest, LabelsMapsByTheirKindAndSettingsAsFolderNames) {
  EXPECT_THAT(
      Labels(Load("sweep:\n  lb: [{kind: letflow, gap: 100us}, {kind: letflow, gap: 1ms}]\n"
                  "  workload: [[{kind: permutation, size: 1KB}], [{kind: incast, fan_in: 2, "
                  "bytes_each: 1KB}]]\n")),
      ElementsAre("lb=letflow.gap=100us,workload=permutation.size=1KB",
                  "lb=letflow.gap=100us,workload=incast.fan_in=2.bytes_each=1KB",
                  "lb=letflow.gap=1ms,workload=permutation.size=1KB",
                  "lb=letflow.gap=1ms,workload=incast.fan_in=2.bytes_each=1KB"));
  EXPECT_THAT(Labels(Load("sweep: {name: [a]}")), ElementsAre("name=a"));
}

TEST(SweepTest, ReachesSettingsThatTheFileLeavesOut) {
  const auto experiments =
      Load("sweep: {measure.warm_up: [0ps, 100us], transport.iw: [4]}\n", {"transport=tcp"});
  ASSERT_EQ(experiments.size(), 2u);
  EXPECT_EQ(experiments[1].timeline.measure_from, Time{} + 100_us);
}

TEST(SweepTest, ReachesIntoWhatIsWrittenInShort) {
  const auto experiments = Load("sweep: {lb.gap: [10us, 20us]}\n", {"lb=letflow"});
  ASSERT_EQ(experiments.size(), 2u);
  EXPECT_THAT(experiments[1].Resolved(), HasSubstr("lb:\n  kind: letflow\n  gap: 20us\n"));
}

TEST(SweepTest, WhatIsSetOnTheCommandLineIsNotSwept) {
  EXPECT_THAT(Labels(Load("sweep: {lb: [ecmp, rps], seed: [1, 2]}\n", {"lb=presto"})),
              ElementsAre("seed=1", "seed=2"));
  const auto experiments = Load("sweep: {lb: [ecmp, rps], seed: [1, 2]}\n", {"lb=presto"}, 7);
  ASSERT_THAT(Labels(experiments), ElementsAre(""));
  EXPECT_EQ(experiments.front().settings.lb.kind, "presto");
  EXPECT_EQ(experiments.front().settings.seed, 7);
  EXPECT_THAT(Labels(Load("sweep: {lb: [ecmp, rps]}\n", {"sweep.lb=[rps]"})),
              ElementsAre("lb=rps"));
}

TEST(SweepTest, RefusesToSetAPartOfWhatIsSwept) {
  EXPECT_THAT(
      SweepErrors("sweep: {lb: [letflow, {kind: letflow, gap: 1ms}]}\n", {"lb.gap=50us"}),
      HasSubstr("--set lb.gap=50us: lb.gap: has no effect, as sweep.lb replaces all of lb"));
}

TEST(SweepTest, RefusesWhatIsNotAMapOfLists) {
  EXPECT_THAT(SweepErrors("sweep: [lb]\n"), HasSubstr("test.yaml:4:8: sweep: expected a map"));
  EXPECT_THAT(SweepErrors("sweep: {lb: ecmp}\n"),
              HasSubstr("test.yaml:4:13: sweep.lb: expected a list of values"));
  EXPECT_THAT(SweepErrors("sweep: {lb: []}\n"), HasSubstr("sweep.lb: expected a list"));
  EXPECT_THAT(SweepErrors("sweep:\n  workload[3].load: [1]\n"), HasSubstr("there is no element 3"));
  EXPECT_THAT(SweepErrors("sweep: {lb.gap: [1us]}\n"), HasSubstr("lb.gap: unknown key"));
  EXPECT_THAT(SweepErrors("sweep: {workload.load: [1]}\n"),
              HasSubstr("\"load\" cannot be set within a list"));
  EXPECT_THAT(SweepErrors("sweep: {lb: [ecmp, letflw]}\n"),
              HasSubstr("test.yaml:4:20: lb.kind: no load balancer is called \"letflw\"; did you "
                        "mean \"letflow\"?"));
  EXPECT_THAT(SweepErrors("sweep: {sed: [1, 2]}\n"), HasSubstr("sed: unknown key; did you mean"));
}

TEST(SweepTest, RangesAreAxesToo) {
  EXPECT_THAT(Labels(Load("sweep:\n  workload[0].load: {from: 0.1, to: 0.4, step: 0.1}\n")),
              ElementsAre("load=0.1", "load=0.2", "load=0.3", "load=0.4"));
  EXPECT_THAT(SweepErrors("sweep:\n  seed: {from: 1, to: 4, step: 2}\n"),
              HasSubstr("test.yaml:5:32: sweep.seed.step: does not lead to 4; the last value would "
                        "be 3"));
}

TEST(SweepTest, MovesSomeKeysTogether) {
  const auto experiments = Load(
      "sweep:\n  lb: [ecmp, rps]\n  together:\n"
      "    - {topology.spines: [4, 8], \"workload[0].load\": {from: 0.3, to: 0.6, step: 0.3}}\n"
      "  ack_path: [ecmp]\n");
  EXPECT_THAT(Labels(experiments), ElementsAre("lb=ecmp,spines=4,load=0.3,ack_path=ecmp",
                                               "lb=ecmp,spines=8,load=0.6,ack_path=ecmp",
                                               "lb=rps,spines=4,load=0.3,ack_path=ecmp",
                                               "lb=rps,spines=8,load=0.6,ack_path=ecmp"));
  ASSERT_EQ(experiments.size(), 4u);
  EXPECT_NEAR(experiments[1].forecasts.front().host_load, 0.6, 1e-12);
  EXPECT_EQ(experiments[1].graph.switches.size(), 2u + 8u);
}

TEST(SweepTest, SaysWhatIsWrongWithKeysThatMoveTogether) {
  EXPECT_THAT(
      SweepErrors("sweep: {together: [{seed: [1, 2], transport.iw: [1, 2, 3]}]}\n"),
      HasSubstr("test.yaml:4:49: sweep.together[0].transport.iw: has 3 values, but seed has "
                "2; they change together"));
  EXPECT_THAT(SweepErrors("sweep: {together: {seed: [1]}}\n"),
              HasSubstr("test.yaml:4:19: sweep.together: expected a list of maps"));
  EXPECT_THAT(SweepErrors("sweep: {together: [seed]}\n"),
              HasSubstr("sweep.together[0]: expected a map"));
  EXPECT_THAT(SweepErrors("sweep: {seed: [1, 2], together: [{seed: [3]}]}\n"),
              HasSubstr("sweep.together[0]: seed is swept twice"));
}

TEST(SweepTest, LeavesOutWhatIsExcluded) {
  EXPECT_THAT(Labels(Load("sweep:\n  lb: [ecmp, {kind: letflow, gap: 1ms}, rps]\n"
                          "  workload[0].load: [0.3, 0.5]\n"
                          "  exclude:\n"
                          "    - lb: [ecmp, letflow]\n"
                          "      workload[0].load: 0.50\n")),
              ElementsAre("lb=ecmp,load=0.3", "lb=letflow.gap=1ms,load=0.3", "lb=rps,load=0.3",
                          "lb=rps,load=0.5"));
  EXPECT_THAT(Labels(Load("sweep: {lb: [{kind: letflow, gap: 1ms}, {kind: letflow, gap: 2ms}], "
                          "exclude: [{lb: {gap: 2ms}}]}\n")),
              ElementsAre("lb=letflow.gap=1ms"));
}

TEST(SweepTest, ExclusionsLookIntoListsOfOneElement) {
  const std::string sweep =
      "sweep: {workload: [[{kind: permutation, size: 1MB}], [{kind: incast, fan_in: 2, size: 1MB, "
      "period: 1ms, queries: 1}]], seed: [1, 2], exclude: ";
  const std::string permutation = "workload=permutation.size=1MB,seed=";
  for (const char* rule : {"[{workload: incast}]}\n", "[{workload: {fan_in: 2}}]}\n",
                           "[{workload: [incast]}]}\n", "[{workload: {kind: [incast]}}]}\n"}) {
    EXPECT_THAT(Labels(Load(sweep + rule)), ElementsAre(permutation + "1", permutation + "2"))
        << rule;
  }
  EXPECT_THAT(
      SweepErrors(sweep + "[{workload: {fan_in: 3}}]}\n"),
      HasSubstr("sweep.exclude[0].workload: the sweep has no \"fan_in=3\"; expected one of"));
}

TEST(SweepTest, SaysWhichExclusionMeansNothing) {
  const std::string sweep = "sweep: {lb: [ecmp, rps], seed: [1, 2], exclude: ";
  EXPECT_THAT(SweepErrors(sweep + "[{lb: rpss}]}\n"),
              HasSubstr("test.yaml:4:55: sweep.exclude[0].lb: the sweep has no \"rpss\"; did you "
                        "mean \"rps\"?"));
  EXPECT_THAT(SweepErrors(sweep + "[{sed: 1}]}\n"),
              HasSubstr("test.yaml:4:51: sweep.exclude[0]: \"sed\" is not swept; did you mean "
                        "\"seed\"?"));
  EXPECT_THAT(SweepErrors(sweep + "[{lb: [ecmp, rps]}]}\n"), HasSubstr("leaves no combination"));
  EXPECT_THAT(SweepErrors(sweep + "[{lb: [rps, ecnp], seed: 1}]}\n"),
              HasSubstr("test.yaml:4:61: sweep.exclude[0].lb: the sweep has no \"ecnp\"; did you "
                        "mean \"ecmp\"?"));
  EXPECT_THAT(SweepErrors(sweep + "{lb: rps}}\n"), HasSubstr("expected a list of maps"));
  EXPECT_THAT(SweepErrors(sweep + "[{}]}\n"), HasSubstr("expected a map from settings"));
}

TEST(SweepTest, ExclusionsHoldForWhatTheCommandLineFixes) {
  const std::string sweep =
      "sweep: {lb: [ecmp, rps], seed: [1, 2], exclude: [{lb: rps, seed: 2}]}\n";
  EXPECT_THAT(Labels(Load(sweep, {"lb=rps"})), ElementsAre("seed=1"));
  EXPECT_THAT(Labels(Load(sweep, {"lb=presto"})), ElementsAre("seed=1", "seed=2"));
}

constexpr const char* kGroup =
    "sweep:\n  lb: [ecmp, rps]\n  together:\n"
    "    - {topology.spines: [4, 2], topology.links_per_pair: [1, 2]}\n"
    "  exclude: [{lb: rps, topology.spines: 2}]\n";

TEST(SweepTest, WhatIsSetOfKeysThatChangeTogetherChoosesTheOthers) {
  EXPECT_THAT(Labels(Load(kGroup)),
              ElementsAre("lb=ecmp,spines=4,links_per_pair=1", "lb=ecmp,spines=2,links_per_pair=2",
                          "lb=rps,spines=4,links_per_pair=1"));
  const auto four = Load(kGroup, {"topology.spines=4"});
  EXPECT_THAT(Labels(four), ElementsAre("lb=ecmp,links_per_pair=1", "lb=rps,links_per_pair=1"));
  EXPECT_EQ(four.front().graph.switches.size(), 2u + 4u);
  // The exclusion holds, whichever of the two keys is set.
  EXPECT_THAT(Labels(Load(kGroup, {"topology.spines=2"})), ElementsAre("lb=ecmp,links_per_pair=2"));
  EXPECT_THAT(Labels(Load(kGroup, {"topology.links_per_pair=2"})), ElementsAre("lb=ecmp,spines=2"));
  EXPECT_THAT(Labels(Load(kGroup, {"topology.links_per_pair=1"})),
              ElementsAre("lb=ecmp,spines=4", "lb=rps,spines=4"));
  EXPECT_THAT(Labels(Load("sweep: {together: [{seed: [1, 2], measure.t_max: [3s, 4s]}]}\n", {}, 2)),
              ElementsAre("t_max=4s"));
  // A group whose keys are all set has no choice left.
  EXPECT_THAT(Labels(Load(kGroup, {"topology.spines=8", "topology.links_per_pair=1"})),
              ElementsAre("lb=ecmp", "lb=rps"));
}

TEST(SweepTest, SaysWhatKeysThatChangeTogetherHave) {
  EXPECT_THAT(
      SweepErrors(kGroup, {"topology.spines=3"}),
      HasSubstr(
          "--set topology.spines=3: topology.spines: is no combination of "
          "sweep.together[0], whose keys change together; its combinations are: topology.spines=4 "
          "with topology.links_per_pair=1; topology.spines=2 with "
          "topology.links_per_pair=2; set one of these, or all of its keys"));
  // letflow alone is not the letflow of the group.
  EXPECT_THAT(SweepErrors("sweep: {together: [{lb: [{kind: letflow, gap: 1ms}, rps], seed: [1, "
                          "2]}]}\n",
                          {"lb=letflow"}),
              HasSubstr("lb=letflow.gap=1ms with seed=1"));
}

TEST(SweepTest, CountsSeedsFromThatOfTheExperimentAndLast) {
  EXPECT_THAT(Labels(Load("seed: 5\nsweep: {seeds: 2, lb: [ecmp, rps]}\n")),
              ElementsAre("lb=ecmp,seed=5", "lb=ecmp,seed=6", "lb=rps,seed=5", "lb=rps,seed=6"));
  EXPECT_THAT(Labels(Load("sweep: {seeds: 2}\n", {}, 7)), ElementsAre("seed=7", "seed=8"));
  EXPECT_THAT(Labels(Load("sweep: {seeds: 2}\n", {"sweep.seeds=3"})),
              ElementsAre("seed=1", "seed=2", "seed=3"));
  EXPECT_THAT(SweepErrors("sweep: {seeds: none}\n"), HasSubstr("\"none\" is not a whole number"));
  EXPECT_THAT(SweepErrors("sweep: {seeds: 0}\n"), HasSubstr("from 1 to 10000"));
  EXPECT_THAT(SweepErrors("sweep: {seeds: 2, seed: [1]}\n"), HasSubstr("seed is swept twice"));
}

TEST(SweepTest, RefusesSeedsBeyondTheLargest) {
  EXPECT_THAT(SweepErrors("seed: 9223372036854775807\nsweep: {seeds: 2}\n"),
              HasSubstr("test.yaml:4:7: seed: \"9223372036854775807\" is too large"));
  EXPECT_THAT(SweepErrors("seed: 2305843009213693951\nsweep: {seeds: 2}\n"),
              HasSubstr("seed: \"2305843009213693952\" is too large"));
}

// The seeds hide it from the reader of settings.
TEST(SweepTest, RefusesAFirstSeedThatIsNoNumber) {
  for (const char* seed : {"1.5", "abc", "1e3", "-1", "[3]", ""}) {
    EXPECT_THAT(SweepErrors("seed: " + std::string(seed) + "\nsweep: {seeds: 2}\n"),
                HasSubstr(": seed: "))
        << seed;
  }
}

TEST(SweepTest, RefusesAnAxisThatALaterOneReplaces) {
  const std::string message =
      "lb.gap has no effect, as lb behind it replaces all of lb; put lb.gap behind lb\n";
  EXPECT_THAT(SweepErrors("sweep: {lb.gap: [50us], lb: [letflow, conga]}\n"),
              HasSubstr("test.yaml:4:25: sweep.lb: " + message));
  EXPECT_THAT(SweepErrors("sweep: {together: [{lb.gap: [50us, 100us], lb: [letflow, conga]}]}\n"),
              HasSubstr("sweep.together[0]: " + message));
  EXPECT_THAT(SweepErrors("sweep: {lb.gap: [50us], together: [{seed: [1, 2], lb: [conga, tr]}]}\n"),
              HasSubstr("sweep.together[0]: " + message));
  EXPECT_THAT(Labels(Load("sweep: {lb: [letflow, conga], lb.gap: [50us]}\n")),
              ElementsAre("lb=letflow,gap=50us", "lb=conga,gap=50us"));
}

TEST(SweepTest, SetsAxesWhoseKeysArePaths) {
  EXPECT_THAT(
      Labels(Load("sweep:\n  workload[0].load: [0.2, 0.3]\n", {"sweep.workload[0].load=[0.5]"})),
      ElementsAre("load=0.5"));
}

TEST(SweepTest, RefusesTheSameValueTwice) {
  EXPECT_THAT(SweepErrors("sweep: {lb: [ecmp, rps, ecmp]}\n"),
              HasSubstr("test.yaml:4:25: sweep.lb: ecmp occurs twice"));
}

// Each of keys that change together may repeat a value.
TEST(SweepTest, RefusesTheSameCombinationTwice) {
  const std::string pairs =
      "sweep: {together: [{lb: [ecmp, rps, ecmp], topology.spines: [2, 2, 4]}]}\n";
  EXPECT_THAT(Labels(Load(pairs)),
              ElementsAre("lb=ecmp,spines=2", "lb=rps,spines=2", "lb=ecmp,spines=4"));
  EXPECT_THAT(Labels(Load(pairs, {"topology.spines=2"})), ElementsAre("lb=ecmp", "lb=rps"));
  EXPECT_THAT(
      SweepErrors("sweep: {together: [{lb: [ecmp, rps, ecmp], topology.spines: [2, 4, 2]}]}\n"),
      HasSubstr("test.yaml:4:37: sweep.together[0]: ecmp with 2 occurs twice"));
}

TEST(SweepTest, SaysThatKeysWithBracketsNeedQuotesWithinBraces) {
  EXPECT_THAT(SweepErrors("sweep: {workload[0].load: [0.1]}\n"), HasSubstr("need quotes, as in"));
}

TEST(SweepTest, SaysWhereACombinationIsAMistake) {
  const std::string spines =
      "sweep: {lb: [ecmp, rps], seed: [1, 2], topology.spines: [4, 2], topology.asymmetry: [[], "
      "[{spines: [3], rate: 1Gbps}]]}\n";
  EXPECT_THAT(SweepErrors(spines),
              AllOf(HasSubstr("there is no spine 3; there are 2, numbered from 0; in all points "
                              "with topology.spines=2, topology.asymmetry=spines=3.rate=1Gbps; "
                              "sweep.exclude leaves points out\n"),
                    HasSubstr("\n1 error\n")));
  // A key that only some load balancers have: once for each of the others.
  EXPECT_THAT(SweepErrors("sweep: {lb: [ecmp, letflow, rps], lb.gap: [1us, 2us]}\n"),
              AllOf(HasSubstr("test.yaml:4:35: lb.gap: unknown key"),
                    HasSubstr("; in all points with lb=ecmp; "),
                    HasSubstr("; in all points with lb=rps; "), HasSubstr("\n2 errors\n")));
  // An error that every combination has is reported once, without the points.
  EXPECT_THAT(SweepErrors("sweep: {lb: [ecmp, letflw], seed: [1, 2]}\n"),
              AllOf(Not(HasSubstr("points")), HasSubstr("\n1 error\n")));
  EXPECT_THAT(SweepErrors("transport: dctpc\nsweep: {lb: [ecmp, rps]}\n"),
              AllOf(Not(HasSubstr("points")), HasSubstr("\n1 error\n")));
}

TEST(SweepTest, SaysWhatIsWrongWithAnAxisOnce) {
  EXPECT_THAT(SweepErrors("sweep: {exlude: [{lb: rps}], lb: [ecmp, rps]}\n"),
              AllOf(HasSubstr("test.yaml:4:9: sweep.exlude: unknown key; did you mean "
                              "\"exclude\"?"),
                    HasSubstr("\n1 error\n")));
  EXPECT_THAT(SweepErrors("sweep: {togeter: [{seed: [1, 2]}], exclude: [{seed: 1}]}\n"),
              AllOf(HasSubstr("did you mean \"together\"?"), HasSubstr("\n1 error\n")));
  EXPECT_THAT(
      SweepErrors("sweep: {foo.bar: [1, 2, 3]}\n"),
      AllOf(HasSubstr("test.yaml:4:9: sweep.foo.bar: unknown key"), HasSubstr("\n1 error\n")));
  EXPECT_THAT(SweepErrors("sweep: {lb.foo: [1, 2, 3]}\n"),
              AllOf(HasSubstr("test.yaml:4:9: lb.foo: unknown key"), HasSubstr("\n1 error\n")));
  EXPECT_THAT(SweepErrors("sweep: {seed: {from: 1, to: 2, step: 0}, lb: [ecmp, rps], exclude: "
                          "[{seed: 1, lb: rps}]}\n"),
              AllOf(HasSubstr("must be larger than zero"), HasSubstr("\n1 error\n")));
  EXPECT_THAT(SweepErrors("swep: {lb: [ecmp, rps]}\n"), HasSubstr("did you mean \"sweep\"?"));
}

TEST(SweepTest, RangesMayHaveExponents) {
  EXPECT_THAT(Labels(Load("sweep:\n  workload[0].load: {from: 1e-4, to: 1E-2, points: 3, scale: "
                          "log}\n")),
              ElementsAre("load=0.0001", "load=0.001", "load=0.01"));
}

// --- Labels ---

constexpr const char* kLabelled =
    "sweep:\n  lb: [ecmp, {kind: letflow, gap: 50us}, {kind: letflow, gap: 1ms}]\n"
    "  workload[0].load: [0.2, 0.8]\n"
    "  labels:\n    lb: {ecmp: ECMP, letflow.gap=50us: \"LetFlow, 50 µs\"}\n"
    "    workload[0].load: {0.80: high}\n";

std::vector<std::string> ShownLabels(const std::string& sweep,
                                     const std::vector<std::string>& sets = {}) {
  Diagnostics diagnostics;
  const auto file = ExperimentFile::FromText(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
      "lb: ecmp\nworkload: [{kind: poisson, sizes: small, load: 0.4, flows: 50}]\n" +
          sweep,
      "test.yaml", ".", {sets, std::nullopt}, diagnostics);
  EXPECT_EQ(diagnostics.Report(), "0 errors\n");
  std::vector<std::string> labels;
  for (size_t i = 0; i < file->size(); ++i) labels.push_back(file->LabelOf(i));
  return labels;
}

TEST(SweepTest, LabelsStandForTheValuesThatPeopleRead) {
  EXPECT_THAT(ShownLabels(kLabelled),
              ElementsAre("lb=ECMP,load=0.2", "lb=ECMP,load=high",  //
                          "lb=LetFlow, 50 µs,load=0.2", "lb=LetFlow, 50 µs,load=high",
                          "lb=letflow.gap=1ms,load=0.2", "lb=letflow.gap=1ms,load=high"));
  // A kind is enough if only one value has it.
  EXPECT_THAT(
      ShownLabels("sweep: {lb: [ecmp, {kind: letflow, gap: 1ms}], labels: {lb: {letflow: L}}}"),
      ElementsAre("lb=ecmp", "lb=L"));
}

TEST(SweepTest, LabelsChangeNoExperiment) {
  const auto labelled = Load(kLabelled);
  const auto plain = Load(
      "sweep:\n  lb: [ecmp, {kind: letflow, gap: 50us}, {kind: letflow, gap: "
      "1ms}]\n  workload[0].load: [0.2, 0.8]\n");
  ASSERT_EQ(labelled.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(labelled[i].Id(), plain[i].Id());
    EXPECT_EQ(labelled[i].label, plain[i].label);
    EXPECT_EQ(labelled[i].axes, plain[i].axes);
  }
}

TEST(SweepTest, LabelsMayNameValuesThatTheCommandLineTakesAway) {
  EXPECT_THAT(ShownLabels(kLabelled, {"sweep.lb=[ecmp]", "workload[0].load=0.3"}),
              ElementsAre("lb=ECMP"));
  EXPECT_THAT(ShownLabels(kLabelled, {"lb=rps", "sweep.labels={}"}),
              ElementsAre("load=0.2", "load=0.8"));
}

TEST(SweepTest, SaysWhichLabelMeansNothing) {
  const std::string sweep =
      "sweep: {lb: [ecmp, {kind: letflow, gap: 1us}, {kind: letflow, gap: 2us}], labels: ";
  EXPECT_THAT(
      SweepErrors(sweep + "[a]}\n"),
      HasSubstr("sweep.labels: expected a map from settings to maps from values to labels"));
  EXPECT_THAT(SweepErrors(sweep + "{lb: ECMP}}\n"),
              HasSubstr("sweep.labels.lb: expected a map from values to labels"));
  EXPECT_THAT(SweepErrors(sweep + "{bl: {ecmp: E}}}\n"),
              HasSubstr("sweep.labels: \"bl\" is not swept; did you mean \"lb\"?"));
  EXPECT_THAT(
      SweepErrors(sweep + "{lb: {ecpm: E}}}\n"),
      AllOf(HasSubstr("test.yaml:4:89: sweep.labels.lb.ecpm: the sweep has no \"ecpm\"; did "
                      "you mean \"ecmp\"?"),
            HasSubstr("\n1 error\n")));
  EXPECT_THAT(
      SweepErrors(sweep + "{lb: {letflow: L}}}\n"),
      HasSubstr("sweep.labels.lb.letflow: may be any of: letflow.gap=1us, letflow.gap=2us"));
  EXPECT_THAT(SweepErrors(sweep + "{lb: {ecmp: [E]}}}\n"),
              HasSubstr("expected a label of one line"));
  EXPECT_THAT(SweepErrors(sweep + "{lb: {ecmp: \"\"}}}\n"),
              HasSubstr("expected a label of one line"));
  EXPECT_THAT(SweepErrors(sweep + "{lb: {ecmp: \"a\\nb\"}}}\n"),
              HasSubstr("expected a label of one line"));
  EXPECT_THAT(SweepErrors(sweep + "{lb: {ecmp: A, letflow.gap=1us: A}}}\n"),
              HasSubstr("sweep.labels.lb.letflow.gap=1us: \"A\" already stands for ecmp"));
  EXPECT_THAT(SweepErrors(sweep + "{lb: {letflow.gap=1us: ecmp}}}\n"),
              HasSubstr("\"ecmp\" already stands for ecmp"));
  EXPECT_THAT(SweepErrors("sweep: {seed: [1, 2], labels: {seed: {1: a, 1.0: b}}}\n"),
              HasSubstr("1 has two labels; remove one"));
  // A mistake in the axis is reported alone.
  EXPECT_THAT(SweepErrors("sweep: {lb: ecmp, labels: {lb: {rps: R}}}\n"),
              AllOf(HasSubstr("sweep.lb: expected a list"), HasSubstr("\n1 error\n")));
}

// --- Documents and names ---

ExperimentFile FileOf(const std::string& text, const std::string& folder = ".") {
  Diagnostics diagnostics;
  auto file = ExperimentFile::FromText(text, "test.yaml", folder, {}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  return std::move(*file);
}

std::vector<std::string> IdsOf(const ExperimentFile& file) {
  std::vector<std::string> ids;
  Diagnostics diagnostics;
  for (size_t i = 0; i < file.size(); ++i) ids.push_back(file.Load(i, diagnostics).Id());
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  return ids;
}

const std::string kTopology =
    "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n";

// The id of an experiment in a folder of its own whose two flow lists have these contents.
std::string IdWithFiles(const std::string& first, const std::string& second) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "more");
  folder.Write("a.csv", "start_ns,src,dst,bytes\n" + first);
  folder.Write("more/b.csv", "start_ns,src,dst,bytes\n" + second);
  return IdsOf(FileOf(kTopology +
                          "lb: ecmp\nworkload: [{kind: flows, file: a.csv}, {kind: flows, file: "
                          "more/b.csv}]\n",
                      folder.path()))
      .front();
}

// A study moves together with its files, and keeps its results.
TEST(SweepTest, IdsDependOnTheContentsOfFilesButNotOnTheirFolder) {
  const std::string one = "0,0,5,1000\n";
  const std::string other = "0,1,6,2000\n";
  EXPECT_EQ(IdWithFiles(one, other), IdWithFiles(one, other));
  EXPECT_NE(IdWithFiles(one, other), IdWithFiles(other, one));
  EXPECT_NE(IdWithFiles(one, other), IdWithFiles(one, one));
}

TEST(ExperimentFileTest, ItsTextGivesTheSamePointsWhereverItLies) {
  const TemporaryFolder folder;
  folder.Write("flows.csv", "src,dst,size_bytes,start_ps\n0,5,1000,0\n");
  const ExperimentFile file =
      FileOf(kTopology +
                 "workload: [{kind: flows, file: flows.csv}]\ntransport: dctcp\n"
                 "sweep:\n  lb: [ecmp, {kind: letflow, gap: 50us}]\n"
                 "  transport.min_rto: {from: 5ms, to: 10ms, step: 5ms}\n"
                 "  together: [{\"topology.port.buffer\": [1MB, 250pkts], measure.classes: [[all], "
                 "[sml]]}]\n"
                 "  exclude: [{lb: ecmp, transport.min_rto: 10ms}]\n  seeds: 2\n"
                 "  labels: {lb: {letflow: LetFlow}, transport.min_rto: {10ms: \"10: ms\"}}\n",
             folder.path().string());
  EXPECT_EQ(file.size(), 12u);
  const ExperimentFile elsewhere = FileOf(file.Text(), "/tmp");
  EXPECT_EQ(IdsOf(file), IdsOf(elsewhere));
  EXPECT_EQ(file.LabelOf(11), elsewhere.LabelOf(11));
  EXPECT_THAT(file.LabelOf(11), testing::StartsWith("lb=LetFlow,min_rto=10: ms,"));
  EXPECT_EQ(elsewhere.Text(), file.Text());
}

TEST(ExperimentFileTest, AnIdIsThatOfWhatDeterminesTheResult) {
  const std::string base = kTopology + "workload: [{kind: permutation, size: 1KB}]\n";
  const auto id = IdsOf(FileOf(base + "lb: ecmp\n"));
  // The id does not depend on the name, on how the point was chosen, or on written defaults.
  EXPECT_EQ(IdsOf(FileOf(base + "lb: ecmp\nname: other\n")), id);
  EXPECT_EQ(IdsOf(FileOf(base + "sweep: {lb: [ecmp]}\n")), id);
  EXPECT_EQ(IdsOf(FileOf(base + "lb: {kind: ecmp}\nseed: 1\n")), id);
  // The id depends on everything else.
  EXPECT_NE(IdsOf(FileOf(base + "lb: rps\n")), id);
  EXPECT_NE(IdsOf(FileOf(base + "lb: ecmp\nseed: 2\n")), id);
  EXPECT_NE(IdsOf(FileOf(base + "lb: ecmp\nmeasure: {t_max: 3s}\n")), id);
}

TEST(ExperimentFileTest, AnIdDependsOnWhatIsInTheFilesItReads) {
  const TemporaryFolder folder;
  const std::string permutation = "lb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n";
  struct Row {
    const char* file;
    std::string text;
    const char* before;
    const char* after;
  };
  for (const Row& row :
       {Row{"flows.csv", kTopology + "lb: ecmp\nworkload: [{kind: flows, file: flows.csv}]\n",
            "src,dst,size_bytes,start_ps\n0,5,1000,0\n",
            "src,dst,size_bytes,start_ps\n0,5,2000,0\n"},
        {"sizes.cdf",
         kTopology + "lb: ecmp\nworkload: [{kind: poisson, load: 0.1, flows: 9, sizes: "
                     "'mix:0.5:fixed:1KB:file:sizes.cdf'}]\n",
         "1000 0\n2000 1\n", "1000 0\n3000 1\n"},
        {"links.txt", "topology: {kind: custom, file: links.txt}\n" + permutation,
         "3 1 2\n2\n0 2 10Gbps 1us 0\n1 2 10Gbps 1us 0\n",
         "3 1 2\n2\n0 2 10Gbps 1us 0\n1 2 10Gbps 2us 0\n"}}) {
    SCOPED_TRACE(row.file);
    folder.Write(row.file, row.before);
    const auto before = IdsOf(FileOf(row.text, folder.path().string()));
    EXPECT_EQ(IdsOf(FileOf(row.text, folder.path().string())), before);
    folder.Write(row.file, row.after);
    EXPECT_NE(IdsOf(FileOf(row.text, folder.path().string())), before);
    Diagnostics diagnostics;
    EXPECT_THAT(FileOf(row.text, folder.path().string()).Load(0, diagnostics).files,
                ElementsAre(Pair((folder / row.file).string(), Digest(row.after))));
  }
}

// The digests come with the options, so two builds of a plug-in may be asked about side by side.
TEST(ExperimentFileTest, AnIdDependsOnThePluginOfItsBalancer) {
  const auto id = [](const PluginDigests& plugins) {
    LoadOptions options;
    options.plugins = plugins;
    Diagnostics diagnostics;
    const auto file = ExperimentFile::FromText(
        kTopology + "lb: rps\nworkload: [{kind: permutation, size: 1KB}]\n", "test.yaml", ".",
        options, diagnostics);
    return IdsOf(*file);
  };
  EXPECT_NE(id({{"lb=rps", 1}}), id({}));
  EXPECT_NE(id({{"lb=rps", 1}}), id({{"lb=rps", 2}}));
  EXPECT_EQ(id({{"lb=rps", 1}, {"lb=ecmp", 3}}), id({{"lb=rps", 1}}));
  EXPECT_EQ(id({{"lb=ecmp", 3}}), id({}));
}

TEST(SweepTest, RefusesMoreCombinationsThanAnyoneCanRun) {
  std::string list = "0";
  for (int i = 1; i < 400; ++i) list += ", " + std::to_string(i);
  EXPECT_THAT(SweepErrors("sweep: {seed: [" + list + "], transport.iw: [" + list + "]}\n"),
              HasSubstr("makes more than 100000 experiments"));
}

// --- Scales ---

std::vector<Experiment> LoadScaled(const std::string& text, const std::string& scale,
                                   const std::vector<std::string>& sets = {}) {
  Diagnostics diagnostics;
  auto experiments = LoadExperimentsFromText(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
      "lb: ecmp\n"
      "workload: [{kind: poisson, sizes: small, load: 0.4, flows: 50}]\n" +
          text,
      "test.yaml", ".", {sets, std::nullopt, scale}, diagnostics);
  EXPECT_EQ(diagnostics.Report(), "0 errors\n");
  return experiments;
}

std::string ScaleErrors(const std::string& text, const std::string& scale) {
  Diagnostics diagnostics;
  LoadExperimentsFromText(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
      "workload: [{kind: permutation, size: 1KB}]\nlb: ecmp\n" +
          text,
      "test.yaml", ".", {{}, std::nullopt, scale}, diagnostics);
  return diagnostics.Report();
}

constexpr const char* kScaled =
    "sweep:\n  lb: [ecmp, rps]\n  workload[0].load: [0.1, 0.5, 0.7]\n"
    "  exclude: [{lb: rps, \"workload[0].load\": 0.7}]\n"
    "scales:\n  ci: {\"workload[0].flows\": 7, \"sweep.workload[0].load\": [0.1, 0.5], "
    "sweep.seeds: "
    "2}\n  one: {lb: letflow, \"workload[0].load\": 0.2}\n";

TEST(ScaleTest, SetsWhatItSaysAndNothingUnlessAskedFor) {
  EXPECT_THAT(Labels(LoadScaled(kScaled, "full")),
              ElementsAre("lb=ecmp,load=0.1", "lb=ecmp,load=0.5", "lb=ecmp,load=0.7",
                          "lb=rps,load=0.1", "lb=rps,load=0.5"));
  // The value that the exclusion names is gone.
  const auto scaled = LoadScaled(kScaled, "ci");
  EXPECT_EQ(scaled.size(), 2u * 2 * 2);
  EXPECT_EQ(scaled.back().label, "lb=rps,load=0.5,seed=2");
  EXPECT_THAT(scaled.back().Resolved(), HasSubstr("flows: 7\n"));
  EXPECT_THAT(Labels(LoadScaled(kScaled, "one")), ElementsAre(""));
}

TEST(ScaleTest, TheCommandLineGoesLast) {
  EXPECT_THAT(Labels(LoadScaled(kScaled, "ci", {"sweep.seeds=1", "lb=presto"})),
              ElementsAre("load=0.1,seed=1", "load=0.5,seed=1"));
  EXPECT_EQ(LoadScaled(kScaled, "one", {"lb=presto"}).front().settings.lb.kind, "presto");
}

TEST(ScaleTest, ChangesAxesThatMoveTogether) {
  const std::string text =
      "sweep: {together: [{topology.spines: [2, 4, 8], \"workload[0].load\": [0.3, 0.4, 0.5]}]}\n"
      "scales: {ci: {\"sweep.together[0].topology.spines\": [2, 4], "
      "\"sweep.together[0].workload[0].load\": [0.3, 0.4]}}\n";
  EXPECT_THAT(Labels(LoadScaled(text, "ci")),
              ElementsAre("spines=2,load=0.3", "spines=4,load=0.4"));
}

TEST(ScaleTest, IsNotPartOfWhatItGives) {
  Diagnostics diagnostics;
  const auto file = ExperimentFile::FromText(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
      "lb: ecmp\nworkload: [{kind: poisson, sizes: small, load: 0.4, flows: 50}]\n" +
          std::string(kScaled),
      "x.yaml", ".", {{}, std::nullopt, "ci"}, diagnostics);
  ASSERT_TRUE(file.has_value());
  const auto again = ExperimentFile::FromText(file->Text(), "y.yaml", ".", {}, diagnostics);
  EXPECT_EQ(diagnostics.Report(), "0 errors\n");
  ASSERT_EQ(again->size(), 8u);
  // Exclusions about fixed values are gone too.
  const auto fixed = ExperimentFile::FromText(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
      "workload: [{kind: permutation, size: 1KB}]\nlb: ecmp\n"
      "sweep: {lb: [ecmp, rps], seed: [1, 2], exclude: [{lb: rps, seed: 2}, {lb: ecmp, seed: "
      "1}]}\n",
      "x.yaml", ".", {{"lb=rps"}, std::nullopt}, diagnostics);
  const auto fixed_again = ExperimentFile::FromText(fixed->Text(), "y.yaml", ".", {}, diagnostics);
  EXPECT_EQ(diagnostics.Report(), "0 errors\n");
  EXPECT_EQ(fixed_again->size(), 1u);
  EXPECT_EQ(again->Load(5, diagnostics).Id(), file->Load(5, diagnostics).Id());
}

TEST(ScaleTest, SaysWhatIsWrong) {
  EXPECT_THAT(
      ScaleErrors("scales: {ci: {seed: 2}, small: {seed: 3}}\n", "smal"),
      HasSubstr("scales: there is no scale \"smal\"; did you mean \"small\"? (known: full, ci, "
                "small)"));
  EXPECT_THAT(ScaleErrors("", "ci"), HasSubstr("there is no scale \"ci\"; expected one of: full"));
  EXPECT_THAT(ScaleErrors("scales: [ci]\n", "full"),
              HasSubstr("test.yaml:4:9: scales: expected a map from names to settings"));
  EXPECT_THAT(ScaleErrors("scales: {ci: 3}\n", "full"),
              HasSubstr("test.yaml:4:14: scales.ci: expected a map"));
  EXPECT_THAT(ScaleErrors("scales: {full: {seed: 3}}\n", "full"),
              HasSubstr("test.yaml:4:10: scales.full: is the name of the unchanged file"));
  EXPECT_THAT(ScaleErrors("scales: {ci: {sede: 3}}\n", "ci"),
              HasSubstr("sede: unknown key; did you mean \"seed\"?"));
  EXPECT_THAT(ScaleErrors("scales: {ci: {seed: x}}\n", "ci"), HasSubstr("test.yaml:4:21: seed:"));
  EXPECT_THAT(ScaleErrors("sweep: {lb: [letflow]}\nscales: {ci: {lb.gap: 1us}}\n", "ci"),
              HasSubstr("test.yaml:5:15: lb.gap: has no effect"));
}

}  // namespace heddle::sweep_test
