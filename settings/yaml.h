// SPDX-License-Identifier: Apache-2.0
// Reads YAML text into a Value. The reader is stricter than YAML: a key may occur once in a map,
// keys are scalars, merge keys and tags are not allowed, and a document that its aliases make too
// large is refused.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "settings/diagnostics.h"
#include "settings/value.h"

namespace heddle {

// `source` names the text in messages. Returns nothing, with an error in `diagnostics`, if the text
// cannot be read. A key that occurs again is left out, with an error.
std::optional<Value> ParseYaml(const std::string& text, const std::string& source,
                               Diagnostics& diagnostics);

// The same for a file.
std::optional<Value> ReadYamlFile(const std::string& path, Diagnostics& diagnostics);

// The place behind the beginning `text` of a source. Columns count characters.
Place PlaceBehind(std::string_view text, const std::string& source);

// Writes a scalar so that YAML reads it back: in quotes unless it is a plain word.
std::string QuoteYaml(std::string_view text);

}  // namespace heddle
