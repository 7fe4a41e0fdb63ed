// SPDX-License-Identifier: Apache-2.0
// Reads a map of a document key by key. Settings have declarations (settings/fields.h); this is for
// documents whose maps have keys of the user's choosing, or refer to each other.

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
  // What is no map is an error, and is then read as an empty one.
  MapReader(const Value& value, std::string path, Diagnostics& diagnostics);

  const std::string& path() const { return path_; }
  std::string PathOf(std::string_view key) const;
  bool Has(std::string_view key) const { return map_->Find(key) != nullptr; }

  // Nothing if the key is not there; a value of another type is an error, and nothing.
  const Value* Find(std::string_view key);
  std::optional<std::string> Text(std::string_view key);
  std::optional<double> Number(std::string_view key);
  std::optional<int64_t> Whole(std::string_view key, int64_t least);
  std::optional<bool> Flag(std::string_view key);
  std::optional<std::string> Word(std::string_view key, const std::vector<std::string>& words);
  // One text is short for a list of one.
  std::vector<std::string> Texts(std::string_view key);

  // The same, but what is not there is an error; then empty.
  const Value* Require(std::string_view key, std::string_view expected);
  std::string RequireText(std::string_view key, std::string_view expected);

  // The entries of the map at `key`; none if it is not there.
  const std::vector<Value::Entry>& Entries(std::string_view key);

  void Error(std::string_view key, std::string_view message);

  // When all has been asked for that may be there.
  void RefuseOthers();

 private:
  const Value map_of_nothing_;
  const Value* map_;
  const std::string path_;
  Diagnostics& diagnostics_;
  std::vector<std::string> known_;
};

// The text of a scalar; otherwise an error, and nothing.
std::optional<std::string> TextOf(const Value& value, const std::string& path,
                                  Diagnostics& diagnostics);
std::optional<double> NumberOf(const Value& value, const std::string& path,
                               Diagnostics& diagnostics);
// A list's items, or the one value itself.
std::vector<Value> ItemsOf(const Value& value);

// Which of `words` it is, for an enumeration in their order.
template <class Enum>
Enum EnumOf(const std::vector<std::string>& words, const std::string& word) {
  return static_cast<Enum>(std::ranges::find(words, word) - words.begin());
}

}  // namespace heddle
