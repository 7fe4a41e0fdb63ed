// SPDX-License-Identifier: Apache-2.0

#include "experiment/experiment_file.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "experiment/complete.h"
#include "settings/files_read.h"
#include "settings/patch.h"
#include "settings/reader.h"
#include "settings/writer.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

constexpr size_t kMaxLabelLength = 200;

// Where relative paths start, if not where the file is: in documents that have been put elsewhere.
constexpr const char* kRelativeTo = "relative_to";

// Of load balancers by kind.
std::map<std::string, uint64_t>& PluginDigests() {
  static std::map<std::string, uint64_t> digests;
  return digests;
}

// A word that a file name and a terminal can have.
std::string PlainText(const std::string& text) {
  std::string plain;
  for (const char c : text.substr(0, kMaxLabelLength)) {
    const bool keep = std::isalnum(static_cast<unsigned char>(c)) || std::strchr("._=+-,[]", c);
    plain += keep ? c : '_';
  }
  return plain.starts_with('.') ? "_" + plain : plain;
}

// Short where the last part of the key says enough.
std::string LabelOf(const std::vector<std::pair<std::string, std::string>>& axes) {
  std::string label;
  for (const auto& [key, value] : axes) {
    const std::string last = key.substr(key.find_last_of('.') + 1);
    label += fmt::format("{}{}={}", label.empty() ? "" : ",", last, value);
  }
  return PlainText(label);
}

// The maps of axes in a sweep: itself, and those that it moves together.
std::vector<Value*> AxisMapsOf(Value& document) {
  Value* sweep = document.Find("sweep");
  if (sweep == nullptr) return {};
  std::vector<Value*> maps = {sweep};
  Value* together = sweep->Find("together");
  if (together == nullptr) return maps;
  for (Value& map : together->items) maps.push_back(&map);
  return maps;
}

// What is set on the command line is not swept any more.
void Override(Value& document, const std::string& path, const Place& place,
              Diagnostics& diagnostics) {
  for (Value* axes : AxisMapsOf(document)) {
    for (const Value::Entry& axis : axes->entries) {
      if (path.size() <= axis.key.size() || !path.starts_with(axis.key)) continue;
      if (path[axis.key.size()] != '.' && path[axis.key.size()] != '[') continue;
      diagnostics.Error(
          place, path,
          fmt::format("has no effect, as sweep.{0} replaces all of {0}; set sweep.{0}, "
                      "or {0} as a whole",
                      axis.key));
    }
    std::erase_if(axes->entries, [&](const Value::Entry& axis) { return axis.key == path; });
  }
}

// The keys of axes are paths themselves: sweep.workload[0].load is one of them, and so is
// sweep.together[0].workload[0].load. The key, if there is such an axis.
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

// What has been taken out of the sweep, or changed there, goes into `fixed`.
void Set(Value& document, const std::string& path, const Value& value, const Place& place,
         std::set<std::string>& fixed, Diagnostics& diagnostics) {
  if (const auto axis = SetAxis(document, path, value)) {
    fixed.insert(*axis);
    return;
  }
  Patch(document, path, value, diagnostics);
  Override(document, path, place, diagnostics);
  fixed.insert(path);
}

std::optional<Value> Take(Value& document, std::string_view key) {
  const Value* found = document.Find(key);
  if (found == nullptr) return std::nullopt;
  std::optional<Value> taken = *found;
  std::erase_if(document.entries, [&](const Value::Entry& entry) { return entry.key == key; });
  return taken;
}

// Nothing else looks at the scales that are not asked for.
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
                      "is the file as it stands; name it otherwise");
    sound = false;
  }
  return sound;
}

void ApplyScale(Value& document, const std::string& name, std::set<std::string>& fixed,
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
    Set(document, entry.key, entry.value, entry.key_place, fixed, diagnostics);
  }
}

std::set<std::string> ApplyOptions(Value& document, const LoadOptions& options,
                                   Diagnostics& diagnostics) {
  std::set<std::string> fixed;
  ApplyScale(document, options.scale, fixed, diagnostics);
  for (const std::string& set : options.sets) {
    const auto value = ValueOfArgument(set, diagnostics);
    if (!value) continue;
    Set(document, set.substr(0, set.find('=')), *value, {"--set " + set, 0, 0}, fixed, diagnostics);
  }
  if (options.seed) {
    Override(document, "seed", {"--seed", 0, 0}, diagnostics);
    Patch(document, "seed", Value::Scalar(fmt::format("{}", *options.seed), {"--seed", 0, 0}),
          diagnostics);
    fixed.insert("seed");
    Value* sweep = document.Find("sweep");
    if (options.one_seed && sweep != nullptr) Take(*sweep, "seeds");
  }
  return fixed;
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

}  // namespace

void NotePluginKind(const std::string& kind, uint64_t digest) { PluginDigests()[kind] = digest; }

ExperimentFile::ExperimentFile(Value document, std::string folder, std::string name,
                               const std::set<std::string>& fixed, Diagnostics& diagnostics)
    : document_(std::move(document)),
      folder_(std::move(folder)),
      name_(std::move(name)),
      points_(document_, fixed, diagnostics) {}

ExperimentFile ExperimentFile::Make(Value document, const std::string& folder,
                                    const std::string& name, const LoadOptions& options,
                                    Diagnostics& diagnostics) {
  const std::optional<std::string> base = TakeText(document, kRelativeTo, diagnostics);
  const std::set<std::string> fixed = ApplyOptions(document, options, diagnostics);
  const Value* given = document.Find("name");
  const bool has_name = given != nullptr && !given->text.empty();
  return ExperimentFile(std::move(document), base ? AbsolutePath(folder, *base) : folder,
                        has_name ? given->text : name, fixed, diagnostics);
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
  return Make(std::move(*document), file.parent_path().string(), file.stem().string(), options,
              diagnostics);
}

Experiment ExperimentFile::Load(size_t point, Diagnostics& diagnostics) const {
  Experiment experiment;
  experiment.axes = points_.ChoicesOf(point);
  experiment.label = LabelOf(experiment.axes);
  Diagnostics problems;
  const FilesRead files;
  const Value document = points_.DocumentOf(point, problems);
  ReadSettings(
      document, [&](Fields& fields) { experiment.settings.Declare(fields); }, problems);
  if (document.kind == Value::Kind::kMap) Complete(experiment, folder_, problems);
  if (experiment.settings.name.empty()) experiment.settings.name = name_;
  experiment.warnings = problems.warnings();
  experiment.files = files.digests();
  const auto plugin = PluginDigests().find(experiment.settings.lb.kind);
  if (plugin != PluginDigests().end()) experiment.files.emplace("(plug-in)", plugin->second);
  diagnostics.Take(problems);
  return experiment;
}

void ExperimentFile::Check(Diagnostics& diagnostics) const {
  for (size_t i = 0; i < size(); ++i) Load(i, diagnostics);
}

std::string ExperimentFile::Text() const {
  Value document = document_;
  Value* sweep = document.Find("sweep");
  Value* exclude = sweep == nullptr ? nullptr : sweep->Find("exclude");
  if (exclude != nullptr) *exclude = points_.exclusions();
  Diagnostics ignored;
  Patch(document, "name", Value::Scalar(name_, {}), ignored);
  Patch(document, kRelativeTo, Value::Scalar(AbsolutePath(folder_, "."), {}), ignored);
  return WriteYaml(document);
}

}  // namespace heddle
