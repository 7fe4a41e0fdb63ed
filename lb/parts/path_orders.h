// SPDX-License-Identifier: Apache-2.0
// The order in which a host's packets or flowcells take the paths to a leaf. With equal weights it
// is the order of path ids, in which the lowest tier's choice changes every time. Otherwise each
// path appears in proportion to its capacity, spread evenly. Host policies (DRB, Presto) call To().

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "fabric/host.h"
#include "lb/parts/weights.h"
#include "settings/fields.h"

namespace heddle {

enum class PathWeights { kEqual, kCapacity };

class PathOrders {
 public:
  explicit PathOrders(PathWeights weights) : weights_(weights) {}

  // Returns the order. Valid until view.PathsVersion() changes; destinations on one leaf share it.
  const std::vector<uint16_t>& To(const HostView& view, HostId dst) {
    if (version_ != view.PathsVersion()) orders_.clear();
    version_ = view.PathsVersion();
    const std::span<const PathChoice> paths = view.PathsTo(dst);
    const auto [entry, is_new] = orders_.try_emplace(paths.data());
    if (is_new) entry->second = OrderOf(paths);
    return entry->second;
  }

  size_t memory_bytes() const {
    size_t bytes = 0;
    for (const auto& [paths, order] : orders_) bytes += order.size() * sizeof(uint16_t);
    return bytes;
  }

 private:
  static constexpr int64_t kLongest = 4096;

  std::vector<uint16_t> OrderOf(std::span<const PathChoice> paths) const {
    std::vector<int64_t> weights;
    int64_t total = 0;
    for (const PathChoice& path : paths) total += path.weight;
    // Rounds capacities without a small common divisor, so that the order stays short.
    const int64_t unit = std::max<int64_t>(1, total / kLongest);
    for (const PathChoice& path : paths) {
      weights.push_back(std::max<int64_t>(1, path.weight / unit));
    }
    if (weights_ == PathWeights::kEqual ||
        std::ranges::adjacent_find(weights, std::not_equal_to()) == weights.end()) {
      std::ranges::fill(weights, 1);
    }
    std::vector<uint16_t> order;
    for (const uint32_t i : Interleave(weights)) order.push_back(paths[i].id);
    return order;
  }

  const PathWeights weights_;
  uint32_t version_ = 0;
  std::map<const PathChoice*, std::vector<uint16_t>> orders_;  // For lookup only.
};

}  // namespace heddle
