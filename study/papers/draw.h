// SPDX-License-Identifier: Apache-2.0
// What the figures of a paper show here: lines of means over seeds, with intervals.

#pragma once

#include <string>
#include <vector>

#include "settings/diagnostics.h"
#include "study/papers/claims.h"
#include "study/papers/paper_results.h"
#include "study/papers/findings.h"

namespace heddle {

struct DrawnPoint {
  double x = 0;
  std::string x_text;  // As the axis has it, or `names`; empty for times.
  BySeed values;

  friend bool operator==(const DrawnPoint&, const DrawnPoint&) = default;
};

struct DrawnLine {
  std::string name;
  std::string metric;
  std::vector<DrawnPoint> points;  // By x.
};

struct DrawnFigure {
  const Figure* figure;
  std::string label;  // Of the first metric.
  std::string unit;
  std::string normalised_to;  // Whose values are 1; empty if nothing is normalised.
  bool x_is_number = true;    // Else ranks.
  std::vector<DrawnLine> lines;
};

// Points without results are left out. The metrics of figures that are not over time have been
// read.
DrawnFigure Draw(const Figure& figure, const PaperExperiment& experiment,
                 const PaperResults& results, Diagnostics& diagnostics);

}  // namespace heddle
