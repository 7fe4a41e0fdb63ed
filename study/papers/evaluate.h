// SPDX-License-Identifier: Apache-2.0
// Evaluates metrics at finished points of sweeps. PaperResults makes a PointReader for a point and
// reads the metrics that claims and figures need. A value that is missing is an error of that
// metric alone.

#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <vector>

#include "settings/value.h"
#include "study/papers/metric.h"
#include "study/papers/run_tables.h"

namespace heddle {

// Reduces `values` to one number. There is at least one, in the order of their file. Percentiles
// are by nearest rank, the deviation is that of a population.
double TakeOf(Take take, std::vector<double> values);

struct SeriesPoint {
  double x;
  double value;

  friend bool operator==(const SeriesPoint&, const SeriesPoint&) = default;
};

// Reads metrics of a finished point of a sweep. It keeps the point's files and document as long as
// it lives.
class PointReader {
 public:
  PointReader(std::filesystem::path run, const Value& document)
      : tables_(std::move(run)), document_(document) {}

  // Returns the metric's value. Fails if the point has no such value; DataLoss means that a file is
  // damaged.
  absl::StatusOr<double> Read(const Metric& metric);
  // Returns the values of a metric with an `x`, sorted by x. Terms without an x are the same for
  // all x.
  absl::StatusOr<std::vector<SeriesPoint>> ReadSeries(const Metric& metric);
  // True if a value is missing because a file is damaged.
  bool found_damage() const { return tables_.found_damage(); }

 private:
  // The value of another metric: one number for all x, or a series.
  struct Term {
    double value = 0;
    std::optional<std::vector<SeriesPoint>> series;

    std::optional<double> At(double x) const;
  };
  using TermValues = std::vector<Term>;
  using AllTerms = std::vector<TermValues>;  // The terms to add, to subtract and to divide by.

  absl::StatusOr<double> ReadTaken(const Metric& metric);
  absl::StatusOr<double> ReadJson(const Metric& metric);
  absl::StatusOr<std::vector<SeriesPoint>> ReadTakenSeries(const Metric& metric);
  absl::StatusOr<TermValues> ReadTerms(const Metric::Terms& terms);
  absl::StatusOr<AllTerms> ReadAllTerms(const Metric& metric);
  static absl::StatusOr<double> Combined(const Metric& metric, SeriesPoint taken,
                                         const AllTerms& terms);

  RunTables tables_;
  const Value& document_;
};

}  // namespace heddle
