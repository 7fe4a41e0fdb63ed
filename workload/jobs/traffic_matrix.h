// SPDX-License-Identifier: Apache-2.0
// Reads how much each rank sends to each other from a CSV file.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/files_read.h"

namespace heddle {

// Reads a file of as many rows as cells in each row; row i has the bytes that rank i sends. A
// row has at most 2^15 cells, a cell at most 10^15 bytes, all cells together at most 10^18. Returns
// null and reports the mistakes if it is no such file; `path` is the setting that names it.
std::shared_ptr<const std::vector<int64_t>> ReadTrafficMatrix(const std::string& file,
                                                              std::string_view path,
                                                              FilesRead& files,
                                                              Diagnostics& diagnostics);

}  // namespace heddle
