// SPDX-License-Identifier: Apache-2.0
// What a figure shows, as one number of a finished run, or as a series of it: which rows of which
// of its files, and what is made of them. Or what a model predicts for the run's settings.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/value.h"

namespace heddle {

// Of rows, by the cell of a column.
struct Condition {
  std::string column;
  std::vector<std::string> values;   // Any of them; no matter if there are none.
  std::vector<std::string> not_any;  // None of them.
  std::optional<double> above;
  std::optional<double> up_to;

  bool Holds(std::string_view cell) const;
};

// What is made of the values of several rows.
enum class Take { kValue, kSum, kMean, kMin, kMax, kStd, kP50, kP95, kP99, kCount };

// An input of a model: a value, or what the point's document has at a path.
struct ModelInput {
  std::string name;
  Value value;
  std::string setting;                        // Empty: `value`.
  std::map<std::string, std::string> values;  // What its values mean; empty: themselves.
};

struct Metric {
  using Terms = std::vector<std::shared_ptr<const Metric>>;

  Place place;
  std::string path;  // In the document.
  std::string label;
  std::string unit;

  // Where it comes from: one of these is there.
  std::string file;
  std::shared_ptr<const Metric> of;
  std::string model;

  std::string column;  // summary.json: a path, or "counts.dropped_*"; a model: of its output.
  std::vector<Condition> where;
  std::vector<std::string> group;  // Rows that agree in these columns are summed first.
  Take take = Take::kValue;
  std::optional<double> empty;  // What no row at all means; else that is an error.
  std::string x;                // A column: the metric is a series over it.
  std::vector<ModelInput> inputs;

  // ((taken + plus - minus) / divide_by) * scale, but for the least or greatest before scaling.
  Terms plus;
  Terms minus;
  Terms divide_by;
  Terms or_less;
  Terms or_more;
  double scale = 1;
};

// "load" of "workload[0].load": how a path is called where there is little room.
std::string LastPart(const std::string& path);

using Metrics = std::map<std::string, std::shared_ptr<const Metric>>;

// The metrics of the map `entries`, which may refer to each other and to `known` ones.
Metrics ReadMetrics(const std::vector<Value::Entry>& entries, const std::string& path,
                    const Metrics& known, Diagnostics& diagnostics);

}  // namespace heddle
