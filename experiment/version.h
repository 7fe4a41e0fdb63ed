// SPDX-License-Identifier: Apache-2.0
// Names this build of Heddle, for `heddle --version`, run.yaml and the summary of a run. The build
// fills in the values; they never change while the program runs.

#pragma once

#include <string>

namespace heddle {

std::string Version();  // "0.2.0"
std::string Commit();  // The commit as git describes it, "-dirty" if changed; empty outside of git.
std::string BuildType();  // "Release"
std::string Compiler();   // "GNU 12.2.0"
bool IsDebugBuild();

}  // namespace heddle
