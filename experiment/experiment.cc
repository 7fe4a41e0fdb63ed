// SPDX-License-Identifier: Apache-2.0

#include "experiment/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "experiment/complete.h"
#include "experiment/version.h"
#include "settings/patch.h"
#include "settings/reader.h"
#include "settings/writer.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

constexpr size_t kMaxPoints = 100'000;
constexpr size_t kMaxNameLength = 200;

const Range<Duration> kIntervals = {.at_least = 1_ns, .at_most = 1000_s};

// --- Sweeps ---

// One combination of what a sweep's axes offer.
struct Point {
  Value document;
  std::vector<std::pair<std::string, std::string>> axes;
};

// "ecmp", "letflow.gap=100us", "0.6": a value as part of a label.
std::string LabelOf(const Value& value) {
  if (value.kind == Value::Kind::kScalar) return value.text;
  std::string label;
  for (const Value& item : value.items) label += (label.empty() ? "" : "+") + LabelOf(item);
  for (const Value::Entry& entry : value.entries) {
    const std::string part =
        entry.key == "kind" ? entry.value.text : entry.key + "=" + LabelOf(entry.value);
    label += (label.empty() ? "" : ".") + part;
  }
  return label;
}

// Replaces `points` by their combinations with the values of `axis`.
void Combine(const Value::Entry& axis, std::vector<Point>& points, Diagnostics& diagnostics) {
  const std::string path = "sweep." + axis.key;
  if (axis.value.kind != Value::Kind::kList || axis.value.items.empty()) {
    return diagnostics.Error(axis.value.place, path, "expected a list of values, at least one");
  }
  if (points.size() * axis.value.items.size() > kMaxPoints) {
    return diagnostics.Error(axis.value.place, path,
                             fmt::format("makes more than {} experiments", kMaxPoints));
  }
  std::vector<Point> combined;
  for (const Point& point : points) {
    for (const Value& value : axis.value.items) {
      Point next = point;
      Patch(next.document, axis.key, value, diagnostics);
      next.axes.emplace_back(axis.key, LabelOf(value));
      combined.push_back(std::move(next));
      if (!diagnostics.ok()) return;
    }
  }
  points = std::move(combined);
}

// What is set on the command line is not swept any more.
void Override(Value& document, std::string_view path, const Place& place,
              Diagnostics& diagnostics) {
  Value* sweep = document.Find("sweep");
  if (sweep == nullptr) return;
  for (const Value::Entry& axis : sweep->entries) {
    if (path.size() <= axis.key.size() || !path.starts_with(axis.key)) continue;
    if (path[axis.key.size()] != '.' && path[axis.key.size()] != '[') continue;
    diagnostics.Error(place, path,
                      fmt::format("has no effect, as sweep.{0} replaces all of {0}; set sweep.{0}, "
                                  "or {0} as a whole",
                                  axis.key));
  }
  std::erase_if(sweep->entries, [&](const Value::Entry& axis) { return axis.key == path; });
}

std::vector<Point> ExpandSweep(Value document, Diagnostics& diagnostics) {
  std::vector<Point> points(1);
  Value sweep;
  std::erase_if(document.entries, [&](Value::Entry& entry) {
    if (entry.key != "sweep") return false;
    sweep = std::move(entry.value);
    return true;
  });
  points.front().document = std::move(document);
  if (sweep.kind != Value::Kind::kMap && sweep.kind != Value::Kind::kNull) {
    diagnostics.Error(sweep.place, "sweep", "expected a map from settings to lists of values");
  }
  for (const Value::Entry& axis : sweep.entries) Combine(axis, points, diagnostics);
  return points;
}

// A name that a folder can have.
std::string FolderName(const std::string& label) {
  std::string name;
  for (const char c : label.substr(0, kMaxNameLength)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || std::strchr("._=+-,[]", c);
    name += plain ? c : '_';
  }
  return name.starts_with('.') ? "_" + name : name;
}

// Short where the last part of the key says enough.
std::string LabelOf(const std::vector<std::pair<std::string, std::string>>& axes) {
  std::string label;
  for (const auto& [key, value] : axes) {
    const std::string last = key.substr(key.find_last_of('.') + 1);
    label += fmt::format("{}{}={}", label.empty() ? "" : ",", last, value);
  }
  return FolderName(label);
}

}  // namespace

