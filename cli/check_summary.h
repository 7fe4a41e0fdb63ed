// SPDX-License-Identifier: Apache-2.0
// `heddle check` prints a sweep by these functions: one summary of its points, and each warning
// once. check_command.cc prints the details of one point.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/warning_tally.h"
#include "experiment/experiment.h"

namespace heddle {

// Prints what the points of `file` have in common, and the range of what differs.
void PrintSummary(const std::string& file, const std::vector<Experiment>& points);

// Collects the warnings of many points. Each is printed once, with the number of its points.
class CheckWarnings {
 public:
  void Add(const Experiment& point);
  void Print() const;  // To stderr.

 private:
  WarningTally tally_;
  size_t points_ = 0;
};

}  // namespace heddle
