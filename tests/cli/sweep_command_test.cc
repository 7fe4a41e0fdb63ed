// SPDX-License-Identifier: Apache-2.0
// Tests heddle sweep, collect and compare as a user types them. No accident during a sweep may lose
// or change a result.

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "core/sanitizers.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"

namespace heddle::sweep_command_test {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::string kHeddle = HEDDLE_BINARY;

// Twelve points of a few milliseconds.
const std::string kSweep =
    "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
    "workload: [{kind: poisson, sizes: small, load: 0.4, flows: 60}]\n"
    "sweep:\n  lb: [ecmp, {kind: letflow, gap: 50us}]\n  workload[0].load: [0.3, 0.5]\n  seeds: "
    "3\n";

// This sweep takes hours.
const std::string kLong =
    "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
    "workload: [{kind: poisson, sizes: small, load: 0.5, duration: 100s}]\n"
    "measure: {t_max: 200s}\nsweep: {lb: [ecmp, rps]}\n";

class SweepCommandTest : public testing::Test {
 protected:
  SweepCommandTest() {
    folder_.Write("s.yaml", kSweep);
    folder_.Write("long.yaml", kLong);
  }

  CommandResult Run(const std::string& command) {
    return RunCommand("heddle() { '" + kHeddle + "' \"$@\"; }\n" + command, folder_.path());
  }
  // Everything in the sweep's folder except the costs of runs. Temporary files of a killed process
  // don't count; partial points do.
  std::map<std::string, std::string> Results(const std::string& out) {
    auto files = ReadResults(folder_ / out);
    std::erase_if(files, [](const auto& file) { return file.first.starts_with('.'); });
    return files;
  }
  // The files of a sweep that ran without interruption.
  const std::map<std::string, std::string>& Expected() {
    if (expected_.empty()) {
      EXPECT_EQ(Run("heddle sweep s.yaml -q -o expected").exit_code, 0);
      expected_ = Results("expected");
    }
    return expected_;
  }
  std::string PointId(size_t point) {
    return CsvTable(ReadFile(folder_ / "expected/plan.csv")).At(point, "id");
  }

  TemporaryFolder folder_;
  std::map<std::string, std::string> expected_;
};

TEST_F(SweepCommandTest, RunsEveryPoint) {
  const CommandResult result = Run("heddle sweep s.yaml");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\nlb=letflow.gap=50us,load=0.5,seed=3 "),
                                HasSubstr("\nResults: results/s\n")));
  const CsvTable plan(ReadFile(folder_ / "results/s/plan.csv"));
  ASSERT_EQ(plan.rows.size(), 12u);
  EXPECT_EQ(plan.At(11, "lb"), "letflow.gap=50us");
  EXPECT_EQ(plan.At(11, "workload[0].load"), "0.5");
  EXPECT_EQ(plan.At(11, "seed"), "3");
  for (const auto& row : plan.rows) {
    EXPECT_TRUE(fs::exists(folder_ / "results/s/points" / row[1] / "flows.csv"));
  }
}

TEST_F(SweepCommandTest, ResultsAreTheSameHoweverPointsAreSpreadOverProcesses) {
  ASSERT_EQ(Run("heddle sweep s.yaml -q -o one --jobs 1").exit_code, 0);
  ASSERT_EQ(Run("heddle sweep s.yaml -q -o four --jobs 4").exit_code, 0);
  ASSERT_EQ(Run("heddle sweep s.yaml -q -o threads --jobs 2 --threads 2").exit_code, 0);
  for (const char* shard : {"3/3", "1/3", "2/3"}) {
    EXPECT_EQ(Run(fmt::format("heddle sweep s.yaml -q -o shards --shard {}", shard)).exit_code, 0);
  }
  ASSERT_EQ(
      Run("for i in 9-12 1,3,5 2-8; do heddle sweep s.yaml -q -o only --only $i; done").exit_code,
      0);
  for (const char* out : {"one", "four", "threads", "shards", "only"}) {
    EXPECT_EQ(Run(fmt::format("heddle collect {}", out)).exit_code, 0);
  }
  for (const char* out : {"four", "threads", "shards", "only"}) {
    EXPECT_EQ(Results(out), Results("one")) << out;
  }
}

TEST_F(SweepCommandTest, APointRunsAloneFromItsRunYaml) {
  const std::string id = (Expected(), PointId(4));
  ASSERT_EQ(Run("heddle run expected/points/" + id + "/run.yaml -q -o alone").exit_code, 0);
  EXPECT_EQ(Results("alone"), Results("expected/points/" + id));
}

TEST_F(SweepCommandTest, RunsOnlyWhatIsNotThere) {
  Expected();
  const auto written = fs::last_write_time(folder_ / "expected/points" / PointId(0) / "run.yaml");
  fs::remove_all(folder_ / "expected/points" / PointId(5));
  const CommandResult result = Run("heddle sweep s.yaml -o expected");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("11 of 12 points have results already"));
  EXPECT_EQ(Results("expected"), expected_);
  EXPECT_EQ(fs::last_write_time(folder_ / "expected/points" / PointId(0) / "run.yaml"), written);
  // A longer axis adds points, and the others stay.
  const CommandResult more =
      Run("heddle sweep s.yaml -o expected --set 'sweep.workload[0].load=[0.3, 0.4, 0.5]'");
  EXPECT_EQ(more.exit_code, 0);
  EXPECT_THAT(more.err, HasSubstr("12 of 18 points have results already"));
  EXPECT_EQ(CsvTable(ReadFile(folder_ / "expected/plan.csv")).rows.size(), 18u);
}

TEST_F(SweepCommandTest, RefusesAFolderOfARun) {
  Expected();
  const std::string point = "expected/points/" + PointId(0);
  for (const char* command : {"sweep", "run"}) {
    const CommandResult result = Run(fmt::format("heddle {} s.yaml --out {}", command, point));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err,
                HasSubstr(point + " has the results of a single run; name another folder"));
  }
  // Another run's results must not pass for a point's.
  folder_.Write("run.yaml", kSweep.substr(0, kSweep.find("sweep:")) + "lb: rps\n");
  const CommandResult run = Run("heddle run run.yaml --force --out " + point);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr(point + " belongs to a point of a sweep"));
  EXPECT_EQ(Run("heddle run " + point + "/run.yaml -q --force --out " + point).exit_code, 0);
  EXPECT_EQ(Results("expected"), expected_);
}

