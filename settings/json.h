// SPDX-License-Identifier: Apache-2.0
// Reads JSON that Heddle has written, and puts JSON together. Users write YAML, which has its own
// reader.

#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

// Maps paths to the scalars of a document, as in "counts.flows_started" or "queries[0].complete":
// strings without quotes, numbers as written, null as "".
using FlatJson = std::map<std::string, std::string, std::less<>>;

// Returns InvalidArgument, with line and column, if `text` is not JSON to its end. Also refuses
// deep nesting and repeated paths, which Heddle never writes.
absl::StatusOr<FlatJson> ParseJson(std::string_view text);

// Quotes a string for JSON and YAML.
std::string QuoteJson(std::string_view text);

// Put together values that are JSON already.
using JsonMembers = std::vector<std::pair<std::string, std::string>>;
std::string JsonObject(const JsonMembers& members);
std::string JsonArray(const std::vector<std::string>& items);

std::string JsonStrings(const std::vector<std::string>& texts);
// The shortest text that reads back as the same number; null if it is not finite.
std::string JsonNumber(double number);

// An object that is put together member by member.
class JsonFields {
 public:
  void Add(std::string_view key, std::string_view json) { members_.emplace_back(key, json); }
  void Text(std::string_view key, std::string_view value) { Add(key, QuoteJson(value)); }
  void Integer(std::string_view key, int64_t value) { Add(key, std::to_string(value)); }
  void Real(std::string_view key, double value) { Add(key, JsonNumber(value)); }
  void Bool(std::string_view key, bool value) { Add(key, value ? "true" : "false"); }
  std::string Done() const { return JsonObject(members_); }

 private:
  JsonMembers members_;
};

// Lays out JSON line by line, for people and for diffs. `arrays` says whether the items of arrays
// also have lines of their own.
enum class JsonArrays { kLineByLine, kInOneLine };
std::string IndentJson(std::string_view json, JsonArrays arrays = JsonArrays::kLineByLine);

}  // namespace heddle
