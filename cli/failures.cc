// SPDX-License-Identifier: Apache-2.0

#include "cli/failures.h"

#include <algorithm>

namespace heddle {
namespace {

// Returns true if the error is a name of a load balancer or congestion control that resembles none
// of the known ones. A name that does is probably misspelt.
bool MayBeInPlugin(const Diagnostics::Problem& error) {
  const bool is_choice = error.path == "lb.kind" || error.path == "transport.cc.kind";
  return is_choice && error.line.find(" is called \"") != std::string::npos &&
         error.line.find("did you mean") == std::string::npos;
}

}  // namespace

int BadInput(const Diagnostics& diagnostics) {
  fmt::print(stderr, "{}", diagnostics.Report());
  if (std::ranges::any_of(diagnostics.problems(), MayBeInPlugin)) {
    fmt::print(stderr, "heddle: if the name is that of a plug-in, load it with --plugin FILE.so\n");
  }
  return kExitBadInput;
}

}  // namespace heddle
