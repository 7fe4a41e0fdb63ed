// SPDX-License-Identifier: Apache-2.0
// A metric is the quantity that a figure shows: one number of a finished run, or a series. It names
// rows of a result file and how to reduce them, or a model that predicts the quantity from the
// run's settings. claims.yaml defines metrics, evaluate.h reads their values.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/value.h"

namespace heddle {

// Selects rows by the cell of a column.
struct Condition {
  std::string column;
  std::vector<std::string> values;   // The cell is one of these; empty: any cell.
  std::vector<std::string> not_any;  // The cell is none of these.
  std::optional<double> above;
  std::optional<double> up_to;

  bool Holds(std::string_view cell) const;
};

// How the values of several rows are reduced to one number.
enum class Take { kValue, kSum, kMean, kMin, kMax, kStd, kP50, kP95, kP99, kCount };

// An input of a model: a value, or the setting at a path of the point's document.
struct ModelInput {
  std::string name;
  Value value;
  std::string setting;  // A path; empty: `value` is used.
  std::map<std::string, std::string>
      values;  // The input by the setting's value; empty: the setting itself.
};

struct Metric {
  using Terms = std::vector<std::shared_ptr<const Metric>>;

  Place place;
  std::string path;  // The metric's place in claims.yaml.
  std::string label;
  std::string unit;

  // The source of the values; exactly one of these is set.
  std::string file;
  std::shared_ptr<const Metric> of;
  std::string model;

  std::string column;  // summary.json: a path, or "counts.dropped_*"; a model: an output.
  std::vector<Condition> where;
  std::vector<std::string> group;  // Rows that agree in these columns are summed first.
  Take take = Take::kValue;
  std::optional<double> empty;  // The value if there is no row; without it that is an error.
  std::string x;                // A column; if set, the metric is a series over it.
  std::vector<ModelInput> inputs;

  // The value is ((taken + plus - minus) / divide_by) * scale, limited by the least and greatest
  // before scaling.
  Terms plus;
  Terms minus;
  Terms divide_by;
  Terms or_less;
  Terms or_more;
  double scale = 1;
};

// Returns the short name of a path: "load" for "workload[0].load".
std::string LastPart(const std::string& path);

using Metrics = std::map<std::string, std::shared_ptr<const Metric>>;

// Reads the metrics of the map `entries`, which may refer to each other and to `known` ones.
Metrics ReadMetrics(const std::vector<Value::Entry>& entries, const std::string& path,
                    const Metrics& known, Diagnostics& diagnostics);

}  // namespace heddle
