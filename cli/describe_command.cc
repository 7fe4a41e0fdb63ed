// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/failures.h"
#include "cli/families.h"
#include "experiment/version.h"
#include "settings/diagnostics.h"
#include "settings/writer.h"
#include "workload/sizes.h"

namespace heddle {
namespace {

void PrintFields(const std::vector<FieldInfo>& fields) {
  for (const FieldInfo& field : fields) {
    fmt::print("\n  {}\n", field.path);
    fmt::print("      type     {}\n", field.type);
    if (!field.preset.empty()) fmt::print("      default  {}\n", field.preset);
    fmt::print("      meaning  {}\n", field.meaning);
  }
}

// Returns true if there are sections of this name. One name may be in several places, such as
// `port`, whose defaults differ between topologies.
bool DescribeSections(const std::string& name) {
  bool found = false;
  for (const SettingSection& section : SectionsCalled(name)) {
    if (found) fmt::print("\n");
    found = true;
    fmt::print("{}: settings {}\n", section.path,
               section.kinds.empty() ? "of every experiment"
                                     : fmt::format("of {}", fmt::join(section.kinds, ", ")));
    PrintFields(section.fields);
  }
  return found;
}

void DescribeSizes(const SizeTable& table) {
  const auto sizes = MakeCdf(table.points, {});
  fmt::print("{}: a distribution of flow sizes\n  {}\n", table.name, table.source);
  fmt::print("  mean {:.0f} bytes with linear interpolation, {:.0f} with steps\n", sizes->mean(),
             MakeCdf(table.points, {.interpolation = Interpolation::kStep})->mean());
  fmt::print("\n  {:>12}  {}\n", "bytes", "share of flows not larger");
  for (const auto& [bytes, share] : table.points) fmt::print("  {:>12}  {}\n", bytes, share);
}

}  // namespace

int List() {
  for (const Family& family : Families()) {
    fmt::print("{} ({}:)\n", family.heading, family.key);
    for (const KindInfo& kind : family.kinds()) fmt::print("  {:20} {}\n", kind.name, kind.summary);
    fmt::print("\n");
  }
  fmt::print("Size distributions (sizes:)\n");
  for (const SizeTable& table : SizeTables()) fmt::print("  {:20} {}\n", table.name, table.source);
  return kExitDone;
}

int DescribeName(const std::string& name) {
  std::vector<std::string> known = {"experiment"};
  if (name == "experiment") {
    fmt::print("experiment: the settings of an experiment's YAML file\n");
    PrintFields(ExperimentFields());
    fmt::print(
        "\n  sweep\n      type     map from settings to lists of values\n"
        "      meaning  One run for each combination, as in sweep: {{lb: [ecmp, rps]}}. A range is "
        "a "
        "list too: {{from: 0.1, to: 0.9, step: 0.1}}, or {{from: 10us, to: 1ms, points: 5, scale: "
        "log}}.\n"
        "\n  sweep.together\n      type     list of maps from settings to lists of values\n"
        "      meaning  Settings that take their next values together.\n"
        "\n  sweep.exclude\n      type     list of maps from settings to values\n"
        "      meaning  Combinations to leave out: each that matches all entries of one of these "
        "maps.\n"
        "\n  sweep.seeds\n      type     integer >= 1 <= 10000\n"
        "      meaning  The number of seeds for each combination, from `seed` on.\n"
        "\n  sweep.labels\n      type     map from settings to maps from values to texts\n"
        "      meaning  What tables, reports and figures show in place of a value, as in labels: "
        "{{lb: {{letflow: LetFlow}}}}. Result files keep the value.\n"
        "\n  relative_to\n      type     text\n      default  (the file's folder)\n"
        "      meaning  The folder from which relative paths in this file start.\n");
    return kExitDone;
  }
  bool found = false;  // One name may be in several families, such as dctcp.
  for (const Family& family : Families()) {
    for (const KindInfo& kind : family.kinds()) {
      known.push_back(kind.name);
      if (kind.name != name) continue;
      if (found) fmt::print("\n");
      found = true;
      fmt::print("{}: {}\n", kind.name, kind.summary);
      if (!kind.source.empty()) fmt::print("Source: {}\n", kind.source);
      // Workloads are a list.
      const std::string map = fmt::format("{{kind: {}, ...}}", kind.name);
      fmt::print("In an experiment: {}: {}\n", family.key,
                 family.key == "workload" ? "[" + map + "]" : map);
      PrintFields(family.fields(name));
    }
  }
  if (found || DescribeSections(name)) return kExitDone;
  for (const SizeTable& table : SizeTables()) {
    known.emplace_back(table.name);
    if (table.name != name) continue;
    DescribeSizes(table);
    return kExitDone;
  }
  for (const std::string& section : SectionNames()) known.push_back(section);
  fmt::print(stderr, "heddle: nothing is called \"{}\"{}\n", name, Suggestion(name, known));
  if (Nearest(name, known) == nullptr) HintAtPlugins();
  return kExitBadInput;
}

std::string VersionText() {
  return fmt::format("heddle {}{}, {}, {} build", Version(),
                     Commit().empty() ? "" : " (" + Commit() + ")", Compiler(), BuildType());
}

}  // namespace heddle
