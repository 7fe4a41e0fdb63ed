// SPDX-License-Identifier: Apache-2.0

#include "core/mutant.h"

#include <cstdio>
#include <cstdlib>

namespace mutant {

int active = -1;
unsigned char reached[kMost];

namespace {

// Before the constructors of all other static objects, which may be mutants too.
__attribute__((constructor(101))) void Choose() {
  if (const char* id = std::getenv("HEDDLE_MUTANT")) active = std::atoi(id);
}

__attribute__((destructor)) void Report() {
  const char* path = std::getenv("HEDDLE_MUTANTS_REACHED");
  // Appends: a test may start further programs, which report too.
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return;
  for (int id = 0; id < kMost; ++id) {
    if (reached[id] != 0) std::fprintf(file, "%d\n", id);
  }
  std::fclose(file);
}

}  // namespace
}  // namespace mutant
