// SPDX-License-Identifier: Apache-2.0

#include "network/link_news.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace heddle {

void LinkNews::Report(uint32_t link, bool up, Time now) {
  const Duration wait = up ? times_.hold_up : times_.detect.value_or(Duration{0});
  const Time routes = now + times_.convergence + (up ? times_.hold_up : Duration{0});
  pending_.insert({now + wait, Pending{{link, up, routes}, ++changes_[link]}});
}

std::optional<LinkNews::News> LinkNews::Take(Time now) {
  while (Next() <= now) {
    const Pending first = pending_.begin()->second;
    pending_.erase(pending_.begin());
    if (first.change == changes_[first.news.link]) return first.news;
  }
  return std::nullopt;
}

RoutingTable WithoutPort(const RoutingTable& table, PortIndex port) {
  RoutingTable without = table;
  without.ports.clear();
  for (RoutingTable::Set& set : without.sets) {
    const auto first = static_cast<uint32_t>(without.ports.size());
    std::ranges::copy_if(table.PortsOf(set), std::back_inserter(without.ports),
                         [port](PortIndex other) { return other != port; });
    set = {first, static_cast<uint32_t>(without.ports.size()) - first};
  }
  return without;
}

NextHopTable WithoutPort(const NextHopTable& next_hops, const RoutingTable& table, PortIndex port,
                         std::span<const HostId> hosts) {
  NextHopTable without;
  const auto add = [&](HostId host, uint16_t leaf) {
    const std::vector<NextHop>& before = next_hops.Towards(host, leaf);
    const std::span<const PortIndex> ports = table.Towards(host);
    std::vector<NextHop>& after = without.sets.emplace_back();
    for (size_t i = 0; i < before.size(); ++i) {
      if (ports[i] != port) after.push_back(before[i]);
    }
    return static_cast<uint16_t>(without.sets.size() - 1);
  };
  for (size_t leaf = 0; leaf < next_hops.set_of_leaf.size(); ++leaf) {
    without.set_of_leaf.push_back(add(hosts[leaf], static_cast<uint16_t>(leaf)));
  }
  for (const auto& [host, set] : next_hops.set_of_host) {
    without.set_of_host.emplace_back(host, add(host, /*leaf=*/0));
  }
  return without;
}

}  // namespace heddle
