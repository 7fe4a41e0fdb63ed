// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "experiment/estimate.h"
#include "experiment/point_problems.h"
#include "settings/csv.h"
#include "settings/number_text.h"

namespace heddle {
namespace {

constexpr std::string_view kHeader = "point,id,label,seed,packet_hops,memory_bytes";
constexpr size_t kFixedColumns = 6;

std::vector<std::string> AxesOf(const ExperimentFile& file) {
  std::vector<std::string> axes = file.points().Axes();
  std::erase(axes, "seed");
  return axes;
}

}  // namespace

PlannedPoint PlanPoint(const ExperimentFile& file, size_t point, Diagnostics& diagnostics) {
  Diagnostics problems;
  const Experiment experiment = file.Load(point, problems);
  diagnostics.Take(problems);
  PlannedPoint planned;
  if (!problems.ok()) return planned;
  planned.id = experiment.Id();
  planned.label = experiment.label.empty() ? experiment.settings.name : file.LabelOf(point);
  planned.seed = fmt::format("{}", experiment.settings.seed);
  for (const auto& [key, value] : experiment.axes) {
    if (key != "seed") planned.choices.push_back(value);
  }
  planned.hops = ExpectedPacketHops(experiment);
  planned.memory_bytes = ExpectedMemoryBytes(experiment);
  planned.work = ExpectedWork(experiment);
  return planned;
}

Plan MakePlan(const ExperimentFile& file, Diagnostics& diagnostics) {
  Plan plan{AxesOf(file), {}};
  PointProblems all(file.points());
  std::map<std::string, size_t> points;  // The first point with each id.
  for (size_t i = 0; i < file.size(); ++i) {
    Diagnostics problems;
    plan.points.push_back(PlanPoint(file, i, problems));
    all.Take(problems, i);
    diagnostics.TakeWarnings(problems);
    const PlannedPoint& point = plan.points.back();
    if (!problems.ok()) continue;
    const auto [same, is_new] = points.emplace(point.id, i);
    if (is_new) continue;
    diagnostics.Error(
        {file.source(), 0, 0}, "sweep",
        fmt::format("points {} ({}) and {} ({}) are the same experiment; remove one",
                    same->second + 1, plan.points[same->second].label, i + 1, point.label));
  }
  all.Report(diagnostics);
  return plan;
}

std::string PlanCsv(const Plan& plan) {
  std::string csv(kHeader);
  for (const std::string& axis : plan.axes) csv += "," + CsvCell(axis);
  csv += '\n';
  size_t number = 0;
  for (const PlannedPoint& point : plan.points) {
    csv += fmt::format("{},{},{},{},{},{}", ++number, point.id, CsvCell(point.label), point.seed,
                       point.hops, point.memory_bytes);
    for (const std::string& choice : point.choices) csv += "," + CsvCell(choice);
    csv += '\n';
  }
  return csv;
}

absl::StatusOr<Plan> ParsePlan(std::string_view csv) {
  const absl::Status is_none = absl::InvalidArgumentError("is not the plan of a sweep");
  if (!csv.starts_with(kHeader)) return is_none;
  const auto table = ParsedCsv::Parse(std::string(csv));
  if (!table.ok() || table->header.size() < kFixedColumns) return is_none;
  const auto from = table->header.begin() + kFixedColumns;
  Plan plan{{from, table->header.end()}, {}};
  for (size_t row = 0; row < table->rows(); ++row) {
    const auto cells = table->Row(row);
    const auto choices = cells.subspan(kFixedColumns);
    const auto hops = NumberFrom<double>(cells[4]);
    const auto memory = NumberFrom<double>(cells[5]);
    if (!hops || !memory) return is_none;
    plan.points.push_back({.id = std::string(cells[1]),
                           .label = std::string(cells[2]),
                           .seed = std::string(cells[3]),
                           .choices = {choices.begin(), choices.end()},
                           .hops = *hops,
                           .memory_bytes = *memory,
                           .work = *hops});
  }
  return plan;
}

}  // namespace heddle
