// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

namespace heddle {

std::string Version();    // "0.1.0"
std::string Commit();     // As git describes it, "-dirty" if changed; empty outside of git.
std::string BuildType();  // "Release"
std::string Compiler();   // "GNU 12.2.0"
bool IsDebugBuild();

}  // namespace heddle
