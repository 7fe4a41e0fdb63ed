// SPDX-License-Identifier: Apache-2.0
// Reads settings from YAML, as an experiment does. Test helpers call it; errors in the YAML fail
// the test.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "settings/kinds.h"

namespace heddle {

void ReadTestSettings(std::string_view yaml, const std::function<void(Fields&)>& declare);

// Returns what reading reports, and its errors as one text, which is empty if there is none.
Diagnostics DiagnosticsOf(std::string_view yaml, const std::function<void(Fields&)>& declare);
std::string MistakesIn(std::string_view yaml, const std::function<void(Fields&)>& declare);

// "ecmp" or "{kind: letflow, gap: 100us}".
template <class T>
Chosen<T> KindFrom(std::string_view yaml, const Kinds<T>& kinds) {
  Chosen<T> chosen;
  ReadTestSettings("chosen: " + std::string(yaml), [&](Fields& fields) {
    fields.Kind("chosen", chosen, kinds, "", Fields::kRequired);
  });
  return chosen;
}
template <class T>
Diagnostics KindDiagnostics(std::string_view yaml, const Kinds<T>& kinds) {
  Chosen<T> chosen;
  return DiagnosticsOf("chosen: " + std::string(yaml), [&](Fields& fields) {
    fields.Kind("chosen", chosen, kinds, "", Fields::kRequired);
  });
}

}  // namespace heddle