// Points of a sweep that came before may be of use again. Tables of them would pass for this one's.
TEST_F(SweepCommandTest, KeepsTheResultsOfAnotherPlanButNotItsTables) {
  Expected();
  ASSERT_EQ(Run("heddle collect expected && touch expected/report.html").exit_code, 0);
  const CommandResult other = Run("heddle sweep s.yaml -q -o expected --set 'sweep.lb=[rps]'");
  EXPECT_EQ(other.exit_code, 0);
  EXPECT_THAT(other.err,
              HasSubstr("heddle: expected had another plan; 12 of its 12 points are not in the "
                        "new plan, but are kept in points/; the old tables and report are "
                        "removed\n"));
  for (const char* name : {"points.csv", "means.csv", "report.html"}) {
    EXPECT_FALSE(fs::exists(folder_ / "expected" / name)) << name;
  }
  // One that has all the old points as well has nothing to say.
  EXPECT_THAT(Run("heddle sweep s.yaml -q -o expected --set 'sweep.lb=[rps, presto]'").err,
              Not(HasSubstr("another plan")));
  EXPECT_THAT(Run("heddle sweep s.yaml -o expected").err,
              HasSubstr("12 of 12 points have results"));
}

// Together they are the whole: `collect` must not take the earlier experiment for theirs.
TEST_F(SweepCommandTest, ShardsOfAnotherExperimentReplaceThePlan) {
  for (const std::string loads : {"[0.3, 0.5]", "[0.3]", "[0.3, 0.5, 0.6]"}) {
    for (const char* shard : {"1/2", "2/2"}) {
      const CommandResult result = Run(
          fmt::format("heddle sweep s.yaml -q -o out --shard {} --set 'sweep.workload[0].load={}'",
                      shard, loads));
      EXPECT_EQ(result.exit_code, 0) << result.err;
    }
    ASSERT_EQ(Run("heddle collect out").exit_code, 0);
    const size_t count = 1 + static_cast<size_t>(std::ranges::count(loads, ','));
    EXPECT_EQ(CsvTable(ReadFile(folder_ / "out/plan.csv")).rows.size(), 2 * 3 * count);
  }
}

// A task may run when the plan has grown. It does not run what `collect` would not see.
TEST_F(SweepCommandTest, PointsByNumberLeaveThePlanAsItIs) {
  Expected();
  const std::string plan = ReadFile(folder_ / "expected/plan.csv");
  const std::string fewer = "heddle sweep s.yaml -q -o expected --set 'sweep.lb=[ecmp]' --only 2";
  EXPECT_EQ(Run(fewer).exit_code, 0);
  const CommandResult other =
      Run("heddle sweep s.yaml -q -o expected --set sweep.seeds=4 --only 4");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("expected has the plan of another sweep, without point 4 "
                                   "(lb=ecmp,load=0.3,seed=4) of this one; to replace the plan, "
                                   "run the whole sweep, its shards, or --slurm; or name another "
                                   "folder with --out"));
  EXPECT_EQ(ReadFile(folder_ / "expected/plan.csv"), plan);
  EXPECT_EQ(Results("expected"), expected_);
}

// Tables of the earlier points must not pass for tables of all points.
TEST_F(SweepCommandTest, PointsThatAreAddedRemoveTheTablesOfFewer) {
  const std::string removed =
      "heddle: removed tables and report from out, as more points will have results\n";
  ASSERT_EQ(Run("heddle sweep s.yaml -q -o out --only 1-2").exit_code, 0);
  EXPECT_EQ(Run("heddle collect out").exit_code, 1);
  ASSERT_TRUE(fs::exists(folder_ / "out/points.csv"));
  const CommandResult rest = Run("heddle sweep s.yaml -q -o out");
  EXPECT_EQ(rest.exit_code, 0);
  EXPECT_THAT(rest.err, HasSubstr(removed));
  EXPECT_FALSE(fs::exists(folder_ / "out/points.csv"));
  // A command that adds nothing removes nothing.
  EXPECT_EQ(Run("heddle collect out").exit_code, 0);
  EXPECT_THAT(Run("heddle sweep s.yaml -q -o out").err, Not(HasSubstr(removed)));
  EXPECT_TRUE(fs::exists(folder_ / "out/points.csv"));
}

TEST_F(SweepCommandTest, AnEmptyNameOfAFolderIsNoDefault) {
  for (const char* command : {"run", "sweep"}) {
    const CommandResult result = Run(fmt::format("heddle {} s.yaml -q --out ''", command));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("--out: is empty"));
  }
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

TEST_F(SweepCommandTest, AFileIsNoFolder) {
  for (const char* command : {"run", "sweep"}) {
    for (const char* out : {"s.yaml", "s.yaml/", "s.yaml/out/a"}) {
      const CommandResult result = Run(fmt::format("heddle {} s.yaml -q --out {}", command, out));
      EXPECT_EQ(result.exit_code, 2) << out;
      EXPECT_THAT(result.err, HasSubstr("--out: s.yaml")) << out;
      EXPECT_THAT(result.err, HasSubstr("is not a folder")) << out;
    }
  }
}

// The flow list is replaced while the first point runs. The names of points stand for its contents.
TEST_F(SweepCommandTest, AChangedFlowListIsNoListOfTheSweep) {
  std::string list = "start_ps,src,dst,size_bytes\n";
  for (int64_t flow = 0; flow < 100'000; ++flow)
    list += fmt::format("{},0,4,1000\n", flow * 1'000'000);
  folder_.Write("flows.csv", list);
  folder_.Write("other.csv", "start_ps,src,dst,size_bytes\n0,1,5,1000\n");
  folder_.Write("f.yaml",
                "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
                "workload: [{kind: flows, file: flows.csv}]\nsweep: {lb: [ecmp, rps]}\n");
  const CommandResult result =
      Run("heddle sweep f.yaml -q --jobs 1 -o out & for i in $(seq 500); do ls -d "
          "out/points/.*.partial "
          ">/dev/null 2>/dev/null && break; sleep 0.01; done; cp other.csv flows.csv; wait $!");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("has changed since the sweep began"), HasSubstr("1 done, 1 failed")));
}

TEST_F(SweepCommandTest, AnEmptyPartIsNotTheWhole) {
  for (const char* part : {"--only ''", "--shard ''"}) {
    EXPECT_EQ(Run(std::string("heddle sweep s.yaml -o out ") + part).exit_code, 2) << part;
  }
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(SweepCommandTest, CheckGivesAWarningOfManyPointsOnce) {
  const CommandResult result =
      Run("heddle check s.yaml --set topology.port.ecn_above=400KB --set "
          "topology.port.buffer=600KB");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err.find("warning: "), 0u);
  EXPECT_THAT(result.err, HasSubstr("the ECN threshold is more than half the buffer"));
  const size_t first = result.err.find("more than half");
  EXPECT_EQ(result.err.find("more than half", first + 1), std::string::npos) << result.err;
}

