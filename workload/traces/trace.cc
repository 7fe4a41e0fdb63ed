// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/trace.h"

#include <fmt/format.h>

#include <utility>

#include "settings/files_read.h"
#include "settings/status.h"
#include "workload/file_errors.h"
#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/jobs/scaled.h"
#include "workload/traces/chakra_groups.h"
#include "workload/traces/flow_txt.h"
#include "workload/traces/goal_binary.h"
#include "workload/traces/goal_text.h"
#include "workload/traces/gzip.h"

namespace heddle {
namespace {

constexpr size_t kMostTraceBytes = size_t{4} << 30;

const Choices<Trace::Format>& Formats() {
  static const Choices<Trace::Format> formats = {
      {"goal", Trace::Format::kGoal},        {"goal_binary", Trace::Format::kGoalBinary},
      {"chakra", Trace::Format::kChakra},    {"chakra_json", Trace::Format::kChakraJson},
      {"htsim_cm", Trace::Format::kHtsimCm}, {"hpcc", Trace::Format::kHpcc}};
  return formats;
}

// Sizes are scaled alike at both ends of a message. Collectives are made at their scaled size.
void ScaleOperations(OperationGraph& graph, double scale) {
  for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
    for (uint32_t op = 0; op < graph.OpsOf(rank).size(); ++op) {
      Operation& its = graph.At(rank, op);
      its.bytes = ScaledBytes(its.bytes, scale);
      its.time = ScaledTime(its.time, scale);
    }
  }
}

}  // namespace

void Trace::Declare(Fields& fields) {
  fields.Choice(
      "format", format_, Formats(),
      "goal: operations of each rank as LogGOPSim reads them. goal_binary: the same as "
      "its txt2bin writes it. chakra: execution traces of MLCommons Chakra, FILE.RANK.et for "
      "each rank. chakra_json: the same as JSON, FILE.RANK.json. htsim_cm: a connection "
      "matrix of htsim, with triggers. hpcc: the flow.txt of HPCC's and ConWeave's "
      "simulators.",
      Fields::kRequired);
  fields.Add("file", file_,
             "The trace, relative to the experiment's folder; chakra: what the names of all ranks' "
             "files begin with.",
             Fields::kRequired);
  fields.AddOr("trace", "ranks", expected_ranks_, Between<int64_t>(1, 1 << 20),
               "The number of ranks. chakra: must be set. hpcc: default is what the largest host "
               "of the list needs. "
               "Other formats say it themselves; another number here is an error.");
  fields.Section("goal", goal_, "goal: how long operations take, by the LogGOPS model.");
  fields.Choice("cm_time", cm_.unit,
                {{"ps", HtsimCmSettings::Unit::kPs}, {"us", HtsimCmSettings::Unit::kUs}},
                "htsim_cm: the unit of start.");
  fields.Choice("cross_host", cm_.cross_host,
                {{"delay", HtsimCmSettings::CrossHost::kDelay},
                 {"receive", HtsimCmSettings::CrossHost::kReceive},
                 {"refuse", HtsimCmSettings::CrossHost::kRefuse}},
                "htsim_cm: connections that start at another node than the one where their trigger "
                "fires. delay: they start release_delay later. receive: likewise, but a "
                "send_done_trigger whose connections all start at the receiver fires there, when "
                "the message has been received. refuse: an error.");
  fields.AddOr("auto", "t0", t0_, {.at_least = Duration{0}, .at_most = 1000_s},
               "hpcc: subtracted from all starts. auto: 2s if no flow starts before, else 0.");
  fields.Choice("memory", chakra_.ignores_memory, {{"refuse", false}, {"ignore", true}},
                "chakra: memory accesses take no time, or are an error.");
  fields.Add("ctrl_deps", chakra_.has_ctrl_deps,
             "chakra: nodes wait for their ctrl_deps, too, not only for their data_deps.");
  fields.Choice(
      "streams", chakra_.limits_streams, {{"astra", true}, {"free", false}},
      "chakra: astra: a rank runs one CPU operation, one GPU computation and one "
      "communication at a time, and receives besides, as in ASTRA-sim. free: any number.");
  fields.Add(
      "comm_groups", comm_groups_,
      "chakra: a JSON file with the ranks of each group, as in {\"1\": [0, 1]}. Collectives "
      "without a pg_name, or with 0, are of all ranks. Groups that the trace declares itself "
      "need no file.");
  fields.Section("algorithms", chakra_.algorithms,
                 "chakra: the algorithms of the trace's collectives.");
  fields.Add("scale", scale_, {.above = 0.0, .at_most = 1.0},
             "Multiplies all bytes and times of the trace, as a whole step is billions of packets: "
             "1/1000.");
  DeclareJobOfFile(fields);
  fields.Require(!is_chakra() || expected_ranks_.has_value(), "ranks", "chakra needs it");
  RequireOwnFormat(fields);
}

