// SPDX-License-Identifier: Apache-2.0

#include "experiment/experiment_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <utility>

#include "experiment/complete.h"
#include "experiment/point_problems.h"
#include "experiment/resolved.h"
#include "settings/files.h"
#include "settings/files_read.h"
#include "settings/patch.h"
#include "settings/reader.h"
#include "settings/utf8.h"
#include "settings/writer.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

constexpr size_t kMaxLabelLength = 200;

// The key that says where relative paths start, for documents that have been moved away from the
// file that they were read from.
constexpr const char* kRelativeTo = "relative_to";

// Returns the text with only characters that suit file names and terminals.
std::string PlainText(const std::string& text) {
  std::string plain;
  for (const char c : text.substr(0, kMaxLabelLength)) {
    const bool keep = std::isalnum(static_cast<unsigned char>(c)) ||
                      std::string_view("._=+-,[]").find(c) != std::string_view::npos;
    plain += keep ? c : '_';
  }
  return plain.starts_with('.') ? "_" + plain : plain;
}

std::string LastPart(const std::string& key) { return key.substr(key.find_last_of('.') + 1); }

// Returns the label of a point's choices, with the last part of each key.
std::string LabelOfChoices(const std::vector<std::pair<std::string, std::string>>& axes) {
  std::string label;
  for (const auto& [key, value] : axes) {
    label += fmt::format("{}{}={}", label.empty() ? "" : ",", LastPart(key), value);
  }
  return PlainText(label);
}

// Returns the maps of axes in a sweep: the sweep itself, and the items of `together`.
std::vector<Value*> AxisMapsOf(Value& document) {
  Value* sweep = document.Find("sweep");
  if (sweep == nullptr) return {};
  std::vector<Value*> maps = {sweep};
  Value* together = sweep->Find("together");
  if (together == nullptr) return maps;
  for (Value& map : together->items) maps.push_back(&map);
  return maps;
}

// The settings that the command line and scales have changed.
struct Changes {
  // Keys with fewer values than in the file. Exclusions may name values that are gone.
  std::set<std::string> fixed;
  std::map<std::string, Place> set;  // Settings with a new value, and the place where it was given.
};

// A setting from the command line is no axis any more. SelectRows() treats keys that change
// together later, when all settings are known.
void Override(Value& document, const std::string& path, const Place& place, Changes& changes,
              Diagnostics& diagnostics) {
  for (Value* axes : AxisMapsOf(document)) {
    for (const Value::Entry& axis : axes->entries) {
      if (path == axis.key || !IsWithin(path, axis.key)) continue;
      diagnostics.Error(
          place, path,
          fmt::format("has no effect, as sweep.{0} replaces all of {0}; set sweep.{0}, "
                      "or {0} as a whole",
                      axis.key));
    }
  }
  if (Value* sweep = document.Find("sweep")) {
    std::erase_if(sweep->entries, [&](const Value::Entry& axis) { return axis.key == path; });
  }
  changes.fixed.insert(path);
  changes.set.insert_or_assign(path, place);
}

// Returns the values of keys that change together, by key. Returns nothing if their lengths differ,
// an error that Points reports.
std::vector<std::vector<Value>> GroupValues(const Value& group, const std::string& path) {
  std::vector<std::vector<Value>> values;
  Diagnostics problems;
  for (const Value::Entry& axis : group.entries) {
    values.push_back(AxisValues(axis.value, path + "." + axis.key, problems));
    if (!problems.ok() || values.back().size() != values.front().size()) return {};
  }
  return values;
}

bool AreTheSame(const Value& a, const Value& b) {
  return MatchesChoice(a, b) && MatchesChoice(b, a);
}

// Returns a text such as "topology.spines=4 with topology.links_per_pair=1; ...".
std::string RowsText(const Value& group, const std::vector<std::vector<Value>>& values) {
  std::string text;
  for (size_t row = 0; row < values.front().size(); ++row) {
    for (size_t key = 0; key < values.size(); ++key) {
      text += fmt::format("{}{}={}",
                          key > 0   ? " with "
                          : row > 0 ? "; "
                                    : "",
                          group.entries[key].key, ChoiceLabel(values[key][row]));
    }
  }
  return text;
}

