// SPDX-License-Identifier: Apache-2.0
// Schedules of changes as a file has them, and a small fabric for them.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/settings_from.h"
#include "topo/graph.h"
#include "topo/schedule.h"

namespace heddle::schedule_kit {

// Links 0 to 3 lead to hosts, links 4 to 7 from leaf 0 and leaf 1 to both spines.
inline Graph SmallFabric() { return LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 2}"); }

inline std::vector<ScheduledChange> Changes(const std::vector<std::string>& entries) {
  std::vector<ScheduledChange> changes(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    ReadTestSettings(entries[i], [&](Fields& fields) { changes[i].Declare(fields); });
  }
  return changes;
}

}  // namespace heddle::schedule_kit
