// SPDX-License-Identifier: Apache-2.0
// Claims of an invented paper, judged by results that are written by hand: each point's value is a
// function of its axes and its seed.

#include "study/papers/judge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>

#include "tests/support/toy_paper.h"

namespace heddle::judge_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using At = ToyPaper::At;

class JudgeTest : public ToyPaper {};

TEST_F(JudgeTest, Orderings) {
  Write("e", kToySweep, Ordered);
  const auto verdict = [&](const std::string& claim) {
    return VerdictOf("kind: ordering, metric: v, " + claim);
  };
  EXPECT_EQ(verdict("higher: rps, than: others"), "reproduced");
  EXPECT_EQ(verdict("lower: rps, than: [ecmp]"), "contradicted");
  EXPECT_EQ(verdict("higher: ecmp, than: others"), "mixed");  // RPS is higher.
  EXPECT_EQ(verdict("higher: ecmp, than: others, except: [rps]"), "reproduced");
  EXPECT_THAT(
      One("kind: ordering, metric: v, lower: ecmp, than: [rps], at: {\"workload[0].load\": 0.2}")
          .Measured(),
      testing::StartsWith("-48.5 % +- "));  // 21.2 by 41.2.
  EXPECT_EQ(verdict("ascending: [letflow, ecmp, rps]"), "reproduced");
  EXPECT_EQ(verdict("ascending: [letflow, rps, ecmp]"), "mixed");
  EXPECT_EQ(verdict("higher: rps, than: [ecmp], factor: 1.5"), "reproduced");
  EXPECT_EQ(verdict("higher: rps, than: [ecmp], factor: 3"), "contradicted");
  EXPECT_EQ(verdict("lower: ecmp, than: [rps], factor: 1.5"), "reproduced");
  EXPECT_EQ(verdict("axis: \"workload[0].load\", higher: 0.6, than: [0.2, 0.4]"), "reproduced");
}

TEST_F(JudgeTest, WhatAPaperPrintsDependsOnTheSameAsWhatWeCorrect) {
  Write("e", kToySweep, Ordered);
  const std::string zero = "kind: zero, metric: v";
  const JudgedExperiment judged =
      Judge("    claims:\n      C1: {says: x, depends_on: the load, " + zero +
            "}\n      C1L: {says: x, " + zero + "}\n      C2: {says: x, depends_on: see C1, " +
            zero + "}\n      C2L: {says: x, " + zero + "}\n      C3: {says: x, " + zero +
            "}\n      C3L: {says: x, depends_on: the rate, " + zero + "}\n");
  std::vector<std::string> depends_on;
  for (const Claim& claim : judged.experiment->claims) depends_on.push_back(claim.depends_on);
  EXPECT_THAT(depends_on,
              testing::ElementsAre("the load", "see C1", "see C1", "see C1", "", "the rate"));
}

TEST_F(JudgeTest, WhatAPaperPrintsIsJudgedASecondTime) {
  Write("e", kToySweep, Ordered);
  const std::string ordering = ", kind: ordering, metric: v, ";
  const JudgedExperiment judged = Judge(
      "    printed: {rps: letflow.gap=1ms}\n    claims:\n"
      "      C1: {says: x, depends_on: the load" +
      ordering +
      "higher: rps, than: [ecmp]}\n"
      "      C2: {says: x, printed_depends_on: the gap" +
      ordering +
      "lower: ecmp, than: rps}\n"
      "      C3: {says: x" +
      ordering +
      "lower: ecmp, than: [letflow.gap=50us]}\n"
      "      C4: {says: x" +
      ordering +
      "higher: rps, than: [letflow.gap=1ms]}\n"
      "      C4L: {says: y" +
      ordering + "higher: rps, than: [ecmp]}\n");
  std::vector<std::string> found;
  for (size_t i = 0; i < judged.claims.size(); ++i) {
    const Claim& claim = judged.experiment->claims[i];
    found.push_back(fmt::format("{}: {} {} ({})", claim.id, claim.says,
                                NameOf(judged.claims[i].verdict), claim.depends_on));
  }
  EXPECT_THAT(found,
              ElementsAre("C1: x reproduced (the load)", "C1L: as printed: x contradicted (see C1)",
                          "C2: x reproduced ()", "C2L: as printed: x contradicted (the gap)",
                          "C3: x contradicted ()", "C4: x reproduced ()", "C4L: y reproduced ()"));
}

