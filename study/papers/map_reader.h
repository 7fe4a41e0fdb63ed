// SPDX-License-Identifier: Apache-2.0
// Reads a map of a document key by key and reports mistakes. It is for claims.yaml, whose maps have
// keys of the user's choosing or refer to each other; settings have declarations
// (settings/fields.h).

#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "settings/value.h"

namespace heddle {

class MapReader {
 public:
  // If `value` is no map, reports an error and reads it as an empty map.
  MapReader(const Value& value, std::string path, Diagnostics& diagnostics);

  const std::string& path() const { return path_; }
  std::string PathOf(std::string_view key) const;
  bool Has(std::string_view key) const { return map_->Find(key) != nullptr; }

  // Return nothing if the key is missing. A value of another type is an error and also returns
  // nothing.
  const Value* Find(std::string_view key);
  std::optional<std::string> Text(std::string_view key);
  std::optional<double> Number(std::string_view key);
  std::optional<int64_t> Whole(std::string_view key, int64_t least);
  std::optional<bool> Flag(std::string_view key);
  std::optional<std::string> Word(std::string_view key, const std::vector<std::string>& words);
  // Returns a list of texts. One text is short for a list of one.
  std::vector<std::string> Texts(std::string_view key);

  // Do the same, but a missing key is an error; then the result is empty.
  const Value* Require(std::string_view key, std::string_view expected);
  std::string RequireText(std::string_view key, std::string_view expected);

  // Returns the entries of the map at `key`; none if the key is missing.
  const std::vector<Value::Entry>& Entries(std::string_view key);

  void Error(std::string_view key, std::string_view message);

  // Reports all keys that have not been asked for. Call it last.
  void RefuseOthers();

 private:
  const Value map_of_nothing_;
  const Value* map_;
  const std::string path_;
  Diagnostics& diagnostics_;
  std::vector<std::string> known_;
};

// Returns the text of a scalar. Any other value is an error and returns nothing.
std::optional<std::string> TextOf(const Value& value, const std::string& path,
                                  Diagnostics& diagnostics);
std::optional<double> NumberOf(const Value& value, const std::string& path,
                               Diagnostics& diagnostics);
// Returns the items of a list, or the value itself if it is no list.
std::vector<Value> ItemsOf(const Value& value);

// Returns the enumerator at the position of `word` in `words`.
template <class Enum>
Enum EnumOf(const std::vector<std::string>& words, const std::string& word) {
  return static_cast<Enum>(std::ranges::find(words, word) - words.begin());
}

}  // namespace heddle
