// SPDX-License-Identifier: Apache-2.0
// Reads settings from a document, and reports all mistakes in it at once. Programs call it after a
// YAML file has been read and patched.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "settings/value.h"

namespace heddle {

// Reads the map `document` into what `declare` declares. Notes places and mistakes in
// `diagnostics`. `elsewhere` names keys of the map that other code reads; the reader suggests them,
// too, for a misspelt key.
void ReadSettings(const Value& document, const std::function<void(Fields&)>& declare,
                  Diagnostics& diagnostics, const std::vector<std::string>& elsewhere = {});

}  // namespace heddle