TEST_F(JudgeTest, AReasonOfWhatIsNotPrintedIsAnError) {
  folder_.Write("toy/e.yaml", std::string(kToyBase) + kToySweep);
  folder_.Write("toy/claims.yaml",
                "paper: Toy\ntitle: Nobody\nmetrics: {v: {file: m.csv, column: v}}\n"
                "experiments:\n  e:\n    about: x\n    claims:\n"
                "      C1: {says: x, kind: zero, metric: v, printed_depends_on: the gap}\n");
  Diagnostics diagnostics;
  ReadPaper(folder_ / "toy", diagnostics);
  EXPECT_THAT(diagnostics.Report(), HasSubstr("C1.printed_depends_on: there is no second claim"));
}

TEST_F(JudgeTest, SaysHowManyTimesWhereThatIsMoreThanTen) {
  Write("e", kToySweep, [](const At& at, double seed) {
    const std::string& lb = at.at("lb");
    return (lb == "rps" ? 30 : lb == "ecmp" ? 2 : 1e-3) * (1 + 0.01 * seed);
  });
  const auto measured = [&](const std::string& than) {
    return One("kind: ordering, metric: v, higher: rps, at: {\"workload[0].load\": 0.2}, than: " +
               than)
        .Measured();
  };
  EXPECT_THAT(measured("[ecmp]"), testing::StartsWith("15 times +- "));
  // 30,000 times says no more than that the other is next to nothing.
  EXPECT_THAT(measured("[{kind: letflow, gap: 1ms}]"), testing::StartsWith("30."));
  EXPECT_THAT(
      One("kind: ordering, metric: v, lower: ecmp, than: [rps], at: {\"workload[0].load\": 0.2}")
          .Measured(),
      testing::StartsWith("-93.3 % +- "));
}

TEST_F(JudgeTest, OthersAreOfOtherKinds) {
  Write("e", kToySweep, Ordered);
  const JudgedClaim claim =
      One("kind: ordering, metric: v, lower: letflow, than: others, at: "
          "{\"workload[0].load\": 0.20}");
  EXPECT_THAT(Where(claim),
              ElementsAre("load=0.2: letflow.gap=50us, ecmp", "load=0.2: letflow.gap=50us, rps",
                          "load=0.2: Slow, ecmp", "load=0.2: Slow, rps"));
  EXPECT_EQ(claim.verdict, ClaimVerdict::kReproduced);
  EXPECT_EQ(claim.agreeing(), 4u);
  EXPECT_THAT(
      Where(One("kind: ordering, metric: v, lower: letflow.gap=1ms, than: [letflow.gap=50us],"
                " at: {\"workload[0].load\": [0.2, 0.6]}")),
      ElementsAre("load=0.2: Slow, letflow.gap=50us", "load=0.6: Slow, letflow.gap=50us"));
}

TEST_F(JudgeTest, SidesMayDifferInSeveralAxes) {
  Write("e",
        "sweep:\n  lb: [ecmp, rps]\n  workload[0].load: [0.2, 0.4]\n  topology.spines: [2, 3]\n"
        "  seeds: 3\n",
        [](const At& at, double seed) {
          return (at.at("lb") == "rps" ? 10 : 0) + (at.at("topology.spines") == "3" ? 1 : 0) +
                 0.01 * seed * NumberIn(at.at("workload[0].load"));
        });
  const JudgedClaim claim =
      One("kind: ordering, metric: v, higher: {lb: rps, topology.spines: 2}, than: {lb: ecmp, "
          "topology.spines: 3}");
  EXPECT_EQ(claim.verdict, ClaimVerdict::kReproduced);
  EXPECT_THAT(Where(claim), ElementsAre("load=0.2: rps/2, ecmp/3", "load=0.4: rps/2, ecmp/3"));
}

