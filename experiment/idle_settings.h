// SPDX-License-Identifier: Apache-2.0
// Finds idle settings: settings that differ from their default but have no effect, because another
// setting switches them off. Each of them yields a warning and never an error. Also refuses a load
// balancer that needs another setting of the transport.

#pragma once

#include "experiment/experiment.h"
#include "settings/diagnostics.h"

namespace heddle {

// Warns of idle settings of the transport, of the load balancer and of the ports, each at its
// place. Call it once these have been read without a mistake, and before any `Prepare`.
void WarnOfIdleSettings(const ExperimentSettings& settings, Diagnostics& diagnostics);

// Refuses `lb: themis`, which drops NACKs, with transports whose recovery needs every NACK.
void CheckNackFilter(const ExperimentSettings& settings, Diagnostics& diagnostics);

}  // namespace heddle
