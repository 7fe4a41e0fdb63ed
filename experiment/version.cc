// SPDX-License-Identifier: Apache-2.0

#include "experiment/version.h"

#include "commit.h"  // Written by the build.

namespace heddle {
namespace {

std::string& Program() {
  static std::string program;
  return program;
}

}  // namespace

std::string Version() { return HEDDLE_VERSION; }
std::string Commit() { return HEDDLE_COMMIT + Program(); }
void AddToCommit(const std::string& program) { Program() = "+" + program; }
std::string BuildType() { return HEDDLE_BUILD_TYPE; }
std::string Compiler() { return HEDDLE_COMPILER; }

bool IsDebugBuild() {
#ifdef NDEBUG
  return false;
#else
  return true;
#endif
}

}  // namespace heddle
