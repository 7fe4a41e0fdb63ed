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
  FindPorts();
  if (ports_) return;
  std::vector<Row> shared;  // By set: the row of a group whose hosts all have this set.
  for (uint32_t set = 0; set < sets_->sets.size(); ++set) shared.push_back(RowOf(set));
  const std::vector<uint32_t>& sizes = table.groups->sizes;
  for (size_t g = 0; g < table.sets_of_group.size(); ++g) {
    const auto [first, step] = table.sets_of_group[g];
    const uint32_t hosts = g < sizes.size() ? sizes[g] : 0;
    rows_.push_back(step == 0 ? shared[first] : RowOfAttached(first, hosts));
  }
}

// Finds the ports of the routing table's interval, if they have consecutive numbers as the sets do.
void EcmpRoutes::FindPorts() {
  const RoutingTable& table = sets_->table;
  if (!table.below) return;
  HostInterval ports = *table.below;
  for (uint32_t i = 0; i < ports.numbers(); ++i) {
    const Row row = RowOf(table.below->number + i);
    if (i == 0) ports.number = row.port;
    if (row.kind != kOne || row.port != ports.number + i) return;
  }
  if (ports.hosts < table.groups->of_host.size()) {
    const Row row = RowOf(ports.other);
    if (row.kind == kOther) return;
    ports.other = row.port;
    more_outside_ = row.kind == kUp ? more_uplinks_ : 0;
  }
  ports_ = ports;
}

// Returns true if the hop at index `i` leads through `port`, whose term in a path's id is
// `path_part`.
bool EcmpRoutes::LeadsTo(size_t i, size_t port, uint32_t path_part) const {
  const Hop& hop = sets_->hops[i];
  return hop.port == port && hop.path_part == static_cast<uint16_t>(path_part);
}

EcmpRoutes::Row EcmpRoutes::RowOf(uint32_t set) const {
  const auto [first, count] = sets_->sets[set];
  if (count != 1 && count != more_uplinks_ + 1) return {0, kOther};
  const PortIndex port = sets_->hops[first].port;
  for (uint32_t i = 0; i < count; ++i) {
    if (!LeadsTo(first + i, port + i, i * path_divisor_)) return {0, kOther};
  }
  return {port, count == 1 ? kOne : kUp};
}

// The row of an attached group of `members` hosts: member m has set first + m.
EcmpRoutes::Row EcmpRoutes::RowOfAttached(uint32_t first, uint32_t members) const {
  const Row row = members == 0 ? Row{0, kOther} : RowOf(first);
  if (row.kind != kOne) return {0, kOther};
  for (uint32_t m = 1; m < members; ++m) {
    const RoutingTable::Set& set = sets_->sets[first + m];
    if (set.count != 1 || !LeadsTo(set.first, row.port + m, 0)) return {0, kOther};
  }
  return {row.port, kAttached};
}

EcmpRoutes::Choice EcmpRoutes::ChooseFromSet(const Packet& packet, bool hashes,
                                             uint64_t salt) const {
  const RoutingTable::Set set = sets_->sets[sets_->table.SetOf(packet.dst)];
  if (set.count == 0) return {0, 0, 0};
  const size_t chosen = hashes ? MapToRange(EcmpHash(packet, salt), set.count) : 0;
  const Hop hop = sets_->hops[set.first + chosen];
  return {hop.port, hop.path_part, hashes ? set.count : 1};
}

}  // namespace heddle
