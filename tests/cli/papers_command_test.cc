// SPDX-License-Identifier: Apache-2.0
// Runs, judges and judges again an invented paper with heddle papers.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "experiment/version.h"
#include "settings/json.h"
#include "study/sweep/run_results.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"

namespace heddle::papers_command_test {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kHeddle = HEDDLE_BINARY;

// Points of a few milliseconds.
const std::string kExperiment =
    "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4,\n"
    "  asymmetry: [{spines: [1], delay: 50us}]}\n"
    "workload: [{kind: poisson, sizes: \"fixed:100KB\", load: 0.4, flows: 4000}]\n"
    "sweep:\n  lb: [ecmp, rps, {kind: letflow, gap: 50us}]\n"
    "  workload[0].load: [0.2, 0.4, 0.6]\n  seeds: 10\n"
    "scales:\n  ci: {\"workload[0].flows\": 60, \"sweep.workload[0].load\": [0.2, 0.6], "
    "sweep.seeds: 3,\n"
    "       sweep.lb: [ecmp, rps]}\n";

const std::string kClaims =
    "paper: Toy\n"
    "title: Nobody, \"Nothing\", nowhere, 2026\n"
    "metrics:\n"
    "  ooo: {label: reordered, file: reorder.csv, where: {scope: all, class: all}, column: ratio}\n"
    "  fct: {label: mean FCT, unit: us, file: summary.csv, where: {class_set: all}, column: "
    "avg_fct_us}\n"
    "  flows: {file: flows.csv, take: count}\n"
    "experiments:\n"
    "  fig1:\n"
    "    about: What does spraying do if a path is slow?\n"
    "    choices: {load: the paper has none}\n"
    "    figures:\n"
    "      1a: {metric: fct, x: \"workload[0].load\", x_label: load, x_values: [20, 40, 60]}\n"
    "      1b: {metric: ooo, x: \"workload[0].load\", normalise_to: rps}\n"
    "    claims:\n"
    "      C1: {says: ECMP keeps the order., kind: zero, metric: ooo, at: {lb: ecmp}}\n"
    "      C2: {says: Spraying does not., kind: ordering, metric: ooo, higher: rps, than: others}\n"
    "      C3: {says: Nor is it zero., kind: zero, metric: ooo, at: {lb: rps}}\n"
    "      C4: {says: As many flows., kind: number, metric: flows, of: rps, over: ecmp, quantity: "
    "ratio, value: 1}\n"
    "      C5: {says: Who knows., kind: none, because: nobody does}\n"
    "      C6:\n"
    "        says: More load takes longer, or as long.\n"
    "        depends_on: the sizes\n"
    "        all:\n"
    "          - {kind: trend, metric: flows, along: \"workload[0].load\", goes: flat}\n"
    "          - {kind: ordering, metric: flows, axis: \"workload[0].load\", higher: 0.6, than: "
    "[0.2], "
    "or_equal: true}\n"
    "  fig2:\n"
    "    about: The same points again.\n"
    "    file: fig1.yaml\n"
    "    claims:\n"
    "      C1: {says: The same., kind: ordering, metric: fct, is: higher, than_experiment: fig1, "
    "or_equal: true}\n"
    "  all:\n"
    "    about: Everything together.\n"
    "    from: [fig1, fig2]\n"
    "    claims:\n"
    "      C1: {says: So many flows., kind: number, metric: flows, take: max, value: 60}\n"
    "      C2: {says: Those of one., kind: number, metric: flows, at: {experiment: fig2}, value: "
    "60}\n"
    "  speed:\n"
    "    about: What decisions cost.\n"
    "    bench: {policies: [ecmp, letflow], candidates: [4], flows: [100], repeats: 2}\n"
    "    metrics:\n"
    "      state: {label: state, unit: B, file: bench.csv, column: state_bytes}\n"
    "    figures: {s: {metric: state, x: candidates, x_label: ports, lines: lb}}\n"
    "    claims:\n"
    "      C1: {says: LetFlow remembers flows., kind: ordering, metric: state, higher: letflow, "
    "than: [ecmp]}\n";

class PapersCommandTest : public testing::Test {
 protected:
  PapersCommandTest() {
    fs::create_directories(folder_ / "papers/toy");
    folder_.Write("papers/toy/fig1.yaml", kExperiment);
    folder_.Write("papers/toy/claims.yaml", kClaims);
  }

