// SPDX-License-Identifier: Apache-2.0

#include "study/papers/experiment_points.h"

#include <fmt/format.h>

#include <utility>

namespace heddle {
namespace {

Value ListOf(const std::vector<std::string>& texts, const Place& place) {
  Value list;
  list.kind = Value::Kind::kList;
  list.place = place;
  for (const std::string& text : texts) list.items.push_back(Value::Scalar(text, place));
  return list;
}

std::vector<std::string> Texts(const std::vector<int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const int64_t number : numbers) texts.push_back(fmt::format("{}", number));
  return texts;
}

// Returns the points of a benchmark as those of a sweep; its seeds are repetitions.
Points PointsOf(const BenchPlan& bench, const Place& place, Diagnostics& diagnostics) {
  Value sweep;
  sweep.kind = Value::Kind::kMap;
  sweep.place = place;
  sweep.entries.push_back({"lb", place, ListOf(bench.policies, place)});
  sweep.entries.push_back({"candidates", place, ListOf(Texts(bench.candidates), place)});
  sweep.entries.push_back({"flows", place, ListOf(Texts(bench.flows), place)});
  sweep.entries.push_back({"seeds", place, Value::Scalar(fmt::format("{}", bench.repeats), place)});
  Value document;
  document.kind = Value::Kind::kMap;
  document.place = place;
  document.entries.push_back({"sweep", place, sweep});
  return Points(document, {}, diagnostics);
}

Plan PlanOf(const Points& points) {
  Plan plan;
  for (const std::string& axis : points.Axes()) {
    if (axis != "seed") plan.axes.push_back(axis);
  }
  for (size_t i = 0; i < points.size(); ++i) {
    PlannedPoint& point = plan.points.emplace_back();
    for (const auto& [axis, label] : points.ChoicesOf(i)) {
      point.id += (point.id.empty() ? "" : "-") + label;
      (axis == "seed" ? point.seed : point.choices.emplace_back()) = label;
    }
    point.label = point.id;
  }
  return plan;
}

}  // namespace

SweepFolder FolderOf(const Paper& paper, const PaperExperiment& experiment,
                     const std::filesystem::path& out) {
  const std::string name =
      experiment.file.empty() ? experiment.id : experiment.file.stem().string();
  return SweepFolder(out / paper.id / name);
}

void TakeProblems(const PaperExperiment& experiment, const LoadOptions& load,
                  const Diagnostics& problems, Diagnostics& diagnostics) {
  diagnostics.Take(problems);
  if (problems.ok() || load.sets.empty()) return;
  diagnostics.Error({experiment.file.string(), 0, 0}, "",
                    "is no valid experiment with the settings of --set");
}

std::optional<Points> AxesOf(const PaperExperiment& experiment, Diagnostics& diagnostics) {
  if (experiment.bench) return PointsOf(*experiment.bench, experiment.place, diagnostics);
  const auto file = ExperimentFile::Read(experiment.file.string(), {}, diagnostics);
  return file ? std::optional<Points>(file->points()) : std::nullopt;
}

std::optional<ExperimentPoints> ExperimentPoints::Load(const Paper& paper,
                                                       const PaperExperiment& experiment,
                                                       const LoadOptions& options,
                                                       const std::filesystem::path& out,
                                                       Diagnostics& diagnostics) {
  Diagnostics problems;
  const SweepFolder folder = FolderOf(paper, experiment, out);
  std::optional<ExperimentPoints> loaded;
  if (experiment.bench) {
    Points points = PointsOf(*experiment.bench, experiment.place, problems);
    Plan plan = PlanOf(points);
    loaded.emplace(
        ExperimentPoints(experiment.id, std::nullopt, std::move(points), std::move(plan), folder));
  } else {
    auto file = ExperimentFile::Read(experiment.file.string(), options, problems);
    if (file) {
      Plan plan = MakePlan(*file, problems);
      Points points = file->points();
      loaded.emplace(ExperimentPoints(experiment.id, std::move(file), std::move(points),
                                      std::move(plan), folder));
    }
  }
  TakeProblems(experiment, options, problems, diagnostics);
  return problems.ok() ? std::move(loaded) : std::nullopt;
}

}  // namespace heddle
