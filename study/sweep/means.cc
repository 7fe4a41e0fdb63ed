// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/means.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "settings/csv.h"
#include "settings/number_text.h"

namespace heddle {
namespace {

// A mean of flags has no meaning.
bool IsLeftOut(const std::string& column) { return column == "low_n"; }

void AppendNumbers(std::string& csv, const Replications& values) {
  if (values.count() == 0) {
    csv += ",,,0";
    return;
  }
  fmt::format_to(std::back_inserter(csv), ",{},", values.mean());
  const double half_width = values.half_width();
  // Rounded, since the last digits of t depend on the machine's mathematical library.
  if (!std::isnan(half_width)) fmt::format_to(std::back_inserter(csv), "{:.6g}", half_width);
  fmt::format_to(std::back_inserter(csv), ",{}", values.count());
}

}  // namespace

Means::ClassMeans& Means::ClassOf(Group& group, const PointRows::Row& row) {
  const auto found = std::ranges::find_if(group.classes, [&](const ClassMeans& means) {
    return means.class_set == row.class_set && means.size_class == row.size_class;
  });
  if (found != group.classes.end()) return *found;
  group.classes.push_back({row.class_set, row.size_class, {}});
  group.classes.back().columns.resize(columns_.size());
  return group.classes.back();
}

void Means::Add(const PlannedPoint& point, const PointRows& rows) {
  columns_ = rows.columns;
  const auto [at, is_new] = index_.emplace(point.choices, groups_.size());
  if (is_new) groups_.push_back({point.choices, 0, {}});
  Group& group = groups_[at->second];
  ++group.seeds;
  for (const PointRows::Row& row : rows.rows) {
    ClassMeans& means = ClassOf(group, row);
    for (size_t i = 0; i < row.cells.size(); ++i) {
      if (const auto value = NumberFrom<double>(row.cells[i])) means.columns[i].Add(*value);
    }
  }
}

std::string Means::Csv(const Plan& plan) const {
  std::string csv;
  for (const std::string& axis : plan.axes) csv += CsvCell(axis) + ",";
  csv += "class_set,class,seeds";
  for (const std::string& column : columns_) {
    if (!IsLeftOut(column)) csv += fmt::format(",{0},{0}_ci95,{0}_n", column);
  }
  csv += '\n';
  for (const Group& group : groups_) {
    std::string start;
    for (const std::string& choice : group.choices) start += CsvCell(choice) + ",";
    for (const ClassMeans& means : group.classes) {
      csv += fmt::format("{}{},{},{}", start, means.class_set, means.size_class, group.seeds);
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (!IsLeftOut(columns_[i])) AppendNumbers(csv, means.columns[i]);
      }
      csv += '\n';
    }
  }
  return csv;
}

}  // namespace heddle
