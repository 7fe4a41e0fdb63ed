// SPDX-License-Identifier: Apache-2.0
// Reads JSON that users bring along (RFC 8259), such as traces and groups of ranks, into a Value.
// Settings are YAML, which has its own reader (settings/yaml.h).

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "settings/diagnostics.h"
#include "settings/value.h"

namespace heddle {

// `source` names the text in messages. Returns nothing, with an error in `diagnostics`, if `text`
// is not JSON to its end, nests deeply, or has a key twice in one object. Numbers stay as they are
// written. A value's place is its line alone; it names no source, which would take more memory than
// the value in large files.
std::optional<Value> ParseJsonValue(std::string_view text, const std::string& source,
                                    Diagnostics& diagnostics);

}  // namespace heddle
