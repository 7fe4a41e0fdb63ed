// SPDX-License-Identifier: Apache-2.0

#include "experiment/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "settings/patch.h"
#include "settings/progression.h"
#include "settings/quantity.h"

namespace heddle {
namespace {

constexpr size_t kMaxPoints = 100'000;
constexpr int64_t kMaxSeeds = 10'000;

// One number is often meant as the number of seeds.
std::string HintOnSeeds(const Value& value, std::string_view path) {
  int64_t count = 0;
  if (path != "sweep.seed" || ParseQuantity(value.text, count)) return "";
  return fmt::format("; for {0} seeds, write \"seeds: {0}\"", value.text);
}

}  // namespace

std::vector<Value> AxisValues(const Value& value, const std::string& path,
                              Diagnostics& diagnostics) {
  if (value.kind == Value::Kind::kMap) return Progression(value, path, diagnostics);
  if (value.kind != Value::Kind::kList || value.items.empty()) {
    diagnostics.Error(value.place, path,
                      "expected a list of values, at least one, or a range such as "
                      "{from: 0.1, to: 0.9, step: 0.1}" +
                          HintOnSeeds(value, path));
    return {};
  }
  return value.items;
}

std::string ChoiceLabel(const Value& value) {
  if (value.kind == Value::Kind::kScalar) return value.text;
  std::string label;
  for (const Value& item : value.items) label += (label.empty() ? "" : "+") + ChoiceLabel(item);
  for (const Value::Entry& entry : value.entries) {
    const std::string part =
        entry.key == "kind" ? entry.value.text : entry.key + "=" + ChoiceLabel(entry.value);
    label += (label.empty() ? "" : ".") + part;
  }
  return label;
}

bool MatchesChoice(const Value& pattern, const Value& value) {
  if (value.kind == Value::Kind::kList && value.items.size() == 1 &&
      MatchesChoice(pattern, value.items.front())) {
    return true;  // A workload, a schedule.
  }
  if (pattern.kind == Value::Kind::kScalar && value.kind == Value::Kind::kMap) {
    const Value* kind = value.Find("kind");
    return ChoiceLabel(value) == pattern.text || (kind != nullptr && MatchesChoice(pattern, *kind));
  }
  if (pattern.kind == Value::Kind::kMap) {
    return std::ranges::all_of(pattern.entries, [&](const Value::Entry& entry) {
      if (value.kind == Value::Kind::kScalar) {
        return entry.key == "kind" && MatchesChoice(entry.value, value);
      }
      const Value* part = value.Find(entry.key);
      return part != nullptr && MatchesChoice(entry.value, *part);
    });
  }
  if (pattern.kind == Value::Kind::kList && value.kind != Value::Kind::kList) {
    return std::ranges::any_of(pattern.items,
                               [&](const Value& item) { return MatchesChoice(item, value); });
  }
  if (ChoiceLabel(pattern) == ChoiceLabel(value)) return true;
  double a = 0;  // As numbers, 0.90 equals 0.9.
  double b = 0;
  return !ParseQuantity(pattern.text, a) && !ParseQuantity(value.text, b) && a == b;
}

Points::Points(const Value& document, const std::set<std::string>& fixed,
               Diagnostics& all_diagnostics, const std::vector<std::string>& top_level)
    : document_(document), top_level_(top_level) {
  Diagnostics diagnostics;  // Problems in the sweep.
  std::erase_if(document_.entries, [](const Value::Entry& entry) { return entry.key == "sweep"; });
  const Value* sweep = document.Find("sweep");
  const Value none;
  if (sweep == nullptr) sweep = &none;
  if (sweep->kind != Value::Kind::kMap && sweep->kind != Value::Kind::kNull) {
    diagnostics.Error(sweep->place, "sweep", "expected a map from settings to lists of values");
  }
  for (const Value::Entry& entry : sweep->entries) Read(entry, diagnostics);
  if (const Value* seeds = sweep->Find("seeds")) ReadSeeds(*seeds, diagnostics);
  if (!diagnostics.ok()) combinations_ = 0;
  for (size_t i = 0; i < combinations_; ++i) kept_.push_back(static_cast<uint32_t>(i));
  if (const Value* rules = sweep->Find("exclude")) Exclude(*rules, fixed, diagnostics);
  if (const Value* labels = sweep->Find("labels")) ReadLabels(*labels, fixed, diagnostics);
  all_diagnostics.Take(diagnostics);
}

// Seeds become the last axis wherever they are written, so that points to be averaged are adjacent.
void Points::Read(const Value::Entry& entry, Diagnostics& diagnostics) {
  const std::string path = "sweep." + entry.key;
  if (entry.key == "exclude" || entry.key == "seeds" || entry.key == "labels") return;
  if (entry.key == "together") return ReadTogether(entry.value, diagnostics);
  if (!IsSetting(entry, diagnostics)) return;
  Value map;
  map.kind = Value::Kind::kMap;
  map.entries.push_back(entry);
  Add(AxisFrom(map, "sweep", diagnostics), entry.value.place, path, diagnostics);
}

// Returns false, with an error, if no axis can have this key. Maps below an unknown key were meant
// as axes, so their keys are noted as unread.
bool Points::IsSetting(const Value::Entry& entry, Diagnostics& diagnostics) {
  std::vector<std::string> known = top_level_;
  const std::string top = entry.key.substr(0, entry.key.find_first_of(".["));
  if (known.empty() || std::ranges::find(known, top) != known.end()) return true;
  known.insert(known.end(), {"together", "exclude", "seeds", "labels"});
  diagnostics.Error(entry.key_place, "sweep." + entry.key, "unknown key" + Suggestion(top, known));
  unread_.insert(entry.key);
  for (const Value& map : entry.value.items) {
    for (const Value::Entry& axis : map.entries) unread_.insert(axis.key);
  }
  return false;
}

void Points::ReadTogether(const Value& list, Diagnostics& diagnostics) {
  const std::string path = "sweep.together";
  if (list.kind != Value::Kind::kList) {
    return diagnostics.Error(list.place, path,
                             "expected a list of maps from settings to lists of values");
  }
  for (size_t i = 0; i < list.items.size(); ++i) {
    const Value& map = list.items[i];
    const std::string item = fmt::format("{}[{}]", path, i);
    if (map.kind != Value::Kind::kMap) {
      diagnostics.Error(map.place, item, "expected a map from settings to lists of values");
    } else if (!map.entries.empty()) {  // It is empty if the command line has set all its keys.
      Add(AxisFrom(map, item, diagnostics), map.place, item, diagnostics);
    }
  }
}

void Points::ReadSeeds(const Value& count, Diagnostics& diagnostics) {
  const std::string path = "sweep.seeds";
  int64_t seeds = 0;
  int64_t first = 1;
  if (ParseQuantity(count.text, seeds) || seeds < 1 || seeds > kMaxSeeds) {
    return diagnostics.Error(
        count.place, path,
        fmt::format("{} is not a whole number from 1 to {}; it is the number of "
                    "seeds, from the experiment's `seed` on",
                    Describe(count), kMaxSeeds));
  }
  // The reader of settings never sees this seed.
  const Value* seed = document_.Find("seed");
  if (seed != nullptr) {
    if (const ParseError mistake = ParseQuantity(seed->text, first)) {
      return diagnostics.Error(seed->place, "seed", *mistake);
    }
    if (first < 0) return diagnostics.Error(seed->place, "seed", "must not be negative");
  }
  Axis axis{{"seed"}, {}, {count.place}};
  for (int64_t i = 0; i < seeds; ++i) {
    axis.steps.push_back({Value::Scalar(fmt::format("{}", first + i), count.place)});
  }
  Add(std::move(axis), count.place, path, diagnostics);
}

Points::Axis Points::AxisFrom(const Value& map, const std::string& path,
                              Diagnostics& diagnostics) const {
  Axis axis;
  for (const Value::Entry& entry : map.entries) {
    const std::string key_path = path + "." + entry.key;
    const std::vector<Value> values = AxisValues(entry.value, key_path, diagnostics);
    if (axis.keys.empty()) axis.steps.resize(values.size());
    if (values.size() != axis.steps.size() && diagnostics.ok()) {
      diagnostics.Error(entry.value.place, key_path,
                        fmt::format("has {} values, but {} has {}; they change together",
                                    values.size(), axis.keys.front(), axis.steps.size()));
    }
    axis.keys.push_back(entry.key);
    axis.places.push_back(entry.key_place);
    for (size_t i = 0; i < std::min(values.size(), axis.steps.size()); ++i) {
      axis.steps[i].push_back(values[i]);
    }
  }
  if (diagnostics.ok()) CheckDistinct(axis, path, diagnostics);
  return axis;
}

// Reports steps of the axis that are equal. If keys change together, each may repeat a value, but
// no combination of values may occur twice.
void Points::CheckDistinct(const Axis& axis, const std::string& path, Diagnostics& diagnostics) {
  const std::string place = axis.keys.size() == 1 ? path + "." + axis.keys.front() : path;
  std::set<std::string> seen;
  for (const std::vector<Value>& step : axis.steps) {
    std::string label;
    for (const Value& value : step) label += (label.empty() ? "" : " with ") + ChoiceLabel(value);
    if (seen.insert(label).second) continue;
    diagnostics.Error(step.front().place, place, label + " occurs twice");
  }
}

void Points::Add(Axis axis, const Place& place, const std::string& path, Diagnostics& diagnostics) {
  unread_.insert(axis.keys.begin(), axis.keys.end());
  if (!diagnostics.ok()) return;
  const std::vector<std::string> known = Axes();
  for (const std::string& key : axis.keys) {
    if (std::ranges::find(known, key) == known.end()) continue;
    return diagnostics.Error(place, path, fmt::format("{} is swept twice; remove one", key));
  }
  if (!CheckOrder(axis, path, diagnostics)) return;
  if (combinations_ * axis.steps.size() > kMaxPoints) {
    return diagnostics.Error(place, path,
                             fmt::format("makes more than {} experiments", kMaxPoints));
  }
  combinations_ *= axis.steps.size();
  for (const std::string& key : axis.keys) unread_.erase(key);
  axes_.push_back(std::move(axis));
}

// Returns false, with an error, if a key replaces a part of the document that a key before it sets.
bool Points::CheckOrder(const Axis& axis, const std::string& path, Diagnostics& diagnostics) const {
  std::vector<std::string> before = Axes();
  for (size_t i = 0; i < axis.keys.size(); ++i) {
    const std::string& key = axis.keys[i];
    for (const std::string& lost : before) {
      if (!IsWithin(lost, key)) continue;
      diagnostics.Error(
          axis.places[i], path,
          fmt::format("{0} has no effect, as {1} behind it replaces all of {1}; put {0} behind {1}",
                      lost, key));
      return false;
    }
    before.push_back(key);
  }
  return true;
}

void Points::Exclude(const Value& rules, const std::set<std::string>& fixed,
                     Diagnostics& diagnostics) {
  const std::string path = "sweep.exclude";
  exclusions_.kind = Value::Kind::kList;
  if (rules.kind != Value::Kind::kList) {
    return diagnostics.Error(rules.place, path, "expected a list of maps from settings to values");
  }
  for (size_t i = 0; i < rules.items.size(); ++i) {
    const Value& rule = rules.items[i];
    if (!CheckRule(rule, fmt::format("{}[{}]", path, i), fixed, diagnostics)) continue;
    std::erase_if(kept_, [&](uint32_t combination) { return Fits(rule, combination); });
    NoteRule(rule);
  }
  if (kept_.empty() && diagnostics.ok()) {
    diagnostics.Error(rules.place, path, "leaves no combination");
  }
}

// An axis with a mistake has no values to compare the labels with.
void Points::ReadLabels(const Value& labels, const std::set<std::string>& fixed,
                        Diagnostics& diagnostics) {
  ChoiceLabels::ValuesByAxis values;
  for (const Axis& axis : axes_) {
    for (size_t k = 0; k < axis.keys.size(); ++k) {
      for (const std::vector<Value>& step : axis.steps) values[axis.keys[k]].push_back(step[k]);
    }
  }
  std::set<std::string> lenient = fixed;
  lenient.insert(unread_.begin(), unread_.end());
  labels_ = ChoiceLabels::Read(labels, values, lenient, diagnostics);
}

bool Points::CheckRule(const Value& rule, const std::string& path,
                       const std::set<std::string>& fixed, Diagnostics& diagnostics) const {
  if (rule.kind != Value::Kind::kMap || rule.entries.empty()) {
    diagnostics.Error(rule.place, path, "expected a map from settings to values");
    return false;
  }
  const std::vector<std::string> axes = Axes();
  for (const Value::Entry& entry : rule.entries) {
    if (fixed.contains(entry.key) || unread_.contains(entry.key)) continue;
    if (std::ranges::find(axes, entry.key) == axes.end()) {
      diagnostics.Error(
          entry.key_place, path,
          fmt::format("\"{}\" is not swept{}", entry.key, Suggestion(entry.key, axes)));
      return false;
    }
    const Value* unknown = FirstNotOffered(entry.key, entry.value);
    if (unknown == nullptr) continue;
    const std::string label = ChoiceLabel(*unknown);
    diagnostics.Error(
        unknown->place, path + "." + entry.key,
        fmt::format("the sweep has no \"{}\"{}", label, Suggestion(label, LabelsOf(entry.key))));
    return false;
  }
  return diagnostics.ok();
}

// Returns the pattern, or the part of a list of patterns, that fits no value of the axis. Nothing
// if all do, or if the list is a value itself.
const Value* Points::FirstNotOffered(const std::string& key, const Value& pattern) const {
  if (!Offers(key, pattern)) return &pattern;
  if (pattern.kind != Value::Kind::kList) return nullptr;
  const std::vector<std::string> labels = LabelsOf(key);
  if (std::ranges::find(labels, ChoiceLabel(pattern)) != labels.end()) return nullptr;
  const auto unknown =
      std::ranges::find_if(pattern.items, [&](const Value& item) { return !Offers(key, item); });
  return unknown == pattern.items.end() ? nullptr : &*unknown;
}

bool Points::Offers(const std::string& key, const Value& pattern) const {
  const std::vector<const Value*> values = ValuesOf(key);
  return std::ranges::any_of(values,
                             [&](const Value* value) { return MatchesChoice(pattern, *value); });
}

std::vector<std::string> Points::LabelsOf(const std::string& key) const {
  std::vector<std::string> labels;
  for (const Value* value : ValuesOf(key)) labels.push_back(ChoiceLabel(*value));
  return labels;
}

// The values of the axis with this key; none if there is no such axis.
std::vector<const Value*> Points::ValuesOf(const std::string& key) const {
  std::vector<const Value*> values;
  for (const Axis& axis : axes_) {
    const auto found = std::ranges::find(axis.keys, key);
    if (found == axis.keys.end()) continue;
    const auto column = static_cast<size_t>(found - axis.keys.begin());
    for (const std::vector<Value>& step : axis.steps) values.push_back(&step[column]);
  }
  return values;
}

// A key that the command line has fixed has one value, that of the document.
bool Points::Fits(const Value& rule, size_t combination) const {
  return std::ranges::all_of(rule.entries, [&](const Value::Entry& entry) {
    const Value* value = ChoiceAt(entry.key, combination);
    return value != nullptr && MatchesChoice(entry.value, *value);
  });
}

void Points::NoteRule(const Value& rule) {
  const std::vector<std::string> axes = Axes();
  Value kept = rule;
  kept.entries.clear();
  for (const Value::Entry& entry : rule.entries) {
    const bool is_axis = std::ranges::find(axes, entry.key) != axes.end();
    if (is_axis && Offers(entry.key, entry.value)) {
      kept.entries.push_back(entry);
      continue;
    }
    const Value* fixed = FindPath(document_, entry.key);
    const bool always = !is_axis && fixed != nullptr && MatchesChoice(entry.value, *fixed);
    if (!always) return;  // Never.
  }
  if (!kept.entries.empty()) exclusions_.items.push_back(kept);
}

template <class Visit>
void Points::ForEachChoice(size_t combination, const Visit& visit) const {
  size_t stride = combinations_;
  for (const Axis& axis : axes_) {
    stride /= axis.steps.size();
    const std::vector<Value>& step = axis.steps[combination / stride % axis.steps.size()];
    for (size_t k = 0; k < axis.keys.size(); ++k) visit(axis.keys[k], step[k], axis.places[k]);
  }
}

const Value* Points::ChoiceAt(const std::string& key, size_t combination) const {
  const Value* choice = FindPath(document_, key);
  ForEachChoice(combination, [&](const std::string& axis, const Value& value, const Place&) {
    if (axis == key) choice = &value;
  });
  return choice;
}

std::vector<std::string> Points::Axes() const {
  std::vector<std::string> keys;
  for (const Axis& axis : axes_) keys.insert(keys.end(), axis.keys.begin(), axis.keys.end());
  return keys;
}

std::vector<std::string> Points::MovingWith(const std::string& key) const {
  for (const Axis& axis : axes_) {
    if (std::ranges::find(axis.keys, key) != axis.keys.end()) return axis.keys;
  }
  return {};
}

Value Points::DocumentOf(size_t point, Diagnostics& diagnostics) const {
  Value document = document_;
  ForEachChoice(kept_[point], [&](const std::string& key, const Value& value, const Place& place) {
    if (diagnostics.ok()) Patch(document, key, value, place, diagnostics);
  });
  return document;
}

std::vector<std::pair<std::string, std::string>> Points::ChoicesOf(size_t point) const {
  std::vector<std::pair<std::string, std::string>> choices;
  ForEachChoice(kept_[point], [&](const std::string& key, const Value& value, const Place&) {
    choices.emplace_back(key, ChoiceLabel(value));
  });
  return choices;
}

}  // namespace heddle
