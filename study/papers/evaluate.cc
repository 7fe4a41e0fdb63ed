// SPDX-License-Identifier: Apache-2.0

#include "study/papers/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/statistics.h"
#include "settings/number_text.h"
#include "study/papers/model_metric.h"

namespace heddle {
namespace {

using Rows = std::vector<size_t>;

// The table of a metric, with the columns that it names.
class Source {
 public:
  static absl::StatusOr<Source> Open(const Metric& metric, RunTables& tables) {
    const absl::StatusOr<const ParsedCsv*> table = tables.Table(metric.file);
    if (!table.ok()) return table.status();
    Source source(metric, tables.run().string(), **table);
    absl::Status status;
    if (!metric.column.empty()) status.Update(source.FindColumn(metric.column, source.column_));
    if (!metric.x.empty()) status.Update(source.FindColumn(metric.x, source.x_));
    for (const std::string& name : metric.group) {
      status.Update(source.FindColumn(name, source.group_.emplace_back()));
    }
    for (const Condition& condition : metric.where) {
      status.Update(source.FindColumn(condition.column, source.where_.emplace_back()));
    }
    if (!status.ok()) return status;
    return source;
  }

  Rows Select() const {
    Rows rows;
    for (size_t row = 0; row < table_->rows(); ++row) {
      if (Holds(row)) rows.push_back(row);
    }
    return rows;
  }

  // Returns the selected rows, by the cell of column x.
  absl::StatusOr<std::map<double, Rows>> SelectByX() const {
    std::map<double, Rows> by_x;
    for (const size_t row : Select()) {
      const auto x = Number(row, x_);
      if (!x.ok()) return x.status();
      by_x[*x].push_back(row);
    }
    return by_x;
  }

  // Returns the metric's value over `rows`.
  absl::StatusOr<double> Taken(const Rows& rows) const {
    const auto values = Values(rows);
    if (!values.ok()) return values.status();
    if (metric_->take == Take::kCount) return static_cast<double>(values->size());
    if (values->empty() && metric_->empty) return *metric_->empty;
    if (values->empty()) return Fail("no row matches `where`");
    if (metric_->take == Take::kValue && values->size() > 1) {
      return Fail(fmt::format("{} rows match `where`; set `take` to reduce them to one value",
                              values->size()));
    }
    return TakeOf(metric_->take, *values);
  }

 private:
  Source(const Metric& metric, std::string run, const ParsedCsv& table)
      : metric_(&metric), run_(std::move(run)), table_(&table) {}

  absl::Status FindColumn(const std::string& name, size_t& column) const {
    const auto found = table_->Column(name);
    column = found.value_or(0);
    if (found) return absl::OkStatus();
    const std::vector<std::string> known(table_->header.begin(), table_->header.end());
    return absl::NotFoundError(fmt::format("{}/{} has no column \"{}\"{}", run_, metric_->file,
                                           name, Suggestion(name, known)));
  }

  bool Holds(size_t row) const {
    for (size_t i = 0; i < where_.size(); ++i) {
      if (!metric_->where[i].Holds(table_->At(row, where_[i]))) return false;
    }
    return true;
  }

  absl::Status Fail(std::string_view what) const {
    return absl::FailedPreconditionError(fmt::format("{}/{}: {}", run_, metric_->file, what));
  }

  absl::StatusOr<double> Number(size_t row, size_t column) const {
    const std::string_view cell = table_->At(row, column);
    if (const auto number = NumberFrom<double>(cell)) return *number;
    return Fail(fmt::format("row {}: {} is \"{}\", which is no number", row + 1,
                            table_->header[column], cell));
  }

  // Returns the values of rows, or the sums of groups in the order of their first rows.
  absl::StatusOr<std::vector<double>> Values(const Rows& rows) const {
    std::vector<double> values;
    std::map<std::vector<std::string_view>, size_t> groups;
    for (const size_t row : rows) {
      const auto value = metric_->column.empty() ? 1 : Number(row, column_);
      if (!value.ok()) return value.status();
      std::vector<std::string_view> key;
      for (const size_t column : group_) key.push_back(table_->At(row, column));
      const auto [group, is_new] = groups.emplace(key, values.size());
      if (is_new || group_.empty()) {
        values.push_back(*value);
      } else {
        values[group->second] += *value;
      }
    }
    return values;
  }

