// SPDX-License-Identifier: Apache-2.0
// Draws the figures of a paper from the results: lines of means over seeds, with intervals. Judging
// a paper calls it; the output writes the figures as JSON and tables.

#pragma once

#include <string>
#include <vector>

#include "settings/diagnostics.h"
#include "study/papers/claims.h"
#include "study/papers/findings.h"
#include "study/papers/paper_results.h"

namespace heddle {

struct DrawnPoint {
  double x = 0;
  std::string x_text;  // The label of the axis, or its name in `names`; empty for times.
  BySeed values;

  friend bool operator==(const DrawnPoint&, const DrawnPoint&) = default;
};

struct DrawnLine {
  std::string name;
  std::string metric;
  std::vector<DrawnPoint> points;  // Sorted by x.
};

struct DrawnFigure {
  const Figure* figure;
  std::string label;  // The label of the first metric.
  std::string unit;
  std::string normalised_to;  // The line whose values are 1; empty if nothing is normalised.
  bool x_is_number = true;    // False: x is a rank.
  std::vector<DrawnLine> lines;
};

// Draws a figure; points without results are left out. The metrics of figures that are not over
// time must have been read.
DrawnFigure Draw(const Figure& figure, const PaperExperiment& experiment,
                 const PaperResults& results, Diagnostics& diagnostics);

}  // namespace heddle
