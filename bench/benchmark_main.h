// SPDX-License-Identifier: Apache-2.0
// The main function of Heddle's Google Benchmark programs. They take Google Benchmark's flags;
// their output, JSON too, names the version, commit and build that were measured.

#pragma once

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "experiment/version.h"

namespace heddle {

// `min_time`: seconds for each benchmark, unless --benchmark_min_time says otherwise.
inline int BenchmarkMain(int argc, char** argv, const char* min_time) {
  std::vector<std::string> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, fmt::format("--benchmark_min_time={}", min_time));
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) return 1;
  if (IsDebugBuild()) fmt::print(stderr, "This is a Debug build; its times are not meaningful.\n");
  benchmark::AddCustomContext("heddle_version", Version());
  benchmark::AddCustomContext("heddle_commit", Commit());
  benchmark::AddCustomContext("heddle_build", fmt::format("{}, {}", BuildType(), Compiler()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace heddle
