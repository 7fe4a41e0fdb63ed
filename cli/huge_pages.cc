// SPDX-License-Identifier: Apache-2.0

#include "cli/huge_pages.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace heddle {

void AskForHugePages(char** argv) {
  constexpr const char* kSettings = "GLIBC_TUNABLES";
  // What is preloaded may be another malloc, or a tool that does not follow a program into a new
  // start.
  if (std::getenv(kSettings) != nullptr || std::getenv("LD_PRELOAD") != nullptr) return;
  // Not /proc/self/exe itself, or the program would be listed as "exe".
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || setenv(kSettings, "glibc.malloc.hugetlb=1", /*overwrite=*/0) != 0) return;
  execv(program.c_str(), argv);
  unsetenv(kSettings);
}

}  // namespace heddle
