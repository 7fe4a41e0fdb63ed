// SPDX-License-Identifier: Apache-2.0

#include "cli/program_path.h"

#include <system_error>

namespace heddle {

std::filesystem::path ProgramPath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

}  // namespace heddle
