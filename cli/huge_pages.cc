// SPDX-License-Identifier: Apache-2.0

#include "cli/huge_pages.h"

#include <unistd.h>

#include <cstdlib>

namespace heddle {

void AskForHugePages(char** argv) {
  constexpr const char* kSettings = "GLIBC_TUNABLES";
  // What is preloaded may be another malloc, or a tool that does not follow a program into a new
  // start.
  if (std::getenv(kSettings) != nullptr || std::getenv("LD_PRELOAD") != nullptr) return;
  if (setenv(kSettings, "glibc.malloc.hugetlb=1", /*overwrite=*/0) != 0) return;
  execv("/proc/self/exe", argv);
}

}  // namespace heddle
