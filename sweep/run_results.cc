// SPDX-License-Identifier: Apache-2.0

#include "sweep/run_results.h"

#include <algorithm>

#include "settings/number_text.h"
#include "settings/yaml.h"
#include "sweep/csv.h"

namespace heddle {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 26;

std::optional<ResultTable> ReadTable(const std::filesystem::path& path) {
  std::string ignored;
  const auto text = ReadTextFile(path.string(), kMaxBytes, ignored);
  if (!text) return std::nullopt;
  CsvLines lines(*text);
  const auto header = lines.Next();
  if (!header) return std::nullopt;
  ResultTable table{SplitCsvLine(*header), {}};
  while (const auto line = lines.Next()) {
    table.rows.push_back(SplitCsvLine(*line));
    if (table.rows.back().size() != table.header.size()) return std::nullopt;
  }
  return table;
}

}  // namespace

std::optional<size_t> ResultTable::Column(std::string_view name) const {
  const auto found = std::ranges::find(header, name);
  if (found == header.end()) return std::nullopt;
  return static_cast<size_t>(found - header.begin());
}

std::optional<RunResults> ReadRunResults(const std::filesystem::path& run) {
  std::string ignored;
  const auto text = ReadTextFile((run / "summary.json").string(), kMaxBytes, ignored);
  auto json = text ? ParseJson(*text) : std::nullopt;
  auto summary = ReadTable(run / "summary.csv");
  auto reorder = ReadTable(run / "reorder.csv");
  const std::filesystem::path measured = run / "queueing.csv";
  auto queueing = std::filesystem::exists(measured) ? ReadTable(measured) : ResultTable{};
  if (!json || !summary || !reorder || !queueing) return std::nullopt;
  return RunResults{std::move(*json), std::move(*summary), std::move(*reorder),
                    std::move(*queueing)};
}

std::string FindText(const FlatJson& json, std::string_view path) {
  const auto found = json.find(path);
  return found == json.end() ? "" : found->second;
}

double FindNumber(const FlatJson& json, std::string_view path) {
  return NumberFrom<double>(FindText(json, path)).value_or(0);
}

int64_t SumOf(const FlatJson& json, std::string_view start) {
  uint64_t sum = 0;  // Damaged numbers may go beyond any.
  for (auto at = json.lower_bound(start); at != json.end() && at->first.starts_with(start); ++at) {
    sum += static_cast<uint64_t>(NumberFrom<int64_t>(at->second).value_or(0));
  }
  return static_cast<int64_t>(sum);
}

}  // namespace heddle
