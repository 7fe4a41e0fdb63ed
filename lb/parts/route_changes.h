// SPDX-License-Identifier: Apache-2.0
// The route changes that a policy has seen, by key. A policy calls Note() before it uses its
// measurements of the next hops: those of a next hop that failed in the meantime must be forgotten.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fabric/switch_policy.h"

namespace heddle {

class RouteChanges {
 public:
  void Resize(size_t keys) { seen_.assign(keys, 0); }

  // Calls `forget(port)` for each of `ports` that may have failed since the last call with `key`,
  // such as a leaf: those that are no candidates now, or all of them if routes have changed more
  // than once, because a port may have failed and recovered. Returns true if routes have changed.
  template <class Ports, class Forget>
  bool Note(size_t key, const Candidates& candidates, const Ports& ports, const Forget& forget) {
    if (seen_[key] == candidates.version) [[likely]]
      return false;
    const uint32_t before = std::exchange(seen_[key], candidates.version);
    const bool missed_some = before != 0 && candidates.version - before > 1;
    for (const PortIndex port : ports) {
      if (missed_some || !candidates.Has(port)) forget(port);
    }
    return true;
  }

 private:
  std::vector<uint32_t> seen_;  // Versions, by key.
};

}  // namespace heddle
