// SPDX-License-Identifier: Apache-2.0
// Which changes of routes a policy has seen: what it knew of a next hop that had failed means
// nothing when that is back.

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

  // `forget(port)` is called for those of `ports` that may have failed since this was asked about
  // the same key, such as a leaf: that are no candidates now, or all if routes have changed twice,
  // as one may have gone and come back. Returns whether routes have changed.
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
