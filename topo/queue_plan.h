// SPDX-License-Identifier: Apache-2.0
// Turns the port settings into the queues and the shared buffer of each switch. It says first
// whether plain FIFO ports do; if not, Network asks it for the settings of each port. Check()
// reports settings that cannot work.

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

// The traffic that will cross the network.
struct Traffic {
  uint8_t classes;       // Bit mask of priority classes.
  uint8_t control;       // The class of ACKs and of load balancers' own packets.
  UsualMarking marking;  // What the transport expects.
  FrameSizes sizes;
  bool telemetry = false;  // The transport wants to be told of the ports on a packet's way.
  bool can_trim = false;   // Its receivers answer the headers of trimmed packets.
  uint8_t data = 0;        // The class of its data packets.
  Duration base_rtt{0};    // The longest idle round trip; needed if trimming follows from it.
                           // (`marking` contains it already.)
  bool marks_at_last_hop = true;  // Ports to hosts mark as others do.
};

// The channels that switches send on, one of each rate.
std::vector<Channel> SwitchChannels(const Graph& graph);

// The rate of the slowest link from a host.
BitRate SlowestNic(const Graph& graph);

// The fewest links of a host.
int64_t FewestNics(const Graph& graph);

// Returns true if a switch has links upwards, or to switches of its tier, whose rates add up to
// less than those of its links downwards.
bool IsOversubscribed(const Graph& graph);

class QueuePlan {
 public:
  // The arguments outlive this. `events` may make links longer, never faster.
  QueuePlan(const Graph& graph, const PortRule& rule, const Traffic& traffic,
            const std::vector<LinkEvent>& events);

  // Returns true if FIFO ports do exactly what the settings ask for: one class, drop-tail, step
  // marking at enqueue, no pauses, no telemetry.
  bool fifo_is_exact() const;

  Queueing queueing() const;
  // SharesOf() returns how each port of the switch at `vertex` uses the shared buffer, by port
  // index. QueuesAt() returns the queues in front of a channel, which may lead to a host.
  std::vector<SharedMemory::Port> SharesOf(VertexId vertex) const;
  QueueSettings QueuesAt(const Channel& channel, bool to_host) const;
  // Returns true if a port of the switch at `vertex` leads to a host.
  bool LeadsToHost(VertexId vertex, size_t port) const {
    return graph_.IsHost(adjacency_.Of(vertex)[port].peer);
  }
  // When the ports trim packets on a channel, if they do.
  TrimLimits TrimAt(const Channel& channel) const;

  // Returns true if switches trim packets.
  bool trims() const { return rule_.trim.on() && traffic_.can_trim; }
  // The longest queue in bytes at a port as fast as the slowest NIC; 0 if nothing limits it, or
  // only the shares of inputs do (hpcc_mmu).
  Bytes LongestQueue() const;

  // Reports settings that cannot work or may surprise, below `path`, the path of the port's
  // settings.
  void Check(const std::string& path, Diagnostics& diagnostics) const;

 private:
  void CheckMarking(const std::string& path, Diagnostics& diagnostics) const;
  void CheckMarksBeforeLoss(const std::string& path, Diagnostics& diagnostics) const;
  void CheckHeadroom(const std::string& path, Diagnostics& diagnostics) const;
  void CheckMemory(const std::string& path, Diagnostics& diagnostics) const;
  void CheckTrimming(const std::string& path, Diagnostics& diagnostics) const;
  void CheckMarksBeforeTrimming(const std::string& path, Diagnostics& diagnostics) const;
  int64_t NeededHeadroom(size_t number, bool at_a) const;
  int64_t HeadroomAt(size_t number, bool at_a) const;
  int64_t XoffAt(const Channel& out, int64_t headroom) const;

  Graph graph_;  // Each link has the longest delay that it will ever have.
  const PortRule& rule_;
  const Traffic traffic_;
  Adjacency adjacency_;
  const std::vector<BitRate> slowest_;  // By link: the lowest rate from which it will rise.
  BitRate nic_;                         // The slowest link of a host.
};

}  // namespace heddle
