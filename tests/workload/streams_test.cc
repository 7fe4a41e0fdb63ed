// SPDX-License-Identifier: Apache-2.0
// Every workload promises flows in the order of time, from streams that nothing else can shift.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "experiment/flow_generator.h"
#include "tests/support/experiment_kit.h"

namespace heddle::streams_test {

bool Same(const FlowRequest& a, const FlowRequest& b) {
  return a.start == b.start && a.src == b.src && a.dst == b.dst && a.size == b.size;
}

std::string RandomWorkload(Rng& rng) {
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[rng.Below(static_cast<uint32_t>(words.size()))]);
  };
  switch (rng.Below(3)) {
    case 0:
      return fmt::format(
          "{{kind: poisson, sizes: {}, max_size: 1MB, load: 0.{}, flows: 2000, overload: true, "
          "pairs: {}, start: "
          "{}us}}",
          pick({"small", "websearch", "fixed:1B", "pareto:10KB:1.2", "hadoop"}), 1 + rng.Below(9),
          pick({"any", "inter_rack", "client_server", "permutation"}), rng.Below(50));
    case 1:
      return fmt::format(
          "{{kind: incast, fan_in: {}, bytes_each: {}B, queries: 150, period: {}ns, jitter: {}ns, "
          "senders: {}}}",
          1 + rng.Below(6), 1 + rng.Below(100'000), 1 + rng.Below(5'000), rng.Below(20'000),
          pick({"any", "other_racks"}));
    default:
      return fmt::format("{{kind: permutation, size: {}B, jitter: {}ns}}", 1 + rng.Below(50'000),
                         rng.Below(3'000));
  }
}

TEST(EveryWorkloadTest, StartsFlowsInTheOrderOfTimeAndTheSameOnesEachTime) {
  Rng rng = Rng::Stream(7, "test", 0);
  for (int i = 0; i < 100; ++i) {
    Stage stage = StageOf(2 + rng.Below(3), 6);
    stage.seed = rng.Next();
    const std::string yaml = RandomWorkload(rng);
    SCOPED_TRACE(yaml);
    const auto workload = WorkloadFrom(yaml, stage);
    const std::vector<FlowRequest> flows = FlowsOf(*workload.settings);
    ASSERT_FALSE(flows.empty());
    EXPECT_TRUE(std::ranges::is_sorted(flows, {}, &FlowRequest::start));
    for (const FlowRequest& flow : flows) {
      ASSERT_NE(flow.src, flow.dst);
      ASSERT_LT(flow.src, stage.hosts);
      ASSERT_LT(flow.dst, stage.hosts);
      ASSERT_GE(flow.size, 1);
    }
    EXPECT_TRUE(std::ranges::equal(flows, FlowsOf(*workload.settings), Same));
    stage.seed += 1;
    const auto other = WorkloadFrom(yaml, stage);
    EXPECT_FALSE(std::ranges::equal(flows, FlowsOf(*other.settings), Same));
  }
}

constexpr const char* kNetwork =
    "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n";

std::vector<FlowSpec> AllFlows(const std::string& yaml) {
  const Experiment experiment = ExperimentFrom(kNetwork + yaml);
  const SizeClasses classes = experiment.size_classes();
  FlowGenerator generator(experiment, classes);
  std::vector<FlowSpec> flows;
  while (generator.Next() != kNever) flows.push_back(generator.Take());
  return flows;
}

TEST(FlowGeneratorTest, AnotherWorkloadChangesNoFlowOfTheFirst) {
  const std::string first = "  - {kind: poisson, sizes: small, load: 0.4, flows: 500}\n";
  const auto alone = AllFlows("lb: ecmp\nworkload:\n" + first);
  auto both = AllFlows("lb: ecmp\nworkload:\n" + first +
                       "  - {kind: poisson, sizes: small, load: 0.2, flows: 500}\n"
                       "  - {kind: incast, fan_in: 3, bytes_each: 2KB}\n");
  EXPECT_EQ(both.size(), 1003u);
  EXPECT_TRUE(std::ranges::is_sorted(both, {}, &FlowSpec::start));
  for (size_t i = 0; i < both.size(); ++i) EXPECT_EQ(both[i].id, i);
  std::erase_if(both, [](const FlowSpec& flow) { return flow.workload != 0; });
  ASSERT_EQ(both.size(), alone.size());
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(both[i].start, alone[i].start);
    EXPECT_EQ(both[i].src, alone[i].src);
    EXPECT_EQ(both[i].dst, alone[i].dst);
    EXPECT_EQ(both[i].size, alone[i].size);
  }
}

TEST(FlowGeneratorTest, TwoLikeWorkloadsDoNotMirrorEachOther) {
  const std::string one = "  - {kind: poisson, sizes: small, load: 0.2, flows: 100}\n";
  const auto flows = AllFlows("lb: ecmp\nworkload:\n" + one + one);
  std::vector<int64_t> starts[2];
  for (const FlowSpec& flow : flows) starts[flow.workload].push_back(flow.start.ps);
  EXPECT_EQ(starts[0].size(), 100u);
  EXPECT_NE(starts[0], starts[1]);
}

TEST(FlowGeneratorTest, AnotherLoadBalancerMeetsTheSameFlows) {
  const std::string workload =
      "\nworkload: [{kind: poisson, sizes: small, load: 0.4, flows: 500}]\n";
  const auto ecmp = AllFlows("lb: ecmp" + workload);
  for (const std::string lb : {"rps", "letflow", "presto"}) {
    const auto flows = AllFlows("lb: " + lb + workload);
    ASSERT_EQ(flows.size(), ecmp.size());
    for (size_t i = 0; i < flows.size(); ++i) {
      EXPECT_EQ(flows[i].start, ecmp[i].start);
      EXPECT_EQ(flows[i].src, ecmp[i].src);
      EXPECT_EQ(flows[i].dst, ecmp[i].dst);
      EXPECT_EQ(flows[i].size, ecmp[i].size);
      EXPECT_EQ(flows[i].sport, ecmp[i].sport);
    }
  }
}

TEST(FlowGeneratorTest, KnowsWhenEachQueryWasAskedEvenIfAnswersOvertakeIt) {
  const Experiment experiment = ExperimentFrom(
      std::string(kNetwork) +
      "lb: ecmp\nworkload: [{kind: incast, fan_in: 1, bytes_each: 1KB, queries: 300, period: 1us, "
      "jitter: 50us}]\n");
  const SizeClasses classes = experiment.size_classes();
  FlowGenerator generator(experiment, classes);
  while (generator.Next() != kNever) generator.Take();
  const std::vector<Time>& asked = generator.QueriesOf(0);
  ASSERT_EQ(asked.size(), 300u);
  for (size_t job = 0; job < asked.size(); ++job) {
    EXPECT_EQ(asked[job], Time{} + 1_us * static_cast<int64_t>(job)) << job;
  }
}

}  // namespace heddle::streams_test
