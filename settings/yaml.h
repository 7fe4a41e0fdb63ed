// SPDX-License-Identifier: Apache-2.0
// YAML text to a Value. Stricter than YAML: a key may occur once in a map, keys are scalars, there
// are no merge keys and no tags, and a document that grows beyond bounds through its aliases is
// refused.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "settings/diagnostics.h"
#include "settings/value.h"

namespace heddle {

// `source` names the text in messages. Nothing, and an error in `diagnostics`, if it cannot be
// read. A key that occurs again is left out, with an error.
std::optional<Value> ParseYaml(const std::string& text, const std::string& source,
                               Diagnostics& diagnostics);

// The same for a file.
std::optional<Value> ReadYamlFile(const std::string& path, Diagnostics& diagnostics);

// A scalar as YAML reads it back: in quotes unless it is a plain word.
std::string QuoteYaml(std::string_view text);

}  // namespace heddle
