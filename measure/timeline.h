// SPDX-License-Identifier: Apache-2.0
// The times that a run is divided by. The experiment computes them once from the settings, before
// the run; the run and its instruments read them.

#pragma once

#include "core/units.h"

namespace heddle {

struct Timeline {
  Time generation_start;  // The earliest start of a measured flow.
  Time generation_end;    // The latest start of a measured flow.
  Time measure_from;      // Flows that start in [measure_from, measure_until) are measured.
  Time measure_until;
  Time links_from;   // links.csv covers [links_from, links_until);
  Time links_until;  // kNever means the end of the run.
  Time t_max;
};

}  // namespace heddle
