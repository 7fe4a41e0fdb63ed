// SPDX-License-Identifier: Apache-2.0
// TDLB's delays of all paths to one leaf. The leaf's policy calls Learn() with the results of
// probes, and Timeout() for the flowlet gap that a flow needs before it may change its path: the
// difference between the slowest and the fastest path (Hu et al., Computer Networks 255, 2024,
// section 4.2).
//
// The published algorithm stores only the fastest and the slowest path, with the latest delay of
// each. If the fastest becomes the slowest, its difference is negative until other paths have been
// measured; kFastestAndSlowest does the same.

#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/units.h"

namespace heddle {

class PathDelays {
 public:
  enum class Memory { kAll, kFastestAndSlowest };

  // `idle`: the delay of each path until a measurement. Delays older than `stale` do not count.
  // `floor`: the least timeout.
  PathDelays(std::vector<Duration> idle, Duration stale, Duration floor, Memory memory)
      : stale_(stale), floor_(floor), memory_(memory) {
    for (const Duration delay : idle) paths_.push_back({delay, delay, 0_ps, Time{-kNever.ps}});
  }

  void Learn(size_t path, Duration delay, Time now) {
    Path& its = paths_[path];
    its.delay = delay;
    its.least = IsMeasured(its) ? std::min(its.least, delay) : delay;
    its.at = now;
    LearnEnds(path, delay);
  }

  // The path has failed: measurements start anew after it.
  void Forget(size_t path) {
    paths_[path] = {paths_[path].idle, paths_[path].idle, 0_ps, Time{-kNever.ps}};
    const bool is_an_end = fastest_ && (fastest_->first == path || slowest_->first == path);
    if (is_an_end) fastest_ = slowest_ = std::nullopt;
  }

  Duration Of(size_t path) const { return paths_[path].delay; }

  // Returns true if the path has been measured recently.
  bool IsFresh(size_t path, Time now) const { return IsFresh(paths_[path], now); }

  // Returns the path's latest delay above the least ever measured.
  Duration Queueing(size_t path) const {
    return IsMeasured(paths_[path]) ? paths_[path].delay - paths_[path].least : 0_ps;
  }

  size_t memory_bytes() const { return paths_.size() * sizeof(Path); }

  Duration Timeout(Time now) const {
    if (memory_ == Memory::kFastestAndSlowest && slowest_) {
      return std::max(slowest_->second - fastest_->second, floor_);
    }
    const bool any = std::ranges::any_of(paths_, [&](const Path& p) { return IsFresh(p, now); });
    std::optional<Duration> least;
    std::optional<Duration> most;  // Both may be negative: clocks need not agree.
    for (const Path& path : paths_) {
      if (any && !IsFresh(path, now)) continue;
      const Duration delay = any ? path.delay : path.idle;
      least = std::min(least.value_or(delay), delay);
      most = std::max(most.value_or(delay), delay);
    }
    return least ? std::max(*most - *least, floor_) : floor_;
  }

 private:
  struct Path {
    Duration delay;
    Duration idle;
    Duration least;
    Time at;  // Last measurement.
  };

  static bool IsMeasured(const Path& path) { return path.at >= Time{}; }
  bool IsFresh(const Path& path, Time now) const {
    return IsMeasured(path) && now - path.at <= stale_;
  }

  // As published: a measurement of one end cannot make it the other end.
  void LearnEnds(size_t path, Duration delay) {
    if (!fastest_) fastest_ = slowest_ = {path, delay};
    if (fastest_->first == path && slowest_->first != path) {
      fastest_->second = delay;
      return;
    }
    if (slowest_->first == path && fastest_->first != path) {
      slowest_->second = delay;
      return;
    }
    if (delay < fastest_->second) fastest_ = {path, delay};
    if (delay > slowest_->second) slowest_ = {path, delay};
  }

  const Duration stale_;
  const Duration floor_;
  const Memory memory_;
  std::vector<Path> paths_;
  std::optional<std::pair<size_t, Duration>> fastest_;  // kFastestAndSlowest
  std::optional<std::pair<size_t, Duration>> slowest_;
};

}  // namespace heddle
