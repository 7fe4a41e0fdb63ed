// SPDX-License-Identifier: Apache-2.0
// Reads JSON that Heddle has written. Users write YAML, which has its own reader.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace heddle {

// The scalars of a document by their paths, "counts.flows_started" or "queries[0].complete":
// strings without quotes, numbers as written, null as "".
using FlatJson = std::map<std::string, std::string, std::less<>>;

// Nothing if `text` is not JSON to its end.
std::optional<FlatJson> ParseJson(std::string_view text);

}  // namespace heddle
