// SPDX-License-Identifier: Apache-2.0
// Prints the warnings of a sweep's points, of which many are alike.

#pragma once

#include <cstddef>
#include <vector>

#include "study/sweep/plan.h"
#include "study/sweep/sweep_folder.h"

namespace heddle {

// Prints the warnings in the results of `points`. Those that differ in numbers alone are one line,
// with the label of the first point and the number of the others.
void PrintPointWarnings(const SweepFolder& folder, const Plan& plan,
                        const std::vector<size_t>& points);

}  // namespace heddle