// For keys that change together: the values that have been set select combinations, and the other
// keys take the values of these. If all keys have been set, there is nothing to select.
void SelectRows(const Value& document, Value& group, const std::string& path, Changes& changes,
                Diagnostics& diagnostics) {
  const auto is_set = [&](const Value::Entry& axis) { return changes.set.contains(axis.key); };
  if (std::ranges::none_of(group.entries, is_set)) return;
  if (std::ranges::all_of(group.entries, is_set)) return group.entries.clear();
  const std::vector<std::vector<Value>> values = GroupValues(group, path);
  if (values.empty()) return;
  std::vector<size_t> rows;
  for (size_t row = 0; row < values.front().size(); ++row) {
    bool fits = true;
    for (size_t key = 0; key < values.size(); ++key) {
      const Value* set =
          is_set(group.entries[key]) ? FindPath(document, group.entries[key].key) : nullptr;
      fits &= set == nullptr || AreTheSame(*set, values[key][row]);
    }
    if (fits) rows.push_back(row);
  }
  if (rows.empty()) {
    const std::string& key = std::ranges::find_if(group.entries, is_set)->key;
    return diagnostics.Error(changes.set.at(key), key,
                             fmt::format("is no combination of {}, whose keys change together; its "
                                         "combinations are: {}; set one "
                                         "of these, or all of its keys",
                                         path, RowsText(group, values)));
  }
  for (size_t key = 0; key < values.size(); ++key) {
    Value& left = group.entries[key].value;
    left.kind = Value::Kind::kList;
    left.entries.clear();
    left.items.clear();
    for (const size_t row : rows) left.items.push_back(values[key][row]);
    changes.fixed.insert(group.entries[key].key);
  }
  std::erase_if(group.entries, is_set);
}

void SelectAllRows(Value& document, Changes& changes, Diagnostics& diagnostics) {
  Value* sweep = document.Find("sweep");
  Value* together = sweep == nullptr ? nullptr : sweep->Find("together");
  if (together == nullptr) return;
  for (size_t i = 0; i < together->items.size(); ++i) {
    SelectRows(document, together->items[i], fmt::format("sweep.together[{}]", i), changes,
               diagnostics);
  }
}

// Sets the values of an axis and returns its key, if `path` names one. Keys of axes are paths
// themselves, as in sweep.workload[0].load and sweep.together[0].workload[0].load.
std::optional<std::string> SetAxis(Value& document, std::string_view path, const Value& value) {
  const std::vector<Value*> maps = AxisMapsOf(document);
  for (size_t i = 0; i < maps.size(); ++i) {
    const std::string start = i == 0 ? "sweep." : fmt::format("sweep.together[{}].", i - 1);
    for (Value::Entry& axis : maps[i]->entries) {
      if (start + axis.key != path) continue;
      axis.value = value;
      return axis.key;
    }
  }
  return std::nullopt;
}

// Adds an axis that the file does not have and returns its key, if `path` is "sweep." and the path
// of a setting.
std::optional<std::string> AddAxis(Value& document, std::string_view path, const Value& value,
                                   const Place& place) {
  constexpr std::string_view kStart = "sweep.";
  if (!path.starts_with(kStart)) return std::nullopt;
  const std::string key(path.substr(kStart.size()));
  for (const char* other : {"together", "exclude", "seeds"}) {
    if (IsWithin(key, other)) return std::nullopt;
  }
  if (document.Find("sweep") == nullptr) document.entries.push_back({"sweep", place, Value{}});
  Value& sweep = *document.Find("sweep");
  if (sweep.kind == Value::Kind::kNull) {
    sweep.kind = Value::Kind::kMap;
    sweep.place = place;
  }
  if (key.empty() || sweep.kind != Value::Kind::kMap) return std::nullopt;
  sweep.entries.push_back({key, place, value});
  return key;
}

void Set(Value& document, const std::string& path, const Value& value, const Place& place,
         Changes& changes, Diagnostics& diagnostics) {
  if (const auto axis = SetAxis(document, path, value)) {
    changes.fixed.insert(*axis);
    return;
  }
  if (AddAxis(document, path, value, place)) return;
  Patch(document, path, value, diagnostics);
  Override(document, path, place, changes, diagnostics);
}

std::optional<Value> Take(Value& document, std::string_view key) {
  const Value* found = document.Find(key);
  if (found == nullptr) return std::nullopt;
  std::optional<Value> taken = *found;
  std::erase_if(document.entries, [&](const Value::Entry& entry) { return entry.key == key; });
  return taken;
}

