// SPDX-License-Identifier: Apache-2.0
// How a command fails: each function prints to stderr why, and returns the exit code with which the
// command ends.

#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "absl/status/status.h"
#include "cli/commands.h"
#include "settings/diagnostics.h"
#include "settings/status.h"

namespace heddle {

inline int Fail(int exit_code, std::string_view message) {
  fmt::print(stderr, "heddle: {}\n", message);
  return exit_code;
}

inline int Fail(int exit_code, const absl::Status& status) {
  return Fail(exit_code, MessageOf(status));
}

inline int BadInput(std::string_view message) { return Fail(kExitBadInput, message); }

inline int BadInput(const absl::Status& status) { return Fail(kExitBadInput, status); }

// Prints that the name may be that of a plug-in.
void HintAtPlugins();

// Returns true if an experiment names a load balancer or congestion control that is not loaded.
bool NamesUnknownPolicy(const Diagnostics& diagnostics);

// Prints every mistake with its place, and a hint if a name may be that of a plug-in.
int BadInput(const Diagnostics& diagnostics);

}  // namespace heddle
