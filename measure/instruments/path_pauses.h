// SPDX-License-Identifier: Apache-2.0
// Measures how long paths between leaves were paused, for measure.record.paths. A path is paused
// while any of its ports is. Pauses are kept as intervals, so the result is exact.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"
#include "network/network.h"

namespace heddle {

class PathPauses {
 public:
  // Finds all shortest paths of `network` as it was built, from leaf to leaf. Ports are numbered as
  // in Network::egresses().
  explicit PathPauses(const Network& network);

  // Adds a pause of a port in [from, to), which lies within the bin. Pauses of one port may
  // overlap.
  void Add(size_t egress, Time from, Time to);

  // Ends a bin; returns how many paths were paused in it.
  int64_t CloseBin();

  struct Path {
    SwitchId src;
    SwitchId dst;
    uint32_t id;  // The id that Packet::taken has.
    size_t pair;  // The pair of leaves.
    Duration paused{0};
  };
  std::span<const Path> paths() const { return paths_; }

  // Returns the time in which all paths of the path's pair of leaves were paused at once.
  Duration AllPaused(const Path& path) const { return all_paused_[path.pair]; }

 private:
  struct Span {
    Time from;
    Time to;
  };
  // Disjoint, in the order of time.
  using Spans = std::vector<Span>;

  void FindPaths(const Network& network, SwitchId src, HostId dst);
  std::vector<uint32_t> TouchedPaths() const;
  Spans PausesOf(uint32_t path) const;
  void ClosePair(std::span<const uint32_t> touched);
  static Spans Union(Spans spans);
  static Spans Intersection(const Spans& a, const Spans& b);
  static Duration Length(const Spans& spans);

  std::vector<Path> paths_;                     // The paths of a pair are adjacent.
  std::vector<std::vector<uint32_t>> ports_;    // By path: its egresses.
  std::vector<std::vector<uint32_t>> through_;  // By egress: the paths through it.
  std::vector<int64_t> paths_of_pair_;
  std::vector<Duration> all_paused_;  // By pair.
  std::vector<Spans> spans_;          // By egress, of this bin.
  std::vector<size_t> touched_;       // Egresses that have spans.
};

}  // namespace heddle
