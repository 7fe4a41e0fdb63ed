// SPDX-License-Identifier: Apache-2.0
// Finds the points that a claim compares, and their values by seed: one cell for each combination
// of the axes that the claim does not mention. The judge calls it for each part of a claim.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "study/papers/claims.h"
#include "study/papers/findings.h"
#include "study/papers/paper_results.h"

namespace heddle {

// Points that differ only in their seed, or pairs of such points.
struct ClaimCell {
  AxisLabels choices;   // Choices on the axes that are not compared.
  std::string sides;    // "rps, ecmp"; empty if nothing is compared.
  BySeed values;        // Values of the metric or the quantity, or differences.
  BySeed references;    // The values that a difference is relative to.
  std::string unknown;  // The reason if some values are missing.
  size_t missing = 0;   // Points without results.
};

// Returns the cells that a part of a claim is about. Its metrics must have been read.
std::vector<ClaimCell> CellsOf(const ClaimPart& part, const PaperExperiment& experiment,
                               const PaperResults& results, const PaperResults& other);
// Returns the cells of one metric at the points of the part.
std::vector<ClaimCell> PlainCells(const ClaimPart& part, const std::string& metric,
                                  const PaperExperiment& experiment, const PaperResults& results);

// Returns the text of one side of a comparison, such as "rps/0.5".
std::string SideText(const AxisLabels& own, const PaperExperiment& experiment);

}  // namespace heddle
