// SPDX-License-Identifier: Apache-2.0
// Settings that were given another value than their default and change nothing all the same,
// because of what others are set to.

#pragma once

#include "experiment/experiment.h"
#include "settings/diagnostics.h"

namespace heddle {

// Warns of those of the transport, of the load balancer and of the ports, each at its place.
// Transport, load balancer and topology have been read without a mistake, and no `Prepare` has been
// called.
void WarnOfIdleSettings(const ExperimentSettings& settings, Diagnostics& diagnostics);

}  // namespace heddle
