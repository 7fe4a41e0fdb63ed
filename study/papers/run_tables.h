// SPDX-License-Identifier: Apache-2.0
// The files of a finished run. Each is read when it is first asked for, and kept.

#pragma once

#include <absl/status/statusor.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "experiment/checked_folder.h"
#include "settings/csv.h"
#include "settings/json.h"

namespace heddle {

class RunTables {
 public:
  explicit RunTables(std::filesystem::path run) : folder_(std::move(run)) {}
  RunTables(const RunTables&) = delete;
  RunTables& operator=(const RunTables&) = delete;

  // The codes are those of ReadRunTable() and ReadRunJson() (study/sweep/run_results.h).
  absl::StatusOr<const ParsedCsv*> Table(const std::string& file);
  absl::StatusOr<const FlatJson*> Json(const std::string& file);

  const std::filesystem::path& run() const { return folder_.path(); }
  // True if a file could not be read because it is damaged.
  bool found_damage() const { return folder_.found_damage(); }

 private:
  const CheckedFolder folder_;
  std::map<std::string, ParsedCsv> tables_;
  std::map<std::string, FlatJson> documents_;
};

}  // namespace heddle
