// SPDX-License-Identifier: Apache-2.0
// Reads JSON that Heddle has written, and puts JSON together. Users write YAML, which has its own
// reader.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

// The scalars of a document by their paths, "counts.flows_started" or "queries[0].complete":
// strings without quotes, numbers as written, null as "".
using FlatJson = std::map<std::string, std::string, std::less<>>;

// Nothing if `text` is not JSON to its end.
std::optional<FlatJson> ParseJson(std::string_view text);

// From text that is JSON already.
using JsonMembers = std::vector<std::pair<std::string, std::string>>;
std::string JsonObject(const JsonMembers& members);
std::string JsonArray(const std::vector<std::string>& items);

std::string JsonStrings(const std::vector<std::string>& texts);
// The shortest text that reads back the same; null if it is not finite.
std::string JsonNumber(double number);

// Line by line, for people and for diffs.
std::string IndentJson(std::string_view json);

}  // namespace heddle
