// SPDX-License-Identifier: Apache-2.0
// Whole experiments drawn at random, and what must hold for every experiment. The program
// random_experiments checks as many of them as there is time for, and RandomExperimentTest a few.

#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace heddle {

// A tame experiment is sound, has little that can go wrong, and all its flows finish. A wild one
// may have any kind and value of nearly every setting, and be refused.
std::string DrawTameExperiment(uint64_t seed);
// `share` is the share of optional settings that get a value. With fewer of them, fewer experiments
// are refused.
std::string DrawWildExperiment(uint64_t seed, double share);

struct Verdict {
  bool refused = false;
  std::string errors;   // Why it was refused.
  std::string problem;  // What is broken; empty if nothing is.
};

// Checks that the experiment is either refused, with errors that say where, or runs, and then that
//
// - each flow and packet is accounted for,
// - no flow that used one path is faster than alone,
// - run.yaml gives the same experiment,
// - results are the same for one, two and three threads, for all kinds of ports, and without the
//   instruments that the experiment asks for.
//
// A run whose packets do not add up ends the program; see HEDDLE_CHECK.
Verdict CheckTameExperiment(const std::string& yaml);
Verdict CheckWildExperiment(const std::string& yaml);

// Draws the experiment of a seed, one in four a tame one, and checks it. A wild one that is refused
// is drawn again with fewer settings. Calls `show` with each experiment before it is checked.
struct CheckedSeed {
  int refused = 0;
  bool ran = false;
  std::string problem;
};
CheckedSeed CheckSeed(uint64_t seed, const std::function<void(const std::string&)>& show);

}  // namespace heddle
