// SPDX-License-Identifier: Apache-2.0
// A document as the user wrote it: maps, lists and scalars, each with its place. Scalars stay text;
// the setting that reads a scalar gives it a meaning.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "settings/diagnostics.h"

namespace heddle {

struct Value {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  Place place;
  std::string text;            // The text of a scalar.
  std::vector<Value> items;    // The items of a list.
  std::vector<Entry> entries;  // The entries of a map, in the order written; keys are unique.

  static Value Scalar(std::string text, Place place);

  // The value of `key`, nullptr if there is none.
  const Value* Find(std::string_view key) const;
  Value* Find(std::string_view key);
};

struct Value::Entry {
  std::string key;
  Place key_place;
  Value value;
};

// "a map", "a list", "nothing" or the scalar in quotes: for messages.
std::string Describe(const Value& value);

}  // namespace heddle
