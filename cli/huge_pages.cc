// SPDX-License-Identifier: Apache-2.0

#include "cli/huge_pages.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/program_path.h"

namespace heddle {

void AskForHugePages(char** argv) {
  constexpr const char* kSettings = "GLIBC_TUNABLES";
  // Blocks below mmap_threshold come from malloc's heap, where they share huge pages. By default,
  // larger blocks than 128 KB, such as the tables of a policy, are mapped apart, in small pages.
  // trim_threshold is the free memory at the end of the heap that malloc keeps; by default, it
  // grows with what is mapped apart. With arena_max=1, all threads share that heap; by default,
  // each thread has one of its own, but only the first thread's has huge pages.
  constexpr const char* kHugePages =
      "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=2097152:"
      "glibc.malloc.trim_threshold=67108864:glibc.malloc.arena_max=1";
  // A preloaded library may bring another malloc. Tools such as valgrind are preloaded too, and do
  // not follow the program when it starts itself anew.
  if (std::getenv(kSettings) != nullptr || std::getenv("LD_PRELOAD") != nullptr) return;
  // execv() gets the program's own path, because process lists would show /proc/self/exe as "exe".
  const std::filesystem::path program = ProgramPath();
  if (program.empty() || setenv(kSettings, kHugePages, /*overwrite=*/0) != 0) return;
  execv(program.c_str(), argv);
  unsetenv(kSettings);
}

}  // namespace heddle
