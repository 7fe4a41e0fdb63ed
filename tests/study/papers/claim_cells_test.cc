// SPDX-License-Identifier: Apache-2.0
// Which points a claim compares, and the values seed by seed.

#include "study/papers/claim_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/toy_paper.h"

namespace heddle::claim_cells_test {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class ClaimCellsTest : public ToyPaper {
 protected:
  ClaimCellsTest() {
    // ECMP 10, RPS 20, LetFlow 30 and 40; by load 1, 2, 3; by seed 0.1, 0.2, 0.3.
    Write("e", kToySweep, [](const At& at, double seed) {
      const std::string& lb = at.at("lb");
      const double level = lb == "ecmp"               ? 10
                           : lb == "rps"              ? 20
                           : lb == "letflow.gap=50us" ? 30
                                                      : 40;
      return level + 5 * NumberIn(at.at("workload[0].load")) + 0.1 * seed;
    });
  }
  // The cells of the first part of a claim on experiment e.
  std::vector<ClaimCell> CellsAt(const std::string& claim) {
    WriteClaims("    claims: {C1: {says: x, metric: v, " + claim + "}}\n");
    Diagnostics diagnostics;
    paper_ = ReadPaper(folder_ / "toy", diagnostics);
    const PaperExperiment& experiment = paper_->experiments.front();
    const ExperimentPoints points = PointsOf("e");
    PaperResults results({&points}, false, false);
    results.Read(experiment.metrics, {"v", "twice"}, diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
    return CellsOf(experiment.claims.front().parts.front(), experiment, results, results);
  }
  static std::vector<std::string> SidesOf(const std::vector<ClaimCell>& cells) {
    std::vector<std::string> sides;
    for (const ClaimCell& cell : cells) sides.push_back(cell.sides);
    return sides;
  }
};

TEST_F(ClaimCellsTest, WithoutSidesThereIsACellForEachCombination) {
  const auto cells = CellsAt("kind: zero, at: {lb: [ecmp, rps]}");
  ASSERT_THAT(cells, SizeIs(6));
  EXPECT_THAT(cells[0].choices, ElementsAre(Pair("lb", "ecmp"), Pair("workload[0].load", "0.2")));
  EXPECT_EQ(cells[0].sides, "");
  ASSERT_THAT(cells[0].values, SizeIs(3));
  EXPECT_NEAR(cells[0].values.at("1"), 11.1, 1e-9);
  EXPECT_NEAR(cells[0].values.at("3"), 11.3, 1e-9);
  EXPECT_EQ(cells[0].missing, 0u);
  EXPECT_EQ(cells[0].unknown, "");
}

TEST_F(ClaimCellsTest, NothingIsSelectedAtAnotherScale) {
  EXPECT_THAT(CellsAt("kind: zero, at: {\"workload[0].load\": 0.9}"), IsEmpty());
}

// RPS 21.x less twice ECMP 11.x: 21.1 - 22.2 at the first seed; or ECMP the lower one by far.
TEST_F(ClaimCellsTest, OrderingsAreDifferencesOnTheClaimedSide) {
  const std::string at = ", at: {\"workload[0].load\": 0.2}";
  const auto higher = CellsAt("kind: ordering, higher: rps, than: ecmp, factor: 2" + at);
  ASSERT_THAT(higher, SizeIs(1));
  EXPECT_EQ(higher[0].sides, "rps, ecmp");
  EXPECT_NEAR(higher[0].values.at("1"), 21.1 - 2 * 11.1, 1e-9);
  EXPECT_NEAR(higher[0].references.at("1"), 11.1, 1e-9);
  const auto lower = CellsAt("kind: ordering, lower: ecmp, than: rps, factor: 2" + at);
  EXPECT_NEAR(lower[0].values.at("1"), 21.1 - 2 * 11.1, 1e-9);  // Above 0: twice ECMP is less.
  EXPECT_NEAR(lower[0].references.at("1"), 21.1, 1e-9);
}

// A share seed by seed: not the share of the means.
TEST_F(ClaimCellsTest, QuantitiesAreOfEachSeed) {
  const auto cells = CellsAt(
      "kind: number, quantity: ratio, of: rps, over: ecmp, value: 2, at: "
      "{\"workload[0].load\": 0.6}");
  ASSERT_THAT(cells, SizeIs(1));
  EXPECT_NEAR(cells[0].values.at("2"), 23.2 / 13.2, 1e-9);
  EXPECT_NEAR(cells[0].values.at("3"), 23.3 / 13.3, 1e-9);
  EXPECT_NEAR(cells[0].references.at("3"), 13.3, 1e-9);
}

TEST_F(ClaimCellsTest, NeighboursArePairs) {
  const std::string at = ", at: {\"workload[0].load\": 0.2}";
  EXPECT_THAT(SidesOf(CellsAt("kind: ordering, ascending: [ecmp, rps, letflow]" + at)),
              ElementsAre("ecmp, rps", "rps, letflow.gap=50us", "rps, Slow"));
}

TEST_F(ClaimCellsTest, OthersAreOfOtherKindsAndNotExcepted) {
  const std::string at = ", at: {\"workload[0].load\": 0.2}";
  EXPECT_THAT(SidesOf(CellsAt("kind: ordering, higher: letflow.gap=1ms, than: others" + at)),
              ElementsAre("Slow, ecmp", "Slow, rps"));
  EXPECT_THAT(SidesOf(CellsAt("kind: ordering, higher: rps, than: others, except: letflow" + at)),
              ElementsAre("rps, ecmp"));
  EXPECT_THAT(
      SidesOf(CellsAt("kind: ordering, higher: [ecmp, rps], than: others" + at)),
      ElementsAre("ecmp, letflow.gap=50us", "ecmp, Slow", "rps, letflow.gap=50us", "rps, Slow"));
}

TEST_F(ClaimCellsTest, SidesWithoutAxesAreTheSamePoints) {
  const auto cells = CellsAt("kind: ordering, is: lower, than_metric: twice");
  ASSERT_THAT(cells, SizeIs(12));
  for (const ClaimCell& cell : cells) {
    EXPECT_EQ(cell.sides, "");
    for (const auto& [seed, value] : cell.values) {
      EXPECT_NEAR(value, cell.references.at(seed) / 2, 1e-9);  // 2 v - v.
    }
  }
}

// The load is the axis: all balancers at 0.6 against each of the other two.
TEST_F(ClaimCellsTest, AnotherAxisMayBeCompared) {
  const auto cells = CellsAt(
      "kind: ordering, axis: \"workload[0].load\", higher: 0.6, than: [0.2, 0.4], at: "
      "{lb: ecmp}");
  EXPECT_THAT(SidesOf(cells), ElementsAre("0.6, 0.2", "0.6, 0.4"));
  EXPECT_THAT(cells[0].choices, ElementsAre(Pair("lb", "ecmp")));
  EXPECT_NEAR(cells[0].values.at("2"), 2, 1e-9);
}

TEST_F(ClaimCellsTest, CountsPointsWithoutResults) {
  std::filesystem::remove_all(RunOf("e", "2", "rps"));
  const auto cells = CellsAt("kind: ordering, higher: rps, than: ecmp");
  ASSERT_THAT(cells, SizeIs(3));
  EXPECT_EQ(cells[0].missing, 1u);
  EXPECT_THAT(cells[0].values, SizeIs(2));  // Seeds that both have.
  EXPECT_FALSE(cells[0].values.contains("2"));
  EXPECT_EQ(cells[1].missing, 0u);
  EXPECT_THAT(cells[1].values, SizeIs(3));
}

TEST_F(ClaimCellsTest, SaysWhyAResultHasNoValue) {
  folder_.Write(
      std::filesystem::relative(RunOf("e", "2", "rps"), folder_.path()).string() + "/m.csv",
      "v,twice\n,\n");
  const auto cells = CellsAt("kind: ordering, higher: rps, than: ecmp");
  EXPECT_EQ(cells[0].missing, 0u);
  EXPECT_THAT(cells[0].unknown, testing::HasSubstr("row 1: v is \"\", which is no number"));
  EXPECT_THAT(cells[0].values, SizeIs(2));
}

TEST(SideTextTest, JoinsShownNames) {
  PaperExperiment experiment;
  experiment.names = {{"letflow", "LetFlow"}};
  EXPECT_EQ(SideText({}, experiment), "");
  EXPECT_EQ(SideText({{"lb", "letflow"}}, experiment), "LetFlow");
  EXPECT_EQ(SideText({{"lb", "letflow"}, {"load", "0.5"}}, experiment), "LetFlow/0.5");
}

}  // namespace heddle::claim_cells_test
