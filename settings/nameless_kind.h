// SPDX-License-Identifier: Apache-2.0
// A kind with an empty name is chosen by a map without the key `kind`. So `framing: eth` names a
// kind, and `framing: {header: 0B, ...}` gives the settings of the nameless one. The other kinds
// have no settings, so their names alone are written. Reader, writer and schema call these
// functions.

#pragma once

#include <string>
#include <vector>

#include "settings/kinds.h"

namespace heddle {

inline bool HasNamelessKind(const KindNames& kinds) {
  const std::vector<std::string> names = kinds.Names();  // Sorted.
  return !names.empty() && names.front().empty();
}

// The names that may be written.
inline std::vector<std::string> NamesToWrite(const KindNames& kinds) {
  std::vector<std::string> names = kinds.Names();
  if (HasNamelessKind(kinds)) names.erase(names.begin());
  return names;
}

}  // namespace heddle