void MeasureSettings::Declare(Fields& fields) {
  fields.AddOr("auto", "warm_up", warm_up, {.at_least = Duration{0}, .at_most = 1000_s},
               "Flows that start within this time from the first possible one are simulated, but "
               "not measured. auto: 5ms or 5% of the time in which flows start, whichever is less; "
               "0ps if no workload has a load.");
  fields.Add("cool_down", cool_down, {.at_least = Duration{0}, .at_most = 1000_s},
             "Likewise flows that start within this time before flows stop starting.");
  fields.AddOr(
      "auto", "t_max", t_max, {.above = Duration{0}, .at_most = 1'000'000_s},
      "The run ends here, even if measured flows are unfinished. auto: 1s after flows stop "
      "starting, or 20 times what the largest percent of flows needs on the slowest link, if that "
      "is more.");
  fields.Choice(
      "unfinished", unfinished,
      {{"error", Unfinished::kError}, {"inf", Unfinished::kInf}, {"drop", Unfinished::kDrop}},
      "Measured flows that are unfinished at t_max. error: they count as infinitely slow and "
      "the exit code is 1; inf: they count as infinitely slow; drop: they don't count.");
  fields.List("classes", classes, {},
              "Class sets by which results are split: all, smlxl, sml, conga, pias, bdp.");
  fields.Choice("percentiles", percentiles,
                {{"linear", PercentileMethod::kLinear},
                 {"nearest", PercentileMethod::kNearest},
                 {"hpcc", PercentileMethod::kHpcc}},
                "linear: interpolated, as numpy does; nearest: a sample, rank rounded up; hpcc: a "
                "sample, rank rounded down.");
  fields.Section("record", record, "What is recorded over time, in files of its own.");
  fields.Require(!classes.empty(), "classes", "name at least one class set");
}

bool RecordSettings::Flows::Chooses(int64_t id, int64_t size) const {
  return (size_at_least && size >= size_at_least->count) || std::ranges::find(ids, id) != ids.end();
}

void RecordSettings::Flows::Declare(Fields& fields) {
  fields.List("ids", ids, Between<int64_t>(0, std::numeric_limits<uint32_t>::max()),
              "Flows by their flow_id in flows.csv.");
  fields.AddOr("none", "size_at_least", size_at_least, Above(Bytes{0}),
               "And all flows of at least this size.");
  fields.Add("every", every, kIntervals, "The interval.");
}

void RecordSettings::Declare(Fields& fields) {
  fields.AddOr("off", "queues", queues, kIntervals,
               "series_queue.csv: the queues of switches at each multiple of this.");
  fields.AddOr("off", "links", links, kIntervals,
               "series_link.csv: what each direction of each link sends in each interval.");
  fields.AddOr("off", "buffers", buffers, kIntervals,
               "series_buffer.csv: what each switch holds at each multiple of this.");
  fields.AddOr("off", "marks", marks, kIntervals,
               "series_marks.csv and series_cnp.csv: packets that each port marks, and congestion "
               "notifications that come to each host, in each interval.");
  fields.Section("flows", flows,
                 "series_flow.csv: windows, rates and progress of flows that are being sent.");
  fields.AddOr("off", "pauses", pauses, kIntervals,
               "pfc_rate.csv: pauses in each interval; pause_intervals.csv: each pause of each "
               "class of each port.");
  fields.Add("paths", paths,
             "paused_paths.csv: how many paths between leaves are paused in each of these "
             "intervals; path_pauses.csv: how long each was. Takes memory for each path.");
  fields.Require(!paths || pauses, "paths", "needs an interval, such as \"pauses: 1ms\"");
}

void RoutingSettings::Declare(Fields& fields) {
  fields.Add("convergence", convergence, {.at_least = Duration{0}, .at_most = 1000_s},
             "From the moment a link goes down or comes up to that at which all switches and hosts "
             "route by it; until then, what is routed to a link that is down is lost.");
}

