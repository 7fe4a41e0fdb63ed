// SPDX-License-Identifier: Apache-2.0
// heddle report as a user types it. What the page and the figures hold is tested in
// tests/study/report.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/command.h"

namespace heddle::report_test {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kSweep =
    "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
    "workload: [{kind: poisson, sizes: small, load: 0.4, flows: 40}]\n"
    "sweep: {lb: [ecmp, rps], seeds: 2}\n";

class ReportTest : public testing::Test {
 protected:
  CommandResult Run(const std::string& command) {
    return RunCommand("heddle() { '" + std::string(HEDDLE_BINARY) + "' \"$@\"; }\n" + command,
                      folder_.path());
  }
  void MakeSweep() {
    folder_.Write("s.yaml", kSweep);
    ASSERT_EQ(Run("heddle sweep s.yaml -q -o out").exit_code, 0);
  }
  // A python3 that takes itself to have everything, and writes down what it is asked to do.
  void MakePython(const std::string& then = "exit 0") {
    folder_.Write("python", "#!/bin/sh\n[ \"$1\" = -I ] && exit 0\nprintf '%s\\n' \"$@\" >asked\n" +
                                then + "\n");
    ASSERT_EQ(Run("chmod +x python").exit_code, 0);
  }

  TemporaryFolder folder_;
};

TEST_F(ReportTest, MakesThePageOfASweepThatWasNotCollected) {
  MakeSweep();
  const CommandResult result = Run("heddle report out");
  if (result.err.find("no python3 has the modules that a report needs") != std::string::npos) {
    GTEST_SKIP() << result.err;
  }
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "out/report.html: 4 of 4 points\n");
  EXPECT_THAT(ReadFile(folder_ / "out/report.html"),
              AllOf(StartsWith("<!doctype html>"), EndsWith("</html>\n")));
}

TEST_F(ReportTest, AFolderWithoutResultsIsBadInputBeforeAnythingElseIsLookedFor) {
  const CommandResult result = Run("HEDDLE_PYTHON=none heddle report .");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "heddle: .: has neither the plan.csv of a sweep, nor the run.yaml of a run, nor the "
            "papers.json of papers\n");
}

TEST_F(ReportTest, SaysThatThereIsNoSuchFolder) {
  const CommandResult result = Run("heddle report nowhere");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "heddle: nowhere: there is no such folder\n");
}

TEST_F(ReportTest, RefusesAFileForTheFolderOfFiguresBeforeAnythingElse) {
  folder_.Write("run.yaml", "");
  MakePython();
  for (const char* figures : {"run.yaml", "run.yaml/figures"}) {
    const CommandResult result =
        Run(std::string("HEDDLE_PYTHON=./python heddle report . --figures ") + figures);
    EXPECT_EQ(result.exit_code, 2) << figures;
    EXPECT_THAT(result.err, HasSubstr("--figures: run.yaml is not a folder")) << figures;
  }
  EXPECT_FALSE(fs::exists(folder_ / "asked"));
}

TEST_F(ReportTest, SaysWhatToInstall) {
  folder_.Write("run.yaml", "");
  const CommandResult page = Run("HEDDLE_PYTHON=/bin/false heddle report .");
  EXPECT_EQ(page.exit_code, 1);
  EXPECT_THAT(page.err, AllOf(HasSubstr("install python3-yaml python3-plotly (Debian, Ubuntu)"),
                              HasSubstr("\"pip install pyyaml plotly\"")));
  const CommandResult figures = Run("HEDDLE_PYTHON=/nowhere/python3 heddle report . --figures f");
  EXPECT_EQ(figures.exit_code, 1);
  EXPECT_THAT(figures.err, HasSubstr("python3-yaml python3-plotly python3-matplotlib"));
}

TEST_F(ReportTest, SaysWhereThePackageShouldBe) {
  folder_.Write("run.yaml", "");
  const CommandResult result = Run("HEDDLE_REPORT=/nowhere heddle report .");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("set HEDDLE_REPORT"));
}

TEST_F(ReportTest, PassesOnWhatItWasAsked) {
  folder_.Write("run.yaml", "");
  MakePython();
  const std::string command =
      "HEDDLE_PYTHON=./python heddle report . -o 'a page.html' --figures f --format svg,png -q";
  EXPECT_EQ(Run(command).exit_code, 0);
  EXPECT_THAT(
      ReadFile(folder_ / "asked"),
      EndsWith("/report\n--out=a page.html\n--figures=f\n--format=svg,png\n--quiet\n--\n.\n"));
  EXPECT_EQ(Run("heddle report . --format gif").exit_code, 2);
}

TEST_F(ReportTest, WhatGoesWrongWithinGoesWrong) {
  folder_.Write("run.yaml", "");
  MakePython("exit 2");
  EXPECT_EQ(Run("HEDDLE_PYTHON=./python heddle report .").exit_code, 2);
  MakePython("kill -9 $$");
  const CommandResult killed = Run("HEDDLE_PYTHON=./python heddle report .");
  EXPECT_EQ(killed.exit_code, 128 + 9);
  EXPECT_THAT(
      killed.err,
      StartsWith("heddle: ./python was ended by signal 9 (Killed) before the report was complete; "
                 "there may be too little memory\n"));
  MakePython("kill -15 $$");
  EXPECT_THAT(
      Run("HEDDLE_PYTHON=./python heddle report .").err,
      StartsWith(
          "heddle: ./python was ended by signal 15 (Terminated) before the report was complete\n"));
}

// Not even as root, who may write anywhere: what lies there stays as it is.
TEST_F(ReportTest, WritesNothingIntoResultsIfThePageGoesElsewhere) {
  MakeSweep();
  folder_.Write("python",
                "#!/bin/sh\n[ \"$1\" = -I ] && exit 0\nprintf '%s\\n' \"$@\" >asked\n"
                "for word; do case $word in --tables=*) ls \"${word#--tables=}\" >tables;; esac; "
                "done\n");
  ASSERT_EQ(Run("chmod +x python; ls -A out >before").exit_code, 0);
  const CommandResult result =
      Run("mkdir tmp && TMPDIR=$PWD/tmp HEDDLE_PYTHON=./python heddle report out -o page.html");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(ReadFile(folder_ / "tables"), "means.csv\npoints.csv\n");
  EXPECT_EQ(Run("ls -A out | diff before -").out, "");
  EXPECT_EQ(Run("ls -A tmp").out, "");
}

TEST_F(ReportTest, CollectsAnewAndSaysWhatIsMissing) {
  MakeSweep();
  MakePython();
  ASSERT_EQ(Run("heddle collect out -q && rm -r \"$(ls -d out/points/* | head -1)\"").exit_code, 0);
  const std::string before = ReadFile(folder_ / "out/points.csv");
  const CommandResult result = Run("HEDDLE_PYTHON=./python heddle report out");
  EXPECT_EQ(result.exit_code, 1);  // The exit code of heddle collect, although the page exists.
  EXPECT_EQ(result.err,
            "heddle: 1 point is missing, and left out; \"heddle sweep out/sweep.yaml --out out\" "
            "runs missing points\n");
  EXPECT_LT(ReadFile(folder_ / "out/points.csv").size(), before.size());
  EXPECT_TRUE(fs::exists(folder_ / "asked"));
}

}  // namespace heddle::report_test
