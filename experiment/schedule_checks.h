// SPDX-License-Identifier: Apache-2.0
// Looks at the failures of a schedule before the run. Complete() warns of repairs of links that
// have not failed; `heddle check` prints when routing learns of failures.

#pragma once

#include <string>

#include "experiment/experiment.h"
#include "settings/diagnostics.h"

namespace heddle {

// Warns of entries with `state: up` of which no link has been down before. Entries that draw their
// links have a warning of their own.
void CheckRepairs(const Experiment& experiment, Diagnostics& diagnostics);

// Returns who learns of the links that the schedule takes down, and when; empty if it takes none
// down.
std::string NoticeOfFailures(const Experiment& experiment);

}  // namespace heddle