TEST_F(JudgeTest, Trends) {
  Write("e", kToySweep, Ordered);
  const std::string along = "kind: trend, metric: v, along: \"workload[0].load\", ";
  EXPECT_EQ(VerdictOf(along + "goes: up"), "reproduced");
  EXPECT_EQ(VerdictOf(along + "goes: down, at: {lb: rps}"), "contradicted");
  // 2 of 42: flat within a tenth; for ECMP 2 of 22 too, but 2 of 12 is not.
  EXPECT_EQ(VerdictOf(along + "goes: flat, at: {lb: [rps, ecmp]}"), "reproduced");
  EXPECT_EQ(VerdictOf(along + "goes: flat, at: {lb: letflow.gap=1ms}"), "contradicted");
  EXPECT_EQ(VerdictOf(along + "goes: flat, within: 0.2, at: {lb: letflow.gap=1ms}"), "reproduced");
  const JudgedClaim claim = One(along + "goes: up, at: {lb: rps}");
  EXPECT_NEAR(claim.parts.front().cells.front().finding.mean, 2, 1e-9);
  // ECMP by RPS: the larger the load, the nearer they are.
  EXPECT_EQ(VerdictOf(along + "goes: up, quantity: ratio, of: ecmp, over: [rps]"), "reproduced");
}

TEST_F(JudgeTest, AxesThatMoveTogetherAreOneAxis) {
  Write(
      "e",
      "sweep:\n  lb: [ecmp, rps]\n  together: [{topology.spines: [2, 3, 4], \"workload[0].load\": "
      "[0.2, 0.3, 0.4]}]\n  seeds: 2\n",
      [](const At& at, double seed) {
        const double spines = NumberIn(at.at("topology.spines"));
        return (spines - 3) * (spines - 3) + 0.001 * seed;
      });
  EXPECT_EQ(VerdictOf("kind: trend, metric: v, along: topology.spines, goes: down_up"),
            "reproduced");
  EXPECT_EQ(VerdictOf("kind: ordering, metric: v, axis: topology.spines, lower: 3, than: others"),
            "reproduced");
}

TEST_F(JudgeTest, Numbers) {
  Write("e", kToySweep, [](const At& at, double seed) {
    // ECMP is 100; RPS 80, 60 and 40 by load.
    const double load = NumberIn(at.at("workload[0].load"));
    return at.at("lb") == "rps" ? 100 * (1 - load) + 0.01 * seed : 100;
  });
  const std::string of = "kind: number, metric: v, quantity: improvement, of: rps, over: ecmp, ";
  EXPECT_EQ(VerdictOf(of + "take: max, value: 0.55"), "reproduced");
  EXPECT_EQ(VerdictOf(of + "take: min, value: 0.25"), "reproduced");
  EXPECT_EQ(VerdictOf(of + "take: mean, value: 0.4, within: 0.01"), "reproduced");
  EXPECT_EQ(VerdictOf(of + "take: max, value: 0.8"), "same direction");
  EXPECT_EQ(VerdictOf(of + "take: max, value: -0.3"), "contradicted");
  EXPECT_EQ(VerdictOf(of + "value: [0.2, 0.6]"), "reproduced");
  EXPECT_EQ(VerdictOf(of + "value: [0.2, 0.9]"), "same direction");
  EXPECT_EQ(VerdictOf(of + "value: 0.4"), "same direction");  // One of three loads fits.
  EXPECT_EQ(VerdictOf(of + "at_least: 0.1"), "reproduced");
  EXPECT_EQ(VerdictOf("kind: number, metric: twice, than_metric: v, quantity: ratio, value: 2"),
            "reproduced");
  EXPECT_EQ(VerdictOf("kind: number, metric: v, at: {lb: rps}, at_most: 50"), "contradicted");
  const JudgedClaim claim = One(of + "take: max, value: 0.55");
  EXPECT_THAT(claim.Measured(), testing::StartsWith("0.6 +- "));
  EXPECT_THAT(claim.Measured(), HasSubstr("(load=0.6: rps, ecmp)"));
}

