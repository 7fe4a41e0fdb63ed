// SPDX-License-Identifier: Apache-2.0

#include "fabric/ecmp_routes.h"

#include <algorithm>
#include <utility>

namespace heddle {

EcmpRoutes::EcmpRoutes(const RoutingTable& table, std::span<const uint16_t> path_parts,
                       const std::vector<bool>& leaves_out)
    : group_of_host_(table.group_of_host),
      more_uplinks_(static_cast<uint32_t>(std::max<size_t>(table.uplinks.size(), 1) - 1)),
      path_divisor_(table.path_divisor) {
  auto its = std::make_unique<Sets>(Sets{.table = table, .sets = table.sets, .hops = {}});
  for (const PortIndex port : table.ports) its->hops.push_back({port, path_parts[port]});
  for (size_t i = 0; i < its->sets.size(); ++i) {
    uint32_t& count = its->sets[i].count;
    if (leaves_out[i]) count = 0;
    has_choice_ = has_choice_ || count > 1;
  }
  sets_ = std::move(its);
  std::vector<size_t> members(table.sets_of_group.size(), 0);
  for (const HostGroup& at : *table.groups) {
    members[at.group] = std::max(members[at.group], size_t{at.member} + 1);
  }
  for (size_t g = 0; g < members.size(); ++g) rows_.push_back(RowOf(g, members[g]));
}

EcmpRoutes::Row EcmpRoutes::RowOf(size_t group, size_t members) const {
  constexpr Row kOther{0, kOdd};
  const RoutingTable::GroupSets of_group = sets_->table.sets_of_group[group];
  const RoutingTable::Set first = sets_->sets[of_group.first];
  if (first.count == 0) return kOther;
  const PortIndex port = sets_->hops[first.first].port;
  // Returns true if hop `i` leads to port `at`, whose term in a path's id is `path_part`.
  const auto leads_to = [&](size_t i, size_t at, uint32_t path_part) {
    const Hop& hop = sets_->hops[i];
    return hop.port == at && hop.path_part == static_cast<uint16_t>(path_part);
  };
  if (first.count > 1) {
    if (of_group.step != 0 || first.count != more_uplinks_ + 1) return kOther;
    for (uint32_t i = 0; i < first.count; ++i) {
      if (!leads_to(first.first + i, port + i, i * path_divisor_)) return kOther;
    }
    return {port, kUp};
  }
  for (size_t m = 0; m < (of_group.step == 0 ? 1 : members); ++m) {
    const RoutingTable::Set set = sets_->sets[of_group.first + m * of_group.step];
    if (set.count != 1 || !leads_to(set.first, port + m, 0)) return kOther;
  }
  return {port, of_group.step == 0 ? kOne : kAttached};
}

EcmpRoutes::Choice EcmpRoutes::ChooseFromSet(const Packet& packet, bool hashes,
                                             uint64_t salt) const {
  const RoutingTable::Set set = sets_->sets[sets_->table.SetOf(packet.dst)];
  if (set.count == 0) return {0, 0, 0};
  const size_t chosen = hashes ? MapToRange(EcmpHash(packet, salt), set.count) : 0;
  const Hop hop = sets_->hops[set.first + chosen];
  return {hop.port, hop.path_part, set.count};
}

}  // namespace heddle