  CommandResult Run(const std::string& command) {
    return RunCommand(
        fmt::format("heddle() {{ '{}' \"$@\"; }}\n{} --configs papers", kHeddle, command),
        folder_.path());
  }
  // Returns the errors that `command` prints for claims.yaml with `from` replaced by `to`.
  std::string Errors(const std::string& from, const std::string& to,
                     const std::string& command = "heddle papers list") {
    std::string changed = kClaims;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    folder_.Write("papers/toy/claims.yaml", changed);
    const CommandResult result = Run(command);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_EQ(result.out, "");
    folder_.Write("papers/toy/claims.yaml", kClaims);
    return result.err;
  }

  TemporaryFolder folder_;
};

TEST_F(PapersCommandTest, ListsWhatThereIs) {
  const CommandResult result = Run("heddle papers list --scale ci");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("Toy: Nobody"), HasSubstr("toy-fig1               6 claims"),
                    HasSubstr("12 points"), HasSubstr("as fig1.yaml"), HasSubstr("from fig1, fig2"),
                    HasSubstr("a benchmark")));
}

TEST_F(PapersCommandTest, RunsAndJudges) {
  const CommandResult run = Run("heddle papers run --scale ci --jobs 2");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "Results: results/papers/ci\n");
  const CommandResult claims = Run("heddle papers claims --scale ci");
  ASSERT_EQ(claims.exit_code, 0) << claims.err;
  EXPECT_THAT(claims.out,
              AllOf(HasSubstr("C1: reproduced (2 of 2)"), HasSubstr("12 of 12 points"),
                    HasSubstr("depends   the sizes"), HasSubstr("load: the paper has none"),
                    HasSubstr("10 claims: 8 reproduced")));
  const CsvTable csv(ReadFile(folder_ / "results/papers/ci/claims.csv"));
  ASSERT_EQ(csv.rows.size(), 10u);
  const std::map<std::string, std::string> expected = {
      {"toy-fig1.C1", "reproduced"},      {"toy-fig1.C2", "reproduced"},
      {"toy-fig1.C3", "contradicted"},    {"toy-fig1.C4", "reproduced"},
      {"toy-fig1.C5", "can't be judged"}, {"toy-fig1.C6", "reproduced"},
      {"toy-fig2.C1", "reproduced"},      {"toy-all.C1", "reproduced"},
      {"toy-all.C2", "reproduced"},       {"toy-speed.C1", "reproduced"}};
  for (size_t i = 0; i < csv.rows.size(); ++i) {
    EXPECT_EQ(csv.At(i, "verdict"), expected.at(csv.At(i, "claim"))) << csv.At(i, "measured");
  }
  EXPECT_THAT(ReadFile(folder_ / "results/papers/ci/papers.json"),
              AllOf(HasSubstr("\"x\": [\n                    20,\n                    60\n"),
                    HasSubstr("\"id\": \"toy-fig1.C6\"")));
  const CommandResult markdown = Run("heddle papers claims toy-fig1 --scale ci --markdown");
  EXPECT_THAT(
      markdown.out,
      AllOf(HasSubstr("| Toy | 4 | 0 | 0 | 0 | 1 | 1 |\n"),
            HasSubstr(fmt::format("\n12 of 12 points have results, of Heddle {} (", Version())),
            HasSubstr("| C5 | Who knows. | nobody does | can't be judged |\n"),
            HasSubstr("*It depends on:* the sizes\n")));
  EXPECT_THAT(Run("heddle papers claims toy-speed --scale ci --markdown").out,
              HasSubstr("| state (B) | 4 ports |\n|---|---:|\n| ecmp | 8 |\n"));
  // Nothing runs twice.
  const CommandResult again = Run("heddle papers run toy-fig1 --scale ci");
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.err, "");
}

