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
    : windows_("congestion control of tcp"),
      rates_("congestion control"),
      subflows_("congestion control of mptcp") {
  constexpr const char* kOfRoce = "a congestion control of kind: rocev2";
  windows_.SetReason([this](const std::string& name) {
    const std::string why = Misplaced(name, rates_, kOfRoce, windows_, "kind: tcp");
    if (!why.empty()) return why;
    return Misplaced(name, subflows_, "a congestion control of kind: mptcp", windows_, "kind: tcp");
  });
  subflows_.SetReason([this](const std::string& name) {
    return Misplaced(name, rates_, kOfRoce, subflows_, "kind: mptcp");
  });
  rates_.SetReason([this](const std::string& name) {
    const std::string why =
        Misplaced(name, windows_, "a congestion control of kind: tcp", rates_, "kind: rocev2");
    if (!why.empty()) return why;
    return Misplaced(name, subflows_, "a congestion control of kind: mptcp", rates_,
                     "kind: rocev2");
  });
}

// Made on first use: the files that register run their initialisers in no particular order.
CongestionControlRegistry& CongestionControls() {
  static CongestionControlRegistry registry;
  return registry;
}

}  // namespace heddle
