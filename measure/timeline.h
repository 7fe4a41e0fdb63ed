// SPDX-License-Identifier: Apache-2.0
// The times that frame a run, all of them resolved.

#pragma once

#include "core/units.h"

namespace heddle {

struct Timeline {
  Time generation_start;  // The first measured flow may start here,
  Time generation_end;    // the last here.
  Time measure_from;      // Flows that start in [measure_from, measure_until) are measured.
  Time measure_until;
  Time links_from;   // links.csv covers [links_from, links_until);
  Time links_until;  // kNever: to the end of the run.
  Time t_max;
};

}  // namespace heddle
