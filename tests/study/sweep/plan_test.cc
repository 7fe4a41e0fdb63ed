// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiment/estimate.h"
#include "study/sweep/cost.h"

namespace heddle::plan_test {

using testing::ElementsAre;

Plan PlanOf(const std::string& sweep) {
  Diagnostics diagnostics;
  const auto file = ExperimentFile::FromText(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
      "lb: ecmp\nworkload: [{kind: permutation, size: 14600B, cross_rack: true}]\n" +
          sweep,
      "x.yaml", ".", {}, diagnostics);
  const Plan plan = MakePlan(file.value(), diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  return plan;
}

TEST(PlanTest, ReadsBackWhatItWrites) {
  const Plan plan =
      PlanOf("sweep: {seeds: 2, lb: [{kind: letflow, gap: 50us}, rps], topology.spines: [2, 3]}\n");
  EXPECT_EQ(plan.points.size(), 8u);
  EXPECT_THAT(plan.axes, ElementsAre("lb", "topology.spines"));
  EXPECT_THAT(plan.points.back().choices, ElementsAre("rps", "3"));
  EXPECT_EQ(ParsePlan(PlanCsv(plan)).value(), plan);
  EXPECT_EQ(ParsePlan(PlanCsv(PlanOf(""))).value(), PlanOf(""));
}

TEST(PlanTest, LabelsArePartOfItsPointsLabelsOnly) {
  const Plan plan = PlanOf(
      "sweep: {lb: [{kind: letflow, gap: 50us}, rps], labels: {lb: {letflow: "
      "\"LetFlow, 50 us\"}}}\n");
  const Plan plain = PlanOf("sweep: {lb: [{kind: letflow, gap: 50us}, rps]}\n");
  EXPECT_EQ(plan.points[0].label, "lb=LetFlow, 50 us");
  EXPECT_EQ(plan.points[1].label, "lb=rps");
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(plan.points[i].id, plain.points[i].id);
    EXPECT_EQ(plan.points[i].choices, plain.points[i].choices);
  }
  EXPECT_EQ(ParsePlan(PlanCsv(plan)).value(), plan);
}

TEST(PlanTest, RefusesWhatIsNoPlan) {
  const std::string csv = PlanCsv(PlanOf("sweep: {lb: [ecmp, rps]}\n"));
  for (const std::string& text :
       {std::string(), std::string("a,b\n"), csv + "3,x\n", csv + "3,id,label,1,many,2,ecmp\n"}) {
    EXPECT_EQ(ParsePlan(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

// Eight flows of ten packets cross four links each, and so do their ACKs: 8 x 10 x 4 x 2.
TEST(PlanTest, ExpectsThePacketHopsOfItsFlows) {
  EXPECT_DOUBLE_EQ(PlanOf("").points.front().hops, 640);
}

TEST(CostTest, GoesByFinishedPointsIfThereAreAny) {
  Plan plan;
  for (const double hops : {1e6, 3e6, 5e6}) {
    PlannedPoint& point = plan.points.emplace_back();
    point.work = hops;
    point.memory_bytes = 10e6;
  }
  std::vector<PointReport> reports(3);
  const CostModel expected = CostModelOf(plan, reports);
  EXPECT_EQ(expected.measured, 0u);
  EXPECT_DOUBLE_EQ(expected.Seconds(plan.points[2]), 5e6 * SecondsPerWork());
  EXPECT_DOUBLE_EQ(expected.MemoryBytes(plan.points[2]), 10e6);
  // 4 million units of work have taken 0.8 s; the larger took twice the memory.
  reports[0] = {.state = PointState::kDone,
                .run_seconds = 0.3,
                .memory_bytes = 15e6,
                .version = "",
                .status = "",
                .message = ""};
  reports[1] = {.state = PointState::kIncomplete,
                .run_seconds = 0.5,
                .memory_bytes = 20e6,
                .version = "",
                .status = "",
                .message = ""};
  const CostModel measured = CostModelOf(plan, reports);
  EXPECT_EQ(measured.measured, 2u);
  EXPECT_DOUBLE_EQ(measured.Seconds(plan.points[2]), 1.0);
  EXPECT_DOUBLE_EQ(measured.MemoryBytes(plan.points[2]), 20e6);
  // A result of another version says little about this one.
  reports[0].state = reports[1].state = PointState::kStale;
  EXPECT_EQ(CostModelOf(plan, reports).measured, 0u);
}

}  // namespace heddle::plan_test
