// SPDX-License-Identifier: Apache-2.0
// The traffic that an experiment sends, as its ports need to know it.

#pragma once

#include "experiment/experiment.h"
#include "network/network.h"
#include "topo/queue_plan.h"

namespace heddle {

// The experiment must have its graph, its background and its base_rtt.
inline Traffic TrafficOf(const Experiment& experiment) {
  return TrafficOf(*experiment.settings.transport.settings, experiment.background,
                   experiment.base_rtt, SlowestNic(experiment.graph));
}

}  // namespace heddle
