// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/training.h"

#include <fmt/format.h>

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

std::unique_ptr<const Schedule> Training::MakeSchedule(uint32_t /*number*/) const {
  return MakeGraphSchedule(MakeTrainingGraph(settings_, ranks()));
}

}  // namespace heddle
