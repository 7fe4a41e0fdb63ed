// SPDX-License-Identifier: Apache-2.0
// Names this build of Heddle, for `heddle --version`, run.yaml and the summary of a run. Sweeps use
// results of other builds only if told to. The build fills in the values; they do not change while
// experiments run.

#pragma once

#include <string>

namespace heddle {

std::string Version();  // "0.2.0"
// The commit, as git describes it. With a digest of the sources if they have changed since, or are
// outside of git, and with that of the program if AddToCommit() was called.
std::string Commit();
// For a program that links load balancers of its own: `program` names it and its contents. Call it
// first.
void AddToCommit(const std::string& program);
std::string BuildType();  // "Release"
std::string Compiler();   // "GNU 12.2.0"
bool IsDebugBuild();

}  // namespace heddle
