// SPDX-License-Identifier: Apache-2.0
// Runs the Google Benchmark programs as a user does, if they have been built.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "bench/decision/cost_cases.h"
#include "tests/support/command.h"

namespace heddle::programs_test {

using testing::HasSubstr;

class BenchProgramsTest : public testing::Test {
 protected:
  void SetUp() override {
#ifndef HEDDLE_BENCH_PROGRAMS
    GTEST_SKIP() << "Built without HEDDLE_BENCH.";
#endif
  }

  // Returns the output of `program`.
  static std::string Run(const std::string& program) {
#ifdef HEDDLE_BENCH_PROGRAMS
    const CommandResult result =
        RunCommand(HEDDLE_BENCH_PROGRAMS "/" + program, std::filesystem::temp_directory_path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
#else
    return program;
#endif
  }

  static std::vector<std::string> Lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(BenchProgramsTest, DecisionsHaveABenchmarkForEachCase) {
  std::vector<std::string> expected;
  for (const CostCase& one : AllCostCases()) {
    // Other tests of this program register load balancers of their own.
    if (LoadBalancers().InfoOf(one.balancer).source == "This test") continue;
    expected.push_back(one.Name() + "/manual_time");
  }
  EXPECT_GT(expected.size(), 800u);
  EXPECT_EQ(Lines(Run("decision_bench --benchmark_list_tests")), expected);
}

TEST_F(BenchProgramsTest, DecisionsAreMeasuredAndWrittenAsJson) {
  const std::string json =
      Run("decision_bench --benchmark_filter='^(decide|host)/presto/candidates:4/flows:1000/'"
          " --benchmark_min_time=0 --benchmark_format=json");
  for (const char* part : {"decide", "host"}) {
    EXPECT_THAT(json, HasSubstr(std::string("\"name\": \"") + part +
                                "/presto/candidates:4/flows:1000/manual_time\""));
  }
  for (const char* member : {"\"heddle_commit\": ", "\"heddle_version\": ", "\"real_time\": ",
                             "\"items_per_second\": ", "\"state_bytes\": "}) {
    EXPECT_THAT(json, HasSubstr(member));
  }
  EXPECT_EQ(json.find("error_occurred"), std::string::npos);
}

// The shortest possible check: each benchmark runs, and none reports an error.
TEST_F(BenchProgramsTest, PiecesOfTheEngineAndPortsRun) {
  for (const std::string program : {"engine_bench", "ports_bench"}) {
    const std::vector<std::string> all = Lines(Run(program + " --benchmark_list_tests"));
    EXPECT_GT(all.size(), 10u);
    const std::string csv = Run(program + " --benchmark_min_time=0 --benchmark_format=csv");
    EXPECT_EQ(csv.find("ERROR"), std::string::npos);
    for (const std::string& name : all) EXPECT_THAT(csv, HasSubstr("\"" + name + "\","));
  }
}

TEST_F(BenchProgramsTest, TwoBuildsAreComparedInTurns) {
#ifdef HEDDLE_BENCH_PROGRAMS
  const TemporaryFolder folder;
  const std::string program = HEDDLE_BENCH_PROGRAMS "/engine_bench ";
  const CommandResult result =
      RunCommand(HEDDLE_SOURCE_DIR "/scripts/compare-benchmarks " + program + program +
                     "--rounds 3 --out out --benchmark_filter=timers --benchmark_min_time=0",
                 folder.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 5u);  // A header and four benchmarks.
  EXPECT_THAT(lines[1], testing::StartsWith("timers/pop_set/pending:1 "));
  for (const char* file : {"out/before.json", "out/after.json"}) {
    const std::string json = ReadFile(folder / file);
    size_t repetitions = 0;
    for (size_t at = json.find("\"name\": \"timers/pop_set/pending:16\""); at != std::string::npos;
         at = json.find("\"name\": \"timers/pop_set/pending:16\"", at + 1)) {
      ++repetitions;
    }
    EXPECT_EQ(repetitions, 3u) << file;
  }
#endif
}

TEST_F(BenchProgramsTest, RunsCountHops) {
  const std::string out =
      Run("run_bench --benchmark_filter='^forward/hosts:128/threads:1/' --benchmark_min_time=0");
  EXPECT_THAT(out, HasSubstr("ns_per_hop="));
  EXPECT_THAT(out, HasSubstr("items_per_second="));
}

}  // namespace heddle::programs_test
