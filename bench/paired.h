// SPDX-License-Identifier: Apache-2.0
// Timings that are compared are taken in turns, in one process, so that what else the machine does
// meets all of them alike. Ratios of medians are what to look at; nanoseconds change with the
// machine.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace heddle {

struct PairedCase {
  std::string name;
  std::function<double()> measure;  // Nanoseconds per unit of work.
};

struct PairedTimes {
  double least;
  double median;
};

// Runs every case `rounds` times, in turns, and prints what each took.
inline std::vector<PairedTimes> MeasureInTurns(const std::vector<PairedCase>& cases, int rounds) {
  std::vector<std::vector<double>> times(cases.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < cases.size(); ++i) times[i].push_back(cases[i].measure());
  }
  std::vector<PairedTimes> results;
  for (size_t i = 0; i < cases.size(); ++i) {
    std::ranges::sort(times[i]);
    results.push_back({times[i].front(), times[i][times[i].size() / 2]});
    fmt::print("  {:52} {:8.1f} ns  (least {:.1f})\n", cases[i].name, results.back().median,
               results.back().least);
  }
  return results;
}

inline double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Whether the program was started with --smoke: as little as shows that it works.
inline bool IsSmoke(int argc, char** argv) {
  return std::any_of(argv, argv + argc,
                     [](const char* argument) { return std::strcmp(argument, "--smoke") == 0; });
}

}  // namespace heddle
