// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/checked_folder.h"
#include "experiment/manifest.h"
#include "settings/yaml.h"
#include "study/papers/claims.h"
#include "study/papers/evaluate.h"
#include "study/papers/metric.h"
#include "study/papers/papers_output.h"
#include "study/sweep/means.h"
#include "study/sweep/plan.h"
#include "study/sweep/point_rows.h"
#include "study/sweep/result_row.h"
#include "study/sweep/setting_differences.h"
#include "study/sweep/sweep_folder.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace heddle {
namespace {

constexpr std::string_view kRunFiles[] = {"summary.json", "summary.csv", "reorder.csv",
                                          "queueing.csv", "run.yaml"};

// Writes the files in `text` that a run has into a folder, and removes what others have left there.
std::filesystem::path WriteRun(std::string_view text) {
  const std::filesystem::path run = FuzzFolder() / "points" / "fuzz";
  for (const std::string_view name : kRunFiles) std::filesystem::remove(run / name);
  constexpr std::string_view kMark = "=== ";
  while (!text.empty()) {
    const size_t start = text.find(kMark);
    if (start == std::string_view::npos) break;
    text.remove_prefix(start + kMark.size());
    const size_t line = std::min(text.find('\n'), text.size());
    const std::string_view name = text.substr(0, line);
    text.remove_prefix(std::min(line + 1, text.size()));
    if (std::ranges::find(kRunFiles, name) == std::end(kRunFiles)) continue;
    WriteInput(fmt::format("points/fuzz/{}", name), text.substr(0, text.find(kMark)));
  }
  return run;
}

const Plan& OnePoint() {
  static const Plan plan{{"lb"},
                         {{.id = "fuzz", .label = "lb=ecmp", .seed = "1", .choices = {"ecmp"}}}};
  return plan;
}

void CheckRows(const std::filesystem::path& run) {
  const auto rows = ReadPointRows(run);
  if (!rows.ok()) return;
  for (const PointRows::Row& row : rows->rows) {
    Require(row.cells.size() == rows->columns.size(), "a row has a cell in each column");
  }
  Means means;
  means.Add(OnePoint().points.front(), *rows);
  Require(means.Csv(OnePoint()).starts_with("lb,class_set,class,seeds"), "means have a header");
}

void CheckDifferences(const std::filesystem::path& run) {
  const std::vector<SettingDifference> own = DifferencesOfRuns(run, run);
  const bool unreadable = own.size() == 1 && own.front().a == "-" && own.front().b == "-";
  Require(own.empty() || unreadable, "a run that can be read does not differ from itself");
  WriteInput("other/run.yaml", "name: other\nseed: 2\nlb: {kind: ecmp}\nworkload: [{load: 0.5}]\n");
  const std::filesystem::path other = FuzzFolder() / "other";
  Require(DifferencesOfRuns(run, other).size() == DifferencesOfRuns(other, run).size(),
          "runs differ as much either way");
}

// Metrics of each kind, over the columns of flows.csv.
const Metrics& FlowMetrics() {
  static const Metrics metrics = [] {
    Diagnostics diagnostics;
    const auto document = ParseYaml(R"(
sum: {file: flows.csv, column: size_bytes, take: sum, empty: 0}
p99: {file: flows.csv, column: fct_rx_ns, take: p99, where: {class: [S, M], size_bytes: {above: 10, up_to: 1e6}}}
grouped: {file: flows.csv, column: size_bytes, group: [src, dst], take: max}
deviation: {file: flows.csv, column: fct_rx_ns, take: std, where: {class: {not: L}}}
count: {file: flows.csv, take: count}
ratio: {of: sum, divide_by: count, or_more: count, scale: 1e-3}
one: {file: flows.csv, column: fct_rx_ns}
by_start: {file: flows.csv, column: fct_rx_ns, x: start_ps, take: mean, divide_by: count}
)",
                                    "metrics.yaml", diagnostics);
    Metrics read = ReadMetrics(document.value().entries, "metrics", {}, diagnostics);
    Require(diagnostics.ok(), diagnostics.Report());
    return read;
  }();
  return metrics;
}

// A paper whose experiments have these files.
std::string PaperFolder() {
  WriteInput("paper/fig1.yaml", "lb: ecmp\n");
  WriteInput("paper/fig2.yaml", "lb: ecmp\n");
  return FuzzFolder() / "paper";
}

void RequireMetric(const PaperExperiment& experiment, const std::string& metric) {
  Require(metric.empty() || experiment.metrics.contains(metric),
          "there is such a metric: " + metric);
}

