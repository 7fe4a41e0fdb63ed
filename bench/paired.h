// SPDX-License-Identifier: Apache-2.0
// Measures cases that are to be compared in turns, in one process, so that other load on the
// machine affects all of them alike. Read the ratios; nanoseconds change with the machine.

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

// Returns how many times longer `one` takes than `other`: the median of the rounds' ratios. In one
// round the machine is in nearly the same state for both.
inline double RatioOf(const PairedTimes& one, const PairedTimes& other) {
  std::vector<double> ratios;
  for (size_t i = 0; i < one.rounds.size(); ++i) ratios.push_back(one.rounds[i] / other.rounds[i]);
  std::ranges::sort(ratios);
  return ratios[ratios.size() / 2];
}

// Runs every case `rounds` times, in turns, and prints the time of each.
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

// Returns true if the program was started with --smoke, which runs just enough to show that it
// works.
inline bool IsSmoke(int argc, char** argv) {
  return std::any_of(argv, argv + argc,
                     [](const char* argument) { return std::strcmp(argument, "--smoke") == 0; });
}

}  // namespace heddle
