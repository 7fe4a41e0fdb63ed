// SPDX-License-Identifier: Apache-2.0
// Computes values at regular distances for sweeps, such as {from: 0.1, to: 0.9, step: 0.1} or
// {from: 10us, to: 1ms, points: 5, scale: log}.

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
