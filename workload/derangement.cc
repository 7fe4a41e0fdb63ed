// SPDX-License-Identifier: Apache-2.0

#include "workload/derangement.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

namespace heddle {
namespace {

constexpr int kAttempts = 1000;

bool Forbidden(const Stage& stage, bool cross_rack, size_t src, size_t dst) {
  return cross_rack ? stage.leaf_of_host[src] == stage.leaf_of_host[dst] : src == dst;
}

// A host always finds one to swap with if no leaf has more than half of all hosts. Its leaf has a
// hosts, and it sends to one of them itself, so at most a - 1 hosts of other leaves send there.
// Other leaves have a hosts or more, so one of them sends elsewhere.
void Repair(const Stage& stage, bool cross_rack, Rng& rng, std::vector<HostId>& destinations) {
  for (size_t h = 0; h < stage.hosts; ++h) {
    while (Forbidden(stage, cross_rack, h, destinations[h])) {
      const size_t other = rng.Below(static_cast<uint32_t>(stage.hosts));
      if (Forbidden(stage, cross_rack, h, destinations[other])) continue;
      if (Forbidden(stage, cross_rack, other, destinations[h])) continue;
      std::swap(destinations[h], destinations[other]);
    }
  }
}

}  // namespace

std::vector<HostId> HalfShift(const Stage& stage) {
  std::vector<HostId> order(stage.hosts);
  std::iota(order.begin(), order.end(), HostId{0});
  std::ranges::stable_sort(order, {}, [&](HostId h) { return stage.leaf_of_host[h]; });
  std::vector<HostId> destinations(stage.hosts);
  for (size_t i = 0; i < order.size(); ++i) {
    destinations[order[i]] = order[(i + order.size() / 2) % order.size()];
  }
  return destinations;
}

bool CanCross(const Stage& stage) {
  std::map<uint16_t, size_t> hosts;
  for (const auto leaf : stage.leaf_of_host) ++hosts[leaf];
  return std::ranges::all_of(hosts,
                             [&](const auto& leaf) { return 2 * leaf.second <= stage.hosts; });
}

std::vector<HostId> Derangement(const Stage& stage, bool cross_rack) {
  Rng rng = stage.Stream("permutation", 0);
  std::vector<HostId> destinations(stage.hosts);
  std::iota(destinations.begin(), destinations.end(), HostId{0});
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    for (size_t i = stage.hosts - 1; i > 0; --i) {
      std::swap(destinations[i], destinations[rng.Below(static_cast<uint32_t>(i + 1))]);
    }
    bool valid = true;
    for (size_t h = 0; h < stage.hosts && valid; ++h) {
      valid = !Forbidden(stage, cross_rack, h, destinations[h]);
    }
    if (valid) return destinations;
  }
  Repair(stage, cross_rack, rng, destinations);
  return destinations;
}

}  // namespace heddle
