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
  Source(const Metric& metric, RunTables& tables, std::string& error)
      : metric_(metric), run_(tables.run().string()), error_(error) {
    table_ = tables.Table(metric.file, error);
    if (table_ == nullptr) return;
    if (!metric.column.empty()) column_ = ColumnOf(metric.column);
    if (!metric.x.empty()) x_ = ColumnOf(metric.x);
    for (const std::string& name : metric.group) group_.push_back(ColumnOf(name));
    for (const Condition& condition : metric.where) where_.push_back(ColumnOf(condition.column));
  }

  // False, with an error, if there is no such table or column.
  bool ok() const { return error_.empty(); }

  Rows Select() const {
    Rows rows;
    for (size_t row = 0; row < table_->rows(); ++row) {
      if (Holds(row)) rows.push_back(row);
    }
    return rows;
  }

  // By the cells of column x.
  std::optional<std::map<double, Rows>> SelectByX() const {
    std::map<double, Rows> by_x;
    for (const size_t row : Select()) {
      const auto x = Number(row, x_);
      if (!x) return std::nullopt;
      by_x[*x].push_back(row);
    }
    return by_x;
  }

  // What is made of `rows`.
  std::optional<double> Taken(const Rows& rows) const {
    const auto values = Values(rows);
    if (!values) return std::nullopt;
    if (metric_.take == Take::kCount) return static_cast<double>(values->size());
    if (values->empty() && metric_.empty) return *metric_.empty;
    if (values->empty()) return Fail("no row fits `where`");
    if (metric_.take == Take::kValue && values->size() > 1) {
      return Fail(fmt::format("{} rows fit `where`, and nothing says what to take of them",
                              values->size()));
    }
    return TakeOf(metric_.take, *values);
  }

 private:
  size_t ColumnOf(const std::string& name) const {
    const auto found = std::ranges::find(table_->header, name);
    if (found == table_->header.end() && error_.empty()) {
      const std::vector<std::string> known(table_->header.begin(), table_->header.end());
      error_ = fmt::format("{}/{} has no column \"{}\"{}", run_, metric_.file, name,
                           Suggestion(name, known));
    }
    return static_cast<size_t>(found - table_->header.begin());
  }

  bool Holds(size_t row) const {
    for (size_t i = 0; i < where_.size(); ++i) {
      if (!metric_.where[i].Holds(table_->At(row, where_[i]))) return false;
    }
    return true;
  }

  std::nullopt_t Fail(std::string_view what) const {
    error_ = fmt::format("{}/{}: {}", run_, metric_.file, what);
    return std::nullopt;
  }

  std::optional<double> Number(size_t row, size_t column) const {
    const std::string_view cell = table_->At(row, column);
    if (const auto number = NumberFrom<double>(cell)) return number;
    return Fail(fmt::format("row {}: {} is \"{}\", which is no number", row + 1,
                            table_->header[column], cell));
  }

  // Of rows, or of groups of them in the order in which they come.
  std::optional<std::vector<double>> Values(const Rows& rows) const {
    std::vector<double> values;
    std::map<std::vector<std::string_view>, size_t> groups;
    for (const size_t row : rows) {
      const auto value = metric_.column.empty() ? std::optional<double>(1) : Number(row, column_);
      if (!value) return std::nullopt;
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

  const Metric& metric_;
  const std::string run_;
  std::string& error_;
  const RunTable* table_ = nullptr;
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

std::optional<double> PointReader::ReadJson(const Metric& metric, std::string& error) {
  const FlatJson* json = tables_.Json(metric.file, error);
  if (json == nullptr) return std::nullopt;
  const bool is_prefix = metric.column.ends_with('*');
  const std::string start = metric.column.substr(0, metric.column.size() - (is_prefix ? 1 : 0));
  std::vector<double> values;
  for (auto at = json->lower_bound(start); at != json->end() && at->first.starts_with(start);
       ++at) {
    if (!is_prefix && at->first != start) continue;
    if (const auto number = NumberFrom<double>(at->second)) values.push_back(*number);
  }
  if (metric.take == Take::kCount) return static_cast<double>(values.size());
  if (values.empty() && metric.empty) return metric.empty;
  if (!values.empty() && (metric.take != Take::kValue || values.size() == 1)) {
    return TakeOf(metric.take, values);
  }
  error = fmt::format("{}/{} has {} numbers at \"{}\"", tables_.run().string(), metric.file,
                      values.size(), metric.column);
  return std::nullopt;
}

std::optional<double> PointReader::ReadTaken(const Metric& metric, std::string& error) {
  if (metric.of != nullptr) return Read(*metric.of, error);
  if (!metric.model.empty()) return Predict(metric, document_, error);
  if (metric.file.ends_with(".json")) return ReadJson(metric, error);
  const Source source(metric, tables_, error);
  return source.ok() ? source.Taken(source.Select()) : std::nullopt;
}

std::optional<PointReader::TermValues> PointReader::ReadTerms(const Metric::Terms& terms,
                                                              std::string& error) {
  TermValues values;
  for (const auto& term : terms) {
    Term& read = values.emplace_back();
    if (IsSeries(*term)) {
      read.series = ReadSeries(*term, error);
    } else if (const auto value = Read(*term, error)) {
      read.value = *value;
    }
    if (!error.empty()) return std::nullopt;
  }
  return values;
}

std::optional<PointReader::AllTerms> PointReader::ReadAllTerms(const Metric& metric,
                                                               std::string& error) {
  AllTerms all;
  for (const Metric::Terms* terms :
       {&metric.plus, &metric.minus, &metric.divide_by, &metric.or_less, &metric.or_more}) {
    auto values = ReadTerms(*terms, error);
    if (!values) return std::nullopt;
    all.push_back(std::move(*values));
  }
  return all;
}

std::optional<double> PointReader::Term::At(double x) const {
  if (!series) return value;
  const auto found = std::ranges::lower_bound(*series, x, {}, &SeriesPoint::x);
  if (found == series->end() || found->x != x) return std::nullopt;
  return found->value;
}

std::optional<double> PointReader::Combined(const Metric& metric, SeriesPoint taken,
                                            const AllTerms& terms, std::string& error) {
  for (size_t part = 0; part < terms.size(); ++part) {
    for (const Term& term : terms[part]) {
      const auto value = term.At(taken.x);
      if (!value) {
        error = fmt::format("one of its terms has no value at x = {}", taken.x);
        return std::nullopt;
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

std::optional<double> PointReader::Read(const Metric& metric, std::string& error) {
  if (IsSeries(metric)) {
    error = "is a series over `x`, where one number is needed";
    return std::nullopt;
  }
  const auto taken = ReadTaken(metric, error);
  const auto terms = taken ? ReadAllTerms(metric, error) : std::nullopt;
  return terms ? Combined(metric, {0, *taken}, *terms, error) : std::nullopt;
}

std::optional<std::vector<SeriesPoint>> PointReader::ReadTakenSeries(const Metric& metric,
                                                                     std::string& error) {
  if (metric.of != nullptr && IsSeries(*metric.of)) return ReadSeries(*metric.of, error);
  if (metric.x.empty()) {
    error = "has no `x`, so it is no series";
    return std::nullopt;
  }
  const Source source(metric, tables_, error);
  const auto by_x = source.ok() ? source.SelectByX() : std::nullopt;
  if (!by_x) return std::nullopt;
  std::vector<SeriesPoint> series;
  for (const auto& [x, rows] : *by_x) {
    const auto taken = source.Taken(rows);
    if (!taken) return std::nullopt;
    series.push_back({x, *taken});
  }
  return series;
}

std::optional<std::vector<SeriesPoint>> PointReader::ReadSeries(const Metric& metric,
                                                                std::string& error) {
  auto series = ReadTakenSeries(metric, error);
  const auto terms = series ? ReadAllTerms(metric, error) : std::nullopt;
  if (!terms) return std::nullopt;
  for (SeriesPoint& point : *series) {
    const auto value = Combined(metric, point, *terms, error);
    if (!value) return std::nullopt;
    point.value = *value;
  }
  return series;
}

}  // namespace heddle
