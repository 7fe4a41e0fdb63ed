// SPDX-License-Identifier: Apache-2.0
// Gathers the mistakes in the points of a sweep. Each mistake is reported once, however many points
// share it, with the combinations in which it occurs.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiment/points.h"
#include "settings/diagnostics.h"

namespace heddle {

class PointProblems {
 public:
  explicit PointProblems(const Points& points) : points_(points) {}

  void Take(const Diagnostics& problems, size_t point);

  // Adds all errors to `diagnostics`. An error names its combinations, unless all points have it or
  // the value at its place explains it.
  void Report(Diagnostics& diagnostics);

 private:
  struct Found {
    Diagnostics::Problem problem;
    std::vector<size_t> points;  // Ascending.
  };
  using Choices = std::vector<std::pair<std::string, std::string>>;  // Keys and values.

  Choices SharedChoices(const std::vector<size_t>& points) const;
  bool AreAllWith(const Choices& choices, size_t count) const;
  bool ExplainsItself(const Found& found) const;
  std::string WhereText(const Found& found) const;

  const Points& points_;
  std::vector<Choices> choices_;  // By point; filled when they are needed.
  std::vector<Found> found_;
  std::map<std::string, size_t> index_;  // By the text of the error.
};

}  // namespace heddle
