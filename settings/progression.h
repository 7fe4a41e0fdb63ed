// SPDX-License-Identifier: Apache-2.0
// Computes the values of a range in a sweep, such as {from: 0.1, to: 0.9, step: 0.1} or
// {from: 10us, to: 1ms, points: 5, scale: log}. The reader of a sweep's axes
// (experiment/points.h) calls it. The values are texts with the units of the range, as if the user
// had written them as a list.

#pragma once

#include <string_view>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/value.h"

namespace heddle {

// Returns the values of the map `range` as scalars; empty if there is an error in `diagnostics`.
// They are exact in decimal: 0.3 is not 0.30000000000000004. Values without a short exact decimal
// (on a logarithmic scale, or thirds) are rounded to four significant digits.
std::vector<Value> Progression(const Value& range, std::string_view path, Diagnostics& diagnostics);

}  // namespace heddle
