// SPDX-License-Identifier: Apache-2.0
// What a point of a sweep contributes to points.csv: a row for each class of flow sizes.

#pragma once

#include <absl/status/statusor.h>

#include <filesystem>
#include <string>
#include <vector>

namespace heddle {

struct PointRows {
  struct Row {
    std::string class_set;
    std::string size_class;
    std::vector<std::string> cells;  // By column, as the run wrote them.
  };

  std::vector<std::string> columns;  // Of numbers; docs/metrics.md explains them.
  std::vector<Row> rows;
  bool complete = false;
};

// From the results in the folder `run`. The codes are those of ReadRunResults(); DataLoss also if
// the tables do not fit together.
absl::StatusOr<PointRows> ReadPointRows(const std::filesystem::path& run);

}  // namespace heddle