void Trace::RequireOwnFormat(Fields& fields) const {
  const bool is_goal = format_ == Format::kGoal || format_ == Format::kGoalBinary;
  const bool is_cm = format_ == Format::kHtsimCm;
  const bool is_hpcc = format_ == Format::kHpcc;
  const ChakraSettings chakra;
  const HtsimCmSettings cm;
  const auto require = [&](bool is_own, bool is_default, std::string_view name,
                           std::string_view formats) {
    fields.Require(is_own || is_default, name,
                   fmt::format("has no effect on format: {}; it goes with {}",
                               WordOf(Formats(), format_), formats));
  };
  require(is_goal, goal_ == GoalSettings(), "goal", "goal and goal_binary");
  require(is_cm, cm_.unit == cm.unit, "cm_time", "htsim_cm");
  require(is_cm, cm_.cross_host == cm.cross_host, "cross_host", "htsim_cm");
  require(is_hpcc, !t0_, "t0", "hpcc");
  constexpr std::string_view kChakra = "chakra and chakra_json";
  require(is_chakra(), chakra_.ignores_memory == chakra.ignores_memory, "memory", kChakra);
  require(is_chakra(), chakra_.has_ctrl_deps == chakra.has_ctrl_deps, "ctrl_deps", kChakra);
  require(is_chakra(), chakra_.limits_streams == chakra.limits_streams, "streams", kChakra);
  require(is_chakra(), comm_groups_.empty(), "comm_groups", kChakra);
  require(is_chakra(), chakra_.algorithms == chakra.algorithms, "algorithms", kChakra);
}

bool Trace::ReadFiles(std::string_view path, FilesRead& files, Diagnostics& diagnostics) {
  graph_.reset();
  file_ = stage().PathTo(file_);
  std::optional<OperationGraph> graph =
      is_chakra() ? ReadChakra(path, files, diagnostics) : ReadOne(path, files, diagnostics);
  if (!graph) return false;
  if (!CanRun(*graph, diagnostics)) return false;
  ScaleOperations(*graph, scale_);
  SetRanks(graph->ranks());
  if (expected_ranks_ && *expected_ranks_ != graph->ranks()) {
    diagnostics.ErrorAt(fmt::format("{}.ranks", path),
                        fmt::format("is {}; {} has {}", *expected_ranks_, file_, graph->ranks()));
    return false;
  }
  graph_ = std::make_shared<const OperationGraph>(*std::move(graph));
  return true;
}

bool Trace::CanRun(const OperationGraph& graph, Diagnostics& diagnostics) const {
  OperationName name = nullptr;
  if (is_chakra()) {
    name = [&graph](uint32_t rank, uint32_t op) { return NodeNameOf(graph, rank, op); };
  }
  FileErrors errors(file_, diagnostics);
  for (const GraphProblem& its : GraphProblems(graph, FileErrors::kMost, std::move(name))) {
    errors.AddIn(FileOf(its.rank), its.line, its.message);
  }
  return !errors.any();
}

std::string Trace::FileOf(uint32_t rank) const {
  if (!is_chakra() || rank == kAnyRank) return file_;
  return fmt::format("{}.{}.{}", file_, rank, format_ == Format::kChakraJson ? "json" : "et");
}

std::optional<OperationGraph> Trace::ReadOne(std::string_view path, FilesRead& files,
                                             Diagnostics& diagnostics) const {
  const auto text = TextOf(file_, fmt::format("{}.file", path), files, diagnostics);
  if (!text) return std::nullopt;
  FileErrors errors(file_, diagnostics);
  return Read(*text, errors);
}