TEST_F(PapersCommandTest, SaysWhatResultsHaveCost) {
  const CommandResult before = Run("heddle papers costs --scale ci");
  EXPECT_EQ(before.exit_code, 0) << before.err;
  EXPECT_THAT(before.out, HasSubstr("toy-fig1    0 of 12"));
  ASSERT_EQ(Run("heddle papers run toy-fig1 --scale ci -q").exit_code, 0);
  double hops = 0;
  double seconds = 0;
  for (const auto& point : fs::directory_iterator(folder_ / "results/papers/ci/toy/fig1/points")) {
    if (!fs::exists(point.path() / "summary.json")) continue;
    const auto summary = ParseJson(ReadFile(point.path() / "summary.json"));
    ASSERT_TRUE(summary.ok());
    hops += FindNumber(*summary, "performance.packet_hops");
    seconds += FindNumber(*summary, "performance.cpu_seconds");
  }
  const CommandResult result = Run("heddle papers costs --scale ci --markdown");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  // Benchmarks time themselves, and experiments of one file run once.
  EXPECT_THAT(result.out, AllOf(HasSubstr("| toy-fig1 "), Not(HasSubstr("toy-fig2")),
                                Not(HasSubstr("toy-speed"))));
  EXPECT_THAT(result.out, HasSubstr(fmt::format(" {:.3g} million | {:>6.0f} |", hops / 1e6,
                                                seconds * 1e9 / hops)));
}

TEST_F(PapersCommandTest, ComparesWithVerdictsOfBefore) {
  ASSERT_EQ(Run("heddle papers run toy-fig1 --scale ci -q").exit_code, 0);
  const CommandResult claims = Run("heddle papers claims toy-fig1 --scale ci --csv");
  ASSERT_EQ(claims.exit_code, 0) << claims.err;
  folder_.Write("same.csv", claims.out);
  const CommandResult same = Run("heddle papers claims toy-fig1 --scale ci --check same.csv");
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(same.out, "0 of 6 verdicts differ\n");
  std::string changed = claims.out;
  changed.replace(changed.find("toy-fig1.C2,reproduced"), 22, "toy-fig1.C2,tie");
  changed.replace(changed.find("toy-fig1.C4"), 11, "toy-fig1.C9");
  folder_.Write("other.csv", changed);
  const CommandResult other = Run("heddle papers claims toy-fig1 --scale ci --check other.csv");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_EQ(other.out,
            "toy-fig1.C2: was tie, is reproduced\n"
            "toy-fig1.C4: was not there, is reproduced\n"
            "toy-fig1.C9: was reproduced, is not there\n"
            "3 of 6 verdicts differ\n");
  folder_.Write("none.csv", "a,b\n");
  EXPECT_EQ(Run("heddle papers claims --scale ci --check none.csv").exit_code, 2);
}

TEST_F(PapersCommandTest, JudgesWhatOtherSettingsGive) {
  const std::string with = "--scale ci --set topology.asymmetry=[] --out results/alike";
  ASSERT_EQ(Run("heddle papers run toy-fig1 -q " + with).exit_code, 0);
  ASSERT_EQ(Run("heddle papers run toy-fig1 -q --scale ci").exit_code, 0);
  const CommandResult alike = Run("heddle papers claims toy-fig1 --csv " + with);
  const CommandResult as_it_is = Run("heddle papers claims toy-fig1 --csv --scale ci");
  EXPECT_EQ(alike.exit_code, 0) << alike.err;
  EXPECT_THAT(alike.out, HasSubstr("toy-fig1.C4,reproduced"));
  EXPECT_NE(alike.out, as_it_is.out);
  EXPECT_THAT(ReadFile(folder_ / "results/alike/ci/papers.json"),
              HasSubstr("\"set\": [\n    \"topology.asymmetry=[]\"\n  ]"));
  // The results without --set are for other settings.
  EXPECT_THAT(Run("heddle papers claims toy-fig1 --scale ci --out results/alike").out,
              HasSubstr("6 claims: 6 can't be judged"));
}

