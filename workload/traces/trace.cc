// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/trace.h"

#include <fmt/format.h>

#include <utility>

#include "settings/files_read.h"
#include "settings/status.h"
#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/traces/flow_txt.h"
#include "workload/traces/goal_binary.h"
#include "workload/traces/goal_text.h"
#include "workload/traces/trace_errors.h"

namespace heddle {
namespace {

constexpr size_t kMostTraceBytes = size_t{4} << 30;

const Choices<Trace::Format>& Formats() {
  static const Choices<Trace::Format> formats = {{"goal", Trace::Format::kGoal},
                                                 {"goal_binary", Trace::Format::kGoalBinary},
                                                 {"htsim_cm", Trace::Format::kHtsimCm},
                                                 {"hpcc", Trace::Format::kHpcc}};
  return formats;
}

}  // namespace

void Trace::Declare(Fields& fields) {
  fields.Choice("format", format_, Formats(),
                "goal: operations of each rank as LogGOPSim reads them. goal_binary: the same as "
                "its txt2bin writes it. htsim_cm: a connection "
                "matrix of htsim, with triggers. hpcc: the flow.txt of HPCC's and ConWeave's "
                "simulators.",
                Fields::kRequired);
  fields.Add("file", file_, "The trace, relative to the experiment's folder.", Fields::kRequired);
  fields.AddOr("trace", "ranks", expected_ranks_, Between<int64_t>(1, 1 << 20),
               "The number of ranks. hpcc: default is what the largest host of the list needs. "
               "Other formats say it themselves; another number here is an error.");
  fields.Section("goal", goal_, "goal: how long operations take, by the LogGOPS model.");
  fields.Choice("cm_time", cm_.unit,
                {{"ps", HtsimCmSettings::Unit::kPs}, {"us", HtsimCmSettings::Unit::kUs}},
                "htsim_cm: the unit of start.");
  fields.Choice("cross_host", cm_.fires_at_receiver, {{"refuse", false}, {"receive", true}},
                "htsim_cm: a send_done_trigger that starts connections of the receiver. receive: "
                "it fires there, when the message has been received. refuse: an error.");
  fields.AddOr("auto", "t0", t0_, {.at_least = Duration{0}, .at_most = 1000_s},
               "hpcc: subtracted from all starts. auto: 2s if no flow starts before, else 0.");
  DeclareJobOfFile(fields);
}

void Trace::ReadFiles(std::string_view path, FilesRead& files, Diagnostics& diagnostics) {
  graph_.reset();
  file_ = stage().PathTo(file_);
  const absl::StatusOr<std::string> text = files.Read(file_, kMostTraceBytes);
  if (!text.ok()) {
    return diagnostics.ErrorAt(fmt::format("{}.file", path),
                               MessageOf(Within(text.status(), file_, " ")));
  }
  TraceErrors errors(file_, diagnostics);
  std::optional<OperationGraph> graph = Read(*text, errors);
  if (errors.any() || !graph) return;
  for (const GraphProblem& problem : GraphProblems(*graph, TraceErrors::kMost)) {
    errors.Add(problem.line, problem.message);
  }
  if (errors.any()) return;
  SetRanks(graph->ranks());
  if (expected_ranks_ && *expected_ranks_ != graph->ranks()) {
    diagnostics.ErrorAt(fmt::format("{}.ranks", path),
                        fmt::format("is {}; {} has {}", *expected_ranks_, file_, graph->ranks()));
  }
  graph_ = std::make_shared<const OperationGraph>(*std::move(graph));
}

std::optional<OperationGraph> Trace::Read(std::string_view text, TraceErrors& errors) const {
  switch (format_) {
    case Format::kGoal:
      return ReadGoalText(text, goal_, errors);
    case Format::kGoalBinary:
      return ReadGoalBinary(text, goal_, errors);
    case Format::kHtsimCm:
      return ReadHtsimCm(text, cm_, errors);
    case Format::kHpcc:
      break;
  }
  FlowTxtSettings settings{.t0 = t0_, .ranks = {}};
  if (expected_ranks_) settings.ranks = static_cast<uint32_t>(*expected_ranks_);
  return ReadFlowTxt(text, settings, errors);
}

// Mistakes in files do not belong to a setting; without a graph the workload cannot be placed.
void Trace::CheckSchedule(std::string_view path, Diagnostics& diagnostics) const {
  if (graph_ != nullptr || !diagnostics.IsSound(path)) return;
  diagnostics.ErrorAt(fmt::format("{}.file", path), "is not a sound trace; see its errors");
}

std::unique_ptr<const Schedule> Trace::MakeSchedule(uint32_t /*number*/) const {
  return MakeGraphSchedule(graph_);
}

}  // namespace heddle
