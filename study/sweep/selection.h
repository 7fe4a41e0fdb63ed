// SPDX-License-Identifier: Apache-2.0
// Selects points of a sweep by number (--only) or as one of several equal parts (--shard). `heddle
// sweep` calls it, and the Slurm script lists the points of a task by NumbersText(). The same text
// always selects the same points.

#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// Turns "3,7-9" into {2, 6, 7, 8}: users number the `count` points from 1. Returns InvalidArgument
// for any other text.
absl::StatusOr<std::vector<size_t>> ParseNumbers(std::string_view text, size_t count);

// Turns {2, 6, 7, 8} into "3,7-9".
std::string NumbersText(const std::vector<size_t>& points);

// Returns the part "i/n" of `count` points, i from 1. Parts differ by one point at most. Points are
// dealt in a fixed random order, since otherwise all points of the highest load might be in one
// part. Returns InvalidArgument for any other text.
absl::StatusOr<std::vector<size_t>> ParseShard(std::string_view text, size_t count);

}  // namespace heddle
