// SPDX-License-Identifier: Apache-2.0
// The whole paths that a leaf assigns to its hosts' packets. A path id has a digit for the leaf's
// uplink and, with three tiers, one for that of the aggregation switch (Packet::path). Switches
// above follow it (lb/parts/follow_path.h); they hash a packet whose link has failed. A leaf that
// shares a switch with the destination leaf needs the first digit only; the other one is zero.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/random.h"
#include "fabric/switch.h"
#include "lb/parts/load_balancer.h"

namespace heddle {

// The number of values of each digit, the same for all leaves.
struct PathDigits {
  size_t first = 1;
  size_t second = 1;

  size_t paths() const { return first * second; }
};
inline PathDigits DigitsOf(const FabricShape& fabric) {
  return {std::max<size_t>(fabric.leaf_uplinks, 1),
          fabric.tiers < 3 ? 1 : std::max<size_t>(fabric.above_uplinks, 1)};
}

class LeafPaths {
 public:
  // If another leaf has more uplinks than this one, some path numbers are unused here.
  void Attach(const SwitchView& view, PathDigits digits) {
    uplinks_.assign(view.Uplinks().begin(), view.Uplinks().end());
    radix_ = std::max(digits.first, uplinks_.size());
    count_ = radix_ * digits.second;
    for (LiveSet& live : live_) live.paths.reserve(count_);
    NumberUplinks(view);
    for (size_t leaf = 0; leaf < view.leaves(); ++leaf) {
      is_near_.push_back(LinksTo(static_cast<uint16_t>(leaf), view) == 2);
    }
  }

  size_t count() const { return count_; }
  size_t radix() const { return radix_; }
  bool IsNear(uint16_t leaf) const { return is_near_[leaf] != 0; }
  // The paths to `leaf` are the first CountTo(leaf) path ids.
  size_t CountTo(uint16_t leaf) const { return is_near_[leaf] ? uplinks_.size() : count_; }
  // The first path over this uplink.
  uint16_t FirstOver(PortIndex uplink) const { return first_over_[uplink]; }
  // Returns the name of a path towards `leaf`.
  uint16_t AsTo(uint16_t leaf, uint16_t path) const {
    return path >= radix_ && is_near_[leaf] ? static_cast<uint16_t>(path % radix_) : path;
  }
  PortIndex UplinkOf(uint16_t path) const { return uplink_of_[path]; }
  bool Lives(uint16_t path, const Candidates& candidates) const {
    return path < count_ && candidates.Has(UplinkOf(path));
  }

  // Assigns `path` to the packet that is being forwarded, and returns its port; Stamp() writes it.
  PortIndex Take(uint16_t path) {
    taken_ = path;
    return UplinkOf(path);
  }
  // Drops the path of the previous packet, which may have been lost.
  void Forget() { taken_ = kNoPath; }
  // Writes the path when the packet is queued. Packets that already have a path keep it: pinned
  // datagrams, and ACKs that return over the path of their data.
  void Stamp(Packet& packet) {
    const uint16_t path = std::exchange(taken_, kNoPath);
    if (packet.path == kNoPath) packet.path = path;
  }

  // Returns the paths whose first link is alive. Valid until the next call.
  const std::vector<uint16_t>& Live(const Candidates& candidates) {
    LiveSet& live = live_[candidates.id % live_.size()];
    if (live.begin_with != NameOf(candidates)) [[unlikely]]
      Look(candidates, live);
    return live.paths;
  }
  // Returns the distinct ones to `leaf`: if it is near, one per uplink that leads there.
  std::span<const uint16_t> LiveTo(uint16_t leaf, const Candidates& candidates) {
    const std::span<const uint16_t> live = Live(candidates);
    return is_near_[leaf] ? live.first(std::min(live.size(), candidates.ports.size())) : live;
  }

 private:
  // Returns the number of links to `leaf`, the same over all uplinks that lead there; 0 if none
  // does.
  int LinksTo(uint16_t leaf, const SwitchView& view) const {
    for (const PortIndex uplink : uplinks_) {
      if (const std::optional<Way> way = view.WayTo(uplink, leaf)) return way->links;
    }
    return 0;
  }

  void NumberUplinks(const SwitchView& view) {
    uplink_of_.assign(count_, std::numeric_limits<PortIndex>::max());  // No port has this number.
    first_over_.assign(view.ports(), kNoPath);
    for (size_t digit = 0; digit < uplinks_.size(); ++digit) {
      first_over_[uplinks_[digit]] = static_cast<uint16_t>(digit);
      for (size_t path = digit; path < count_; path += radix_) uplink_of_[path] = uplinks_[digit];
    }
  }

  struct LiveSet {
    std::vector<uint16_t> paths;
    uint64_t begin_with = 0;  // The candidates that the paths begin with.
  };

  static uint64_t NameOf(const Candidates& candidates) {
    return uint64_t{candidates.version} << 32 | candidates.id;
  }

  [[gnu::noinline]] void Look(const Candidates& candidates, LiveSet& live) const {
    live.begin_with = NameOf(candidates);
    live.paths.clear();
    for (size_t path = 0; path < count_; ++path) {
      const uint16_t id = static_cast<uint16_t>(path);
      if (Lives(id, candidates)) live.paths.push_back(id);
    }
  }

  std::vector<PortIndex> uplinks_;
  std::vector<PortIndex> uplink_of_;  // By path.
  std::vector<uint16_t> first_over_;  // By port.
  std::vector<uint8_t> is_near_;      // By leaf.
  size_t radix_ = 1;
  size_t count_ = 0;
  uint16_t taken_ = kNoPath;
  std::array<LiveSet, 4> live_;  // After failures packets alternate between a few candidate sets.
};

}  // namespace heddle
