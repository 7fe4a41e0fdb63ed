// SPDX-License-Identifier: Apache-2.0

#include "transport/congestion_controls.h"

#include <fmt/format.h>

namespace heddle {
namespace {

// Returns why a name of the `other` registry cannot be chosen where `here` can. Empty if it is in
// neither.
std::string Misplaced(const std::string& name, const KindNames& other, const char* serves,
                      const KindNames& here, const char* transport) {
  for (const std::string& known : other.Names()) {
    if (known != name) continue;
    return fmt::format("is {}; {} takes one of: {}", serves, transport,
                       fmt::join(here.Names(), ", "));
  }
  return "";
}

}  // namespace

CongestionControlRegistry::CongestionControlRegistry()
    : windows_("congestion control of tcp"), rates_("congestion control") {
  windows_.SetReason([this](const std::string& name) {
    return Misplaced(name, rates_, "a congestion control of kind: rocev2", windows_, "kind: tcp");
  });
  rates_.SetReason([this](const std::string& name) {
    return Misplaced(name, windows_, "a congestion control of kind: tcp", rates_, "kind: rocev2");
  });
}

// Made on first use: the files that register run their initialisers in no particular order.
CongestionControlRegistry& CongestionControls() {
  static CongestionControlRegistry registry;
  return registry;
}

}  // namespace heddle
