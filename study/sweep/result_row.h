// SPDX-License-Identifier: Apache-2.0
// What a finished run's folder says, for the terminal.

#pragma once

#include <absl/status/statusor.h>

#include <filesystem>
#include <string>
#include <vector>

#include "experiment/results.h"

namespace heddle {

// The row that RowOf() made when it ran. The codes are those of ReadRunResults().
absl::StatusOr<TableRow> ReadTableRow(const std::filesystem::path& run, const std::string& label);

std::vector<std::string> ReadWarnings(const std::filesystem::path& run);

}  // namespace heddle
