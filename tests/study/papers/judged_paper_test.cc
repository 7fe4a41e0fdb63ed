// SPDX-License-Identifier: Apache-2.0
// A whole paper: what is checked before it is judged, and what judging it counts.

#include "study/papers/judged_paper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "experiment/version.h"
#include "tests/support/toy_paper.h"

namespace heddle::judged_paper_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class JudgedPaperTest : public ToyPaper {
 protected:
  JudgedPaperTest() {
    Write("e", kToySweep,
          [](const At& at, double seed) { return (at.at("lb") == "rps" ? 10 : 20) + seed; });
  }
  std::string ClaimErrors(const std::string& claim) {
    return ErrorsOf("    claims:\n      C1: {says: x, " + claim + "}\n");
  }
  std::string FigureErrors(const std::string& figure) {
    return ErrorsOf("    figures:\n      a: {metric: v, " + figure + "}\n");
  }
};

// --- Checks ---

TEST_F(JudgedPaperTest, AxesOfClaimsMustBeSwept) {
  EXPECT_EQ(ClaimErrors("kind: zero, metric: v, at: {lb: rps, \"workload[0].load\": 0.2}"), "");
  EXPECT_THAT(ClaimErrors("kind: zero, metric: v, at: {lbs: rps}"),
              HasSubstr("experiments.e.claims.C1.at: \"lbs\" is not swept; did "
                        "you mean \"lb\"?"));
  EXPECT_THAT(ClaimErrors("kind: zero, metric: v, at: {seed: 1}"),
              HasSubstr("\"seed\" is not swept"));  // Seeds are what intervals are over.
  EXPECT_THAT(ClaimErrors("kind: trend, metric: v, along: load, goes: up"),
              HasSubstr("experiments.e.claims.C1.along: \"load\" is not swept"));
  EXPECT_THAT(ClaimErrors("kind: zero, metric: v, at: {experiment: e}"),
              HasSubstr("\"experiment\" is not swept"));
}

TEST_F(JudgedPaperTest, ValuesOfClaimsMustBeThere) {
  EXPECT_THAT(ClaimErrors("kind: zero, metric: v, at: {lb: [rps, ecpm]}"),
              HasSubstr("C1.at: lb has no \"ecpm\"; did you mean \"ecmp\"?"));
  EXPECT_THAT(ClaimErrors("kind: ordering, metric: v, higher: rps, than: [drill]"),
              HasSubstr("C1: lb has no \"drill\""));
  EXPECT_THAT(ClaimErrors("kind: ordering, metric: v, higher: drill, than: [rps]"),
              HasSubstr("C1: lb has no \"drill\""));
  EXPECT_THAT(ClaimErrors("kind: ordering, metric: v, higher: rps, than: others, except: [drill]"),
              HasSubstr("C1: lb has no \"drill\""));
  EXPECT_THAT(ClaimErrors("kind: zero, metric: v, at: {lb: {kind: letflow, gap: 2ms}}"),
              HasSubstr("C1.at: lb has no "));
  EXPECT_EQ(ClaimErrors("kind: zero, metric: v, at: {lb: {kind: letflow, gap: 1ms}}"), "");
  EXPECT_EQ(ClaimErrors("kind: zero, metric: v, at: {\"workload[0].load\": 0.20}"), "");
}

TEST_F(JudgedPaperTest, AxesOfFiguresMustBeSwept) {
  EXPECT_EQ(FigureErrors("x: \"workload[0].load\", normalise_to: rps"), "");
  EXPECT_THAT(FigureErrors("x: load"), HasSubstr("figures.a.x: \"load\" is not swept"));
  EXPECT_THAT(FigureErrors("x: \"workload[0].load\", lines: gap"),
              HasSubstr("figures.a.lines: \"gap\" is not swept"));
  EXPECT_THAT(FigureErrors("x: \"workload[0].load\", normalise_to: drill"),
              HasSubstr("figures.a.normalise_to: lb has no \"drill\""));
  EXPECT_THAT(FigureErrors("x: \"workload[0].load\", at: {lb: drill}"),
              HasSubstr("figures.a.at: lb has no \"drill\""));
}

