// SPDX-License-Identifier: Apache-2.0

#include "cli/huge_pages.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/program_path.h"

namespace heddle {

void AskForHugePages(char** argv) {
  constexpr const char* kSettings = "GLIBC_TUNABLES";
  // A preloaded library may bring another malloc. Tools such as valgrind are preloaded too, and do
  // not follow the program when it starts itself anew.
  if (std::getenv(kSettings) != nullptr || std::getenv("LD_PRELOAD") != nullptr) return;
  // execv() gets the program's own path, because process lists would show /proc/self/exe as "exe".
  const std::filesystem::path program = ProgramPath();
  if (program.empty() || setenv(kSettings, "glibc.malloc.hugetlb=1", /*overwrite=*/0) != 0) return;
  execv(program.c_str(), argv);
  unsetenv(kSettings);
}

}  // namespace heddle
