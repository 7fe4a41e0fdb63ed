// SPDX-License-Identifier: Apache-2.0
// The shortest paths between leaves, as packets meet them: the channels crossed, and what each
// switch adds to the path's id. Most pairs of leaves of a fabric have the same, so a class stands
// for all of them, and is looked into once: a fat-tree of any size has a handful.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
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

  // The paths from switch `from` to the leaf of index `leaf`.
  Class Between(SwitchId from, size_t leaf);

  bool HasSeveral(Class paths) const;

  // The channels crossed, without those of hosts; paths that differ in nothing else count once. The
  // reference stays valid, as does that below.
  const std::vector<std::vector<Channel>>& ChannelsOf(Class paths);

  // Of the paths that begin with `first` and go on as `rest`, the sum of their least rates.
  int64_t CapacityVia(const Channel& first, Class rest);

  // What hosts may choose from: paths by id, weighted by the least rate along them. Paths share an
  // id where switches choose by themselves, as among parallel links down; then their weights add
  // up.
  const std::vector<PathChoice>& ChoicesOf(Class paths);

 private:
  // Where a path may begin, and the class of what remains.
  struct Step {
    uint32_t id_part;
    Channel out;
    Class rest;

    friend auto operator<=>(const Step&, const Step&) = default;
  };
  // Paths of one id and one least rate.
  struct Way {
    uint32_t id;
    int64_t bps;
    int64_t count;
  };

  static constexpr Class kArrived = 0;
  static constexpr Class kNowhere = 1;

  Class ClassOf(SwitchId from, HostId host, std::vector<Class>& known);
  const std::vector<Way>& WaysOf(Class paths);

  const Routing& routing_;
  std::map<std::vector<Step>, Class> classes_;
  std::vector<const std::vector<Step>*> steps_;  // By class.
  std::vector<std::vector<Class>> to_leaf_;      // By leaf index, then by switch; empty until used.
  // By class; deques, because vectors would move their elements.
  std::deque<std::optional<std::vector<std::vector<Channel>>>> channels_;
  std::deque<std::optional<std::vector<Way>>> ways_;
  std::deque<std::optional<std::vector<PathChoice>>> choices_;
};

}  // namespace heddle
