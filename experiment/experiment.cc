// SPDX-License-Identifier: Apache-2.0

#include "experiment/experiment.h"

#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/check.h"
#include "experiment/experiment_file.h"
#include "experiment/point_problems.h"
#include "experiment/version.h"
#include "measure/instrument.h"
#include "settings/digest.h"
#include "settings/writer.h"

namespace heddle {

namespace fs = std::filesystem;

void MeasureSettings::Declare(Fields& fields) {
  fields.AddOr("auto", "warm_up", warm_up, {.at_least = Duration{0}, .at_most = 1000_s},
               "Flows that start within this time from the first possible start are simulated, but "
               "not measured. auto: 5ms or 5% of the time in which flows start, whichever is less; "
               "0ps if no workload has a load.");
  fields.Add("cool_down", cool_down, {.at_least = Duration{0}, .at_most = 1000_s},
             "Flows that start within this time before flows stop starting are simulated, but not "
             "measured.");
  fields.AddOr(
      "auto", "t_max", t_max, {.above = Duration{0}, .at_most = 1'000'000_s},
      "The run ends here, even if measured flows are unfinished. auto: 1s after flows stop "
      "starting, or 20 times the time that the largest percent of flows needs on the slowest "
      "link, whichever is more.");
  fields.Choice(
      "unfinished", unfinished,
      {{"error", Unfinished::kError}, {"inf", Unfinished::kInf}, {"drop", Unfinished::kDrop}},
      "How measured flows that are unfinished at t_max count. error: they count as infinitely "
      "slow and the exit code is 1; inf: they count as infinitely slow; drop: they don't count.");
  fields.List("classes", classes, {},
              "Class sets by which results are split: all, smlxl, sml, conga, pias, bdp.");
  fields.Choice(
      "percentiles", percentiles,
      {{"linear", PercentileMethod::kLinear},
       {"nearest", PercentileMethod::kNearest},
       {"hpcc", PercentileMethod::kHpcc}},
      "How a percentile is computed. linear: interpolated, as in numpy; nearest: the sample "
      "at the rank rounded up; hpcc: the sample at the rank rounded down.");
  fields.Add(
      "neighbours", neighbours,
      "Each measured job runs once more without other flows, in the same places and with the "
      "same random draws; jobs.csv tells what its neighbours cost it.");
  instruments.Declare(fields);
  fields.Section("record", record, "Time series to record, each in its own file.");
  fields.Require(!classes.empty(), "classes", "name at least one class set");
}

std::vector<std::unique_ptr<Instrument>> MeasureSettings::Make(const RunPlan& plan) const {
  std::vector<std::unique_ptr<Instrument>> made;
  instruments.Make(plan, made);
  record.instruments.Make(plan, made);
  return made;
}

void RoutingSettings::Declare(Fields& fields) {
  fields.Add(
      "convergence", convergence, {.at_least = Duration{0}, .at_most = 1000_s},
      "Time from a link's failure or recovery until all switches and hosts route accordingly; "
      "until then, packets that are routed to a failed link are lost.");
  fields.AddOr("convergence", "detect", detect, {.at_least = Duration{0}, .at_most = 1000_s},
               "Time from a link's failure until its two ends notice and stop using it, if it is "
               "still down: they use their other equal-cost links, or drop packets that have none. "
               "convergence: they learn of it with all others.");
  fields.Add("hold_up", hold_up, {.at_least = Duration{0}, .at_most = 1000_s},
             "A link that is up again is used once it has been up for this time, and for "
             "convergence.");
  fields.Require(!detect || *detect <= convergence, "detect",
                 "is above convergence; the ends of a link learn of a failure first");
}

void ExperimentSettings::Declare(Fields& fields) {
  fields.Add("name", name,
             "Name of the experiment, and of its folder of results. Default: the file's name.");
  fields.Add("seed", seed, AtLeast<int64_t>(0), "Seed of all random streams.");
  fields.Kind("topology", topology, Topologies(), "The network.", Fields::kRequired);
  fields.Kind("transport", transport, Transports(), "The transport of all hosts.");
  fields.Kind("lb", lb, LoadBalancers(), "The load balancer.", Fields::kRequired);
  fields.Choice(
      "ack_path", ack_path,
      {{"policy", AckPath::kPolicy},
       {"ecmp", AckPath::kEcmp},
       {"symmetric", AckPath::kSymmetric},
       {"spray", AckPath::kSpray}},
      "The path of ACKs, NACKs and CNPs. policy: the load balancer chooses it; ecmp: by the "
      "hash of their 5-tuple; symmetric: back along the path of the packet that they "
      "answer, or by their hash if that path has failed; spray: a random path for each.");
  fields.KindList("workload", workload, Workloads(), "The flows.", Fields::kRequired);
  fields.Sections("background", background,
                  "UDP datagrams without congestion control or retransmission; udp.csv counts "
                  "their arrivals and losses.");
  fields.Section("measure", measure, "Which flows are measured, how, and when the run ends.");
  fields.Sections("schedule", schedule, "Changes of links and switches during the run.");
  fields.Section("routing", routing, "How routing reacts to failures.");
  fields.Require(name.find_first_of("/\\\n") == std::string::npos && name != "." && name != "..",
                 "name", "cannot be the name of a folder");
  fields.Require(!workload.empty(), "workload", "names no workload");
  fields.Require(workload.size() < 1000, "workload", "names more than 999 workloads");
  fields.Require(background.size() < 1000, "background", "has more than 999 entries");
}

std::string Experiment::Resolved() const {
  // Declare() takes references that are not const, but the writer only reads them.
  ExperimentSettings& source = const_cast<ExperimentSettings&>(settings);
  return fmt::format("# heddle {}: the whole experiment, every default written out\n", Version()) +
         WriteYaml([&](Fields& fields) { source.Declare(fields); });
}

double Experiment::Total(double Forecast::*what) const {
  double total = 0;
  for (const Forecast& forecast : forecasts) total += forecast.*what;
  return total;
}

SizeClasses Experiment::size_classes() const {
  std::vector<ClassSet> sets;
  for (const std::string& name : settings.measure.classes) {
    sets.push_back(MakeClassSet(name, bdp.count));
  }
  return SizeClasses(std::move(sets));
}

namespace {

// The folder that all these files are in; empty if there is none but the root.
std::string FolderOf(const std::map<std::string, uint64_t>& files) {
  std::optional<fs::path> folder;
  for (const auto& [path, digest] : files) {
    if (!path.starts_with('/')) continue;  // A plug-in.
    const fs::path its = fs::path(path).parent_path();
    if (!folder) folder = its;
    const auto end = std::ranges::mismatch(*folder, its).in1;
    fs::path common;
    for (auto part = folder->begin(); part != end; ++part) common /= *part;
    folder = common;
  }
  return folder && folder->has_relative_path() ? folder->string() : "";
}

}  // namespace

// A study may move to another place together with its files, so their paths count from the folder
// that all are in.
std::string Experiment::Id() const {
  const std::string resolved = Resolved();
  const size_t name = resolved.find('\n') + 1;
  HEDDLE_CHECK(resolved.compare(name, 5, "name:") == 0, "no name in {}", resolved.substr(0, 200));
  std::string identity = resolved.substr(resolved.find('\n', name) + 1);
  for (const auto& [path, digest] : files) identity += fmt::format("{} {:016x}\n", path, digest);
  const std::string folder = FolderOf(files);
  if (!folder.empty()) absl::StrReplaceAll({{folder + "/", ""}}, &identity);
  return fmt::format("{:016x}", Digest(identity));
}

namespace {

// Loads all points, so that all mistakes are reported at once.
std::vector<Experiment> LoadAll(const std::optional<ExperimentFile>& file,
                                Diagnostics& diagnostics) {
  if (!file) return {};
  std::vector<Experiment> experiments;
  PointProblems all(file->points());
  bool sound = diagnostics.ok();
  for (size_t i = 0; i < file->size(); ++i) {
    Diagnostics problems;
    Experiment experiment = file->Load(i, problems);
    all.Take(problems, i);
    diagnostics.TakeWarnings(problems);
    sound &= problems.ok();
    if (sound) experiments.push_back(std::move(experiment));
  }
  all.Report(diagnostics);
  if (!sound) return {};
  return experiments;
}

}  // namespace

std::vector<Experiment> LoadExperimentsFromText(const std::string& text, const std::string& source,
                                                const std::string& folder,
                                                const LoadOptions& options,
                                                Diagnostics& diagnostics) {
  return LoadAll(ExperimentFile::FromText(text, source, folder, options, diagnostics), diagnostics);
}

std::vector<Experiment> LoadExperiments(const std::string& path, const LoadOptions& options,
                                        Diagnostics& diagnostics) {
  return LoadAll(ExperimentFile::Read(path, options, diagnostics), diagnostics);
}

}  // namespace heddle
