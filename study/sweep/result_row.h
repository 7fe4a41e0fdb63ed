// SPDX-License-Identifier: Apache-2.0
// Reads the terminal's table row from a finished run's folder. Commands use it for runs that are
// already done.

#pragma once

#include <absl/status/statusor.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/results.h"

namespace heddle {

// Returns the row that RowOf() made when the point ran. The codes are those of ReadRunResults().
absl::StatusOr<TableRow> ReadTableRow(const std::filesystem::path& run, const std::string& label);

std::vector<std::string> ReadWarnings(const std::filesystem::path& run);

// Returns `text` with # for each number and its unit. Warnings of the points of a sweep that differ
// in numbers alone are of one kind.
std::string WithoutNumbers(std::string_view text);

}  // namespace heddle
