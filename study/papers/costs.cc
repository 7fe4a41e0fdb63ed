// SPDX-License-Identifier: Apache-2.0

#include "study/papers/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "settings/wording.h"
#include "study/papers/paper_results.h"
#include "study/papers/run_tables.h"
#include "study/sweep/run_results.h"

namespace heddle {
namespace {

constexpr size_t kCostColumns = 7;
using CostRow = std::array<std::string, kCostColumns>;

const CostRow kCostHeader = {"experiment",  "points", "CPU time", "longest run",
                             "packet-hops", "ns/hop", "memory"};

// Returns a time such as "2 h 05 min", "3 min 20 s" or "12.5 s".
std::string TimeText(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole >= 3'600) return fmt::format("{} h {:02} min", whole / 3'600, whole % 3'600 / 60);
  if (whole >= 100) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{:.3g} s", seconds);
}

std::string HopsText(double hops) {
  return hops >= 1e9 ? PlainNumber(hops / 1e9, 4) + " billion"
                     : PlainNumber(hops / 1e6, 3) + " million";
}

std::string MemoryText(int64_t bytes) {
  constexpr double kGigabyte = 1e9;
  constexpr double kLeastInGigabytes = 999.5e6;  // As many MB would be rounded to 1,000 MB.
  const auto count = static_cast<double>(bytes);
  return count >= kLeastInGigabytes ? PlainNumber(count / kGigabyte, 3) + " GB"
                                    : PlainNumber(count / 1e6, 3) + " MB";
}

CostRow CostRowOf(const ExperimentCosts& costs) {
  const std::string points = costs.results == costs.points
                                 ? fmt::format("{}", costs.points)
                                 : fmt::format("{} of {}", costs.results, costs.points);
  if (costs.results == 0) return {costs.experiment, points, "", "", "", "", ""};
  return {costs.experiment,
          points,
          TimeText(costs.cpu_seconds),
          TimeText(costs.longest_seconds),
          HopsText(costs.packet_hops),
          fmt::format("{:.0f}", costs.NanosecondsPerHop()),
          MemoryText(costs.most_memory)};
}

ExperimentCosts SumOf(const std::vector<ExperimentCosts>& all) {
  ExperimentCosts sum;
  sum.experiment = "all";
  for (const ExperimentCosts& costs : all) {
    sum.points += costs.points;
    sum.results += costs.results;
    sum.cpu_seconds += costs.cpu_seconds;
    sum.packet_hops += costs.packet_hops;
    sum.most_memory = std::max(sum.most_memory, costs.most_memory);
    sum.longest_seconds = std::max(sum.longest_seconds, costs.longest_seconds);
  }
  return sum;
}

// Aligns the first column to the left and numbers to the right.
std::string LineOf(const CostRow& row, const std::array<size_t, kCostColumns>& widths,
                   bool markdown) {
  std::string line = markdown ? "|" : "";
  for (size_t i = 0; i < kCostColumns; ++i) {
    const std::string cell = i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                                    : fmt::format("{:>{}}", row[i], widths[i]);
    line += markdown ? fmt::format(" {} |", cell) : (i == 0 ? "" : "  ") + cell;
  }
  return line + "\n";
}

}  // namespace

absl::StatusOr<ExperimentCosts> CostsOf(const std::string& name, const ExperimentPoints& points,
                                        bool with_stale) {
  ExperimentCosts costs;
  costs.experiment = name;
  costs.points = points.plan().points.size();
  for (const PlannedPoint& point : points.plan().points) {
    const PointState state = points.folder().Inspect(point.id).state;
    if (!HasResult(state, with_stale)) continue;
    RunTables tables(points.folder().PointPath(point.id));
    const absl::StatusOr<const FlatJson*> summary = tables.Json("summary.json");
    if (!summary.ok()) return summary.status();
    const auto number = [&](std::string_view path) { return FindNumber(**summary, path); };
    const double cpu = number("performance.cpu_seconds");
    ++costs.results;
    costs.cpu_seconds += cpu;
    costs.longest_seconds = std::max(costs.longest_seconds, cpu);
    costs.packet_hops += number("performance.packet_hops");
    costs.most_memory =
        std::max(costs.most_memory, static_cast<int64_t>(number("performance.peak_memory_bytes")));
  }
  return costs;
}

std::string CostsText(const std::vector<ExperimentCosts>& all, bool markdown) {
  std::vector<CostRow> rows = {kCostHeader};
  for (const ExperimentCosts& costs : all) rows.push_back(CostRowOf(costs));
  if (all.size() > 1) rows.push_back(CostRowOf(SumOf(all)));
  std::array<size_t, kCostColumns> widths{};
  for (const CostRow& row : rows) {
    for (size_t i = 0; i < kCostColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    text += LineOf(rows[i], widths, markdown);
    if (markdown && i == 0) text += "|---|---:|---:|---:|---:|---:|---:|\n";
  }
  return text;
}

}  // namespace heddle