// Checks all scales, since nothing else reads the ones that are not asked for.
bool AreScales(const Value& scales, Diagnostics& diagnostics) {
  constexpr std::string_view kExpected =
      "expected a map from names to settings, such as {small: {workload[0].flows: 100}}";
  const auto is_map = [&](const Value& value, const std::string& path) {
    if (value.kind != Value::Kind::kMap) diagnostics.Error(value.place, path, kExpected);
    return value.kind == Value::Kind::kMap;
  };
  bool sound = is_map(scales, "scales");
  for (const Value::Entry& scale : scales.entries) {
    sound &= is_map(scale.value, "scales." + scale.key);
    if (scale.key != kFullScale) continue;
    diagnostics.Error(scale.key_place, "scales.full",
                      "is the name of the unchanged file; choose another name");
    sound = false;
  }
  return sound;
}

void ApplyScale(Value& document, const std::string& name, Changes& changes,
                Diagnostics& diagnostics) {
  const std::optional<Value> scales = Take(document, "scales");
  if (scales && !AreScales(*scales, diagnostics)) return;
  if (name == kFullScale) return;
  const Value* scale = scales ? scales->Find(name) : nullptr;
  if (scale == nullptr) {
    std::vector<std::string> known = {std::string(kFullScale)};
    for (const Value::Entry& entry : scales ? scales->entries : std::vector<Value::Entry>{}) {
      known.push_back(entry.key);
    }
    return diagnostics.Error(
        document.place, "scales",
        fmt::format("there is no scale \"{}\"{}", name, Suggestion(name, known)));
  }
  for (const Value::Entry& entry : scale->entries) {
    Set(document, entry.key, entry.value, entry.key_place, changes, diagnostics);
  }
}

std::set<std::string> ApplyOptions(Value& document, const LoadOptions& options,
                                   Diagnostics& diagnostics) {
  Changes changes;
  ApplyScale(document, options.scale, changes, diagnostics);
  for (const std::string& set : options.sets) {
    const auto value = ValueOfArgument(set, diagnostics);
    if (!value) continue;
    Set(document, set.substr(0, set.find('=')), *value, {"--set " + set, 0, 0}, changes,
        diagnostics);
  }
  if (options.seed) {
    const Place place{"--seed", 0, 0};
    Set(document, "seed", Value::Scalar(fmt::format("{}", *options.seed), place), place, changes,
        diagnostics);
    Value* sweep = document.Find("sweep");
    if (options.one_seed && sweep != nullptr) Take(*sweep, "seeds");
  }
  SelectAllRows(document, changes, diagnostics);
  return changes.fixed;
}

// Settings that any experiment may have.
const std::vector<std::string>& TopLevelKeys() {
  static const std::vector<std::string> known = [] {
    ExperimentSettings settings;
    std::vector<std::string> keys;
    for (const FieldInfo& field : DescribeFields([&](Fields& f) { settings.Declare(f); })) {
      const std::string key = field.path.substr(0, field.path.find_first_of(".["));
      if (keys.empty() || keys.back() != key) keys.push_back(key);
    }
    return keys;
  }();
  return known;
}

std::optional<std::string> TakeText(Value& document, const std::string& key,
                                    Diagnostics& diagnostics) {
  const std::optional<Value> taken = Take(document, key);
  if (!taken) return std::nullopt;
  if (taken->kind != Value::Kind::kScalar) {
    diagnostics.Error(taken->place, key, "expected the path of a folder");
  }
  return taken->text;
}

// Returns true if the experiment uses what plug-ins have registered under `setting`.
bool Uses(const Value& document, std::string_view setting) {
  if (setting.starts_with(kInEveryRun)) return true;
  const size_t equals = setting.find('=');
  const Value* value = FindPath(document, setting.substr(0, equals));
  if (value == nullptr || equals == std::string_view::npos) return value != nullptr;
  return MatchesChoice(Value::Scalar(std::string(setting.substr(equals + 1)), {}), *value);
}

// Returns the name of a plug-in's digest among the files of an experiment.
std::string PluginEntry(std::string_view setting) {
  return setting.starts_with("lb=") ? "(plug-in)" : fmt::format("(plug-in: {})", setting);
}

}  // namespace

ExperimentFile::ExperimentFile(Value document, std::string folder, std::string name,
                               const std::set<std::string>& fixed, PluginDigests plugins,
                               Diagnostics& diagnostics)
    : document_(std::move(document)),
      folder_(std::move(folder)),
      name_(std::move(name)),
      plugins_(std::move(plugins)),
      points_(document_, fixed, diagnostics, TopLevelKeys()) {}