void RequireExperiment(const Paper& paper, const PaperExperiment& experiment) {
  Require(paper.Find(experiment.id) != nullptr, "an experiment is found by its name");
  for (const std::string& other : experiment.from) {
    Require(paper.Find(other) != nullptr, "there is such an experiment: " + other);
  }
  for (const auto& [name, metric] : experiment.metrics) Require(metric != nullptr, "it is read");
  for (const Figure& figure : experiment.figures) {
    for (const std::string& metric : figure.metrics) RequireMetric(experiment, metric);
  }
  for (const Claim& claim : experiment.claims) {
    Require(!claim.parts.empty(), "a claim has parts: " + claim.id);
    for (const ClaimPart& part : claim.parts) {
      Require(part.kind != ClaimKind::kNone || !part.because.empty(), "or says why it has none");
      if (part.than_experiment.empty()) RequireMetric(experiment, part.metric);
    }
  }
}

}  // namespace

// Every file that the manifest lets through is the one that it records.
void FuzzManifest(FuzzInput input) {
  const std::string text = TextOf(input);
  const auto manifest = ParseManifest(text);
  if (manifest.ok()) {
    Require(ManifestCsv(*manifest) == text, "what is written reads the same");
    for (const auto& [name, record] : *manifest) {
      Require(name.find('/') == std::string::npos, "names are of this folder: " + name);
    }
  }
  WriteInput("checked/flows.csv", "flow_id\n1\n");
  WriteInput("checked/links.csv", "");
  const CheckedFolder folder(
      std::filesystem::path(WriteInput("checked/manifest.csv", text)).parent_path());
  Require(folder.is_checked(), "a folder with a manifest is checked, whatever is in it");
  Require(manifest.ok() || !folder.Damage(0).empty(), "a manifest that is refused is damage");
  Require(folder.Damage(0).size() <= folder.AllDamage().size(), "a closer look finds no less");
  for (const char* name : {"flows.csv", "links.csv", "lb.csv", ".."}) {
    const auto read = folder.Read(name, 1'000);
    if (!read.ok()) continue;
    FileRecord found;
    found.Add(*read);
    Require(manifest.ok() && manifest->contains(name), fmt::format("{} is listed", name));
    Require(manifest->at(name) == found, fmt::format("{} is as it was written", name));
  }
}

void FuzzRunFolder(FuzzInput input) {
  const std::filesystem::path run = WriteRun(TextOf(input));
  CheckRows(run);
  const auto row = ReadTableRow(run, "fuzz");
  Require(!row.ok() || row->label == "fuzz", "a row has its label");
  ReadWarnings(run);
  CheckDifferences(run);
  const PointReport report = SweepFolder(FuzzFolder()).Inspect("fuzz");
  Require(row.ok() <= HasResult(report.state, /*with_stale=*/true), "a row is of a result");
}

void FuzzRunTable(FuzzInput input) {
  WriteInput("points/fuzz/flows.csv", TextOf(input));
  const Value document;
  PointReader reader(FuzzFolder() / "points" / "fuzz", document);
  for (const auto& [name, metric] : FlowMetrics()) {
    if (metric->x.empty()) {
      const absl::Status status = reader.Read(*metric).status();
      Require(status.ok() == status.message().empty(), name + " has a value, or an error");
      continue;
    }
    const auto series = reader.ReadSeries(*metric);
    Require(series.ok() == series.status().message().empty(), name + " is a series, or an error");
    if (!series.ok()) continue;
    Require(std::ranges::is_sorted(*series, {}, &SeriesPoint::x), "a series is in order");
  }
}

void FuzzPlan(FuzzInput input) {
  const auto plan = ParsePlan(TextOf(input));
  if (!plan.ok()) return;
  for (const PlannedPoint& point : plan->points) {
    Require(point.choices.size() == plan->axes.size(), "a point has a choice on each axis");
  }
  // Digests and seeds have no commas; elsewhere they may be.
  const bool is_plain = std::ranges::none_of(plan->points, [](const PlannedPoint& point) {
    return (point.id + point.seed).find_first_of(",\"\r") != std::string::npos;
  });
  if (!is_plain) return;
  const std::string csv = PlanCsv(*plan);
  const auto again = ParsePlan(csv);
  Require(again.ok() && PlanCsv(*again) == csv, "what is written reads the same: " + csv);
}

void FuzzVerdicts(FuzzInput input) {
  const std::string text = TextOf(input);
  const auto verdicts = ParseVerdicts(text);
  if (!verdicts.ok()) return;
  const auto lines = static_cast<size_t>(std::ranges::count(text, '\n'));
  Require(verdicts->size() <= lines, "a line has one verdict");
}

void FuzzClaims(FuzzInput input) {
  const std::string folder = PaperFolder();
  WriteInput("paper/claims.yaml", TextOf(input));
  Diagnostics diagnostics;
  const auto paper = ReadPaper(folder, diagnostics);
  RequirePlaces(diagnostics);
  Require(paper || !diagnostics.ok(), "a paper that is refused has an error");
  if (!paper || !diagnostics.ok()) return;
  for (const PaperExperiment& experiment : paper->experiments)
    RequireExperiment(*paper, experiment);
}

}  // namespace heddle