TEST_F(JudgedPaperTest, TheExperimentIsAnAxisWhereThereAreSeveral) {
  const auto errors = [&](const std::string& at) {
    return ErrorsOf("    from: [f, g]\n    claims: {C1: {says: x, kind: zero, metric: v, at: {" +
                    at + "}}}\n  f: {about: y, file: e.yaml}\n  g: {about: z, file: e.yaml}\n");
  };
  EXPECT_EQ(errors("experiment: f"), "");
  EXPECT_EQ(errors("experiment: [f, g], lb: rps"), "");
  EXPECT_THAT(errors("experiment: e"), HasSubstr("experiment has no \"e\""));
}

// Only those that were asked for.
TEST_F(JudgedPaperTest, ExperimentsNotChosenAreNotChecked) {
  WriteClaims(
      "    claims: {C1: {says: x, kind: zero, metric: v, at: {lbs: rps}}}\n"
      "  f: {about: y, file: e.yaml}\n");
  Diagnostics diagnostics;
  const auto paper = ReadPaper(folder_ / "toy", diagnostics);
  CheckPaper(*paper, {"f"}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  CheckPaper(*paper, {"e", "f"}, diagnostics);
  EXPECT_THAT(diagnostics.errors(), SizeIs(1));
}

// --- Judgement ---

TEST_F(JudgedPaperTest, CountsPointsAndTheirVersions) {
  std::filesystem::remove_all(RunOf("e", "1", "ecmp"));
  WriteResult(RunOf("e", "2", "ecmp"), 1, "0.0.1");
  const std::string claim = "    claims: {C1: {says: x, kind: zero, metric: v}}\n";
  const JudgedExperiment strict = JudgePaperOf(claim).experiments.front();
  EXPECT_EQ(strict.points, 36u);
  EXPECT_EQ(strict.results, 34u);
  EXPECT_EQ(strict.stale, 1u);
  EXPECT_THAT(strict.versions, ElementsAre(testing::StartsWith(std::string(Version()))));
  EXPECT_EQ(strict.claims.front().Reason(), "2 of the experiment's 36 points have no results");
  const JudgedExperiment lenient = JudgePaperOf(claim, /*with_stale=*/true).experiments.front();
  EXPECT_EQ(lenient.results, 35u);
  EXPECT_EQ(lenient.stale, 1u);
  EXPECT_THAT(lenient.versions, SizeIs(2));
}

TEST_F(JudgedPaperTest, WhatCannotBeReadCannotBeJudged) {
  WriteClaims(
      "    claims:\n      C1: {says: x, kind: zero, metric: v}\n"
      "      C2: {says: x, kind: none, because: no numbers}\n");
  folder_.Write("toy/e.yaml", std::string(kToyBase) + "sweep: {lb: [ecpm]}\n");
  Diagnostics diagnostics;
  const auto paper = ReadPaper(folder_ / "toy", diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.Report();
  const JudgedPaper judged = JudgePaper(*paper, {"e"}, {{}, folder_ / "out", false}, diagnostics);
  EXPECT_FALSE(diagnostics.ok());
  const JudgedExperiment& experiment = judged.experiments.front();
  ASSERT_THAT(experiment.claims, SizeIs(2));
  EXPECT_EQ(experiment.claims[0].verdict, ClaimVerdict::kUnjudged);
  EXPECT_EQ(experiment.claims[0].Reason(), "the experiment cannot be read at this scale");
  EXPECT_EQ(experiment.claims[1].Reason(), "no numbers");
  EXPECT_THAT(experiment.figures, IsEmpty());
}

TEST_F(JudgedPaperTest, OnlyChosenExperimentsAreJudged) {
  WriteClaims("  f: {about: y, file: e.yaml}\n");
  Diagnostics diagnostics;
  const auto paper = ReadPaper(folder_ / "toy", diagnostics);
  const JudgeOptions options{{}, folder_ / "out", false};
  EXPECT_THAT(JudgePaper(*paper, {"f"}, options, diagnostics).experiments, SizeIs(1));
  EXPECT_THAT(JudgePaper(*paper, {}, options, diagnostics).experiments, IsEmpty());
  EXPECT_THAT(JudgePaper(*paper, {"e", "f"}, options, diagnostics).experiments, SizeIs(2));
  EXPECT_THAT(JudgePaper(*paper, {"e"}, options, diagnostics).damaged, IsEmpty());
}

TEST(FullIdTest, JoinsPaperExperimentAndClaim) {
  Paper paper;
  paper.id = "pdlb";
  PaperExperiment experiment;
  experiment.id = "fig7";
  Claim claim;
  claim.id = "C1";
  EXPECT_EQ(FullId(paper, experiment, claim), "pdlb-fig7.C1");
}

}  // namespace heddle::judged_paper_test
