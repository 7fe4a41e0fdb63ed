// SPDX-License-Identifier: Apache-2.0

#include "fabric/ecmp_routes.h"

#include <algorithm>

namespace heddle {

EcmpRoutes::EcmpRoutes(const RoutingTable& table, std::span<const uint16_t> path_parts,
                       const std::vector<bool>& leaves_out)
    : table_(&table),
      group_of_host_(table.group_of_host),
      more_uplinks_(static_cast<uint32_t>(std::max<size_t>(table.uplinks.size(), 1) - 1)),
      path_divisor_(table.path_divisor),
      leaves_out_(leaves_out) {
  for (const PortIndex port : table.ports) hops_.push_back({port, path_parts[port]});
  std::vector<size_t> members(table.sets_of_group.size(), 0);
  for (const HostGroup& at : *table.groups) {
    members[at.group] = std::max(members[at.group], size_t{at.member} + 1);
  }
  for (size_t g = 0; g < members.size(); ++g) rows_.push_back(RowOf(g, members[g]));
  for (size_t i = 0; i < table.sets.size(); ++i) {
    has_choice_ = has_choice_ || (table.sets[i].count > 1 && !leaves_out[i]);
  }
}

EcmpRoutes::Row EcmpRoutes::RowOf(size_t group, size_t members) const {
  constexpr Row kOther{0, kOdd};
  const RoutingTable::GroupSets of_group = table_->sets_of_group[group];
  const RoutingTable::Set first = table_->sets[of_group.first];
  if (first.count == 0 || leaves_out_[of_group.first]) return kOther;
  const Hop hop = hops_[first.first];
  if (hop.path_part != 0) return kOther;
  if (first.count > 1) {
    if (of_group.step != 0 || !std::ranges::equal(table_->PortsOf(first), table_->uplinks)) {
      return kOther;
    }
    for (uint32_t i = 0; i < first.count; ++i) {
      const Hop its = hops_[first.first + i];
      const bool fits =
          its.port == hop.port + i && its.path_part == static_cast<uint16_t>(i * path_divisor_);
      if (!fits) return kOther;
    }
    return {hop.port, kUp};
  }
  if (of_group.step == 0) return {hop.port, kOne};
  for (size_t m = 1; m < members; ++m) {
    const size_t set = of_group.first + m * of_group.step;
    const RoutingTable::Set its = table_->sets[set];
    if (its.count != 1 || leaves_out_[set]) return kOther;
    const Hop to = hops_[its.first];
    if (to.port != hop.port + m || to.path_part != 0) return kOther;
  }
  return {hop.port, kAttached};
}

EcmpRoutes::Choice EcmpRoutes::ChooseFromSet(const Packet& packet, bool hashes,
                                             uint64_t salt) const {
  const uint32_t index = table_->SetOf(packet.dst);
  const RoutingTable::Set set = table_->sets[index];
  if (set.count == 0 || leaves_out_[index]) return {0, 0, 0};
  const size_t chosen = hashes ? MapToRange(EcmpHash(packet, salt), set.count) : 0;
  const Hop hop = hops_[set.first + chosen];
  return {hop.port, hop.path_part, set.count};
}

}  // namespace heddle