// No run at one load counts anything in the second seed: 0 by 0 there. The greatest is that of the
// loads that have a number, wherever the empty load stands among them.
TEST_F(JudgeTest, ComparisonsWithoutANumberAreNeitherGreatestNorLeast) {
  for (const std::string empty : {"0.2", "0.4", "0.6"}) {
    Write("e", kToySweep, [&](const At& at, double seed) {
      const std::string& load = at.at("workload[0].load");
      if (load == empty && seed == 2) return 0.0;
      return at.at("lb") == "rps" ? 100 * (1 - NumberIn(load)) + 0.01 * seed : 100;
    });
    const std::string of = "kind: number, metric: v, quantity: improvement, of: rps, over: ecmp, ";
    const double greatest = empty == "0.6" ? 0.4 : 0.6;
    const double least = empty == "0.2" ? 0.4 : 0.2;
    const JudgedClaim most = One(of + fmt::format("take: max, value: {}, within: 0.01", greatest));
    EXPECT_EQ(most.verdict, ClaimVerdict::kReproduced) << empty;
    EXPECT_THAT(most.Measured(), HasSubstr("1 left out, where zero is divided by zero"));
    EXPECT_EQ(VerdictOf(of + fmt::format("take: min, value: {}, within: 0.01", least)),
              "reproduced")
        << empty;
    EXPECT_EQ(VerdictOf(of + fmt::format("value: [{}, {}]", least, greatest)), "reproduced")
        << empty;
  }
  Write("e", kToySweep, [](const At&, double) { return 0.0; });
  const JudgedClaim none =
      One("kind: number, metric: v, quantity: gain, of: rps, over: ecmp, take: max, value: 1");
  EXPECT_EQ(none.verdict, ClaimVerdict::kUnjudged);
  EXPECT_THAT(none.Reason(), HasSubstr("zero is divided by zero"));
}

TEST_F(JudgeTest, Zeros) {
  Write("e", kToySweep, [](const At& at, double seed) {
    return at.at("lb") == "rps" || (at.at("lb") == "ecmp" && seed == 2) ? 1e-9 : 0;
  });
  EXPECT_EQ(VerdictOf("kind: zero, metric: v, at: {lb: letflow}"), "reproduced");
  EXPECT_EQ(VerdictOf("kind: zero, metric: v, at: {lb: ecmp}"), "contradicted");
  EXPECT_EQ(VerdictOf("kind: zero, metric: v, at: {lb: [letflow, ecmp]}"), "mixed");
  EXPECT_EQ(VerdictOf("kind: nonzero, metric: v, at: {lb: [rps, ecmp]}"), "reproduced");
  EXPECT_EQ(VerdictOf("kind: nonzero, metric: v"), "mixed");
}

TEST_F(JudgeTest, TheWorstPartDecides) {
  Write("e", kToySweep, Ordered);
  const std::string good = "{kind: ordering, metric: v, higher: rps, than: others}";
  const std::string bad = "{kind: ordering, metric: v, lower: rps, than: [ecmp]}";
  EXPECT_EQ(VerdictOf("all: [" + good + "]"), "reproduced");
  EXPECT_EQ(VerdictOf("all: [" + bad + ", " + bad + "]"), "contradicted");
  EXPECT_EQ(VerdictOf("all: [" + good + ", {kind: none, because: y}]"), "can't be judged");
}

// Nine of twelve comparisons, then three of twelve.
TEST_F(JudgeTest, AClaimThatHoldsInHalfOfItsComparisonsIsMixed) {
  Write("e", kToySweep, Ordered);
  const std::string nine = "{kind: ordering, metric: v, higher: rps, than: others}";
  const std::string none = "{kind: ordering, metric: v, higher: ecmp, than: [rps]}";
  const JudgedClaim claim = One("all: [" + nine + ", " + none + "]");
  EXPECT_EQ(claim.verdict, ClaimVerdict::kMixed);
  EXPECT_EQ(claim.agreeing(), 9u);
  EXPECT_EQ(claim.all(), 12u);
  const std::string three = "{kind: ordering, metric: v, lower: ecmp, than: [rps]}";
  const std::string nine_against = "{kind: ordering, metric: v, lower: rps, than: others}";
  EXPECT_EQ(VerdictOf("all: [" + three + ", " + nine_against + "]"), "contradicted");
}

