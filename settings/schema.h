// SPDX-License-Identifier: Apache-2.0
// The JSON Schema (draft-07) of settings, which editors use to complete and check what is typed. It
// is made from the same declarations as the reader. What it refuses the reader refuses; it does not
// know what concerns several settings, the bounds of quantities with units, and what is missing
// below the top (a sweep may add it).

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/fields.h"

namespace heddle {

// A key of the document that no declaration has, with a schema of its own.
struct ExtraKey {
  std::string name;
  std::string schema;
  std::string brings_any = "";  // With this key in it, it may bring whatever is required.
};

// Of a document with what `declare` declares, and `sweep` and `others` besides. What is required
// may come from a sweep.
std::string SchemaOf(std::string_view title, const std::function<void(Fields&)>& declare,
                     const ExtraKey& sweep, const std::vector<ExtraKey>& others = {});

}  // namespace heddle
