// SPDX-License-Identifier: Apache-2.0
// The table of paths that hosts may choose from. Routing computes it and changes it between
// windows; all hosts share it and only read it.

#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/packet.h"
#include "fabric/host_policy.h"

namespace heddle {

class PathTable {
 public:
  // `leaf_of_host[h]` is the leaf of host h, in 0 .. leaves-1.
  PathTable(std::vector<uint16_t> leaf_of_host, size_t leaves)
      : leaf_of_host_(std::move(leaf_of_host)),
        leaves_(leaves),
        between_(leaves * leaves, &*sets_.emplace().first) {}

  void Set(size_t src_leaf, size_t dst_leaf, std::vector<PathChoice> paths) {
    between_[src_leaf * leaves_ + dst_leaf] = &*sets_.insert(std::move(paths)).first;
    ++version_;
  }

  // Replaces the paths of this table by those of `other`.
  void Replace(PathTable&& other) {
    sets_ = std::move(other.sets_);
    between_ = std::move(other.between_);
    ++version_;
  }

  std::span<const PathChoice> Between(HostId src, HostId dst) const {
    return *between_[leaf_of_host_[src] * leaves_ + leaf_of_host_[dst]];
  }

  uint32_t version() const { return version_; }
  uint16_t LeafOf(HostId host) const { return leaf_of_host_[host]; }

 private:
  std::vector<uint16_t> leaf_of_host_;
  size_t leaves_;
  std::set<std::vector<PathChoice>> sets_;  // Few: most pairs of leaves have the same choice.
  std::vector<const std::vector<PathChoice>*> between_;
  uint32_t version_ = 0;
};

}  // namespace heddle