// ECMP is 0.5 % above RPS in each seed, and 2 % above LetFlow.
TEST_F(JudgeTest, LessThanAHundredthIsATie) {
  Write("e", kToySweep, [](const At& at, double seed) {
    const std::string& lb = at.at("lb");
    return (lb == "ecmp"  ? 100
            : lb == "rps" ? 99.5
                          : 98) +
           0.1 * seed + NumberIn(at.at("workload[0].load"));
  });
  const std::string ordering = "kind: ordering, metric: v, ";
  EXPECT_EQ(VerdictOf(ordering + "higher: ecmp, than: [rps]"), "tie");
  EXPECT_EQ(VerdictOf(ordering + "lower: ecmp, than: [rps]"), "tie");
  EXPECT_EQ(VerdictOf(ordering + "lower: ecmp, than: [rps], or_equal: true"), "reproduced");
  EXPECT_EQ(VerdictOf(ordering + "higher: ecmp, than: [letflow.gap=1ms]"), "reproduced");
  const std::string gain = "kind: number, metric: v, quantity: gain, over: rps, ";
  EXPECT_EQ(VerdictOf(gain + "of: ecmp, value: 0.3"), "tie");
  EXPECT_EQ(VerdictOf(gain + "of: letflow.gap=1ms, value: 0.3"), "contradicted");
  EXPECT_EQ(VerdictOf("kind: trend, metric: v, along: \"workload[0].load\", goes: up"), "tie");
}

// "About twice" describes; `twice` is three times `v` here.
TEST_F(JudgeTest, ARatioOfTwoMetricsThatIsFarLargerIsContradicted) {
  Write("e", kToySweep, Ordered);
  const std::string ratio = "kind: number, metric: twice, than_metric: v, quantity: ratio, value: ";
  EXPECT_EQ(VerdictOf(ratio + "1.8"), "same direction");
  EXPECT_EQ(VerdictOf(ratio + "1.3"), "contradicted");
}

TEST_F(JudgeTest, CountsTwinsAndClaimsOfOursApart) {
  Write("e", kToySweep, Ordered);
  const std::string zero = "says: x, kind: zero, metric: v}\n";
  const JudgedExperiment judged =
      Judge("    printed: {rps: letflow.gap=1ms}\n    claims:\n      C1: {" + zero +
            "      C1T: {at: {lb: rps}, " + zero + "      C2: {ours: true, at: {lb: rps}, " + zero +
            "      C3: {says: x, kind: zero, metric: v, at: {lb: rps}}\n" +
            "      C4: {ours: true, says: x, all: [{kind: zero, metric: v}]}\n");
  std::vector<std::string> roles;
  for (const Claim& claim : judged.experiment->claims) {
    roles.push_back(fmt::format("{} {}", claim.id, NameOf(claim.role)));
  }
  EXPECT_THAT(roles,
              ElementsAre("C1 claim", "C1T twin", "C2 ours", "C3 claim", "C3L twin", "C4 ours"));
}

TEST_F(JudgeTest, TheRangeIsShort) {
  Write("e", kToySweep, Ordered);
  const JudgedClaim claim = One("kind: ordering, metric: v, higher: rps, than: [ecmp]");
  EXPECT_EQ(claim.Range(), "+86.2 % to +94.3 %");
  EXPECT_THAT(claim.Measured(), HasSubstr("(load=0.6: rps, ecmp)"));
}