// All twelve points have few flows, some more than others.
TEST_F(SweepCommandTest, PrintsWarningsThatDifferInNumbersOnce) {
  const CommandResult result = Run("heddle sweep s.yaml --set 'measure={classes: [all]}' --jobs 1");
  EXPECT_EQ(result.exit_code, 0);
  const size_t first = result.err.find("warning: few flows: ");
  ASSERT_NE(first, std::string::npos) << result.err;
  EXPECT_THAT(result.err, HasSubstr("lb=ecmp,load=0.3,seed=1: warning: few flows: "));
  EXPECT_THAT(result.err.substr(first), ContainsRegex("several seeds \\(and 11 more like it\\)\n"));
  EXPECT_EQ(result.err.find("few flows", first + 20), std::string::npos) << result.err;
}

TEST_F(SweepCommandTest, ListsWithoutWriting) {
  const CommandResult result = Run("heddle sweep s.yaml --dry-run --only 2-3");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out,
              AllOf(ContainsRegex("\n +2  [0-9a-f]+  missing .*load=0.3,seed=2\n"),
                    HasSubstr("2 points: 2 missing\n"), HasSubstr("estimated from packets")));
  EXPECT_FALSE(fs::exists(folder_ / "results"));
  Expected();
  const CommandResult there = Run("heddle sweep s.yaml --dry-run -o expected --set sweep.seeds=4");
  EXPECT_THAT(there.out, AllOf(HasSubstr("16 points: 4 missing, 12 done"),
                               HasSubstr("estimated from 12 finished points")));
}

TEST_F(SweepCommandTest, ItsFolderIsASweepFileToo) {
  Expected();
  const CommandResult result = Run("cd / && heddle sweep " + (folder_ / "expected").string() +
                                   "/sweep.yaml -o " + (folder_ / "expected").string());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("12 of 12 points have results already"));
}

TEST_F(SweepCommandTest, RefusesMistakesInAnyPointBeforeItRunsOne) {
  const CommandResult result =
      Run("heddle sweep s.yaml --set 'sweep.lb=[ecmp, letflw]' --set topology.spine=3");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("did you mean \"letflow\""),
                                HasSubstr("topology.spine: unknown key"), HasSubstr("2 errors")));
  EXPECT_FALSE(fs::exists(folder_ / "results"));
  EXPECT_EQ(Run("heddle sweep s.yaml --only 13").exit_code, 2);
  EXPECT_EQ(Run("heddle sweep s.yaml --shard 3/2").exit_code, 2);
  EXPECT_THAT(
      Run("heddle sweep s.yaml --set 'sweep.lb=[letflow, {kind: letflow, gap: 500us}]'").err,
      HasSubstr("points 1 (lb=letflow,load=0.3,seed=1) and 7"));
  EXPECT_THAT(Run("heddle sweep status nowhere").err, HasSubstr("there is no such folder"));
  EXPECT_THAT(Run("heddle sweep status .").err, HasSubstr("no sweep has been started here"));
  EXPECT_EQ(Run("heddle collect nowhere").exit_code, 2);
}

// Another version's results are neither used nor thrown away unasked.
TEST_F(SweepCommandTest, DoesNotMixVersions) {
  Expected();
  const fs::path summary = folder_ / "expected/points" / PointId(2) / "summary.json";
  ASSERT_EQ(
      Run("sed -i 's/\"version\": \".*\"/\"version\": \"0.0.9\"/' " + summary.string()).exit_code,
      0);
  MakeManifest(summary.parent_path());
  const CommandResult result = Run("heddle sweep s.yaml -q -o expected");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("12 points: 11 done, 1 stale"), HasSubstr("0.0.9")));
  EXPECT_THAT(Run("heddle sweep status expected").out, ContainsRegex("\n +3  [0-9a-f]+  stale "));
  const CommandResult collected = Run("heddle collect expected");
  EXPECT_EQ(collected.exit_code, 1);
  EXPECT_THAT(collected.out, HasSubstr("11 of 12 points"));
  EXPECT_THAT(Run("heddle collect expected --with-stale").out, HasSubstr("12 of 12 points"));
  EXPECT_EQ(Run("heddle sweep s.yaml -q -o expected --replace-stale").exit_code, 0);
  EXPECT_THAT(ReadFile(summary), Not(HasSubstr("0.0.9")));
}

TEST_F(SweepCommandTest, UnfinishedFlowsAreReportedAndNotRunAgain) {
  const std::string command = "heddle sweep s.yaml -q -o out --set measure.t_max=300us";
  const CommandResult result = Run(command);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("measured flows are unfinished"));
  EXPECT_EQ(Run(command).exit_code, 1);
  EXPECT_THAT(Run("heddle collect out").out, HasSubstr("12 of 12 points"));
  EXPECT_EQ(CsvTable(ReadFile(folder_ / "out/points.csv")).At(0, "complete"), "0");
}

TEST_F(SweepCommandTest, ShowsProgressOfTheWholeOnATerminal) {
  if (RunCommand("command -v script").exit_code != 0) GTEST_SKIP() << "no program `script`";
  const CommandResult result =
      Run("TERM=xterm timeout 2 script -qec '" + kHeddle + " sweep long.yaml -o out' /dev/null");
  EXPECT_THAT(result.out,
              ContainsRegex("\r0 of 2 points done, [12] running, [0-9]+ % of the work"));
}

// --- What may befall it ---

TEST_F(SweepCommandTest, KilledAtAnyTimeItGoesOn) {
  Expected();
  for (int i = 0; i < 12; ++i) {
    Run(
        fmt::format("'{}' sweep s.yaml -q -o killed --jobs 3 & pid=$!; sleep 0.0{}; kill -9 $pid; "
                    "wait $pid",
                    kHeddle, 1 + i * 7 % 9));
    const std::string check = fmt::format("heddle sweep s.yaml --dry-run -o killed");
    EXPECT_THAT(Run(check).out, Not(HasSubstr("failed")));
  }
  EXPECT_EQ(Run("heddle sweep s.yaml -q -o killed").exit_code, 0);
  EXPECT_EQ(Results("killed"), expected_);
}

TEST_F(SweepCommandTest, ItsChildrenDieWithIt) {
  const CommandResult result = Run(
      "'" + kHeddle +
      "' sweep long.yaml -q -o out --jobs 2 & pid=$!\n"
      "while [ $(ls -d out/points/.*.partial 2>/dev/null | wc -l) -lt 2 ]; do sleep 0.01; done\n"
      "children=$(cat /proc/$pid/task/$pid/children); kill -9 $pid; wait $pid; sleep 0.2\n"
      "for child in $children; do\n"
      "  grep -q '^State:.[RSD]' /proc/$child/status 2>/dev/null && echo alive; done; true");
  EXPECT_EQ(result.out, "");
}

