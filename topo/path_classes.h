// SPDX-License-Identifier: Apache-2.0
// Groups the shortest paths between leaves into classes. Pairs of leaves are in one class if their
// paths cross equal channels and get the same ids. A fat-tree of any size has a handful of classes,
// so ideal FCTs, path tables and capacities are worked out once for each class.

#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <span>
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

  // The class of the paths from switch `from` to the leaf of index `leaf`.
  Class Between(SwitchId from, size_t leaf);

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

  // A set of next hops: the switches there, the class last found, and those of the rests of its
  // paths. The next leaf mostly has the same.
  struct Latest {
    std::vector<SwitchId> peers;
    std::vector<Class> rests;  // By peer.
    Class its = kUnknown;
  };

  Class ClassOf(SwitchId from, HostId host, std::vector<Class>& known);
  Class ClassVia(SwitchId from, std::span<const PortIndex> ports, std::span<const Class> rests);
  const std::vector<Way>& WaysOf(Class paths);

  const Routing& routing_;
  std::map<std::vector<Step>, Class> classes_;
  std::vector<const std::vector<Step>*> steps_;  // By class.
  std::vector<std::vector<Class>> to_leaf_;      // By leaf index, then by switch; empty until used.
  std::vector<std::vector<Latest>> latest_;      // By switch, then by its set; empty until used.
  // By class; deques, because vectors would move their elements.
  std::deque<std::optional<std::vector<std::vector<Channel>>>> channels_;
  std::deque<std::optional<std::vector<Way>>> ways_;
  std::deque<std::optional<std::vector<PathChoice>>> choices_;
};

}  // namespace heddle
