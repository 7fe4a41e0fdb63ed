// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/training.h"

#include <fmt/format.h>

#include <algorithm>

#include "workload/jobs/graph_schedule.h"
#include "workload/jobs/training_graph.h"

namespace heddle {

void Training::Declare(Fields& fields) {
  settings_.Declare(fields);
  DeclareJob(fields);
}

void Training::CheckSchedule(std::string_view path, Diagnostics& diagnostics) const {
  settings_.Check(ranks(), [&](std::string_view key, const std::string& message) {
    diagnostics.ErrorAt(fmt::format("{}.{}", path, key), message);
  });
}

// A tensor group is a row of ranks that exchange activations twice in each layer.
void Training::CheckServers(std::span<const uint32_t> server_of_rank, std::string_view path,
                            Diagnostics& diagnostics) const {
  const uint32_t group = static_cast<uint32_t>(settings_.parallel.tensor);
  for (uint32_t first = 0; first + group <= server_of_rank.size(); first += group) {
    const auto servers = server_of_rank.subspan(first, group);
    const auto other =
        std::ranges::find_if(servers, [&](uint32_t server) { return server != servers.front(); });
    if (other == servers.end()) continue;
    return diagnostics.WarningAt(
        fmt::format("{}.parallel.tensor", path),
        fmt::format("the tensor group of ranks {} to {} is on several servers, so its all-reduces "
                    "go over the network; set ranks_per_host or domain_hosts so that {} ranks "
                    "share a server",
                    first, first + group - 1, group));
  }
}

std::unique_ptr<const Schedule> Training::MakeSchedule(uint32_t /*number*/) const {
  return MakeGraphSchedule(MakeTrainingGraph(settings_, ranks()));
}

}  // namespace heddle
