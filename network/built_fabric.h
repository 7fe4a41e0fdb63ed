// SPDX-License-Identifier: Apache-2.0
// Describes the fabric as it was built to load balancers that are configured with it. They ask for
// the way to a leaf and for the buffer of a port; failures do not change the answers.

#pragma once

#include <optional>

#include "fabric/fabric_map.h"
#include "topo/graph.h"
#include "topo/port_rule.h"
#include "topo/queue_plan.h"
#include "topo/routing.h"
#include "transport/packet_sizes.h"

namespace heddle {

class BuiltFabric final : public FabricMap {
 public:
  // `routing` and `rule` outlive this.
  BuiltFabric(const Graph& graph, const Routing& routing, const PortRule& rule,
              const PacketSizes& sizes)
      : routing_(routing),
        rule_(rule),
        packet_(sizes.DataPacket(sizes.mss)),
        nic_(SlowestNic(graph)) {}

  std::optional<Way> WayTo(SwitchId from, PortIndex port, uint16_t leaf) const override;
  std::optional<SwitchId> PeerOf(SwitchId at, PortIndex port) const override;
  Bytes BufferOf(SwitchId at, PortIndex port) const override {
    return BufferOf(routing_.PortsOf(at)[port].out);
  }

 private:
  const Adjacency::Port& Quickest(SwitchId from, HostId host) const;
  Bytes BufferOf(const Channel& channel) const;

  const Routing& routing_;
  const PortRule& rule_;
  const int64_t packet_;  // A full packet, as buffered.
  const BitRate nic_;     // The rate of the slowest link of a host.
};

}  // namespace heddle
