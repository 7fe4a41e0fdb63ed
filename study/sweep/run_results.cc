// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/run_results.h"

#include <algorithm>

#include "experiment/checked_folder.h"
#include "settings/number_text.h"
#include "study/sweep/csv.h"

namespace heddle {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 26;

std::optional<ResultTable> ReadTable(const CheckedFolder& run, const std::string& file) {
  std::string ignored;
  const auto text = run.Read(file, kMaxBytes, ignored);
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

std::optional<RunResults> ReadRunResults(const std::filesystem::path& path) {
  const CheckedFolder run(path);
  NoteUnchecked(run);
  auto json = ReadSummary(run);
  auto summary = ReadTable(run, "summary.csv");
  auto reorder = ReadTable(run, "reorder.csv");
  auto queueing = run.Has("queueing.csv") ? ReadTable(run, "queueing.csv") : ResultTable{};
  if (!json || !summary || !reorder || !queueing) return std::nullopt;
  return RunResults{std::move(*json), std::move(*summary), std::move(*reorder),
                    std::move(*queueing)};
}

std::optional<FlatJson> ReadSummary(const CheckedFolder& run) {
  std::string ignored;
  const auto text = run.Read("summary.json", kMaxBytes, ignored);
  return text ? ParseJson(*text) : std::nullopt;
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
