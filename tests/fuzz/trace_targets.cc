// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"
#include "tests/support/timed_play.h"
#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/traces/chakra_graph.h"
#include "workload/traces/flow_txt.h"
#include "workload/traces/goal_binary.h"
#include "workload/traces/goal_text.h"
#include "workload/traces/htsim_cm.h"

namespace heddle {
namespace {

constexpr size_t kMostOperations = 10'000;

// A graph without problems runs to its end, unless a receive may take a message that another one
// needs.
void RequireRuns(OperationGraph graph) {
  size_t operations = graph.ranks();
  bool has_wildcards = false;
  for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
    operations += graph.OpsOf(rank).size();
    has_wildcards = has_wildcards || graph.HasWildcards(rank);
  }
  if (operations > kMostOperations || !GraphProblems(graph).empty()) return;
  const auto schedule = MakeGraphSchedule(std::make_shared<const OperationGraph>(std::move(graph)));
  const TimedPlay play(*schedule, StarTimes);
  Require(has_wildcards || play.end() != kNever, "every rank of a sound trace finishes");
}

template <class Reader>
void FuzzReader(const Reader& read) {
  Diagnostics diagnostics;
  TraceErrors errors("trace", diagnostics);
  std::optional<OperationGraph> graph = read(errors);
  RequirePlaces(diagnostics);
  Require(graph.has_value() == diagnostics.ok(), "a graph, or an error");
  if (graph) RequireRuns(*std::move(graph));
}

// One rank of two; the other one does nothing.
template <class Reader>
void FuzzNodes(const Reader& read) {
  FuzzReader([&](TraceErrors& errors) -> std::optional<OperationGraph> {
    ChakraBuilder builder({.ignores_memory = true, .groups = {}}, 2);
    const std::vector<ChakraNode> nodes = read(errors);
    if (!errors.any()) builder.AddRank(0, nodes, errors);
    if (errors.any()) return std::nullopt;
    return builder.Take();
  });
}

}  // namespace

void FuzzGoal(FuzzInput input) {
  const std::string text = TextOf(input);
  FuzzReader([&](TraceErrors& errors) {
    return ReadGoalText(text, {.o = 1_ns, .O = Duration{1}, .g = 2_ns}, errors);
  });
}

void FuzzGoalBinary(FuzzInput input) {
  const std::string bytes = TextOf(input);
  FuzzReader([&](TraceErrors& errors) { return ReadGoalBinary(bytes, GoalSettings(), errors); });
}

void FuzzChakra(FuzzInput input) {
  const std::string bytes = TextOf(input);
  FuzzNodes([&](TraceErrors& errors) { return ReadChakraWire(bytes, errors); });
}

void FuzzChakraJson(FuzzInput input) {
  const std::string text = TextOf(input);
  FuzzNodes([&](TraceErrors& errors) { return ReadChakraJson(text, errors); });
}

void FuzzHtsimCm(FuzzInput input) {
  const std::string text = TextOf(input);
  FuzzReader(
      [&](TraceErrors& errors) { return ReadHtsimCm(text, {.fires_at_receiver = true}, errors); });
}

void FuzzFlowTxt(FuzzInput input) {
  const std::string text = TextOf(input);
  FuzzReader([&](TraceErrors& errors) { return ReadFlowTxt(text, {}, errors); });
}

}  // namespace heddle