  const Metric* metric_;
  std::string run_;
  const ParsedCsv* table_;
  size_t column_ = 0;
  size_t x_ = 0;
  std::vector<size_t> group_;
  std::vector<size_t> where_;
};

double SortedPercentile(std::vector<double> values, double p) {
  std::ranges::sort(values);
  return Percentile(values, p, PercentileMethod::kNearest);
}

bool IsSeries(const Metric& metric) {
  return !metric.x.empty() || (metric.of != nullptr && IsSeries(*metric.of));
}

}  // namespace

double TakeOf(Take take, std::vector<double> values) {
  switch (take) {
    case Take::kValue:
      return values.front();
    case Take::kSum:
      return std::accumulate(values.begin(), values.end(), 0.0);
    case Take::kMean:
      return Mean(values);
    case Take::kMin:
      return std::ranges::min(values);
    case Take::kMax:
      return std::ranges::max(values);
    case Take::kStd:
      return Deviation(values);
    case Take::kP50:
      return SortedPercentile(std::move(values), 0.5);
    case Take::kP95:
      return SortedPercentile(std::move(values), 0.95);
    case Take::kP99:
      return SortedPercentile(std::move(values), 0.99);
    case Take::kCount:
      break;
  }
  return static_cast<double>(values.size());
}

absl::StatusOr<double> PointReader::ReadJson(const Metric& metric) {
  const absl::StatusOr<const FlatJson*> json = tables_.Json(metric.file);
  if (!json.ok()) return json.status();
  const bool is_prefix = metric.column.ends_with('*');
  const std::string start = metric.column.substr(0, metric.column.size() - (is_prefix ? 1 : 0));
  std::vector<double> values;
  for (auto at = (*json)->lower_bound(start); at != (*json)->end() && at->first.starts_with(start);
       ++at) {
    if (!is_prefix && at->first != start) continue;
    if (const auto number = NumberFrom<double>(at->second)) values.push_back(*number);
  }
  if (metric.take == Take::kCount) return static_cast<double>(values.size());
  if (values.empty() && metric.empty) return *metric.empty;
  if (!values.empty() && (metric.take != Take::kValue || values.size() == 1)) {
    return TakeOf(metric.take, values);
  }
  return absl::FailedPreconditionError(fmt::format("{}/{} has {} numbers at \"{}\"",
                                                   tables_.run().string(), metric.file,
                                                   values.size(), metric.column));
}

absl::StatusOr<double> PointReader::ReadTaken(const Metric& metric) {
  if (metric.of != nullptr) return Read(*metric.of);
  if (!metric.model.empty()) return Predict(metric, document_);
  if (metric.file.ends_with(".json")) return ReadJson(metric);
  const auto source = Source::Open(metric, tables_);
  return source.ok() ? source->Taken(source->Select()) : source.status();
}

absl::StatusOr<PointReader::TermValues> PointReader::ReadTerms(const Metric::Terms& terms) {
  TermValues values;
  for (const auto& term : terms) {
    Term& read = values.emplace_back();
    if (IsSeries(*term)) {
      auto series = ReadSeries(*term);
      if (!series.ok()) return series.status();
      read.series = *std::move(series);
    } else {
      const auto value = Read(*term);
      if (!value.ok()) return value.status();
      read.value = *value;
    }
  }
  return values;
}

absl::StatusOr<PointReader::AllTerms> PointReader::ReadAllTerms(const Metric& metric) {
  AllTerms all;
  for (const Metric::Terms* terms :
       {&metric.plus, &metric.minus, &metric.divide_by, &metric.or_less, &metric.or_more}) {
    auto values = ReadTerms(*terms);
    if (!values.ok()) return values.status();
    all.push_back(*std::move(values));
  }
  return all;
}

std::optional<double> PointReader::Term::At(double x) const {
  if (!series) return value;
  const auto found = std::ranges::lower_bound(*series, x, {}, &SeriesPoint::x);
  if (found == series->end() || found->x != x) return std::nullopt;
  return found->value;
}

absl::StatusOr<double> PointReader::Combined(const Metric& metric, SeriesPoint taken,
                                             const AllTerms& terms) {
  for (size_t part = 0; part < terms.size(); ++part) {
    for (const Term& term : terms[part]) {
      const auto value = term.At(taken.x);
      if (!value) {
        return absl::NotFoundError(fmt::format("one of its terms has no value at x = {}", taken.x));
      }
      if (part == 0) taken.value += *value;
      if (part == 1) taken.value -= *value;
      if (part == 2) taken.value /= *value;
      if (part == 3) taken.value = std::min(taken.value, *value);
      if (part == 4) taken.value = std::max(taken.value, *value);
    }
  }
  return taken.value * metric.scale;
}

absl::StatusOr<double> PointReader::Read(const Metric& metric) {
  if (IsSeries(metric)) {
    return absl::InvalidArgumentError("is a series over `x`, where one number is needed");
  }
  const auto taken = ReadTaken(metric);
  if (!taken.ok()) return taken.status();
  const auto terms = ReadAllTerms(metric);
  return terms.ok() ? Combined(metric, {0, *taken}, *terms) : terms.status();
}

absl::StatusOr<std::vector<SeriesPoint>> PointReader::ReadTakenSeries(const Metric& metric) {
  if (metric.of != nullptr && IsSeries(*metric.of)) return ReadSeries(*metric.of);
  if (metric.x.empty()) return absl::InvalidArgumentError("has no `x`, so it is no series");
  const auto source = Source::Open(metric, tables_);
  if (!source.ok()) return source.status();
  const auto by_x = source->SelectByX();
  if (!by_x.ok()) return by_x.status();
  std::vector<SeriesPoint> series;
  for (const auto& [x, rows] : *by_x) {
    const auto taken = source->Taken(rows);
    if (!taken.ok()) return taken.status();
    series.push_back({x, *taken});
  }
  return series;
}

absl::StatusOr<std::vector<SeriesPoint>> PointReader::ReadSeries(const Metric& metric) {
  auto series = ReadTakenSeries(metric);
  if (!series.ok()) return series;
  const auto terms = ReadAllTerms(metric);
  if (!terms.ok()) return terms.status();
  for (SeriesPoint& point : *series) {
    const auto value = Combined(metric, point, *terms);
    if (!value.ok()) return value.status();
    point.value = *value;
  }
  return series;
}

}  // namespace heddle