// A child that is killed is tried once more; a second kill makes the point fail.
TEST_F(SweepCommandTest, AKilledPointIsTriedOnceMoreAndThenHasFailed) {
  const std::string kill_child =
      "child=; while [ -z \"$child\" ]; do sleep 0.01; child=$(cat /proc/$pid/task/$pid/children); "
      "done\nkill -9 $child\nwhile kill -0 $child 2>/dev/null; do sleep 0.01; done\n";
  const CommandResult result =
      Run("'" + kHeddle + "' sweep long.yaml -q -o out --only 1 & pid=$!\n" + kill_child +
          kill_child + "wait $pid");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("1 lb=ecmp: failed with signal 9 (Killed): killed twice"));
  // It is not tried again unless asked for.
  EXPECT_EQ(Run("heddle sweep long.yaml -q -o out --only 1").exit_code, 1);
  EXPECT_THAT(Run("heddle sweep status out").out, AllOf(HasSubstr("failed"), HasSubstr("missing")));
}

TEST_F(SweepCommandTest, StopsCleanlyWhenAsked) {
  for (const auto& [signal, code] : {std::pair{"INT", 130}, {"TERM", 143}, {"USR1", 143}}) {
    const CommandResult result = Run(
        fmt::format("'{}' sweep long.yaml -q -o out & pid=$!\n"
                    "while ! ls out/points/.*.partial/flows.csv >/dev/null 2>&1; do sleep 0.01; "
                    "done\nkill -{} $pid; wait $pid",
                    kHeddle, signal));
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr("stopped; 2 missing"));
    EXPECT_TRUE(fs::is_empty(folder_ / "out/points"));
  }
}

TEST_F(SweepCommandTest, SeveralMayWorkInOneFolder) {
  Expected();
  const CommandResult result =
      Run("for i in 1 2 3; do heddle sweep s.yaml -q -o shared --jobs 2 & done; wait; "
          "heddle sweep s.yaml -o shared");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("12 of 12 points have results already"), Not(HasSubstr("failed"))));
  EXPECT_EQ(Results("shared"), expected_);
}

TEST_F(SweepCommandTest, WaitsForAPointThatAnotherIsAt) {
  const CommandResult result =
      Run("'" + kHeddle +
          "' sweep long.yaml -q -o out --only 2 & pid=$!\n"
          "while ! ls out/points/.*.partial/flows.csv >/dev/null 2>&1; do sleep 0.01; done\n"
          "heddle sweep status out | grep -o 'running.*lb=rps'\n"
          "'" +
          kHeddle +
          "' sweep long.yaml -q -o out --only 2 & second=$!\n"
          "sleep 0.7; kill $second; wait $second; echo $?; kill $pid; wait $pid; echo $?");
  EXPECT_THAT(result.out, ContainsRegex("running.*lb=rps\n143\n143\n"));
}

TEST_F(SweepCommandTest, WhatDoesNotFitTheDiskHasFailedAndRunsLater) {
  Expected();
  const CommandResult full =
      Run("(ulimit -f 6; heddle sweep s.yaml -q -o small --set 'sweep.lb=[ecmp]')");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, AllOf(HasSubstr("File too large (make room, then repeat the command); "),
                              Not(HasSubstr("failed"))));
  EXPECT_EQ(Run("heddle sweep s.yaml -q -o small --retry-failed").exit_code, 0);
  EXPECT_EQ(Results("small"), expected_);
}

TEST_F(SweepCommandTest, AFullDiskLosesNothing) {
  Expected();
  fs::create_directory(folder_ / "disk");
  const std::string disk = (folder_ / "disk").string();
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=300k") != 0) {
    GTEST_SKIP() << "a small disk cannot be mounted here";
  }
  const CommandResult full = Run("heddle sweep s.yaml -q -o disk/out");
  EXPECT_EQ(full.exit_code, 1);
  // No other point is tried in vain.
  EXPECT_THAT(full.err, ContainsRegex("^(heddle: this is a Debug build[^\n]*\n)?"
                                      "heddle: disk/out/points/[^\n]*: No space left on device "
                                      "\\(make room, then repeat the command\\); stopped with "
                                      "[0-9]+ missing, [0-9]+ done\n$"));
  EXPECT_EQ(mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=30m"), 0);
  const CommandResult more = Run("heddle sweep s.yaml -q -o disk/out");
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(Results("disk/out"), expected_);
  umount(disk.c_str());
}

TEST_F(SweepCommandTest, SaysThatAFolderCannotBeWritten) {
  fs::create_directory(folder_ / "disk");
  const std::string disk = (folder_ / "disk").string();
  if (mount("none", disk.c_str(), "tmpfs", MS_RDONLY, "size=300k") != 0) {
    GTEST_SKIP() << "a small disk cannot be mounted here";
  }
  folder_.Write("one.yaml", kSweep.substr(0, kSweep.find("sweep:")) + "lb: ecmp\n");
  const CommandResult run = Run("heddle run one.yaml -q -o disk/run");
  umount(disk.c_str());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("disk cannot be written: Read-only file system"));
}

// A limit on the size of files acts like a full disk: no signal ends the program, and nothing is
// left.
TEST_F(SweepCommandTest, ATooLargeFileIsAnErrorLikeAFullDisk) {
  Expected();
  const auto limited = [&](const std::string& command) {
    return Run("said=$( (ulimit -f 0; heddle " + command +
               " 2>&1; echo \"code $?\") ); echo \"$said\"")
        .out;
  };
  EXPECT_EQ(limited("sweep s.yaml -q -o other"),
            "heddle: other/sweep.yaml: File too large\ncode 1\n");
  EXPECT_EQ(limited("collect expected"), "heddle: expected/points.csv: File too large\ncode 1\n");
  for (const char* folder : {"other", "expected"}) {
    for (const auto& entry : fs::directory_iterator(folder_ / folder)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
    }
  }
}

TEST_F(SweepCommandTest, RemovesWhatKilledProcessesHaveLeft) {
  Expected();
  const std::vector<std::string> left = {
      ".plan.csv.aB3dE6", ".means.csv.000000", "points/.0123456789abcdef.lock",
      "points/.0123456789abcdef.failed.xyzXYZ", "points/.aaaaaaaaaaaaaaaa.partial/flows.csv"};
  const std::vector<std::string> kept = {".notes.txt.abcdef", ".points.csv.locked",
                                         "points/.bbbbbbbbbbbbbbbb.lock",
                                         "points/.bbbbbbbbbbbbbbbb.partial/flows.csv"};
  for (const char* run : {"aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"}) {
    fs::create_directory(folder_ / "expected/points" / fmt::format(".{}.partial", run));
  }
  for (const auto* files : {&left, &kept}) {
    for (const std::string& file : *files) folder_.Write("expected/" + file, "half");
  }
  // These two are somebody's.
  std::vector<int> locked;
  for (const size_t i : {1, 2}) {
    locked.push_back(open((folder_ / "expected" / kept[i]).c_str(), O_RDWR));
    ASSERT_EQ(flock(locked.back(), LOCK_EX | LOCK_NB), 0);
  }
  EXPECT_EQ(Run("heddle sweep s.yaml -q -o expected").exit_code, 0);
  for (const int file : locked) close(file);
  for (const std::string& file : left)
    EXPECT_FALSE(fs::exists(folder_ / "expected" / file)) << file;
  EXPECT_FALSE(fs::exists(folder_ / "expected/points/.aaaaaaaaaaaaaaaa.partial"));
  for (const std::string& file : kept) EXPECT_TRUE(fs::exists(folder_ / "expected" / file)) << file;
}