TEST_F(PapersCommandTest, WhatHasNotRunCannotBeJudged) {
  const CommandResult nothing = Run("heddle papers claims toy-fig1 --scale ci");
  EXPECT_EQ(nothing.exit_code, 0) << nothing.err;
  EXPECT_THAT(nothing.out, AllOf(HasSubstr("because   it has not been run"),
                                 HasSubstr("6 claims: 6 can't be judged")));
  ASSERT_EQ(Run("heddle papers run toy-fig1 --scale ci -q").exit_code, 0);
  for (const auto& point : fs::directory_iterator(folder_ / "results/papers/ci/toy/fig1/points")) {
    if (!point.is_directory()) continue;
    fs::remove_all(point);
    break;
  }
  EXPECT_THAT(Run("heddle papers claims toy-fig1 --scale ci").out,
              HasSubstr("1 of the experiment's 12 points have no results"));
}

// Only its contents show the damage: its length is the same, even if the table is too large to
// check at all points.
TEST_F(PapersCommandTest, ADamagedTableChangesNoVerdict) {
  ASSERT_EQ(Run("heddle papers run toy-fig1 --scale ci -q").exit_code, 0);
  const std::string points = "results/papers/ci/toy/fig1/points";
  for (const bool is_large : {false, true}) {
    std::vector<fs::path> tables;
    for (const auto& point : fs::directory_iterator(folder_ / points)) {
      if (!fs::exists(point.path() / "summary.csv")) continue;
      tables.push_back(point.path() / "summary.csv");
      std::string text = ReadFile(tables.back());
      const std::string row = text.substr(text.rfind('\n', text.size() - 2) + 1);
      while (is_large && text.size() < 100'000) text += "pad" + row.substr(row.find(','));
      std::ofstream(tables.back()) << text;
      MakeManifest(point.path());
    }
    ASSERT_EQ(tables.size(), 12u);
    const CommandResult before = Run("heddle papers claims toy-fig1 --scale ci");
    ASSERT_EQ(before.exit_code, 0) << before.err;
    fs::remove(folder_ / "results/papers/ci/claims.csv");
    std::vector<std::string> texts;
    for (const fs::path& table : tables) {
      texts.push_back(ReadFile(table));
      std::string text = texts.back();
      char& digit = text[text.find_first_of("0123456789", text.find('\n'))];
      digit = digit == '9' ? '1' : '9';
      std::ofstream(table) << text;
    }
    const CommandResult judged = Run("heddle papers claims toy-fig1 --scale ci");
    EXPECT_EQ(judged.exit_code, 1);
    EXPECT_THAT(judged.out, HasSubstr("6 claims: 6 can't be judged"));
    EXPECT_THAT(judged.err,
                AllOf(HasSubstr("heddle: 12 points are damaged, and left out, such as " + points),
                      HasSubstr("\"heddle verify " + points)));
    EXPECT_FALSE(fs::exists(folder_ / "results/papers/ci/claims.csv"));
    for (size_t i = 0; i < tables.size(); ++i) std::ofstream(tables[i]) << texts[i];
  }
}

// The other experiment may be the one that has the metric.
TEST_F(PapersCommandTest, AMetricOfAnExperimentThatHasNotRunIsNoMistake) {
  std::string claims = kClaims;
  const auto replace = [&](const std::string& from, const std::string& to) {
    claims.replace(claims.find(from), from.size(), to);
  };
  replace("from: [fig1, fig2]\n",
          "from: [fig1, speed]\n    metrics: {room: {label: room, file: bench.csv, column: "
          "state_bytes}}\n");
  replace("metric: flows, at: {experiment: fig2}", "metric: room, at: {experiment: speed}");
  folder_.Write("papers/toy/claims.yaml", claims);
  ASSERT_EQ(Run("heddle papers run toy-fig1 --scale ci -q").exit_code, 0);
  const CommandResult result = Run("heddle papers claims toy-all --scale ci");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("C2: can't be judged"));
}

