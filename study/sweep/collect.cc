// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/collect.h"

#include <fmt/format.h>

#include <algorithm>

#include "settings/csv.h"
#include "settings/files.h"
#include "study/sweep/left_overs.h"
#include "study/sweep/means.h"
#include "study/sweep/point_rows.h"

namespace heddle {
namespace {

std::string Header(const Plan& plan, const std::vector<std::string>& columns) {
  std::string line;
  for (const std::string& axis : plan.axes) line += CsvCell(axis) + ",";
  line += "seed,point,complete,class_set,class";
  for (const std::string& column : columns) line += "," + column;
  return line + "\n";
}

std::string Lines(const PlannedPoint& point, const PointRows& rows) {
  std::string start;
  for (const std::string& choice : point.choices) start += CsvCell(choice) + ",";
  start += fmt::format("{},{},{}", point.seed, point.id, rows.complete ? 1 : 0);
  std::string lines;
  for (const PointRows::Row& row : rows.rows) {
    lines += fmt::format("{},{},{}", start, row.class_set, row.size_class);
    for (const std::string& cell : row.cells) lines += "," + cell;
    lines += '\n';
  }
  return lines;
}

}  // namespace

// Reads one point at a time, so that memory holds only the means.
Collected Collect(const SweepFolder& folder, const Plan& plan, bool with_stale,
                  const std::filesystem::path& into) {
  Collected collected;
  std::vector<std::string> columns;
  RemoveLeftOvers(into);
  if (into == folder.path()) RemoveLeftOvers(into / "points");
  WholeFile points(into / "points.csv");
  Means means;
  for (const PlannedPoint& point : plan.points) {
    PointState& state = collected.states.emplace_back(folder.Inspect(point.id).state);
    if (!HasResult(state, with_stale)) continue;
    const auto rows = ReadPointRows(folder.PointPath(point.id));
    if (!rows.ok()) {
      state = PointState::kDamaged;
      continue;
    }
    if (collected.taken > 0 && rows->columns != columns) {
      collected.status = absl::FailedPreconditionError(fmt::format(
          "{}: has other columns than the points before it", folder.PointPath(point.id).string()));
      return collected;
    }
    columns = rows->columns;
    // Commit() returns the first failure; the loop goes on to find the states of all points.
    if (collected.taken++ == 0) points.Append(Header(plan, columns)).IgnoreError();
    points.Append(Lines(point, *rows)).IgnoreError();
    means.Add(point, *rows);
  }
  if (collected.taken == 0) {
    collected.status = absl::NotFoundError(
        fmt::format("{}: no point has usable results yet", folder.path().string()));
    return collected;
  }
  collected.status = points.Commit();
  if (collected.status.ok()) {
    collected.status = WriteWholeFile(into / "means.csv", means.Csv(plan));
  }
  return collected;
}

}  // namespace heddle
