// SPDX-License-Identifier: Apache-2.0
// The hosts of a leaf whose links are alike. Round trips and bandwidth-delay products between hosts
// depend on their leaves and on their links alone, so one pair of each two kinds stands for all.

#pragma once

#include <optional>
#include <vector>

#include "core/packet.h"
#include "topo/routing.h"

namespace heddle {

struct HostKind {
  HostId first;
  std::optional<HostId> second;  // Another host of this kind, if there is one.
};

// Returns the kinds of each leaf, by leaf index.
std::vector<std::vector<HostKind>> HostKindsOf(const Routing& routing);

// Calls visit(src, dst) for one pair of different hosts of each two kinds, of leaf `a` and leaf
// `b`.
template <class Visit>
void ForEachPairOfKinds(const std::vector<HostKind>& a, const std::vector<HostKind>& b,
                        const Visit& visit) {
  for (const HostKind& src : a) {
    for (const HostKind& dst : b) {
      if (src.first != dst.first) {
        visit(src.first, dst.first);
      } else if (dst.second) {
        visit(src.first, *dst.second);
      }
    }
  }
}

}  // namespace heddle