TEST_F(SweepCommandTest, CollectRemovesWhatKilledProcessesHaveLeft) {
  Expected();
  const std::vector<std::string> left = {".points.csv.aB3dE6", "points/.0123456789abcdef.lock",
                                         "points/.aaaaaaaaaaaaaaaa.partial/flows.csv"};
  const std::vector<std::string> kept = {"points/.bbbbbbbbbbbbbbbb.lock",
                                         "points/.bbbbbbbbbbbbbbbb.partial/flows.csv"};
  for (const char* run : {"aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"}) {
    fs::create_directory(folder_ / "expected/points" / fmt::format(".{}.partial", run));
  }
  for (const auto* files : {&left, &kept}) {
    for (const std::string& file : *files) folder_.Write("expected/" + file, "half");
  }
  const int locked = open((folder_ / "expected" / kept[0]).c_str(), O_RDWR);  // Somebody's.
  ASSERT_EQ(flock(locked, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(Run("heddle collect expected -q").exit_code, 0);
  close(locked);
  for (const std::string& file : left)
    EXPECT_FALSE(fs::exists(folder_ / "expected" / file)) << file;
  EXPECT_FALSE(fs::exists(folder_ / "expected/points/.aaaaaaaaaaaaaaaa.partial"));
  for (const std::string& file : kept) EXPECT_TRUE(fs::exists(folder_ / "expected" / file)) << file;
}

TEST_F(SweepCommandTest, APointWhosePluginEndsTheProcessHasFailed) {
  const CommandResult result =
      Run("heddle sweep s.yaml -q -o out --set 'sweep={lb: [ecmp, exiting, none]}' "
          "--plugin " HEDDLE_PLUGINS "failing.so");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("3 points: 1 done, 2 failed"),
                    HasSubstr("  2 lb=exiting: failed with exit code 0: the process ended itself"),
                    HasSubstr("  3 lb=none: failed with exit code 1: load balancer \"none\"")));
}

TEST_F(SweepCommandTest, AHangingPointIsStoppedByTheFirstSignal) {
  const CommandResult result =
      Run("'" + kHeddle +
          "' sweep s.yaml -q -o out --jobs 2 --set 'sweep={lb: [hanging, rps]}' "
          "--plugin " HEDDLE_PLUGINS
          "failing.so & pid=$!\n"
          "while ! ls out/points/*/manifest.csv >/dev/null 2>&1; do sleep 0.01; done\n"
          "sleep 0.5; kill $pid; wait $pid");
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_THAT(result.err, HasSubstr("stopped; 1 missing, 1 done"));
  const auto entries = fs::directory_iterator(folder_ / "out/points");
  EXPECT_EQ(std::distance(fs::begin(entries), fs::end(entries)), 1);
}

TEST_F(SweepCommandTest, APointWithoutEnoughMemoryHarmsNoOther) {
#if defined(HEDDLE_ASAN) || defined(HEDDLE_TSAN)
  GTEST_SKIP() << "sanitizers need more address space than any limit leaves";
#endif
  const CommandResult result = Run(
      "ulimit -v 120000; heddle sweep s.yaml -q -o out --set sweep='{topology.hosts_per_leaf: [4, "
      "8000]}' --set lb=ecmp --set 'workload=[{kind: permutation, size: 1KB}]'");
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("2 points: 1 done, 1 failed"),
                                HasSubstr("2 hosts_per_leaf=8000: failed with exit code 1: out of "
                                          "memory")));
}

TEST_F(SweepCommandTest, APointThatCrashesHarmsNoOther) {
  const std::string command =
      "heddle sweep s.yaml -q -o out --set 'sweep={lb: [ecmp, crashing, breaking, rps]}' "
      "--plugin " HEDDLE_PLUGINS "failing.so";
  const CommandResult result = Run("ulimit -c 0; " + command);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr("4 points: 2 done, 2 failed"),
            HasSubstr("  2 lb=crashing: failed with signal 6 (Aborted): does a plug-in crash?"),
            HasSubstr("  3 lb=breaking: failed with exit code 3: heddle: broken invariant: "
                      "this one always breaks")));
  // The point is not tried again unless the user asks for it: collect has the others.
  const CommandResult again =
      Run("heddle sweep s.yaml -o out --set 'sweep={lb: [ecmp, crashing, "
          "breaking, rps]}' --plugin " HEDDLE_PLUGINS "failing.so");
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err,
              HasSubstr("2 of 4 points have results already; 2 failed before and are not "
                        "tried again (use --retry-failed)\n"));
  const CommandResult collected = Run("heddle collect out");
  EXPECT_THAT(collected.out, HasSubstr("2 of 4 points"));
  EXPECT_THAT(
      collected.err,
      HasSubstr("2 points have failed; \"heddle sweep out/sweep.yaml --out out --retry-failed\" "
                "with the same --plugin tries again\n"));
}

// Results of one build of a plug-in are none of another's.
TEST_F(SweepCommandTest, APluginIsPartOfWhatAPointIs) {
  const auto ids = [&](const std::string& plugin) {
    return Run("heddle sweep s.yaml --dry-run --set 'sweep={lb: [rps, my_spray]}' --plugin " +
               plugin)
        .out;
  };
  const std::string built = std::string(HEDDLE_PLUGINS) + "my_spray.so";
  fs::copy(built, folder_ / "copy.so");
  EXPECT_THAT(ids(built), HasSubstr("lb=my_spray"));
  EXPECT_EQ(ids("copy.so"), ids(built));
  ASSERT_EQ(Run("echo >>copy.so").exit_code, 0);
  const std::string changed = ids("copy.so");
  EXPECT_NE(changed, ids(built));
  EXPECT_EQ(changed.substr(0, changed.find("lb=rps")),
            ids(built).substr(0, changed.find("lb=rps")));
}

// --- heddle collect and compare ---

