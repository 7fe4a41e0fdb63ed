// SPDX-License-Identifier: Apache-2.0
// What `heddle check` prints of a sweep: one summary of its points, and each warning once. The
// details of one point are printed by check_command.cc.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

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
  struct Found {
    std::string text;
    std::string example;  // The label of the first point.
    size_t points = 0;
  };

  std::vector<Found> found_;
  std::map<std::string, size_t> index_;
  size_t points_ = 0;
};

}  // namespace heddle