std::optional<std::string> Trace::TextOf(const std::string& file, std::string_view key,
                                         FilesRead& files, Diagnostics& diagnostics) const {
  absl::StatusOr<std::string> text = files.Read(file, kMostTraceBytes);
  if (text.ok() && IsGzip(*text)) text = Gunzip(*text, kMostTraceBytes);
  if (text.ok()) return *std::move(text);
  diagnostics.ErrorAt(key, MessageOf(Within(text.status(), file, " ")));
  return std::nullopt;
}

std::optional<OperationGraph> Trace::ReadChakra(std::string_view path, FilesRead& files,
                                                Diagnostics& diagnostics) {
  const uint32_t ranks = static_cast<uint32_t>(*expected_ranks_);
  chakra_.scale = scale_;
  if (!ReadGroups(path, files, diagnostics)) return std::nullopt;
  ChakraBuilder builder(chakra_, ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const bool is_json = format_ == Format::kChakraJson;
    const std::string file = FileOf(rank);
    const auto text = TextOf(file, fmt::format("{}.file", path), files, diagnostics);
    if (!text) return std::nullopt;
    FileErrors errors(file, diagnostics);
    const std::vector<ChakraNode> nodes = is_json
                                              ? ReadChakraJson(*text, builder.ignored(), errors)
                                              : ReadChakraWire(*text, builder.ignored(), errors);
    if (!errors.any()) builder.AddRank(rank, nodes, errors);
    if (errors.any()) return std::nullopt;
  }
  const std::string ignored = builder.ignored().Text();
  if (!ignored.empty()) FileErrors(file_, diagnostics).Warn(0, ignored);
  return builder.Take();
}

bool Trace::ReadGroups(std::string_view path, FilesRead& files, Diagnostics& diagnostics) {
  if (comm_groups_.empty()) return true;
  comm_groups_ = stage().PathTo(comm_groups_);
  const auto text = TextOf(comm_groups_, fmt::format("{}.comm_groups", path), files, diagnostics);
  if (!text) return false;
  FileErrors errors(comm_groups_, diagnostics);
  chakra_.groups = ReadChakraGroups(*text, static_cast<uint32_t>(*expected_ranks_), errors);
  return !errors.any();
}

std::optional<OperationGraph> Trace::Read(std::string_view text, FileErrors& errors) const {
  switch (format_) {
    case Format::kGoal:
      return ReadGoalText(text, goal_, errors);
    case Format::kGoalBinary:
      return ReadGoalBinary(text, goal_, errors);
    case Format::kHtsimCm:
      return ReadHtsimCm(text, cm_, errors);
    default:
      break;
  }
  FlowTxtSettings settings{.t0 = t0_, .ranks = {}};
  if (expected_ranks_) settings.ranks = static_cast<uint32_t>(*expected_ranks_);
  return ReadFlowTxt(text, settings, errors);
}

bool Trace::CheckNamedNics(Diagnostics& diagnostics) const {
  bool names_nics = false;
  for (uint32_t rank = 0; rank < graph_->ranks(); ++rank) {
    const int links = stage().links_of_host[HostsOfJob()[rank]];
    const auto ops = graph_->OpsOf(rank);
    for (uint32_t op = 0; op < ops.size(); ++op) {
      const uint16_t nic = ops[op].nic;
      if (nic == kUnnamedNic) continue;
      names_nics = true;
      if (nic < links) continue;
      FileErrors(file_, diagnostics)
          .Warn(ops[op].line,
                fmt::format("{} has nic {}, but the host of rank {} has {}, so this is its link "
                            "{}: a nic is taken modulo the number of links",
                            graph_->NameOf(rank, op), nic, rank,
                            links == 1 ? "1 link" : fmt::format("{} links", links), nic % links));
      return true;
    }
  }
  return names_nics;
}

std::unique_ptr<const Schedule> Trace::MakeSchedule(uint32_t /*number*/) const {
  return MakeGraphSchedule(graph_);
}

}  // namespace heddle
