// SPDX-License-Identifier: Apache-2.0

#include "tests/support/toy_paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "experiment/version.h"

namespace heddle {

namespace fs = std::filesystem;

double NumberIn(const std::string& text) { return std::atof(text.c_str()); }

ToyPaper::ToyPaper() { fs::create_directories(folder_ / "toy"); }

ExperimentPoints ToyPaper::PointsOf(const std::string& id) const {
  PaperExperiment experiment;
  experiment.id = id;
  experiment.file = folder_ / ("toy/" + id + ".yaml");
  Paper paper;
  paper.id = "toy";
  Diagnostics diagnostics;
  auto points = ExperimentPoints::Load(paper, experiment, {}, folder_ / "out", diagnostics);
  if (!points) throw std::runtime_error(diagnostics.Report());
  return *std::move(points);
}

void ToyPaper::Write(const std::string& id, const std::string& sweep, const Values& values) {
  folder_.Write("toy/" + id + ".yaml", std::string(kToyBase) + sweep);
  const ExperimentPoints points = PointsOf(id);
  for (const PlannedPoint& point : points.plan().points) {
    At at;
    for (size_t i = 0; i < point.choices.size(); ++i) {
      at[points.plan().axes[i]] = point.choices[i];
    }
    WriteResult(points.folder().PointPath(point.id), values(at, NumberIn(point.seed)));
  }
}

void ToyPaper::WriteResult(const fs::path& run, double value, const std::string& version) {
  fs::create_directories(run);
  const std::string name = fs::relative(run, folder_.path()).string();
  folder_.Write(name + "/m.csv", fmt::format("v,twice\n{},{}\n", value, 2 * value));
  folder_.Write(name + "/summary.json",
                fmt::format("{{\"version\": \"{}\", \"commit\": \"{}\", \"complete\": true}}\n",
                            version.empty() ? std::string(Version()) : version, Commit()));
}

fs::path ToyPaper::RunOf(const std::string& id, const std::string& seed,
                         const std::string& choice) const {
  const ExperimentPoints points = PointsOf(id);
  for (const PlannedPoint& point : points.plan().points) {
    if (point.seed == seed && (choice.empty() || Contains(point.choices, choice))) {
      return points.folder().PointPath(point.id);
    }
  }
  throw std::runtime_error(fmt::format("{} has no point with seed {} and {}", id, seed, choice));
}

void ToyPaper::WriteClaims(const std::string& experiments) {
  folder_.Write("toy/claims.yaml",
                "paper: Toy\ntitle: Nobody\nmetrics:\n"
                "  v: {file: m.csv, column: v}\n  twice: {file: m.csv, column: twice}\n"
                "names: {letflow.gap=1ms: Slow}\nexperiments:\n  e:\n    about: x\n" +
                    experiments);
}

std::string ToyPaper::ErrorsOf(const std::string& experiments) {
  WriteClaims(experiments);
  Diagnostics diagnostics;
  const auto paper = ReadPaper(folder_ / "toy", diagnostics);
  if (paper && diagnostics.ok()) CheckPaper(*paper, {"e"}, diagnostics);
  return diagnostics.ok() ? "" : diagnostics.Report();
}

JudgedPaper ToyPaper::JudgePaperOf(const std::string& experiments, bool with_stale) {
  WriteClaims(experiments);
  Diagnostics diagnostics;
  paper_ = ReadPaper(folder_ / "toy", diagnostics);
  if (diagnostics.ok()) CheckPaper(*paper_, {"e"}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  JudgedPaper judged = JudgePaper(*paper_, {"e"}, {{}, folder_ / "out", with_stale}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  return judged;
}

JudgedExperiment ToyPaper::Judge(const std::string& experiment, const std::string& more) {
  return JudgePaperOf(experiment + more).experiments.front();
}

JudgedClaim ToyPaper::One(const std::string& claim, const std::string& more) {
  return Judge("    claims: {C1: {says: x, " + claim + "}}\n", more).claims.front();
}

std::string ToyPaper::VerdictOf(const std::string& claim, const std::string& more) {
  return std::string(NameOf(One(claim, more).verdict));
}

std::vector<std::string> ToyPaper::Where(const JudgedClaim& claim) {
  std::vector<std::string> where;
  for (const JudgedCell& cell : claim.parts.front().cells) where.push_back(cell.where);
  return where;
}

double Ordered(const ToyPaper::At& at, double seed) {
  const std::string& lb = at.at("lb");
  const double level = lb == "rps" ? 40 : lb == "ecmp" ? 20 : lb == "letflow.gap=1ms" ? 10 : 10.5;
  return level + 5 * NumberIn(at.at("workload[0].load")) + 0.1 * seed;
}

}  // namespace heddle