TEST_F(SweepCommandTest, CollectsATidyTable) {
  Expected();
  const CommandResult result = Run("heddle collect expected");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "12 of 12 points: expected/points.csv, expected/means.csv\n");
  const CsvTable points(ReadFile(folder_ / "expected/points.csv"));
  ASSERT_EQ(points.rows.size(), 12u * 5u);  // all; S, M, L, XL.
  EXPECT_EQ(points.header[0], "lb");
  EXPECT_EQ(points.header[1], "workload[0].load");
  EXPECT_EQ(points.header[2], "seed");
  // A row says what the run's own files say.
  const size_t row = 7 * 5;  // Point 8, all flows.
  EXPECT_EQ(points.At(row, "lb"), "letflow.gap=50us");
  EXPECT_EQ(points.At(row, "seed"), "2");
  const fs::path run = folder_ / "expected/points" / points.At(row, "point");
  const CsvTable summary(ReadFile(run / "summary.csv"));
  const CsvTable reorder(ReadFile(run / "reorder.csv"));
  for (const char* column : {"n", "avg_fct_us", "p99_slowdown", "goodput_gbps"}) {
    EXPECT_EQ(points.At(row, column), summary.At(0, column));
  }
  EXPECT_EQ(points.At(row, "reordered_ratio"), reorder.At(0, "ratio"));
  EXPECT_EQ(points.At(row, "run_data_packets_received"), points.At(row, "n_pkts"));
  // Means are those of the three seeds.
  const CsvTable means(ReadFile(folder_ / "expected/means.csv"));
  ASSERT_EQ(means.rows.size(), 4u * 5u);
  EXPECT_EQ(means.At(5, "workload[0].load"), "0.5");
  double sum = 0;
  for (size_t seed = 0; seed < 3; ++seed) sum += points.Real((3 + seed) * 5, "p99_fct_us");
  EXPECT_NEAR(means.Real(5, "p99_fct_us"), sum / 3, 1e-9 * sum);
  EXPECT_EQ(means.At(5, "p99_fct_us_n"), "3");
  EXPECT_GT(means.Real(5, "p99_fct_us_ci95"), 0);
}

TEST_F(SweepCommandTest, CollectsWhatOnlySomePointsMeasure) {
  ASSERT_EQ(
      Run("heddle sweep s.yaml -q -o q --set 'sweep={lb: [ecmp], measure.queueing: [true, false]}'")
          .exit_code,
      0);
  ASSERT_EQ(Run("heddle collect q").exit_code, 0);
  const CsvTable points(ReadFile(folder_ / "q/points.csv"));
  ASSERT_EQ(points.rows.size(), 2u * 5u);
  const CsvTable queueing(ReadFile(folder_ / "q/points" / points.At(0, "point") / "queueing.csv"));
  for (size_t row = 0; row < 5; ++row) {
    EXPECT_EQ(points.At(row, "queueing_mean_ns"), queueing.At(row, "mean_ns"));
    EXPECT_EQ(points.At(row, "queueing_max_ns"), queueing.At(row, "max_ns"));
    EXPECT_EQ(points.At(5 + row, "queueing_mean_ns"), "");
  }
  EXPECT_GT(points.Real(0, "queueing_mean_ns"), 0);
}

TEST_F(SweepCommandTest, ComparesSeedBySeed) {
  Expected();
  const CommandResult result =
      Run("heddle compare expected ecmp letflow --metric avg_fct_us --csv");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const CsvTable table(result.out);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.At(1, "workload[0].load"), "0.5");
  EXPECT_EQ(table.At(1, "seeds"), "3");
  EXPECT_EQ(table.At(1, "b"), "letflow.gap=50us");
  EXPECT_NEAR(table.Real(1, "difference"), table.Real(1, "b_mean") - table.Real(1, "a_mean"), 1e-9);
  EXPECT_THAT(Run("heddle compare expected ecmp letflow").out,
              AllOf(HasSubstr("A: ecmp\nB: letflow.gap=50us\n"), HasSubstr("workload[0].load=0.3"),
                    HasSubstr("95 % interval"), HasSubstr("p99_slowdown")));
  EXPECT_THAT(Run("heddle compare expected 0.3 0.5 --axis 'workload[0].load'").out,
              HasSubstr("\nlb=ecmp\n"));
  // A sweep does not differ from itself.
  EXPECT_THAT(Run("heddle compare expected expected --metric avg_fct_us").out, HasSubstr("tie"));
}

// Without jobs, their metrics would be empty lines.
TEST_F(SweepCommandTest, ComparesIterationsOfJobs) {
  Expected();
  EXPECT_THAT(Run("heddle compare expected ecmp letflow").out, Not(HasSubstr("run_mean_iter_us")));
  folder_.Write("jobs.yaml",
                "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
                "transport: rocev2\nlb: ecmp\n"
                "workload: [{kind: collective, op: all_reduce, size: 8KB, ranks: 4}]\n"
                "sweep: {lb: [ecmp, rps], seeds: 2}\n");
  ASSERT_EQ(Run("heddle sweep jobs.yaml -q -o jobs").exit_code, 0);
  const CommandResult result = Run("heddle compare jobs ecmp rps");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\navg_slowdown "), HasSubstr("\nrun_mean_iter_us "),
                                HasSubstr("\nrun_busbw_gbs ")));
}

// Each side is compared with the reference as it would be alone.
TEST_F(SweepCommandTest, ComparesSeveralWithTheFirst) {
  const std::string labels =
      " --set 'sweep.lb=[ecmp, {kind: letflow, gap: 50us}, rps]' --set 'sweep.labels={lb: {ecmp: "
      "ECMP, letflow: \"LetFlow, 50 µs\"}}'";
  ASSERT_EQ(Run("heddle sweep s.yaml -q -o three" + labels).exit_code, 0);
  const CommandResult all = Run("heddle compare three ECMP letflow rps");
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(all.err, "");
  EXPECT_THAT(
      all.out,
      AllOf(testing::StartsWith("Reference: ECMP. "),
            testing::ContainsRegex("\nworkload\\[0\\].load=0.5\n +ECMP +LetFlow, 50 µs +rps\n"),
            testing::ContainsRegex("\navg_slowdown( +[0-9.]+){3}\n"),
            testing::ContainsRegex("\n( +[-+][0-9.]+ % \\+- [0-9.]+ (better|worse|tie)){2}\n"),
            testing::ContainsRegex("\nseeds +3 +3\n")));
  // The table has the numbers of the pairs.
  const CsvTable table(Run("heddle compare three ecmp letflow rps --csv").out);
  const CsvTable letflow(Run("heddle compare three ecmp letflow --csv").out);
  const CsvTable rps(Run("heddle compare three ecmp rps --csv").out);
  ASSERT_EQ(table.rows.size(), letflow.rows.size() + rps.rows.size());
  const size_t metrics = letflow.rows.size() / 2;  // At each of two loads.
  for (size_t i = 0; i < metrics; ++i) {
    EXPECT_EQ(table.rows[i], letflow.rows[i]);
    EXPECT_EQ(table.rows[metrics + i], rps.rows[i]);
    EXPECT_EQ(table.rows[2 * metrics + i], letflow.rows[metrics + i]);
    EXPECT_THAT(all.out, HasSubstr(fmt::format("{:.4g}", table.Real(i, "b_mean"))));
  }
  EXPECT_THAT(Run("heddle compare three ecmp letflow").out,
              HasSubstr("A: ECMP (ecmp)\nB: LetFlow, 50 µs (letflow.gap=50us)\n"));
  // A point that is missing is missing for its side alone.
  const std::string point = CsvTable(ReadFile(folder_ / "three/plan.csv")).At(11, "id");
  ASSERT_EQ(Run("rm -r three/points/" + point).exit_code, 0);
  const CommandResult some = Run("heddle compare three ecmp letflow rps");
  EXPECT_EQ(some.exit_code, 1);
  EXPECT_THAT(some.out, testing::ContainsRegex("\nseeds +2 +3\n"));
  EXPECT_THAT(some.err, HasSubstr("1 point is missing"));
}

