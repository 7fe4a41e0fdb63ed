// SPDX-License-Identifier: Apache-2.0
// Reads what a run has written.

#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "experiment/checked_folder.h"
#include "settings/csv.h"
#include "settings/json.h"

namespace heddle {

struct RunResults {
  FlatJson summary_json;
  ParsedCsv summary;
  ParsedCsv reorder;
  ParsedCsv queueing;  // Without columns if it was not measured.
};

// All of a run's tables, or the summary alone. The codes are those of CheckedFolder::Read();
// DataLoss also if a file is read and is not what a run writes.
absl::StatusOr<RunResults> ReadRunResults(const std::filesystem::path& run);
absl::StatusOr<FlatJson> ReadSummary(const CheckedFolder& run);

// Another file of a run, as a table or as JSON, likewise.
absl::StatusOr<ParsedCsv> ReadRunTable(const CheckedFolder& run, const std::string& file,
                                       size_t limit);
absl::StatusOr<FlatJson> ReadRunJson(const CheckedFolder& run, const std::string& file,
                                     size_t limit);

// The value at `path`; "" if there is none.
std::string FindText(const FlatJson& json, std::string_view path);
// The same as a number; 0 if it is none.
double FindNumber(const FlatJson& json, std::string_view path);
// The sum of all values whose paths begin with `start`.
int64_t SumOf(const FlatJson& json, std::string_view start);

}  // namespace heddle
