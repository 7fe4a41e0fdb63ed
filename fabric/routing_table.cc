// SPDX-License-Identifier: Apache-2.0

#include "fabric/routing_table.h"

#include <algorithm>

namespace heddle {

HostGroups::HostGroups(std::vector<HostGroup> by_host) : of_host(std::move(by_host)) {
  for (const HostGroup& at : of_host) {
    if (at.group >= sizes.size()) sizes.resize(at.group + size_t{1}, 0);
    sizes[at.group] = std::max(sizes[at.group], uint32_t{at.member} + 1);
  }
}

void RoutingTable::SetSetsOfHosts(std::span<const uint16_t> sets_of_hosts) {
  std::vector<HostGroup> alone;
  for (const uint16_t set : sets_of_hosts) {
    alone.push_back({static_cast<uint16_t>(alone.size()), 0});
    sets_of_group.push_back({set, 0});
  }
  SetGroups(std::make_shared<const HostGroups>(std::move(alone)));
}

}  // namespace heddle
