// SPDX-License-Identifier: Apache-2.0

#include "experiment/choice_labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "experiment/points.h"

namespace heddle {
namespace {

constexpr size_t kLongestLabel = 60;

// Returns true if the text can stand in a table or in a legend.
bool IsLabel(const Value& value) {
  return value.kind == Value::Kind::kScalar && !value.text.empty() &&
         value.text.size() <= kLongestLabel && std::ranges::none_of(value.text, [](char c) {
           return std::iscntrl(static_cast<unsigned char>(c)) != 0;
         });
}

// Returns the values that `name` may mean, as text: the equal one, or else all of that kind.
std::vector<std::string> Named(const Value& name, const std::vector<Value>& values) {
  std::vector<std::string> matching;
  for (const Value& value : values) {
    if (ChoiceLabel(value) == name.text) return {name.text};
    if (MatchesChoice(name, value)) matching.push_back(ChoiceLabel(value));
  }
  return matching;
}

std::vector<std::string> TextsOf(const std::vector<Value>& values) {
  std::vector<std::string> texts;
  for (const Value& value : values) texts.push_back(ChoiceLabel(value));
  return texts;
}

std::vector<std::string> AxesOf(const ChoiceLabels::ValuesByAxis& values) {
  std::vector<std::string> axes;
  for (const auto& [axis, ignored] : values) axes.push_back(axis);
  return axes;
}

}  // namespace

ChoiceLabels ChoiceLabels::Read(const Value& labels, const ValuesByAxis& values,
                                const std::set<std::string>& fixed, Diagnostics& diagnostics) {
  constexpr std::string_view kExpected =
      "expected a map from values to labels, such as {letflow: LetFlow}";
  ChoiceLabels read;
  if (labels.kind != Value::Kind::kMap) {
    diagnostics.Error(labels.place, "sweep.labels",
                      "expected a map from settings to maps from values to labels, such as "
                      "{lb: {letflow: LetFlow}}");
    return read;
  }
  for (const Value::Entry& axis : labels.entries) {
    const auto found = values.find(axis.key);
    if (axis.value.kind != Value::Kind::kMap) {
      diagnostics.Error(axis.value.place, "sweep.labels." + axis.key, kExpected);
    } else if (found != values.end()) {
      read.ReadAxis(axis, found->second, fixed.contains(axis.key), diagnostics);
    } else if (!fixed.contains(axis.key)) {
      diagnostics.Error(
          axis.key_place, "sweep.labels",
          fmt::format("\"{}\" is not swept{}", axis.key, Suggestion(axis.key, AxesOf(values))));
    }
  }
  return read;
}

void ChoiceLabels::ReadAxis(const Value::Entry& axis, const std::vector<Value>& values,
                            bool is_fixed, Diagnostics& diagnostics) {
  const std::string path = "sweep.labels." + axis.key;
  std::map<std::string, std::string> values_of;  // By label.
  for (const std::string& value : TextsOf(values)) values_of.emplace(value, value);
  for (const Value::Entry& entry : axis.value.entries) {
    const auto error = [&](const Place& place, const std::string& message) {
      diagnostics.Error(place, path + "." + entry.key, message);
    };
    const auto named = Named(Value::Scalar(entry.key, entry.key_place), values);
    if (!IsLabel(entry.value)) {
      error(entry.value.place,
            fmt::format("expected a label of one line, with at most {} bytes", kLongestLabel));
    } else if (named.size() > 1) {
      error(entry.key_place, fmt::format("may be any of: {}", fmt::join(named, ", ")));
    } else if (named.empty() && !is_fixed) {
      error(entry.key_place, fmt::format("the sweep has no \"{}\"{}", entry.key,
                                         Suggestion(entry.key, TextsOf(values))));
    } else if (!named.empty()) {
      const auto [other, is_new] = values_of.emplace(entry.value.text, named.front());
      if (!is_new && other->second != named.front()) {
        error(entry.value.place,
              fmt::format("\"{}\" already stands for {}", entry.value.text, other->second));
      } else if (!labels_[axis.key].emplace(named.front(), entry.value.text).second) {
        error(entry.key_place, fmt::format("{} has two labels; remove one", named.front()));
      }
    }
  }
}

ChoiceLabels ChoiceLabels::Of(const Value& document) {
  ChoiceLabels read;
  const Value* sweep = document.Find("sweep");
  const Value* labels = sweep == nullptr ? nullptr : sweep->Find("labels");
  if (labels == nullptr) return read;
  for (const Value::Entry& axis : labels->entries) {
    for (const Value::Entry& entry : axis.value.entries) {
      read.labels_[axis.key].emplace(entry.key, entry.value.text);
    }
  }
  return read;
}

const std::string* ChoiceLabels::Find(const std::string& axis, const std::string& value) const {
  const auto of_axis = labels_.find(axis);
  if (of_axis == labels_.end()) return nullptr;
  const auto label = of_axis->second.find(value);
  return label == of_axis->second.end() ? nullptr : &label->second;
}

const std::string& ChoiceLabels::Shown(const std::string& axis, const std::string& value) const {
  const std::string* label = Find(axis, value);
  return label == nullptr ? value : *label;
}

Value ChoiceLabels::AsValue() const {
  Value document;
  document.kind = Value::Kind::kMap;
  for (const auto& [axis, labels] : labels_) {
    Value map;
    map.kind = Value::Kind::kMap;
    for (const auto& [value, label] : labels) {
      map.entries.push_back({value, {}, Value::Scalar(label, {})});
    }
    document.entries.push_back({axis, {}, std::move(map)});
  }
  return document;
}

}  // namespace heddle
