// SPDX-License-Identifier: Apache-2.0

#include "cli/failures.h"

#include <algorithm>

namespace heddle {
namespace {

bool IsUnknownPolicy(const Diagnostics::Problem& error) {
  const bool is_choice = error.path == "lb.kind" || error.path == "transport.cc.kind";
  return is_choice && error.line.find(" is called \"") != std::string::npos;
}

// A name that resembles a known one is probably misspelt.
bool MayBeInPlugin(const Diagnostics::Problem& error) {
  return IsUnknownPolicy(error) && error.line.find("did you mean") == std::string::npos;
}

}  // namespace

void HintAtPlugins() {
  fmt::print(stderr, "heddle: if the name is that of a plug-in, load it with --plugin FILE.so\n");
}

bool NamesUnknownPolicy(const Diagnostics& diagnostics) {
  return std::ranges::any_of(diagnostics.problems(), IsUnknownPolicy);
}

int BadInput(const Diagnostics& diagnostics) {
  fmt::print(stderr, "{}", diagnostics.Report());
  if (std::ranges::any_of(diagnostics.problems(), MayBeInPlugin)) HintAtPlugins();
  return kExitBadInput;
}

}  // namespace heddle
