// SPDX-License-Identifier: Apache-2.0
// Evaluates metrics that a paper's analytic model predicts for a point of a sweep. The reader of
// metrics calls CheckModel() before any run, and PointReader calls Predict() for each point. A
// prediction depends only on the settings of the point, not on its results.

#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/value.h"
#include "study/papers/metric.h"

namespace heddle {

std::vector<std::string> ModelNames();

// Reports an error if the model lacks one of the metric's inputs or its column, as far as can be
// told without a point.
void CheckModel(const Metric& metric, Diagnostics& diagnostics);

// Returns the prediction for a point with this document. NotFound if the document lacks an input,
// InvalidArgument if one makes no sense.
absl::StatusOr<double> Predict(const Metric& metric, const Value& document);

}  // namespace heddle
