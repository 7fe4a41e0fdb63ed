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
  std::vector<double> rounds;  // In the order of time.
};

// How many times longer one takes than another: the median over the rounds, in each of which both
// met the machine in much the same state.
inline double RatioOf(const PairedTimes& one, const PairedTimes& other) {
  std::vector<double> ratios;
  for (size_t i = 0; i < one.rounds.size(); ++i) ratios.push_back(one.rounds[i] / other.rounds[i]);
  std::ranges::sort(ratios);
  return ratios[ratios.size() / 2];
}

// Runs every case `rounds` times, in turns, and prints what each took.
inline std::vector<PairedTimes> MeasureInTurns(const std::vector<PairedCase>& cases, int rounds) {
  std::vector<std::vector<double>> times(cases.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < cases.size(); ++i) times[i].push_back(cases[i].measure());
  }
  std::vector<PairedTimes> results;
  for (size_t i = 0; i < cases.size(); ++i) {
    std::vector<double> sorted = times[i];
    std::ranges::sort(sorted);
    results.push_back({sorted.front(), sorted[sorted.size() / 2], times[i]});
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
