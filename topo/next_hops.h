// SPDX-License-Identifier: Apache-2.0
// Describes the next hops of switches for load balancers that weigh them or tell them apart. It
// finds the capacity of the paths behind each next hop, as in WCMP (Zhou et al., EuroSys 2014), and
// the next hops that are alike, as DRILL's Quiver does (Ghorbani et al., SIGCOMM 2017, section
// 3.4). Network asks for the table of each switch.

#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <vector>

#include "fabric/switch.h"
#include "topo/path_classes.h"
#include "topo/routing.h"

namespace heddle {

class NextHops {
 public:
  // `routing` outlives this.
  explicit NextHops(const Routing& routing);

  NextHopTable TableOf(SwitchId s);

 private:
  using Label = uint32_t;
  // A label stands for all next hops of a switch, or for all that feeds it with traffic. Each part
  // is one of them: a next hop by the rate of the link to it and its two labels, a switch that
  // feeds by {0, its label, the rate of the link}, and the hosts of a switch by {1, switch, 0}.
  using Part = std::array<uint64_t, 3>;
  using Parts = std::vector<Part>;

  // Labels for paths towards one group of hosts (Routing::groups), by switch. Switches with the
  // same `above` carry the same traffic, and switches with the same `ahead` have the same paths in
  // front of them.
  struct Labels {
    std::vector<Label> above;
    std::vector<Label> ahead;
  };

  const Labels& LabelsTowards(size_t group);
  void LabelFeeds(size_t group, const std::vector<SwitchId>& furthest_first, Labels& labels);
  Part HopOf(const Adjacency::Port& link, const Labels& labels) const;
  Label Intern(Parts& parts);
  std::vector<NextHop> NextHopsOf(SwitchId s, size_t group);

  const Routing& routing_;
  PathClasses classes_;
  absl::flat_hash_map<Parts, Label> interned_;
  std::vector<Labels> labels_;  // By group; empty until used.
  std::vector<Parts> feeds_;    // By switch; for LabelFeeds().
};

}  // namespace heddle
