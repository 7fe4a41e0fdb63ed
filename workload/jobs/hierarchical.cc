// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/hierarchical.h"

#include <utility>
#include <vector>

#include "workload/jobs/blocks.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/jobs/operation_graph.h"

namespace heddle {
namespace {

// Adds a collective in which each of its ranks takes part once its last operation has finished.
void AddPhase(OperationGraph& graph, std::shared_ptr<const Schedule> schedule,
              std::vector<uint32_t> group) {
  const std::vector<uint32_t> ranks = group;
  const uint32_t collective = graph.AddCollective({std::move(schedule), std::move(group), 0, ""});
  for (const uint32_t rank : ranks) {
    const uint32_t part = graph.AddPart(rank, collective);
    if (part > 0) graph.Require(rank, part, part - 1);
  }
}

}  // namespace

std::unique_ptr<Schedule> MakeHierarchical(const HierarchicalSettings& settings) {
  const uint32_t servers = settings.ranks / settings.server;
  auto graph = std::make_shared<OperationGraph>(settings.ranks);
  const auto add_within = [&](const HierarchicalSettings::Phase& phase) {
    const auto schedule = phase(settings.server, settings.bytes);
    for (uint32_t server = 0; server < servers; ++server) {
      std::vector<uint32_t> group;
      for (uint32_t i = 0; i < settings.server; ++i) group.push_back(server * settings.server + i);
      AddPhase(*graph, schedule, std::move(group));
    }
  };
  add_within(settings.scatter);
  const Blocks blocks(settings.bytes, settings.server);
  for (uint32_t i = 0; i < settings.server; ++i) {
    std::vector<uint32_t> group;
    for (uint32_t server = 0; server < servers; ++server) {
      group.push_back(server * settings.server + i);
    }
    AddPhase(*graph, settings.reduce(servers, blocks.Size(i)), std::move(group));
  }
  add_within(settings.gather);
  return MakeGraphSchedule(std::move(graph));
}

}  // namespace heddle
