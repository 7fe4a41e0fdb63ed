// SPDX-License-Identifier: Apache-2.0
// What a finished run's folder says, for the terminal.

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiment/results.h"

namespace heddle {

// The row that RowOf() made when it ran; nothing if there is no result.
std::optional<TableRow> ReadTableRow(const std::filesystem::path& run, const std::string& label);

std::vector<std::string> ReadWarnings(const std::filesystem::path& run);

}  // namespace heddle