ExperimentFile ExperimentFile::Make(Value document, const std::string& folder,
                                    const std::string& name, const LoadOptions& options,
                                    Diagnostics& diagnostics) {
  const std::optional<std::string> base = TakeText(document, kRelativeTo, diagnostics);
  Take(document, kResolvedSection);  // It follows from the settings, and they may change now.
  const std::set<std::string> fixed = ApplyOptions(document, options, diagnostics);
  const Value* given = document.Find("name");
  const bool has_name = given != nullptr && !given->text.empty();
  return ExperimentFile(std::move(document), base ? AbsolutePath(folder, *base) : folder,
                        has_name ? given->text : name, fixed, options.plugins, diagnostics);
}

std::optional<ExperimentFile> ExperimentFile::FromText(const std::string& text,
                                                       const std::string& source,
                                                       const std::string& folder,
                                                       const LoadOptions& options,
                                                       Diagnostics& diagnostics) {
  std::optional<Value> document = ParseYaml(text, source, diagnostics);
  if (!document) return std::nullopt;
  return Make(std::move(*document), folder, "", options, diagnostics);
}

std::optional<ExperimentFile> ExperimentFile::Read(const std::string& path,
                                                   const LoadOptions& options,
                                                   Diagnostics& diagnostics) {
  std::optional<Value> document = ReadYamlFile(path, diagnostics);
  if (!document) return std::nullopt;
  const std::filesystem::path file(path);
  const std::string stem = file.stem().string();
  const Value* name = document->Find("name");
  if ((name == nullptr || name->text.empty()) && ValidUtf8(stem) < stem.size()) {
    diagnostics.Error(
        {path, 0, 0}, "",
        "results are named after the file, but the file's name is not valid UTF-8; rename "
        "the file, or set name");
    return std::nullopt;
  }
  return Make(std::move(*document), file.parent_path().string(), stem, options, diagnostics);
}

Experiment ExperimentFile::Load(size_t point, Diagnostics& diagnostics) const {
  Experiment experiment;
  experiment.axes = points_.ChoicesOf(point);
  experiment.label = LabelOfChoices(experiment.axes);
  Diagnostics problems;
  FilesRead files;
  const Value document = points_.DocumentOf(point, problems);
  ReadSettings(document, [&](Fields& fields) { experiment.settings.Declare(fields); }, problems,
               {"sweep", "scales"});
  if (document.kind == Value::Kind::kMap) Complete(experiment, folder_, files, problems);
  if (experiment.settings.name.empty()) experiment.settings.name = name_;
  experiment.warnings = problems.warnings();
  experiment.files = files.digests();
  for (const auto& [setting, digest] : plugins_) {
    if (Uses(document, setting)) experiment.files.emplace(PluginEntry(setting), digest);
  }
  diagnostics.Take(problems);
  return experiment;
}

// A label is printed as it is; values are plain text, as in LabelOfChoices().
std::string ExperimentFile::LabelOf(size_t point) const {
  const auto choices = points_.ChoicesOf(point);
  if (points_.labels().empty()) return LabelOfChoices(choices);
  std::string text;
  for (const auto& [key, value] : choices) {
    const std::string* label = points_.labels().Find(key, value);
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", PlainText(LastPart(key)),
                        label == nullptr ? PlainText(value) : *label);
  }
  return text;
}

void ExperimentFile::Check(Diagnostics& diagnostics) const {
  PointProblems all(points_);
  for (size_t i = 0; i < size(); ++i) {
    Diagnostics problems;
    Load(i, problems);
    all.Take(problems, i);
  }
  all.Report(diagnostics);
}

std::string ExperimentFile::Text() const {
  Value document = document_;
  Value* sweep = document.Find("sweep");
  Value* exclude = sweep == nullptr ? nullptr : sweep->Find("exclude");
  if (exclude != nullptr) *exclude = points_.exclusions();
  Value* labels = sweep == nullptr ? nullptr : sweep->Find("labels");
  if (labels != nullptr) *labels = points_.labels().AsValue();
  Diagnostics ignored;
  Patch(document, "name", Value::Scalar(name_, {}), ignored);
  Patch(document, kRelativeTo, Value::Scalar(AbsolutePath(folder_, "."), {}), ignored);
  return WriteYaml(document);
}

}  // namespace heddle
