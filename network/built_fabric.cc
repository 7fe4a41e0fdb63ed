// SPDX-License-Identifier: Apache-2.0

#include "network/built_fabric.h"

#include <algorithm>

namespace heddle {

// Hosts may have links to several switches. A way ends at the first of them that it reaches, which
// is in the network of `from` if networks share nothing but hosts.
std::optional<Way> BuiltFabric::WayTo(SwitchId from, PortIndex port, uint16_t leaf) const {
  const HostId host = routing_.first_hosts()[leaf];
  const auto has_host = [&](SwitchId s) {
    return std::ranges::any_of(routing_.NicsOf(host), [&](const Adjacency::Port& nic) {
      return routing_.SwitchAt(nic.peer) == s;
    });
  };
  if (has_host(from) || !std::ranges::binary_search(routing_.TableOf(from).Towards(host), port)) {
    return std::nullopt;
  }
  const Adjacency::Port* link = &routing_.PortsOf(from)[port];
  Way way{link->out.delay, link->out.rate, link->out.rate, {}, /*links=*/1};
  for (SwitchId at = routing_.SwitchAt(link->peer); !has_host(at);
       at = routing_.SwitchAt(link->peer)) {
    link = &Quickest(at, host);
    way.propagation += link->out.delay;
    way.last_rate = link->out.rate;
    way.least_rate = std::min(way.least_rate, way.last_rate);
    ++way.links;
  }
  way.last_buffer = BufferOf(link->out);
  return way;
}

std::optional<SwitchId> BuiltFabric::PeerOf(SwitchId at, PortIndex port) const {
  const VertexId peer = routing_.PortsOf(at)[port].peer;
  if (routing_.IsHost(peer)) return std::nullopt;
  return routing_.SwitchAt(peer);
}

// Returns the port of `from` with the least delay among those on shortest paths to `host`.
const Adjacency::Port& BuiltFabric::Quickest(SwitchId from, HostId host) const {
  const std::vector<Adjacency::Port>& ports = routing_.PortsOf(from);
  return ports[*std::ranges::min_element(routing_.TableOf(from).Towards(host), {},
                                         [&](PortIndex port) { return ports[port].out.delay; })];
}

// A port of a shared buffer may fill all of it.
Bytes BuiltFabric::BufferOf(const Channel& channel) const {
  if (rule_.memory.model != MemorySettings::Model::kPrivate) return rule_.memory.SizeAt(nic_);
  const PortSettings port = rule_.SwitchPort(channel, Bytes{0});
  return Bytes{port.buffer} * (port.count_packets && port.buffer != kUnlimited ? packet_ : 1);
}

}  // namespace heddle
