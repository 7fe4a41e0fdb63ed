// SPDX-License-Identifier: Apache-2.0
// The next hops of a switch towards all hosts.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/packet.h"
#include "fabric/host_interval.h"

namespace heddle {

// The position of a host in all routing tables of a network. Every switch reaches the hosts of one
// group through the same next hops, except the switches that the group is attached to.
struct HostGroup {
  uint16_t group;
  uint16_t member;  // The host's number in its group, from 0.
};

// All hosts' positions, and the sizes of the groups.
struct HostGroups {
  explicit HostGroups(std::vector<HostGroup> by_host);

  std::vector<HostGroup> of_host;
  std::vector<uint32_t> sizes;  // By group, as far as the last one that has hosts.
  // If all groups have equally many hosts, in the order of the hosts: how many. Else 0.
  uint32_t hosts_of_group = 0;
};

// The next hops of one switch towards every host. Its size grows with the groups and not with the
// hosts: a switch has one entry for each group, and all switches share one list of the groups.
struct RoutingTable {
  struct Set {
    uint32_t first;  // Into `ports`.
    uint32_t count;  // 0: unreachable.
  };
  // Member m of a group has set first + m * step.
  struct GroupSets {
    uint16_t first;
    uint16_t step;  // 0: all members share one set. 1: the group is attached, each has its own set.

    friend bool operator==(const GroupSets&, const GroupSets&) = default;
  };
  // The sets of all hosts, if they follow from the hosts' numbers. Set by FindBelow().
  std::optional<HostInterval> below;
  std::shared_ptr<const HostGroups> groups;  // Set by SetGroups().
  const HostGroup* group_of_host = nullptr;  // The elements of `groups->of_host`.
  std::vector<GroupSets> sets_of_group;
  std::vector<Set> sets;
  std::vector<PortIndex> ports;
  std::vector<PortIndex> uplinks;  // Towards the core, ascending.
  uint32_t path_divisor = 1;       // A path id's digit here is (id / path_divisor) % uplinks.
  uint32_t version = 1;

  void SetGroups(std::shared_ptr<const HostGroups> all) {
    groups = std::move(all);
    group_of_host = groups->of_host.data();
  }

  // Makes each host a group of its own; host h has set sets_of_hosts[h].
  void SetSetsOfHosts(std::span<const uint16_t> sets_of_hosts);

  // Call it when all sets of groups are there.
  void FindBelow();

  uint32_t SetOf(HostId host) const {
    if (below) [[likely]]
      return below->NumberOf(host);
    const HostGroup at = group_of_host[host];
    const GroupSets of_group = sets_of_group[at.group];
    return uint32_t{of_group.first} + uint32_t{at.member} * of_group.step;
  }
  std::span<const PortIndex> Towards(HostId host) const { return PortsOf(sets[SetOf(host)]); }
  std::span<const PortIndex> PortsOf(const Set& set) const {
    return {ports.data() + set.first, set.count};
  }
};

}  // namespace heddle
