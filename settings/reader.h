// SPDX-License-Identifier: Apache-2.0
// Reads settings from a document, and reports everything in it that is wrong.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "settings/value.h"

namespace heddle {

// Reads the map `document` into what `declare` declares. Places are noted in `diagnostics`.
// `elsewhere` are keys of it that somebody else reads, and who misspells one is to be told of.
void ReadSettings(const Value& document, const std::function<void(Fields&)>& declare,
                  Diagnostics& diagnostics, const std::vector<std::string>& elsewhere = {});

}  // namespace heddle
