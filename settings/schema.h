// SPDX-License-Identifier: Apache-2.0
// The JSON Schema (draft-07) of settings, which editors use to complete and check settings as the
// user types. It is made from the same declarations as the reader. The reader refuses everything
// that the schema refuses. The schema does not know rules that concern several settings, bounds of
// quantities with units, and required keys below the top (a sweep may add them).

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/fields.h"

namespace heddle {

// A key of the document that is not declared, with its own schema.
struct ExtraKey {
  std::string name;
  std::string schema;
  std::string brings_any = "";  // A key in it that may bring any required key.
};

// The schema of a document with the settings that `declare` declares and the keys `sweep` and
// `others`. Required keys may come from a sweep.
std::string SchemaOf(std::string_view title, const std::function<void(Fields&)>& declare,
                     const ExtraKey& sweep, const std::vector<ExtraKey>& others = {});

}  // namespace heddle
