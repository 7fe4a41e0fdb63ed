// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/run_results.h"

#include <utility>

#include "settings/number_text.h"
#include "settings/status.h"

namespace heddle {
namespace {

constexpr size_t kMaxRunBytes = size_t{1} << 26;

}  // namespace

absl::StatusOr<ParsedCsv> ReadRunTable(const CheckedFolder& run, const std::string& file,
                                       size_t limit) {
  auto text = run.Read(file, limit);
  if (!text.ok()) return text.status();
  auto table = ParsedCsv::Parse(*std::move(text));
  if (table.ok()) return table;
  return absl::DataLossError(MessageOf(Within(table.status(), (run.path() / file).string())));
}

absl::StatusOr<FlatJson> ReadRunJson(const CheckedFolder& run, const std::string& file,
                                     size_t limit) {
  const auto text = run.Read(file, limit);
  if (!text.ok()) return text.status();
  auto json = ParseJson(*text);
  if (json.ok()) return json;
  return absl::DataLossError((run.path() / file).string() + ": is not JSON");
}

absl::StatusOr<RunResults> ReadRunResults(const std::filesystem::path& path) {
  const CheckedFolder run(path);
  NoteUnchecked(run);
  const auto table = [&](const char* file) { return ReadRunTable(run, file, kMaxRunBytes); };
  auto json = ReadSummary(run);
  if (!json.ok()) return json.status();
  auto summary = table("summary.csv");
  if (!summary.ok()) return summary.status();
  auto reorder = table("reorder.csv");
  if (!reorder.ok()) return reorder.status();
  auto queueing = run.Has("queueing.csv") ? table("queueing.csv") : ParsedCsv();
  if (!queueing.ok()) return queueing.status();
  return RunResults{*std::move(json), *std::move(summary), *std::move(reorder),
                    *std::move(queueing)};
}

absl::StatusOr<FlatJson> ReadSummary(const CheckedFolder& run) {
  return ReadRunJson(run, "summary.json", kMaxRunBytes);
}

std::string FindText(const FlatJson& json, std::string_view path) {
  const auto found = json.find(path);
  return found == json.end() ? "" : found->second;
}

double FindNumber(const FlatJson& json, std::string_view path) {
  return NumberFrom<double>(FindText(json, path)).value_or(0);
}

int64_t SumOf(const FlatJson& json, std::string_view start) {
  uint64_t sum = 0;  // Unsigned, since damaged numbers may overflow.
  for (auto at = json.lower_bound(start); at != json.end() && at->first.starts_with(start); ++at) {
    sum += static_cast<uint64_t>(NumberFrom<int64_t>(at->second).value_or(0));
  }
  return static_cast<int64_t>(sum);
}

}  // namespace heddle
