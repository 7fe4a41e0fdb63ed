// SPDX-License-Identifier: Apache-2.0
// Whole paths as a leaf names them for the packets of its hosts: a digit for its own uplink, and
// with three tiers one for that of the aggregation switch (Packet::path). Switches above follow
// them (lb/follow_path.h); what names a link that has failed there is hashed. To a leaf that a
// switch next to both links, the first digit says all; the other one is zero.

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
    for (size_t leaf = 0; leaf < view.leaves(); ++leaf) {
      is_near_.push_back(std::ranges::any_of(uplinks_, [&](PortIndex uplink) {
        const auto way = view.WayTo(uplink, static_cast<uint16_t>(leaf));
        return way && way->links == 2;
      }));
    }
  }

  size_t count() const { return count_; }
  // Of those to one leaf, which come first.
  size_t CountTo(uint16_t leaf) const { return is_near_[leaf] ? uplinks_.size() : count_; }
  // The first that begins with this uplink.
  uint16_t FirstOver(PortIndex uplink) const {
    return static_cast<uint16_t>(std::ranges::lower_bound(uplinks_, uplink) - uplinks_.begin());
  }
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
  // Of those, the different ones to one leaf: one for each uplink that leads there if it is near.
  std::span<const uint16_t> LiveTo(uint16_t leaf, const Candidates& candidates) {
    const std::span<const uint16_t> live = Live(candidates);
    return is_near_[leaf] ? live.first(std::min(live.size(), candidates.ports.size())) : live;
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
  std::vector<bool> is_near_;  // By leaf.
  size_t count_ = 0;
  std::vector<uint16_t> live_;
  uint32_t version_ = 0;  // Of what `live_` is about.
  uint32_t id_ = 0;
};

// How many uplinks the switches above a leaf have, at most, in a fabric of so many tiers.
constexpr size_t PathsAbove(int tiers, size_t most_uplinks) { return tiers > 2 ? most_uplinks : 1; }

}  // namespace heddle
