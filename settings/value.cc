// SPDX-License-Identifier: Apache-2.0

#include "settings/value.h"

#include <fmt/format.h>

#include <utility>

namespace heddle {

Value Value::Scalar(std::string text, Place place) {
  Value value;
  value.kind = Kind::kScalar;
  value.text = std::move(text);
  value.place = std::move(place);
  return value;
}

const Value* Value::Find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Value* Value::Find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).Find(key));
}

std::string Describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "nothing";
    case Value::Kind::kList:
      return "a list";
    case Value::Kind::kMap:
      return "a map";
    case Value::Kind::kScalar:
      break;
  }
  constexpr size_t kLongest = 60;
  if (value.text.size() <= kLongest) return fmt::format("\"{}\"", value.text);
  return fmt::format("\"{}...\"", value.text.substr(0, kLongest));
}

}  // namespace heddle
