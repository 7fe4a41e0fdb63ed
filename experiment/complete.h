// SPDX-License-Identifier: Apache-2.0
// What follows from an experiment's settings: its network, its workloads, its times; and what only
// shows there to be wrong.

#pragma once

#include <string>

#include "experiment/experiment.h"
#include "settings/diagnostics.h"
#include "settings/files_read.h"
#include "topo/routing.h"

namespace heddle {

// Fills in `experiment` from its settings; relative paths start at `folder`, and files are read
// through `files`. Where some settings are wrong, it still looks for mistakes in whatever does not
// depend on those.
void Complete(Experiment& experiment, const std::string& folder, FilesRead& files,
              Diagnostics& diagnostics);

// What a load balancer is told of a fabric.
FabricShape ShapeOf(const Graph& graph, const Routing& routing, const PortRule& rule,
                    const TransportModel& transport);

}  // namespace heddle