TEST_F(SweepCommandTest, LabelsAreInTablesAndNotInResults) {
  Expected();
  const std::string labels = " --set 'sweep.labels={lb: {letflow: LetFlow}}'";
  EXPECT_THAT(Run("heddle sweep s.yaml -o expected --dry-run" + labels).out,
              HasSubstr("  lb=LetFlow,load=0.5,seed=1\n"));
  const CommandResult again = Run("heddle sweep s.yaml -o expected" + labels);
  EXPECT_THAT(again.out, HasSubstr("lb=LetFlow,load=0.5,seed=1"));
  EXPECT_THAT(again.err, HasSubstr("12 of 12 points have results already"));
  const auto is_of_a_point = [](const auto& file) { return file.first.starts_with("points/"); };
  auto labelled = Results("expected");
  std::erase_if(labelled, std::not_fn(is_of_a_point));
  std::erase_if(expected_, std::not_fn(is_of_a_point));
  EXPECT_GT(labelled.size(), 12u);
  EXPECT_EQ(labelled, expected_);
  EXPECT_THAT(Run("heddle sweep status expected").out, HasSubstr("  lb=LetFlow,load=0.3,seed=2\n"));
  ASSERT_EQ(Run("heddle collect expected").exit_code, 0);
  EXPECT_EQ(CsvTable(ReadFile(folder_ / "expected/points.csv")).At(7 * 5, "lb"),
            "letflow.gap=50us");
}

TEST_F(SweepCommandTest, ComparesWhatIsThereAndSaysWhatIsNot) {
  ASSERT_EQ(Run("heddle sweep s.yaml -q -o half --shard 1/2").exit_code, 0);
  const CommandResult half = Run("heddle compare half ecmp letflow");
  EXPECT_EQ(half.exit_code, 1);
  EXPECT_THAT(half.err, AllOf(HasSubstr("6 points are missing, and left out; \"heddle sweep "
                                        "half/sweep.yaml --out half\" runs missing points"),
                              Not(HasSubstr("add \"seeds"))));
  // A combination that only one side has is left out by design.
  ASSERT_EQ(Run("heddle sweep s.yaml -q -o some --set 'sweep.exclude=[{lb: ecmp, "
                "\"workload[0].load\": 0.5}]'")
                .exit_code,
            0);
  const CommandResult some = Run("heddle compare some ecmp letflow");
  EXPECT_EQ(some.exit_code, 0);
  EXPECT_EQ(some.err, "heddle: 1 combination of B is left out, as A has no counterpart\n");
}

TEST_F(SweepCommandTest, SaysInWhatTwoSweepsDiffer) {
  Expected();
  ASSERT_EQ(Run("heddle sweep s.yaml -q -o iw --set 'transport={kind: dctcp, iw: 4}'").exit_code,
            0);
  const CommandResult iw = Run("heddle compare expected iw");
  EXPECT_EQ(iw.exit_code, 0);
  EXPECT_THAT(iw.out, HasSubstr("\nThey differ in   transport.iw: A 10, B 4\n"));
  EXPECT_EQ(iw.err, "");
  ASSERT_EQ(Run("heddle sweep s.yaml -q -o more --set workload[0].flows=90").exit_code, 0);
  const CommandResult more = Run("heddle compare expected more");
  EXPECT_EQ(more.exit_code, 0);
  EXPECT_THAT(more.out, HasSubstr("\nThey differ in   workload[0].flows: A 60, B 90\n"));
  EXPECT_THAT(more.err, HasSubstr("have different flows even at the same seed, as they differ "
                                  "in workload[0].flows"));
  EXPECT_THAT(Run("heddle compare expected expected").out, HasSubstr("have the same settings"));
}

// A full disk or a mistake damages a file.
TEST_F(SweepCommandTest, LeavesOutADamagedPointAndSaysWhatRepairsIt) {
  Expected();
  const std::string damaged = "expected/points/" + PointId(3);
  folder_.Write(damaged + "/summary.csv", "");
  const CommandResult collected = Run("heddle collect expected");
  EXPECT_EQ(collected.exit_code, 1);
  EXPECT_THAT(collected.out, HasSubstr("11 of 12 points"));
  EXPECT_EQ(collected.err, "heddle: 1 point is damaged, and left out, such as " + damaged +
                               ": \"heddle verify " + damaged +
                               "\" prints the damage; delete that folder and repeat the sweep, or "
                               "run all with --force\n");
  EXPECT_EQ(CsvTable(ReadFile(folder_ / "expected/points.csv")).rows.size(), 11u * 5u);
  const CommandResult compared = Run("heddle compare expected ecmp letflow");
  EXPECT_EQ(compared.exit_code, 1);
  EXPECT_THAT(compared.err, HasSubstr("1 point is damaged"));
  ASSERT_EQ(Run("rm -r " + damaged + " && heddle sweep s.yaml -q -o expected").exit_code, 0);
  EXPECT_EQ(Run("heddle collect expected").exit_code, 0);
}

// Nobody takes a point with a damaged file for done, and the sweep runs it again.
TEST_F(SweepCommandTest, NoDamagedFileIsBelieved) {
  const std::string point = (Expected(), "expected/points/" + PointId(3));
  for (const char* file : {"flows.csv", "run.yaml", "links.csv", "lb.csv", "summary.csv",
                           "reorder.csv", "summary.json", "manifest.csv"}) {
    const std::string path = point + "/" + file;
    for (const std::string& harm : {"rm " + path, ": >" + path, "truncate -s -7 " + path,
                                    "sed -i 's/[0-9]\\([^0-9]*\\)$/x\\1/' " + path}) {
      ASSERT_EQ(Run(harm).exit_code, 0) << harm;
      EXPECT_THAT(Run("heddle sweep status expected").out,
                  HasSubstr("12 points: 11 done, 1 damaged"))
          << harm;
      const CommandResult verified = Run("heddle verify expected");
      EXPECT_EQ(verified.exit_code, 1) << harm;
      EXPECT_THAT(verified.out, HasSubstr(path + ": ")) << harm;
      const CommandResult again = Run("heddle sweep s.yaml -o expected");
      EXPECT_EQ(again.exit_code, 0) << again.err;
      EXPECT_THAT(again.err,
                  HasSubstr("11 of 12 points have results already; 1 is damaged and run"))
          << harm;
    }
  }
  EXPECT_EQ(Results("expected"), expected_);
  const CommandResult verified = Run("heddle verify expected");
  EXPECT_EQ(verified.exit_code, 0);
  EXPECT_EQ(verified.out, "12 folders and 84 files: all as they were written\n");
}

