// SPDX-License-Identifier: Apache-2.0
// Whole paths as a leaf names them for the packets of its hosts: a digit for its own uplink, and
// with three tiers one for that of the aggregation switch (Packet::path). Switches above follow
// them (lb/follow_path.h); what names a link that has failed there is hashed.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"
#include "fabric/switch.h"

namespace heddle {

class LeafPaths {
 public:
  // `above`: uplinks of the switches above, 1 in two tiers.
  void Attach(const SwitchView& view, size_t above) {
    uplinks_.assign(view.Uplinks().begin(), view.Uplinks().end());
    count_ = uplinks_.size() * above;
    live_.reserve(count_);
  }

  size_t count() const { return count_; }
  PortIndex UplinkOf(uint16_t path) const {
    const uint32_t uplinks = static_cast<uint32_t>(uplinks_.size());
    return uplinks_[path < uplinks ? path : path % uplinks];  // Usually no division.
  }
  bool Lives(uint16_t path, const Candidates& candidates) const {
    return path < count_ && candidates.Has(UplinkOf(path));
  }

  // Those whose first link lives. Valid until the next call.
  const std::vector<uint16_t>& Live(const Candidates& candidates) {
    if (candidates.version != version_ || candidates.id != id_) [[unlikely]]
      Look(candidates);
    return live_;
  }

 private:
  [[gnu::noinline]] void Look(const Candidates& candidates) {
    version_ = candidates.version;
    id_ = candidates.id;
    live_.clear();
    for (size_t path = 0; path < count_; ++path) {
      const uint16_t id = static_cast<uint16_t>(path);
      if (Lives(id, candidates)) live_.push_back(id);
    }
  }

  std::vector<PortIndex> uplinks_;
  size_t count_ = 0;
  std::vector<uint16_t> live_;
  uint32_t version_ = 0;  // Of what `live_` is about.
  uint32_t id_ = 0;
};

// How many uplinks the switches above a leaf have, at most, in a fabric of so many tiers.
constexpr size_t PathsAbove(int tiers, size_t most_uplinks) { return tiers > 2 ? most_uplinks : 1; }

}  // namespace heddle