TEST_F(PapersCommandTest, SaysWhatIsWrongBeforeAnythingRuns) {
  EXPECT_THAT(Errors("kind: zero", "kind: zer"),
              AllOf(HasSubstr("papers/toy/claims.yaml:15:47: experiments.fig1.claims.C1.kind: "),
                    HasSubstr("did you mean \"zero\"?")));
  EXPECT_THAT(Errors("metric: ooo, at: {lb: ecmp}", "metric: oo, at: {lb: ecmp}"),
              HasSubstr("no metric is called \"oo\"; did you mean \"ooo\"?"));
  EXPECT_THAT(Errors("at: {lb: ecmp}", "at: {lb: ecm}"),
              HasSubstr("claims.yaml:15:75: experiments.fig1.claims.C1.at: lb has no \"ecm\"; did "
                        "you mean \"ecmp\"?"));
  EXPECT_THAT(Errors("at: {lb: ecmp}", "at: {lbs: ecmp}"), HasSubstr("\"lbs\" is not swept"));
  EXPECT_THAT(Errors("goes: flat", "goes: sideways"), HasSubstr("\"sideways\" is not known"));
  EXPECT_THAT(Errors("than: others", "tan: others"), HasSubstr("tan: unknown key"));
  EXPECT_THAT(Errors("from: [fig1, fig2]", "from: [fig1, fig3]"),
              HasSubstr("no experiment is called \"fig3\""));
  EXPECT_THAT(Errors("file: fig1.yaml", "file: fig9.yaml"),
              HasSubstr("there is no papers/toy/fig9"));
  EXPECT_THAT(Errors("letflow], candidates", "letflo, letflow], candidates",
                     "heddle papers run --scale ci"),
              HasSubstr("no load balancer is called \"letflo\"; did you mean \"letflow\"?"));
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

TEST_F(PapersCommandTest, SaysWhatIsWrongWithWhatIsAskedFor) {
  const CommandResult name = Run("heddle papers run toy-fig7 --scale ci");
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_THAT(name.err, HasSubstr("no paper or experiment is called \"toy-fig7\"; did you mean "
                                  "\"toy-fig1\"?"));
  const CommandResult scale = Run("heddle papers run toy-fig1 --scale cii");
  EXPECT_EQ(scale.exit_code, 2);
  EXPECT_THAT(scale.err, HasSubstr("there is no scale \"cii\"; did you mean \"ci\"?"));
  // With --set, results of changed settings would lie among the paper's.
  const CommandResult set = Run("heddle papers run toy-fig1 --set seed=2");
  EXPECT_EQ(set.exit_code, 2);
  EXPECT_THAT(set.err, HasSubstr("--set requires --out"));
  const CommandResult key =
      Run("heddle papers run toy-fig1 --set topolgy.leaves=4 --out results/x");
  EXPECT_EQ(key.exit_code, 2);
  EXPECT_THAT(
      key.err,
      AllOf(HasSubstr("--set topolgy.leaves=4: topolgy: unknown key"),
            HasSubstr("papers/toy/fig1.yaml: is no valid experiment with the settings of --set")));
}

TEST_F(PapersCommandTest, RunsNothingIfOneOfManyExperimentsHasAMistake) {
  std::string other = kExperiment;
  other.replace(other.find("[0.2, 0.4, 0.6]"), 15, "[0.2, 0.4, 600]");
  folder_.Write("papers/toy/fig2.yaml", other);
  EXPECT_THAT(Errors("    file: fig1.yaml\n", "", "heddle papers run --scale full"),
              AllOf(HasSubstr("papers/toy/fig2.yaml:6:32: "), HasSubstr("\"600\" is out of range"),
                    Not(HasSubstr("fig1.yaml"))));
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

// A metric that results do not have is found only when they are there.
TEST_F(PapersCommandTest, WritesNothingIfAMetricCannotBeRead) {
  std::string changed = kClaims;
  changed.replace(changed.find("column: ratio"), 13, "column: ratoi");
  folder_.Write("papers/toy/claims.yaml", changed);
  ASSERT_EQ(Run("heddle papers run toy-fig1 --scale ci -q").exit_code, 0);
  const CommandResult result = Run("heddle papers claims toy-fig1 --scale ci");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("papers/toy/claims.yaml:4:8: metrics.ooo: "),
                                HasSubstr("has no column \"ratoi\"; did you mean \"ratio\"?")));
  EXPECT_THAT(result.out, HasSubstr("C4: reproduced"));
  EXPECT_FALSE(fs::exists(folder_ / "results/papers/ci/claims.csv"));
}

}  // namespace heddle::papers_command_test
