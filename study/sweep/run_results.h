// SPDX-License-Identifier: Apache-2.0
// Reads the results that a run has written, for all commands that evaluate runs. Files are checked
// against the manifest.

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
  ParsedCsv queueing;  // Has no columns if it was not measured.
};

// Read all of a run's tables, or the summary alone. The codes are those of CheckedFolder::Read();
// DataLoss also means that a file is not one that a run writes.
absl::StatusOr<RunResults> ReadRunResults(const std::filesystem::path& run);
absl::StatusOr<FlatJson> ReadSummary(const CheckedFolder& run);

// Read another file of a run, as a table or as JSON, with the same codes.
absl::StatusOr<ParsedCsv> ReadRunTable(const CheckedFolder& run, const std::string& file,
                                       size_t limit);
absl::StatusOr<FlatJson> ReadRunJson(const CheckedFolder& run, const std::string& file,
                                     size_t limit);

// Returns the value at `path`; "" if there is none.
std::string FindText(const FlatJson& json, std::string_view path);
// Returns the value at `path` as a number; 0 if it is none.
double FindNumber(const FlatJson& json, std::string_view path);
// Returns the sum of all values whose paths begin with `start`.
int64_t SumOf(const FlatJson& json, std::string_view start);

}  // namespace heddle
