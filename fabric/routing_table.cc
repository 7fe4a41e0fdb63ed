// SPDX-License-Identifier: Apache-2.0

#include "fabric/routing_table.h"

#include <algorithm>

namespace heddle {
namespace {

// Returns true if all groups have so many hosts: host h is member h % hosts of group h / hosts.
bool HaveEach(const std::vector<HostGroup>& of_host, uint32_t hosts) {
  if (of_host.size() % hosts != 0) return false;
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

bool RoutingTable::LeadsUp(const GroupSets& its) const {
  if (its.step != 0) return false;
  const std::span<const PortIndex> towards = PortsOf(sets[its.first]);
  return !towards.empty() && std::ranges::count(uplinks, towards.front()) > 0;
}

void RoutingTable::FindBelow() {
  below.reset();
  const uint32_t hosts = groups->hosts_of_group;
  if (hosts == 0) return;
  // Groups behind those may have no hosts.
  const std::span<const GroupSets> all =
      std::span(sets_of_group).first(groups->of_host.size() / hosts);
  const auto is_up = [this](const GroupSets& its) { return LeadsUp(its); };
  const auto begin = std::ranges::find_if_not(all, is_up);
  const auto end = std::find_if(begin, all.end(), is_up);
  const GroupSets up = begin != all.begin() ? all.front() : end != all.end() ? *end : GroupSets{};
  const auto is_other = [&up](const GroupSets& its) { return its != up; };
  if (std::any_of(all.begin(), begin, is_other) || std::any_of(end, all.end(), is_other)) return;

  HostInterval found{.first = static_cast<uint32_t>(begin - all.begin()) * hosts,
                     .hosts = static_cast<uint32_t>(end - begin) * hosts,
                     .number = 0,
                     .other = up.first,
                     .hosts_of_number = {}};
  if (begin != end) {
    const bool is_attached = begin->step == 1;
    if (is_attached && end - begin > 1) return;
    const auto is_different = [begin](const GroupSets& its) { return its != *begin; };
    const auto alike = std::find_if(begin, end, is_different) - begin;
    for (auto its = begin; its != end; ++its) {
      if (its->step != begin->step || its->first != begin->first + (its - begin) / alike) return;
    }
    found.number = begin->first;
    found.hosts_of_number = Divider(is_attached ? 1 : static_cast<uint32_t>(alike) * hosts);
  }
  below = found;
}

}  // namespace heddle
