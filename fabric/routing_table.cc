// SPDX-License-Identifier: Apache-2.0

#include "fabric/routing_table.h"

#include <algorithm>

namespace heddle {
namespace {

// Returns true if host h is member h % hosts of group h / hosts, for all hosts.
bool HaveEach(const std::vector<HostGroup>& of_host, uint32_t hosts) {
  for (size_t h = 0; h < of_host.size(); ++h) {
    if (of_host[h].group != h / hosts || of_host[h].member != h % hosts) return false;
  }
  return true;
}

}  // namespace

HostGroups::HostGroups(std::vector<HostGroup> by_host) : of_host(std::move(by_host)) {
  for (const HostGroup& at : of_host) {
    if (at.group >= sizes.size()) sizes.resize(at.group + size_t{1}, 0);
    sizes[at.group] = std::max(sizes[at.group], uint32_t{at.member} + 1);
  }
  const uint32_t hosts = sizes.empty() ? 0 : sizes[0];
  if (hosts > 0 && HaveEach(of_host, hosts)) hosts_of_group = hosts;
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
