// SPDX-License-Identifier: Apache-2.0
// Which points of a sweep: some by number, or one of several equal parts.

#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// "3,7-9" of `count` points, which users number from 1: {2, 6, 7, 8}. InvalidArgument if it says
// something else.
absl::StatusOr<std::vector<size_t>> ParseNumbers(std::string_view text, size_t count);

// The other way round: {2, 6, 7, 8} is "3,7-9".
std::string NumbersText(const std::vector<size_t>& points);

// The part "i/n" of `count` points, i from 1. Parts differ by one point at most, and points are
// dealt in a fixed random order: otherwise all of the highest load might be in one part.
// InvalidArgument if it is no part.
absl::StatusOr<std::vector<size_t>> ParseShard(std::string_view text, size_t count);

}  // namespace heddle