TEST_F(SweepCommandTest, VerifiesOneRunAndRefusesWhatIsNone) {
  const std::string point = (Expected(), "expected/points/" + PointId(0));
  EXPECT_EQ(Run("heddle verify -q " + point).out, "");
  EXPECT_EQ(Run("heddle verify " + point).out, "1 folder and 7 files: all as they were written\n");
  // A file that others have put there is no damage, unless it looks like a result.
  folder_.Write(point + "/report.html", "");
  EXPECT_EQ(Run("heddle verify " + point).exit_code, 0);
  folder_.Write(point + "/udp.csv", "");
  EXPECT_EQ(Run("heddle verify " + point).exit_code, 1);
  EXPECT_THAT(Run("heddle verify " + point).out, HasSubstr("udp.csv: is not in manifest.csv\n"));
  for (const char* none : {".", "s.yaml", "expected/plan.csv", "nowhere"}) {
    const CommandResult result = Run(std::string("heddle verify ") + none);
    EXPECT_EQ(result.exit_code, 2) << none;
    EXPECT_EQ(result.out, "");
  }
}

// Results of before there were manifests say nothing of one.
TEST_F(SweepCommandTest, ReadsResultsOfBeforeWithOneWarning) {
  Expected();
  ASSERT_EQ(Run("rm expected/points/*/manifest.csv; sed -i '/\"manifest\"/d' "
                "expected/points/*/summary.json")
                .exit_code,
            0);
  const CommandResult collected = Run("heddle collect expected");
  EXPECT_EQ(collected.exit_code, 0);
  EXPECT_THAT(collected.out, HasSubstr("12 of 12 points"));
  EXPECT_THAT(
      collected.err,
      AllOf(
          testing::StartsWith("heddle: warning: 12 results are without checksums "
                              "(manifest.csv), of an early Heddle, such as expected/points/"),
          testing::ResultOf([](const std::string& text) { return std::ranges::count(text, '\n'); },
                            testing::Eq(1))));
  EXPECT_EQ(Run("heddle verify expected").exit_code, 0);
}

TEST_F(SweepCommandTest, SaysWhatCannotBeCompared) {
  Expected();
  for (const auto& [wrong, message] :
       {std::pair{"expected ecmp letlow", "lb has no value \"letlow\""},
        {"expected ecmp letflow --axis load", "no axis is called \"load\""},
        {"expected ecmp letflow --metric p99", "no metric is called \"p99\""},
        {"expected ecmp letflow --class smlxl/Q", "no class is called \"smlxl/Q\""},
        {"expected ecmp letflow rpss", "lb has no value \"rpss\""},
        {"expected ecmp letflow --class XL", "did you mean \"smlxl/XL\"?"}}) {
    const CommandResult result = Run(std::string("heddle compare ") + wrong);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(message));
  }
  ASSERT_EQ(Run("heddle sweep s.yaml -q -o one --set sweep.seeds=1").exit_code, 0);
  EXPECT_THAT(Run("heddle compare one ecmp letflow").err, HasSubstr("at least two seeds"));
}

// --- Slurm ---

TEST_F(SweepCommandTest, WritesAJobArrayForWhatIsMissing) {
  Expected();
  fs::remove_all(folder_ / "expected/points" / PointId(1));
  fs::remove_all(folder_ / "expected/points" / PointId(6));
  fs::remove_all(folder_ / "expected/points" / PointId(7));
  const CommandResult result =
      Run("heddle sweep s.yaml -o expected --slurm --task-minutes 0.000001 --max-tasks 2 "
          "--sbatch=--partition=long --threads 2");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("#SBATCH --array=0-1\n"), HasSubstr("#SBATCH --partition=long\n"),
                    HasSubstr("#SBATCH --cpus-per-task=2\n"), HasSubstr("(\n  2,7\n  8\n)")));
  // A shell runs a task of it, wherever it starts.
  folder_.Write("task.sh", result.out);
  EXPECT_EQ(Run("bash -n task.sh").exit_code, 0);
  for (const char* task : {"0", "1"}) {
    const CommandResult done =
        Run(fmt::format("t=$PWD/task.sh; cd / && SLURM_ARRAY_TASK_ID={} bash $t", task));
    EXPECT_EQ(done.exit_code, 0) << done.err;
  }
  fs::remove_all(folder_ / "expected/slurm");
  EXPECT_EQ(Results("expected"), expected_);
  EXPECT_THAT(Run("heddle sweep s.yaml -o expected --slurm").err, HasSubstr("nothing to submit"));
}

TEST_F(SweepCommandTest, TasksOfAJobArrayRunPointsAgainIfAsked) {
  Expected();
  const CommandResult result = Run("heddle sweep s.yaml -o expected --slurm --force");
  EXPECT_THAT(result.out, HasSubstr("(\n  1-12\n)"));
  EXPECT_THAT(result.out, HasSubstr(" --force "));
}

TEST_F(SweepCommandTest, FindsItsPartInAJobArrayWithSteps) {
  const auto run = [&](const std::string& array) {
    return Run(array + " '" + kHeddle + "' sweep s.yaml -q -o out --shard slurm");
  };
  const std::string array = "SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=4 SLURM_CPUS_PER_TASK=1 ";
  for (const char* task : {"0", "2", "4"}) {
    EXPECT_EQ(
        run(array + "SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_ID=" + task)
            .exit_code,
        0);
  }
  EXPECT_EQ(Results("out"), Expected());
  for (const char* uneven : {"SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_ID=3",
                             "SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_ID=3"}) {
    const CommandResult refused = run(array + uneven);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("needs a job array of evenly spaced tasks"));
  }
  EXPECT_THAT(run(array + "SLURM_ARRAY_TASK_ID=abc").err,
              HasSubstr("SLURM_ARRAY_TASK_ID: abc is no number"));
}

TEST_F(SweepCommandTest, FindsItsPartInAJobArray) {
  const std::string array = "SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=7 SLURM_CPUS_PER_TASK=1 ";
  for (const char* task : {"5", "6", "7"}) {
    const CommandResult result =
        Run(array + fmt::format("SLURM_ARRAY_TASK_ID={} '{}' sweep s.yaml -q -o out --shard slurm",
                                task, kHeddle));
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(Results("out"), Expected());
  EXPECT_EQ(Run("heddle sweep s.yaml --shard slurm").exit_code, 2);
}

}  // namespace heddle::sweep_command_test
