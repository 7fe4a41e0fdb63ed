// SPDX-License-Identifier: Apache-2.0
// What the settings of ports mean for the switches of a network: whether FIFO ports do, and if they
// don't, the queues and the memory of each switch.

#pragma once

#include <cstdint>
#include <vector>

#include "fabric/queued_ports.h"
#include "settings/diagnostics.h"
#include "topo/graph.h"
#include "topo/port_rule.h"
#include "topo/queue_rule.h"
#include "topo/schedule.h"

namespace heddle {

// What will cross the network.
struct Traffic {
  uint8_t classes;  // Bit mask.
  uint8_t control;  // The class of ACKs and of what load balancers send.
  bool wants_red;   // Its transport expects marking between two thresholds.
  FrameSizes sizes;
  bool telemetry = false;  // Its transport wants to be told of the ports on its way.
};

// The channels that switches send on, one of each rate.
std::vector<Channel> SwitchChannels(const Graph& graph);

class QueuePlan {
 public:
  // All of them outlive this. `events` may make links longer, never faster.
  QueuePlan(const Graph& graph, const PortRule& rule, const Traffic& traffic,
            const std::vector<LinkEvent>& events);

  // Whether what FIFO ports do is exactly what is asked for: one class, drop-tail, marks by a step
  // at enqueue, no pauses, no telemetry.
  bool fifo_is_exact() const;

  Queueing queueing() const;
  // How each port of the switch at `vertex` shares its memory, ports as in the graph; and the
  // queues in front of a channel.
  std::vector<SharedMemory::Port> SharesOf(VertexId vertex) const;
  QueueSettings QueuesAt(const Channel& channel) const;

  // What cannot work, or may surprise, below the path of the port's settings.
  void Check(const std::string& path, Diagnostics& diagnostics) const;

 private:
  void CheckMarking(const std::string& path, Diagnostics& diagnostics) const;
  void CheckHeadroom(const std::string& path, Diagnostics& diagnostics) const;
  void CheckMemory(const std::string& path, Diagnostics& diagnostics) const;
  int64_t HeadroomAt(const Graph::Link& link, bool at_a) const;
  int64_t XoffAt(const Channel& out, int64_t headroom) const;

  Graph graph_;  // With the longest delays that links will ever have.
  const PortRule& rule_;
  const Traffic traffic_;
  Adjacency adjacency_;
  BitRate nic_;  // The slowest link of a host.
};

}  // namespace heddle
