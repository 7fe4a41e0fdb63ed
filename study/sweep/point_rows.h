// SPDX-License-Identifier: Apache-2.0
// Makes the rows of points.csv for one point of a sweep: a row for each size class. Collect() and
// Compare() read points through it.

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
    std::vector<std::string> cells;  // By column, with the text that the run wrote.
  };

  std::vector<std::string>
      columns;  // The names of the columns of numbers; docs/metrics.md explains them.
  std::vector<Row> rows;
  bool complete = false;
};

// Reads the results in the folder `run`. The codes are those of ReadRunResults(); DataLoss also
// means that the tables do not fit together.
absl::StatusOr<PointRows> ReadPointRows(const std::filesystem::path& run);

}  // namespace heddle