void ExperimentSettings::Declare(Fields& fields) {
  fields.Add("name", name, "Names the folder of the results. Default: the file's name.");
  fields.Add("seed", seed, AtLeast<int64_t>(0), "Seed of all randomness.");
  fields.Kind("topology", topology, Topologies(), "The network.", Fields::kRequired);
  fields.Kind("transport", transport, Transports(), "The transport of all hosts.");
  fields.Kind("lb", lb, LoadBalancers(), "The load balancer.", Fields::kRequired);
  fields.Choice("ack_path", ack_path,
                {{"policy", AckPath::kPolicy},
                 {"ecmp", AckPath::kEcmp},
                 {"symmetric", AckPath::kSymmetric},
                 {"spray", AckPath::kSpray}},
                "Where ACKs, NACKs and CNPs go. policy: as the load balancer says; ecmp: by the "
                "hash of their 5-tuple; symmetric: back along the path of the packet that they "
                "answer, or by their hash where that is down; spray: each along a random path.");
  fields.KindList("workload", workload, Workloads(), "The flows.", Fields::kRequired);
  fields.Sections("background", background,
                  "UDP datagrams that are sent whatever becomes of them; udp.csv has what did.");
  fields.Section("measure", measure, "What is measured, and until when.");
  fields.Sections("schedule", schedule,
                  "What happens to links and switches while the run goes on.");
  fields.Section("routing", routing, "How routes follow failures.");
  fields.Require(name.find_first_of("/\\\n") == std::string::npos && name != "." && name != "..",
                 "name", "cannot be the name of a folder");
  fields.Require(!workload.empty(), "workload", "names no workload");
  fields.Require(workload.size() < 1000, "workload", "names more than 999 workloads");
  fields.Require(background.size() < 1000, "background", "has more than 999 entries");
}

std::string Experiment::Resolved() const {
  // Declare() takes references to what may be written; a writer does not write.
  ExperimentSettings& source = const_cast<ExperimentSettings&>(settings);
  return fmt::format("# heddle {}: the whole experiment, every default written out\n", Version()) +
         WriteYaml([&](Fields& fields) { source.Declare(fields); });
}

SizeClasses Experiment::size_classes() const {
  std::vector<ClassSet> sets;
  for (const std::string& name : settings.measure.classes) {
    sets.push_back(MakeClassSet(name, bdp.count));
  }
  return SizeClasses(std::move(sets));
}

namespace {

std::vector<Experiment> LoadFromDocument(Value document, const std::string& folder,
                                         const LoadOptions& options, Diagnostics& diagnostics) {
  for (const std::string& set : options.sets) {
    PatchFromArgument(document, set, diagnostics);
    Override(document, set.substr(0, set.find('=')), {"--set " + set, 0, 0}, diagnostics);
  }
  if (options.seed) {
    Override(document, "seed", {"--seed", 0, 0}, diagnostics);
    Patch(document, "seed", Value::Scalar(fmt::format("{}", *options.seed), {"--seed", 0, 0}),
          diagnostics);
  }
  // Points without a mistake are kept only if there is none anywhere.
  std::vector<Experiment> experiments;
  for (Point& point : ExpandSweep(std::move(document), diagnostics)) {
    if (!diagnostics.ok()) experiments.clear();
    Experiment& experiment = experiments.emplace_back();
    experiment.label = LabelOf(point.axes);
    experiment.axes = point.axes;
    Diagnostics problems;
    ReadSettings(
        point.document, [&](Fields& fields) { experiment.settings.Declare(fields); }, problems);
    if (point.document.kind == Value::Kind::kMap) Complete(experiment, folder, problems);
    experiment.warnings = problems.warnings();
    diagnostics.Take(problems);
  }
  if (!diagnostics.ok()) return {};
  return experiments;
}

}  // namespace

std::vector<Experiment> LoadExperimentsFromText(const std::string& text, const std::string& source,
                                                const std::string& folder,
                                                const LoadOptions& options,
                                                Diagnostics& diagnostics) {
  std::optional<Value> document = ParseYaml(text, source, diagnostics);
  if (!document) return {};
  return LoadFromDocument(std::move(*document), folder, options, diagnostics);
}

std::vector<Experiment> LoadExperiments(const std::string& path, const LoadOptions& options,
                                        Diagnostics& diagnostics) {
  std::optional<Value> document = ReadYamlFile(path, diagnostics);
  if (!document) return {};
  const std::filesystem::path file(path);
  std::vector<Experiment> experiments =
      LoadFromDocument(std::move(*document), file.parent_path().string(), options, diagnostics);
  for (Experiment& experiment : experiments) {
    if (experiment.settings.name.empty()) experiment.settings.name = file.stem().string();
  }
  return experiments;
}

}  // namespace heddle
