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

// The keys of axes are paths themselves: sweep.workload[0].load is one of them.
bool SetAxis(Value& document, const std::string& argument, Diagnostics& diagnostics) {
  const std::string path = argument.substr(0, argument.find('='));
  Value* sweep = document.Find("sweep");
  if (sweep == nullptr || !path.starts_with("sweep.")) return false;
  for (Value::Entry& axis : sweep->entries) {
    if ("sweep." + axis.key != path) continue;
    const auto value = ValueOfArgument(argument, diagnostics);
    if (value) axis.value = *value;
    return true;
  }
  return false;
}

std::set<std::string> ApplyOptions(Value& document, const LoadOptions& options,
                                   Diagnostics& diagnostics) {
  std::set<std::string> fixed;
  for (const std::string& set : options.sets) {
    if (SetAxis(document, set, diagnostics)) continue;
    const std::string path = set.substr(0, set.find('='));
    PatchFromArgument(document, set, diagnostics);
    Override(document, path, {"--set " + set, 0, 0}, diagnostics);
    fixed.insert(path);
  }
  if (options.seed) {
    Override(document, "seed", {"--seed", 0, 0}, diagnostics);
    Patch(document, "seed", Value::Scalar(fmt::format("{}", *options.seed), {"--seed", 0, 0}),
          diagnostics);
    fixed.insert("seed");
  }
  return fixed;
}

std::optional<std::string> TakeText(Value& document, const std::string& key,
                                    Diagnostics& diagnostics) {
  std::optional<std::string> text;
  std::erase_if(document.entries, [&](const Value::Entry& entry) {
    if (entry.key != key) return false;
    if (entry.value.kind != Value::Kind::kScalar) {
      diagnostics.Error(entry.value.place, key, "expected the path of a folder");
    }
    text = entry.value.text;
    return true;
  });
  return text;
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
  Diagnostics ignored;
  Patch(document, "name", Value::Scalar(name_, {}), ignored);
  Patch(document, kRelativeTo, Value::Scalar(AbsolutePath(folder_, "."), {}), ignored);
  return WriteYaml(document);
}

}  // namespace heddle
