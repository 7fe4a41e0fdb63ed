// SPDX-License-Identifier: Apache-2.0

#include "cli/shared_files.h"

#include <system_error>

#include "cli/program_path.h"

namespace heddle {

namespace fs = std::filesystem;

std::optional<fs::path> FindShared(const std::string& name) {
  std::error_code error;
  const fs::path program = ProgramPath();
  if (program.empty()) return std::nullopt;
  const fs::path installed =
      (program.parent_path() / HEDDLE_SHARED_FROM_BIN / name).lexically_normal();
  if (fs::exists(installed, error)) return installed;
  // The program is build/PRESET/heddle, or elsewhere below the sources.
  for (fs::path folder = program.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (fs::exists(folder / "CMakeLists.txt", error) && fs::exists(folder / name, error)) {
      return folder / name;
    }
  }
  return std::nullopt;
}

}  // namespace heddle
