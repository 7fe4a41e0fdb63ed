// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>
#include <string_view>

#include "experiment/experiment.h"
#include "experiment/experiment_file.h"
#include "settings/number_text.h"
#include "settings/quantity.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace heddle {
namespace {

constexpr int64_t kLargestCount = 8;  // A fat tree of that has 128 hosts.

// Writes the files that experiments in the corpus name.
void WriteFiles() {
  WriteInput("flows.csv", "src,dst,size_bytes,start_ps\n0,1,1000,0\n1,0,2000,5\n");
  WriteInput("sizes.cdf", "100 0\n1000 0.5\n100000 1\n");
  WriteInput("links.txt", "4 2 3\n2 3\n0 2 10Gbps 1us 0\n1 3 10Gbps 1us 0\n2 3 10Gbps 1us 0\n");
}

// The options that the text itself sets.
LoadOptions OptionsOf(std::string_view text) {
  LoadOptions options;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with("#set ")) options.sets.emplace_back(line.substr(5));
    if (line.starts_with("#scale ")) options.scale = line.substr(7);
    if (line.starts_with("#seed ")) options.seed = NumberFrom<uint64_t>(line.substr(6));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return options;
}

// Large networks are sound too, but take their time.
bool IsSmall(const Value& document) {
  const Value* topology = document.Find("topology");
  if (topology == nullptr) return true;
  return std::ranges::none_of(topology->entries, [](const Value::Entry& entry) {
    int64_t count = 0;
    return !ParseQuantity(entry.value.text, count) && count > kLargestCount;
  });
}

// run.yaml gives the same experiment.
void RequireRepeats(const Experiment& experiment) {
  const std::string resolved = experiment.Resolved();
  Diagnostics diagnostics;
  const auto again =
      LoadExperimentsFromText(resolved, "run.yaml", FuzzFolder(), LoadOptions{}, diagnostics);
  Require(diagnostics.ok() && again.size() == 1,
          "run.yaml is an experiment: " + diagnostics.Report() + resolved);
  Require(again.front().Resolved() == resolved, "it reads the same: " + resolved);
  Require(again.front().Id() == experiment.Id(), "and is the same experiment");
}

void CheckPoint(const ExperimentFile& file, size_t point) {
  Diagnostics diagnostics;
  const Value document = file.points().DocumentOf(point, diagnostics);
  if (!IsSmall(document)) return;
  const Experiment experiment = file.Load(point, diagnostics);
  RequirePlaces(diagnostics);
  if (!diagnostics.ok()) return;
  Require(experiment.graph.hosts >= 2, "a network has hosts");
  Require(experiment.forecasts.size() == experiment.settings.workload.size(),
          "each workload tells what it asks for");
  Require(experiment.timeline.t_max > Time{}, "time passes");
  RequireRepeats(experiment);
}

// sweep.yaml gives the same points.
void RequireSamePoints(const ExperimentFile& file) {
  const std::string text = file.Text();
  Diagnostics diagnostics;
  const auto again =
      ExperimentFile::FromText(text, "sweep.yaml", FuzzFolder(), LoadOptions{}, diagnostics);
  Require(again && diagnostics.ok(), "sweep.yaml can be read: " + diagnostics.Report() + text);
  Require(again->size() == file.size(), "it has as many points: " + text);
  const size_t last = file.size() - 1;
  Require(again->points().ChoicesOf(last) == file.points().ChoicesOf(last),
          "they are the same: " + text);
}

}  // namespace

void FuzzExperiment(FuzzInput input) {
  WriteFiles();
  const std::string text = TextOf(input);
  Diagnostics diagnostics;
  const auto file =
      ExperimentFile::FromText(text, "fuzz.yaml", FuzzFolder(), OptionsOf(text), diagnostics);
  RequirePlaces(diagnostics);
  Require(file || !diagnostics.ok(), "a document that is refused has an error");
  if (!file || !diagnostics.ok()) return;
  Require(file->size() > 0, "an experiment has points");
  CheckPoint(*file, 0);
  if (file->size() > 1) {
    CheckPoint(*file, file->size() - 1);
    RequireSamePoints(*file);
  }
}

}  // namespace heddle
