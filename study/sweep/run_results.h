// SPDX-License-Identifier: Apache-2.0
// Reads what a run has written.

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/checked_folder.h"
#include "settings/json.h"

namespace heddle {

// A CSV file of a run: small, and without quotes.
struct ResultTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;

  // Nothing if there is no such column.
  std::optional<size_t> Column(std::string_view name) const;
};

struct RunResults {
  FlatJson summary_json;
  ResultTable summary;
  ResultTable reorder;
  ResultTable queueing;  // Empty if it was not measured.
};

// Nothing if some of it is not there, or damaged; so is the next one.
std::optional<RunResults> ReadRunResults(const std::filesystem::path& run);
std::optional<FlatJson> ReadSummary(const CheckedFolder& run);

// The value at `path`; "" if there is none.
std::string FindText(const FlatJson& json, std::string_view path);
// The same as a number; 0 if it is none.
double FindNumber(const FlatJson& json, std::string_view path);
// The sum of all values whose paths begin with `start`.
int64_t SumOf(const FlatJson& json, std::string_view start);

}  // namespace heddle
