// SPDX-License-Identifier: Apache-2.0
// Reads a paper's claims.yaml: the experiments, what the paper claims of each, and how each claim
// is judged (docs/papers.md describes the file). All commands of `heddle papers` begin with
// ReadPaper().

#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/value.h"
#include "study/papers/findings.h"
#include "study/papers/metric.h"

namespace heddle {

// Selects points by a pattern for each axis, as exclusions of sweeps do.
using Selection = std::vector<Value::Entry>;

// One side of a comparison. An empty side means all points.
using Side = Selection;

enum class ClaimKind { kNone, kTrend, kOrdering, kNumber, kZero, kNonzero, kModel };

// Selects the number that the paper states of several: kMax for "up to", and so on.
enum class Among { kEach, kMax, kMin, kMean, kRange };

struct ClaimPart {
  Place place;
  std::string path;
  ClaimKind kind = ClaimKind::kNone;
  std::string because;  // kNone: the reason why it cannot be judged.
  std::string metric;
  Selection at;

  // kTrend, kModel:
  std::string along;
  Shape goes = Shape::kUp;
  double flat = 0.1;

  // Comparisons: kOrdering, and kNumber, kTrend and kModel of two sides. Each first side is
  // compared with each second side, or with all other points. Without axes the sides are the same
  // points, by another metric or experiment.
  std::vector<std::string> axes;  // The axes in which the sides differ.
  std::vector<Side> firsts;
  std::vector<Side> seconds;
  bool neighbours = false;      // Each of `firsts` with the next one.
  bool against_others = false;  // Each first side with all others but `except`.
  std::vector<Side> except;
  bool higher = false;  // kOrdering: the first side is the higher one.
  bool or_equal = false;
  double factor = 1;
  std::string than_metric;      // The second side's metric, if it differs.
  std::string than_experiment;  // The second side's experiment, if it differs.

  bool compares() const { return !firsts.empty(); }

  // kNumber:
  Quantity quantity = Quantity::kValue;
  Among take = Among::kEach;
  Target target;
  Target high_target;  // kRange: the target of the greatest; `target` is that of the least.

  // kModel:
  double correlation_above = 0.7;
  bool interior_minimum = false;
};

// How a claim is counted: as a claim of the paper; as a twin, which judges a claim of the paper
// once more, as printed or with another choice (C6L for C6); or as a claim of ours, which the paper
// does not make.
enum class ClaimRole { kPaper, kTwin, kOurs };
std::string_view NameOf(ClaimRole role);

struct Claim {
  std::string id;  // "C1"
  ClaimRole role = ClaimRole::kPaper;
  std::string says;
  std::string depends_on;
  std::vector<ClaimPart> parts;
};

enum class FigureKind { kLines, kBars, kTime };

struct Figure {
  Place place;
  std::string path;
  std::string id;  // "7a"
  FigureKind kind = FigureKind::kLines;
  std::string title;
  std::vector<std::string> metrics;
  std::string x;  // An axis; empty if x is time or there is none.
  std::string x_label;
  std::vector<double> x_values;
  double x_scale = 1;
  std::vector<std::string> lines;  // Axes.
  Selection at;
  std::optional<Selection> normalise_to;
};

// An experiment that measures decisions instead of simulating.
struct BenchPlan {
  std::vector<std::string> policies;
  std::vector<int64_t> candidates = {8};
  std::vector<int64_t> flows = {1'000};
  int64_t repeats = 5;
};

struct PaperExperiment {
  Place place;
  std::string path;
  std::string id;  // "fig7"
  std::string about;
  std::vector<std::pair<std::string, std::string>> choices;
  std::map<std::string, std::string> names;  // Shown names, by value of an axis.
  Metrics metrics;
  std::vector<Figure> figures;
  std::vector<Claim> claims;
  // The source of its points: a file, experiments of the same paper, or a benchmark.
  std::filesystem::path file;
  std::vector<std::string> from;
  std::optional<BenchPlan> bench;
};

struct Paper {
  std::string id;    // The folder's name: "pdlb".
  std::string name;  // "PDLB"
  std::string title;
  std::vector<PaperExperiment> experiments;

  const PaperExperiment* Find(const std::string& experiment) const;
};

// Reads the claims.yaml in `folder`. Returns nothing if it cannot be understood.
std::optional<Paper> ReadPaper(const std::filesystem::path& folder, Diagnostics& diagnostics);

}  // namespace heddle