TEST_F(JudgeTest, OtherExperiments) {
  Write("e", kToySweep, Ordered);
  Write("f", kToySweep, [](const At& at, double seed) { return Ordered(at, seed) + 1; });
  const std::string f = "  f: {about: y}\n";
  EXPECT_EQ(VerdictOf("kind: ordering, metric: v, is: lower, than_experiment: f", f), "reproduced");
  EXPECT_EQ(
      VerdictOf("kind: ordering, metric: v, higher: rps, than: [ecmp], than_experiment: f", f),
      "reproduced");
  EXPECT_EQ(
      VerdictOf("kind: ordering, metric: twice, is: higher, than_metric: v, than_experiment: f", f),
      "reproduced");
  // Over both: 24 combinations, of which each pair is within an experiment.
  const JudgedExperiment judged = Judge(
      "    from: [f, g]\n    claims: {C1: {says: x, kind: ordering, metric: v, higher: rps, than: "
      "[ecmp]}}\n",
      "  f: {about: y}\n  g: {about: z, file: e.yaml}\n");
  EXPECT_EQ(judged.claims.front().verdict, ClaimVerdict::kReproduced);
  EXPECT_THAT(judged.claims.front().parts.front().cells, SizeIs(6));
  EXPECT_EQ(judged.points, 72u);
}

TEST_F(JudgeTest, Models) {
  Write("e",
        "lb: {kind: pdlb, granularity: 1}\nsweep:\n  lb.granularity: [1, 8, 16, 24, 44]\n  seeds: "
        "2\n",
        [](const At& at, double) { return NumberIn(at.at("lb.granularity")); });
  const std::string model =
      "    metrics:\n      p: {model: pdlb, column: fct_ms, set: {slow: 2, ratio: 3, granularity: "
      "{setting: lb.granularity}}}\n";
  const auto verdict = [&](const std::string& more) {
    return Judge(model +
                 "    claims: {C1: {says: x, kind: model, metric: v, than_metric: p, along: "
                 "lb.granularity" +
                 more + "}}\n")
        .claims.front();
  };
  const double correlation = verdict("").parts.front().cells.front().finding.mean;
  EXPECT_GE(correlation, -1);
  EXPECT_LT(correlation, 0.7);
  EXPECT_EQ(verdict(", correlation_above: -0.99").verdict, ClaimVerdict::kReproduced);
  EXPECT_EQ(verdict(", correlation_above: -0.99, interior_minimum: true").verdict,
            ClaimVerdict::kSameDirection);
  EXPECT_THAT(verdict("").Measured(), HasSubstr("simulated by predicted"));
}

TEST_F(JudgeTest, MissingPointsAndValuesLeaveNoVerdict) {
  Write("e", kToySweep, [](const At& at, double seed) {
    return at.at("lb") == "rps" && seed == 3 ? std::numeric_limits<double>::infinity()
                                             : Ordered(at, seed);
  });
  const JudgedClaim infinite = One("kind: ordering, metric: v, higher: rps, than: [ecmp]");
  EXPECT_EQ(infinite.verdict, ClaimVerdict::kUnjudged);
  EXPECT_THAT(infinite.Reason(), HasSubstr("a value is infinite"));
  std::filesystem::remove_all(folder_ / "out/toy/e/points");
  EXPECT_EQ(One("kind: zero, metric: v").Reason(), "it has not been run");
}

// --- Edges ---

TEST_F(JudgeTest, OneSeedGivesNoInterval) {
  Write("e", "sweep: {lb: [ecmp, rps], \"workload[0].load\": [0.2, 0.4], seeds: 1}\n",
        [](const At& at, double) {
          return (at.at("lb") == "rps" ? 20 : 10) + NumberIn(at.at("workload[0].load"));
        });
  const JudgedClaim ordering = One("kind: ordering, metric: v, higher: rps, than: ecmp");
  EXPECT_EQ(ordering.verdict, ClaimVerdict::kUnjudged);
  EXPECT_EQ(ordering.Reason(), "load=0.2: rps, ecmp: one seed gives no interval");
  EXPECT_EQ(VerdictOf("kind: trend, metric: v, along: \"workload[0].load\", goes: up"),
            "can't be judged");
  // Zeros need no interval.
  EXPECT_EQ(VerdictOf("kind: nonzero, metric: v"), "reproduced");
}

