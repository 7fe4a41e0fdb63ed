// SPDX-License-Identifier: Apache-2.0

#include "workload/derangement.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace heddle {
namespace {

constexpr int kAttempts = 1000;

bool Forbidden(const Stage& stage, bool cross_rack, size_t src, size_t dst) {
  return cross_rack ? stage.leaf_of_host[src] == stage.leaf_of_host[dst] : src == dst;
}

// Lists the hosts by leaf, and lets each send to the host half a round further. With leaves of
// equal size and at least two of them, that host is on another leaf.
std::vector<HostId> LeafShift(const Stage& stage) {
  std::vector<HostId> order(stage.hosts);
  std::iota(order.begin(), order.end(), HostId{0});
  std::ranges::stable_sort(order, {}, [&](HostId h) { return stage.leaf_of_host[h]; });
  std::vector<HostId> destinations(stage.hosts);
  for (size_t i = 0; i < order.size(); ++i) {
    destinations[order[i]] = order[(i + order.size() / 2) % order.size()];
  }
  return destinations;
}

}  // namespace

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
  return LeafShift(stage);
}

}  // namespace heddle
