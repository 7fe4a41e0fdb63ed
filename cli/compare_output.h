// SPDX-License-Identifier: Apache-2.0
// Writes the output of `heddle compare`: one table for two sides, another for more, or CSV.

#pragma once

#include <string>
#include <vector>

#include "experiment/choice_labels.h"
#include "study/sweep/compare.h"
#include "study/sweep/setting_differences.h"

namespace heddle {

// One side of a comparison.
struct NamedSide {
  std::string name;    // The value of the compared axis, or the folder of the sweep.
  std::string shown;   // The same, or the value's label.
  std::string called;  // In messages: A or B, or `shown` if there are more sides.
  ComparedSide points{};
};

// A side compared with the reference.
struct OtherSide : NamedSide {
  std::vector<Comparison> comparisons{};
};

struct ComparedSides {
  NamedSide reference;
  std::vector<OtherSide> others;
  std::vector<std::string> axes;  // All axes but the compared one.
  ChoiceLabels labels;
};

// Prints the first of `others` beside the reference, with a row for each metric. Between sweeps
// (`are_sweeps`) it also prints the settings that differ.
void PrintTwo(const ComparedSides& sides, bool are_sweeps,
              const std::vector<SettingDifference>& differences);

// Prints a column for each side, with its change against the reference below each mean.
void PrintMany(const ComparedSides& sides);

// Prints a line for each combination, metric and side other than the reference.
void PrintCsv(const ComparedSides& sides, const CompareOptions& options);

}  // namespace heddle
