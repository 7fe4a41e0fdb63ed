// SPDX-License-Identifier: Apache-2.0

#include "settings/patch.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "settings/utf8.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

struct Step {
  std::string key;   // A key of a map, or empty.
  size_t index = 0;  // An index in a list, if the key is empty.
};

constexpr size_t kMaxIndex = 100'000;

std::optional<std::vector<Step>> ParsePath(std::string_view path) {
  std::vector<Step> steps;
  bool expect_key = true;
  while (!path.empty() || expect_key) {
    if (!expect_key && path.front() == '[') {
      const size_t close = path.find(']');
      if (close == std::string_view::npos) return std::nullopt;
      size_t index = 0;
      const auto [end, error] = std::from_chars(path.data() + 1, path.data() + close, index);
      if (error != std::errc() || end != path.data() + close || index > kMaxIndex) {
        return std::nullopt;
      }
      steps.push_back({"", index});
      path.remove_prefix(close + 1);
      continue;
    }
    if (!expect_key) {
      if (path.front() != '.') return std::nullopt;
      path.remove_prefix(1);
    }
    const size_t length = std::min(path.find_first_of(".["), path.size());
    if (length == 0) return std::nullopt;
    steps.push_back({std::string(path.substr(0, length)), 0});
    path.remove_prefix(length);
    expect_key = false;
  }
  return steps;
}

// The element of `value` that `step` leads to, made if missing; nullptr if there can be none.
Value* Descend(Value& value, const Step& step, const Place& place) {
  if (!step.key.empty()) {
    if (value.kind == Value::Kind::kNull) {
      value.kind = Value::Kind::kMap;
      value.place = place;
    }
    if (value.kind == Value::Kind::kScalar) {
      // `lb: letflow` is short for `lb: {kind: letflow}`, as in the reader.
      Value map;
      map.kind = Value::Kind::kMap;
      map.place = place;
      map.entries.push_back({"kind", value.place, std::move(value)});
      value = std::move(map);
    }
    if (value.kind != Value::Kind::kMap) return nullptr;
    if (Value* found = value.Find(step.key)) return found;
    value.entries.push_back({step.key, place, Value{}});
    return &value.entries.back().value;
  }
  if (value.kind == Value::Kind::kNull) {
    value.kind = Value::Kind::kList;
    value.place = place;
  }
  if (value.kind != Value::Kind::kList || step.index > value.items.size()) return nullptr;
  if (step.index == value.items.size()) value.items.emplace_back();
  return &value.items[step.index];
}

// Returns the path up to and without the key of step `count`.
std::string PathBefore(const std::vector<Step>& steps, size_t count) {
  std::string path;
  for (size_t i = 0; i < count; ++i) {
    if (steps[i].key.empty()) {
      path += fmt::format("[{}]", steps[i].index);
    } else {
      path += (path.empty() ? "" : ".") + steps[i].key;
    }
  }
  return path;
}

// Returns why the key of step `at` cannot be set within `target`. A list is often meant to be its
// first element, since lists such as `workload` usually have only one.
std::string WhyNotWithin(const Value& target, std::string_view path, const std::vector<Step>& steps,
                         size_t at) {
  const std::string what =
      fmt::format("\"{}\" cannot be set within {}", steps[at].key, Describe(target));
  if (target.kind != Value::Kind::kList || target.items.empty()) return what;
  const std::string list = PathBefore(steps, at);
  const std::string_view rest = path.substr(list.size());
  const std::string meant = fmt::format("{}; did you mean {}[0]{}?", what, list, rest);
  const size_t last = target.items.size() - 1;
  return last == 0 ? meant : fmt::format("{} (the last is {}[{}]{})", meant, list, last, rest);
}

}  // namespace

void Patch(Value& document, std::string_view path, const Value& value, Diagnostics& diagnostics) {
  Patch(document, path, value, value.place, diagnostics);
}

void Patch(Value& document, std::string_view path, const Value& value, const Place& place,
           Diagnostics& diagnostics) {
  const std::optional<std::vector<Step>> steps = ParsePath(path);
  if (!steps) {
    return diagnostics.Error(place, path,
                             "is not the path of a setting, such as topology.leaves or "
                             "workload[0].load");
  }
  Value* target = &document;
  for (size_t at = 0; at < steps->size(); ++at) {
    const Step& step = (*steps)[at];
    Value* next = Descend(*target, step, place);
    if (next == nullptr && !step.key.empty()) {
      return diagnostics.Error(place, path, WhyNotWithin(*target, path, *steps, at));
    }
    if (next == nullptr) {
      return diagnostics.Error(
          place, path,
          target->kind == Value::Kind::kList
              ? fmt::format("there is no element {}; the list has {}", step.index,
                            target->items.size())
              : fmt::format("[{}] of {}, which is not a list", step.index, Describe(*target)));
    }
    target = next;
  }
  *target = value;
}

bool IsWithin(std::string_view path, std::string_view key) {
  if (!path.starts_with(key)) return false;
  return path.size() == key.size() || path[key.size()] == '.' || path[key.size()] == '[';
}

const Value* FindPath(const Value& document, std::string_view path) {
  const std::optional<std::vector<Step>> steps = ParsePath(path);
  if (!steps) return nullptr;
  const Value* value = &document;
  for (const Step& step : *steps) {
    if (!step.key.empty()) {
      value = value->Find(step.key);
    } else {
      value = step.index < value->items.size() ? &value->items[step.index] : nullptr;
    }
    if (value == nullptr) return nullptr;
  }
  return value;
}

namespace {

void SetSource(Value& value, const std::string& source) {
  value.place = {source, 0, 0};
  for (Value& item : value.items) SetSource(item, source);
  for (Value::Entry& entry : value.entries) {
    entry.key_place = {source, 0, 0};
    SetSource(entry.value, source);
  }
}

}  // namespace

std::optional<Value> ValueOfArgument(const std::string& argument, Diagnostics& diagnostics) {
  const size_t equals = argument.find('=');
  const std::string source = "--set " + argument;
  if (equals == std::string::npos || equals == 0) {
    diagnostics.Error({source, 0, 0}, "", "expected path.to.key=value");
    return std::nullopt;
  }
  if (ValidUtf8(argument) < argument.size()) {
    diagnostics.Error({"--set", 0, 0}, "", "is not valid UTF-8");
    return std::nullopt;
  }
  std::optional<Value> value = ParseYaml(argument.substr(equals + 1), source, diagnostics);
  if (value) SetSource(*value, source);
  return value;
}

void PatchFromArgument(Value& document, const std::string& argument, Diagnostics& diagnostics) {
  const std::optional<Value> value = ValueOfArgument(argument, diagnostics);
  if (!value) return;
  Patch(document, std::string_view(argument).substr(0, argument.find('=')), *value, diagnostics);
}

}  // namespace heddle
