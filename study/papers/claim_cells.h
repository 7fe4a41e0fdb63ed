// SPDX-License-Identifier: Apache-2.0
// The points that a claim compares, and their values by seed: one cell for each combination of axes
// that the claim does not mention.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "study/papers/claims.h"
#include "study/papers/paper_results.h"
#include "study/papers/findings.h"

namespace heddle {

// Points that differ in their seed alone, or pairs of such.
struct ClaimCell {
  AxisLabels choices;   // Of the axes that are not compared.
  std::string sides;    // "rps, ecmp"; empty if nothing is compared.
  BySeed values;        // Of the metric, of the quantity, or the difference.
  BySeed references;    // What a difference is relative to.
  std::string unknown;  // Why some values are missing.
  size_t missing = 0;   // Points without results.
};

// What a part of a claim is about. The metrics have been read.
std::vector<ClaimCell> CellsOf(const ClaimPart& part, const PaperExperiment& experiment,
                               const PaperResults& results, const PaperResults& other);
// Of one metric at the points of the part.
std::vector<ClaimCell> PlainCells(const ClaimPart& part, const std::string& metric,
                                  const PaperExperiment& experiment, const PaperResults& results);

// "rps/0.5": one side of a comparison.
std::string SideText(const AxisLabels& own, const PaperExperiment& experiment);

}  // namespace heddle
