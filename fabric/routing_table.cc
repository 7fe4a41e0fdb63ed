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

// The sets of groups of `hosts` hosts each, if all groups beside an interval have the sets `other`.
// Within it, each group has one set, and the numbers of the sets rise by one after every so many
// groups; or it is one group whose hosts have a set each.
std::optional<HostInterval> IntervalBeside(const RoutingTable::GroupSets& other,
                                           std::span<const RoutingTable::GroupSets> all,
                                           uint32_t hosts) {
  if (other.step != 0) return std::nullopt;
  const auto differs = [&other](const RoutingTable::GroupSets& its) { return its != other; };
  const auto begin = std::ranges::find_if(all, differs);
  const auto end = std::find(begin, all.end(), other);
  if (std::any_of(end, all.end(), differs)) return std::nullopt;
  HostInterval found{.first = static_cast<uint32_t>(begin - all.begin()) * hosts,
                     .hosts = static_cast<uint32_t>(end - begin) * hosts,
                     .number = 0,
                     .other = other.first,
                     .hosts_of_number = {}};
  if (begin == end) return found;
  const bool is_attached = begin->step == 1;
  if (is_attached && end - begin > 1) return std::nullopt;
  const auto alike =
      std::find_if(begin, end, [&](const auto& its) { return its != *begin; }) - begin;
  for (auto its = begin; its != end; ++its) {
    if (its->step != begin->step || its->first != begin->first + (its - begin) / alike) {
      return std::nullopt;
    }
  }
  found.number = begin->first;
  found.hosts_of_number = Divider(is_attached ? 1 : static_cast<uint32_t>(alike) * hosts);
  return found;
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

void RoutingTable::FindBelow() {
  below.reset();
  const uint32_t hosts = groups->hosts_of_group;
  if (hosts == 0) return;
  // Groups behind those may have no hosts.
  const std::span all = std::span(sets_of_group).first(groups->of_host.size() / hosts);
  GroupSets beside = all.front();
  GroupSets other = all.back();
  if (std::ranges::count(all, beside) < std::ranges::count(all, other)) std::swap(beside, other);
  below = IntervalBeside(beside, all, hosts);
  if (!below) below = IntervalBeside(other, all, hosts);
}

}  // namespace heddle
