// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/experiment_kit.h"

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

TEST(SweepTest, RefusesMoreCombinationsThanAnyoneCanRun) {
  std::string list = "0";
  for (int i = 1; i < 400; ++i) list += ", " + std::to_string(i);
  EXPECT_THAT(SweepErrors("sweep: {seed: [" + list + "], transport.iw: [" + list + "]}\n"),
              HasSubstr("makes more than 100000 experiments"));
}

}  // namespace
}  // namespace heddle
