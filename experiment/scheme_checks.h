// SPDX-License-Identifier: Apache-2.0
// Warns of load balancers that cannot show what they do in an experiment, because of the transport
// or of the paths. Complete() calls it when the network is known.

#pragma once

#include <optional>

#include "experiment/experiment.h"
#include "settings/diagnostics.h"
#include "topo/routing.h"

namespace heddle {

// The most by which the delays of two paths between the same hosts can differ for a full packet:
// from the fastest path with empty queues to the slowest path with full queues. A queue counts as
// full at the length above which all packets are ECN-marked if the transport reacts to marks, and
// else at the size of its buffer. Nothing if a queue has no limit (as with PFC, unless marks limit
// it), or if there is only one path. `usual` is UsualMarkingFor() the transport.
std::optional<Duration> LargestPathDifference(const Routing& routing, const PortRule& rule,
                                              const TransportModel& transport,
                                              const UsualMarking& usual);

// Warns if the scheme reorders packets and the transport needs in-order delivery: such a run
// measures the transport rather than the scheme.
void CheckOrder(const ExperimentSettings& settings, Diagnostics& diagnostics);

// Refuses a scheme at hosts with a transport that chooses paths itself, and warns of switches that
// do not hash its packets.
void CheckPathChoice(const ExperimentSettings& settings, Diagnostics& diagnostics);

// Warns of a scheme at hosts where some next hops towards a leaf are uplinks and others are not: a
// path has one name, and hosts know some of these paths by the same name.
void CheckNamedPaths(const Experiment& experiment, const Routing& routing,
                     Diagnostics& diagnostics);

// Warns of switches that are not those that the transport's preset was made for.
void CheckPresetSwitches(const ExperimentSettings& settings, Diagnostics& diagnostics);

// Warns of a flowlet gap that is much longer than any difference in delay: flows seldom pause for
// so long, so they keep their paths.
void CheckFlowletGap(const Experiment& experiment, const Routing& routing,
                     Diagnostics& diagnostics);

}  // namespace heddle