// Seeds differ by far more than the schemes: only the pairs show the difference of 1 each.
TEST_F(JudgeTest, PairsOfSeedsShowWhatMeansHide) {
  Write("e", "sweep: {lb: [ecmp, rps], seeds: 5}\n", [](const At& at, double seed) {
    return 10 * seed + (at.at("lb") == "rps" ? 1 + 0.01 * seed : 0);
  });
  const JudgedClaim claim = One("kind: ordering, metric: v, higher: rps, than: ecmp");
  EXPECT_EQ(claim.verdict, ClaimVerdict::kReproduced);
  const Finding& finding = claim.parts.front().cells.front().finding;
  EXPECT_NEAR(finding.mean, 1.03, 1e-9);
  // s of 0.01 .. 0.05 is 0.0158114; by sqrt(5), times 2.776445.
  EXPECT_NEAR(finding.half_width, 0.0196324, 1e-6);
  EXPECT_NEAR(claim.parts.front().cells.front().relative, 1.03 / 30, 1e-9);
}

// Two loads: RPS is higher at one, lower at the other. One of two is half.
TEST_F(JudgeTest, OneOfTwoIsMixed) {
  Write("e", "sweep: {lb: [ecmp, rps], \"workload[0].load\": [0.2, 0.4], seeds: 3}\n",
        [](const At& at, double seed) {
          const double sign = at.at("workload[0].load") == "0.2" ? 1 : -1;
          return 20 + (at.at("lb") == "rps" ? sign * 5 : 0) + 0.01 * seed;
        });
  const JudgedClaim claim = One("kind: ordering, metric: v, higher: rps, than: ecmp");
  EXPECT_EQ(claim.verdict, ClaimVerdict::kMixed);
  EXPECT_EQ(claim.agreeing(), 1u);
  EXPECT_EQ(claim.all(), 2u);
  EXPECT_EQ(claim.parts.front().CountOf(Outcome::kAgainst), 1u);
}

// A constant has neither slope nor rank correlation.
TEST_F(JudgeTest, AConstantIsFlatAndHasNoCorrelation) {
  Write("e", kToySweep, [](const At&, double) { return 5.0; });
  const std::string along = "metric: v, along: \"workload[0].load\"";
  EXPECT_EQ(VerdictOf("kind: trend, goes: flat, " + along), "reproduced");
  EXPECT_EQ(VerdictOf("kind: trend, goes: up, " + along), "tie");
  const JudgedClaim model = One("kind: model, than_metric: twice, " + along);
  EXPECT_EQ(model.verdict, ClaimVerdict::kUnjudged);
  EXPECT_THAT(model.Reason(), HasSubstr("rank correlation of a constant is undefined"));
}

TEST_F(JudgeTest, NumbersByTheMeanNeedEveryComparisonOfASeed) {
  Write("e", kToySweep, [](const At& at, double seed) {
    return at.at("lb") == "rps" ? 10 * NumberIn(at.at("workload[0].load")) + 0.001 * seed : 4;
  });
  // 2, 4 and 6 by 4: 0.5, 1 and 1.5.
  const JudgedClaim claim =
      One("kind: number, metric: v, quantity: ratio, of: rps, over: ecmp, take: mean, value: 1");
  ASSERT_THAT(claim.parts.front().cells, SizeIs(1));
  EXPECT_EQ(claim.parts.front().cells.front().where, "mean of 3");
  EXPECT_NEAR(claim.parts.front().cells.front().finding.mean, 1.0005, 1e-9);
  EXPECT_EQ(claim.verdict, ClaimVerdict::kReproduced);
}

TEST_F(JudgeTest, PartsAreNumberedInTexts) {
  Write("e", kToySweep, Ordered);
  const JudgedClaim claim =
      One("all: [{kind: none, because: a}, {kind: nonzero, metric: v, at: {lb: rps}}, {kind: none, "
          "because: b}]");
  EXPECT_EQ(claim.Expected(), "(2) v is not 0");
  EXPECT_EQ(claim.Reason(), "(1) a; (3) b");
  EXPECT_EQ(claim.all(), 3u);
  EXPECT_EQ(claim.agreeing(), 3u);
}

}  // namespace heddle::judge_test
