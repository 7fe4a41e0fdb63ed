// SPDX-License-Identifier: Apache-2.0
// Groups the shortest paths between leaves into classes. Pairs of leaves are in one class if their
// paths cross equal channels and get the same ids. A fat-tree of any size has a handful of classes,
// so ideal FCTs, path tables and capacities are worked out once for each class.

#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/node_hash_map.h>

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fabric/host_policy.h"
#include "topo/graph.h"
#include "topo/routing.h"

namespace heddle {

class PathClasses {
 public:
  using Class = uint32_t;

  // `routing` must outlive this.
  explicit PathClasses(const Routing& routing);

  // The class of the paths from switch `from` to a leaf, by its index, or another group of hosts
  // (Routing::groups).
  Class Between(SwitchId from, size_t group);

  bool HasSeveral(Class paths) const;

  // The channels that each path crosses, without the hosts' links; paths over equal channels count
  // once. The reference stays valid, as does that of ChoicesOf().
  const std::vector<std::vector<Channel>>& ChannelsOf(Class paths);

  // The sum of the least rates of all paths that cross `first` and go on along a path of `rest`.
  int64_t CapacityVia(const Channel& first, Class rest);

  // The paths that hosts may choose from, by id, each weighted by the least rate along it. Where
  // switches choose by themselves, as among parallel links down, several paths share an id; then
  // their weights add up.
  const std::vector<PathChoice>& ChoicesOf(Class paths);

 private:
  // A possible first hop of a path, and the class of the rest of the path.
  struct Step {
    uint32_t id_part;
    Channel out;
    Class rest;

    friend auto operator<=>(const Step&, const Step&) = default;
  };
  // The number of paths that have this id and this least rate.
  struct Way {
    uint32_t id;
    int64_t bps;
    int64_t count;
  };

  static constexpr Class kUnknown = std::numeric_limits<Class>::max();
  static constexpr Class kArrived = 0;
  static constexpr Class kNowhere = 1;

  struct Hop {
    uint32_t id_part;
    Channel out;
    SwitchId peer;

    friend bool operator==(const Hop&, const Hop&) = default;
    template <class H>
    friend H AbslHashValue(H state, const Hop& hop) {
      return H::combine(std::move(state), hop.id_part, hop.out.rate.bps, hop.out.delay.ps,
                        hop.peer);
    }
  };
  using Hops = std::vector<Hop>;
  // The classes that ClassOf() found for the last leaf. The next leaf mostly has the same.
  struct Latest {
    std::vector<Class> rests;  // By hop: those of the rests of the paths.
    Class its = kUnknown;
  };
  // Next hops that several switches may share: in a fat-tree, the aggregation switches at one
  // position of their pods have equal links to the same core switches. From there on, their paths
  // to a leaf are the same.
  using HopSets = absl::node_hash_map<Hops, Latest>;
  using HopSet = HopSets::value_type;  // Stays in place.
  using Known = absl::flat_hash_map<const HopSet*, Class>;

  Class ClassOf(SwitchId from, HostId host, Known& known);
  Class ClassVia(const Hops& hops, std::span<const Class> rests);
  HopSet& HopSetOf(SwitchId from, HostId host);
  const std::vector<Way>& WaysOf(Class paths);

  const Routing& routing_;
  std::map<std::vector<Step>, Class> classes_;
  std::vector<const std::vector<Step>*> steps_;  // By class.
  std::vector<Known> to_group_;                  // By group: what is known so far.
  HopSets hop_sets_;
  // By switch, then by its set in the routing table. Empty, or null, until used.
  std::vector<std::vector<HopSet*>> hop_set_of_;
  // By class; deques, because vectors would move their elements.
  std::deque<std::optional<std::vector<std::vector<Channel>>>> channels_;
  std::deque<std::optional<std::vector<Way>>> ways_;
  std::deque<std::optional<std::vector<PathChoice>>> choices_;
};

}  // namespace heddle
