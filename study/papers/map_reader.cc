// SPDX-License-Identifier: Apache-2.0

#include "study/papers/map_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle {

std::optional<std::string> TextOf(const Value& value, const std::string& path,
                                  Diagnostics& diagnostics) {
  if (value.kind == Value::Kind::kScalar) return value.text;
  diagnostics.Error(value.place, path, fmt::format("{} where text is expected", Describe(value)));
  return std::nullopt;
}

std::optional<double> NumberOf(const Value& value, const std::string& path,
                               Diagnostics& diagnostics) {
  const auto text = TextOf(value, path, diagnostics);
  if (!text) return std::nullopt;
  double number = 0;
  const ParseError error = ParseQuantity(*text, number);
  if (!error) return number;
  diagnostics.Error(value.place, path, *error);
  return std::nullopt;
}

std::vector<Value> ItemsOf(const Value& value) {
  if (value.kind == Value::Kind::kList) return value.items;
  return {value};
}

MapReader::MapReader(const Value& value, std::string path, Diagnostics& diagnostics)
    : map_(value.kind == Value::Kind::kMap ? &value : &map_of_nothing_),
      path_(std::move(path)),
      diagnostics_(diagnostics) {
  diagnostics_.Note(path_, value.place);
  if (value.kind == Value::Kind::kMap) return;
  diagnostics_.Error(value.place, path_,
                     fmt::format("{} where a map is expected", Describe(value)));
}

std::string MapReader::PathOf(std::string_view key) const {
  if (path_.empty() || key.empty()) return path_ + std::string(key);
  return fmt::format("{}.{}", path_, key);
}

const Value* MapReader::Find(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  const Value* value = map_->Find(key);
  if (value != nullptr) diagnostics_.Note(PathOf(key), value->place);
  return value;
}

std::optional<std::string> MapReader::Text(std::string_view key) {
  const Value* value = Find(key);
  return value == nullptr ? std::nullopt : TextOf(*value, PathOf(key), diagnostics_);
}

std::optional<double> MapReader::Number(std::string_view key) {
  const Value* value = Find(key);
  return value == nullptr ? std::nullopt : NumberOf(*value, PathOf(key), diagnostics_);
}

std::optional<int64_t> MapReader::Whole(std::string_view key, int64_t least) {
  const auto text = Text(key);
  if (!text) return std::nullopt;
  int64_t number = 0;
  if (const ParseError error = ParseInRange(*text, number, AtLeast(least))) {
    Error(key, *error);
    return std::nullopt;
  }
  return number;
}

std::optional<bool> MapReader::Flag(std::string_view key) {
  const auto text = Text(key);
  bool flag = false;
  if (!text) return std::nullopt;
  if (const ParseError error = ParseQuantity(*text, flag)) {
    Error(key, *error);
    return std::nullopt;
  }
  return flag;
}

std::optional<std::string> MapReader::Word(std::string_view key,
                                           const std::vector<std::string>& words) {
  const auto text = Text(key);
  if (!text || std::ranges::find(words, *text) != words.end()) return text;
  Error(key, fmt::format("\"{}\" is not known{}", *text, Suggestion(*text, words)));
  return std::nullopt;
}

std::vector<std::string> MapReader::Texts(std::string_view key) {
  const Value* value = Find(key);
  std::vector<std::string> texts;
  if (value == nullptr) return texts;
  for (const Value& item : ItemsOf(*value)) {
    if (const auto text = TextOf(item, PathOf(key), diagnostics_)) texts.push_back(*text);
  }
  return texts;
}

const Value* MapReader::Require(std::string_view key, std::string_view expected) {
  const Value* value = Find(key);
  if (value == nullptr) {
    diagnostics_.ErrorAt(path_, fmt::format("{} is missing; expected: {}", key, expected));
  }
  return value;
}

std::string MapReader::RequireText(std::string_view key, std::string_view expected) {
  const Value* value = Require(key, expected);
  if (value == nullptr) return "";
  return TextOf(*value, PathOf(key), diagnostics_).value_or("");
}

const std::vector<Value::Entry>& MapReader::Entries(std::string_view key) {
  static const std::vector<Value::Entry> kNone;
  const Value* value = Find(key);
  if (value == nullptr || value->kind == Value::Kind::kMap) {
    return value == nullptr ? kNone : value->entries;
  }
  Error(key, fmt::format("{} where a map is expected", Describe(*value)));
  return kNone;
}

void MapReader::Error(std::string_view key, std::string_view message) {
  diagnostics_.ErrorAt(PathOf(key), message);
}

void MapReader::RefuseOthers() {
  for (const Value::Entry& entry : map_->entries) {
    if (std::ranges::find(known_, entry.key) != known_.end()) continue;
    diagnostics_.Error(entry.key_place, PathOf(entry.key),
                       "unknown key" + Suggestion(entry.key, known_));
  }
}

}  // namespace heddle
