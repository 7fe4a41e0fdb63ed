// SPDX-License-Identifier: Apache-2.0
// What a paper's analytic model predicts for a point of a sweep.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/value.h"
#include "study/papers/metric.h"

namespace heddle {

std::vector<std::string> ModelNames();

// Whether the model has such inputs and such a column, as far as can be told without a point.
void CheckModel(const Metric& metric, Diagnostics& diagnostics);

// For a point with this document. Nothing, and why not in `error`, if an input makes no sense.
std::optional<double> Predict(const Metric& metric, const Value& document, std::string& error);

}  // namespace heddle
