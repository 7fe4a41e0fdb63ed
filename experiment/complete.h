// SPDX-License-Identifier: Apache-2.0
// Computes all that follows from an experiment's settings: its network, its workloads and its
// times. The readers of experiments call it after the settings; it finds the mistakes that only
// show then.

#pragma once

#include <string>

#include "experiment/experiment.h"
#include "settings/diagnostics.h"
#include "topo/routing.h"

namespace heddle {

class FilesRead;

// Fills in `experiment` from its settings; relative paths start at `folder`, and files are read
// through `files`. If some settings are wrong, it still checks all that does not depend on them.
void Complete(Experiment& experiment, const std::string& folder, FilesRead& files,
              Diagnostics& diagnostics);

// Returns the longest idle round trip between hosts: a full packet there, an ACK back. In large
// networks whose leaves are alike, only every n-th leaf is looked at.
Duration BaseRttOf(const Routing& routing, const PacketSizes& sizes, bool leaves_are_alike);

// Returns the description of the fabric that load balancers are prepared with.
FabricShape ShapeOf(const Graph& graph, const Routing& routing, const PortRule& rule,
                    const TransportModel& transport, Duration base_rtt);

}  // namespace heddle
