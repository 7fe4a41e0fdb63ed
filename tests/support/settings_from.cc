// SPDX-License-Identifier: Apache-2.0

#include "tests/support/settings_from.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "settings/diagnostics.h"
#include "settings/reader.h"
#include "settings/yaml.h"

namespace heddle {

void ReadTestSettings(std::string_view yaml, const std::function<void(Fields&)>& declare) {
  EXPECT_EQ(MistakesIn(yaml, declare), "");
}

Diagnostics DiagnosticsOf(std::string_view yaml, const std::function<void(Fields&)>& declare) {
  Diagnostics diagnostics;
  const std::optional<Value> document = ParseYaml(std::string(yaml), "test", diagnostics);
  if (document) ReadSettings(*document, declare, diagnostics);
  return diagnostics;
}

std::string MistakesIn(std::string_view yaml, const std::function<void(Fields&)>& declare) {
  const Diagnostics diagnostics = DiagnosticsOf(yaml, declare);
  return diagnostics.ok() ? "" : diagnostics.Report();
}

}  // namespace heddle
