// SPDX-License-Identifier: Apache-2.0
// What a paper claims of its experiments, and how each claim is judged: a file claims.yaml beside
// the experiments (docs/papers.md describes it).

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
#include "study/papers/metric.h"
#include "study/papers/statistics.h"

namespace heddle {

// Which values of axes: patterns by axis, as sweeps exclude combinations.
using Selection = std::vector<Value::Entry>;

// One of several sides that are compared. With nothing in it, all points.
using Side = Selection;

enum class ClaimKind { kNone, kTrend, kOrdering, kNumber, kZero, kNonzero, kModel };

// Which of several numbers a paper means by "up to" and the like.
enum class Among { kEach, kMax, kMin, kMean, kRange };

struct ClaimPart {
  Place place;
  std::string path;
  ClaimKind kind = ClaimKind::kNone;
  std::string because;  // kNone: why it cannot be judged.
  std::string metric;
  Selection at;

  // kTrend, kModel:
  std::string along;
  Shape goes = Shape::kUp;
  double flat = 0.1;

  // Comparisons: kOrdering, and kNumber, kTrend and kModel of two sides. Each first side is
  // compared with each second one, or with all that it is not. Without axes the sides are the same
  // points, of another metric or experiment.
  std::vector<std::string> axes;  // That the sides differ in.
  std::vector<Side> firsts;
  std::vector<Side> seconds;
  bool neighbours = false;      // Each of `firsts` with the next one.
  bool against_others = false;  // But `except`.
  std::vector<Side> except;
  bool higher = false;  // kOrdering: the first side than the second.
  bool or_equal = false;
  double factor = 1;
  std::string than_metric;      // Of the second side, if it is another one.
  std::string than_experiment;  // The same.

  bool compares() const { return !firsts.empty(); }

  // kNumber:
  Quantity quantity = Quantity::kValue;
  Among take = Among::kEach;
  Target target;
  Target high_target;  // kRange: of the greatest; `target` is of the least.

  // kModel:
  double correlation_above = 0.7;
  bool interior_minimum = false;
};

// As what a claim is counted: a claim of the paper; a twin, which judges a claim of the paper once
// more, as printed or with another choice (C6L of C6); or a claim of ours, which the paper does not
// make.
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
  std::string x;  // An axis; empty if there is none, or time.
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
  std::map<std::string, std::string> names;  // Of values of axes, for people.
  Metrics metrics;
  std::vector<Figure> figures;
  std::vector<Claim> claims;
  // Where its points are from: a file, experiments of the same paper, or a benchmark.
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

// The claims.yaml in `folder`. Nothing if there is no telling what it says.
std::optional<Paper> ReadPaper(const std::filesystem::path& folder, Diagnostics& diagnostics);

}  // namespace heddle
