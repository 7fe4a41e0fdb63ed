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

// A whole file; nothing, and an error in `message`, if it cannot be read or is larger than `limit`.
std::optional<std::string> ReadTextFile(const std::string& path, size_t limit,
                                        std::string& message);

// Where `file` is if relative paths start at `folder`; experiments say so to work from anywhere.
std::string AbsolutePath(const std::string& folder, const std::string& file);

// A string as JSON, and YAML, write it.
std::string QuoteJson(std::string_view text);

// A scalar as YAML reads it back: in quotes unless it is a plain word.
std::string QuoteYaml(std::string_view text);

}  // namespace heddle
