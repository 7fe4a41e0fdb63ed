// SPDX-License-Identifier: Apache-2.0
// Network wires the nodes of a graph with their ports, routes, transports and load balancers, and
// places them on threads. A run makes one from a NetworkPlan and runs its engine; between windows
// the conductor calls Change(). CheckConservation() promises that no packet is lost track of.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/engine.h"
#include "fabric/controller.h"
#include "fabric/host.h"
#include "fabric/pins.h"
#include "fabric/switch.h"
#include "fabric/switch_faults.h"
#include "network/bandwidth_delay.h"
#include "network/built_fabric.h"
#include "network/link_news.h"
#include "network/return_path.h"
#include "topo/graph.h"
#include "topo/port_rule.h"
#include "topo/queue_plan.h"
#include "topo/routing.h"
#include "topo/schedule.h"
#include "transport/transports.h"
#include "transport/udp.h"

namespace heddle {

struct NetworkPlan {
  const Graph* graph;
  const PortRule* port;
  const TransportModel* transport;
  std::function<SwitchPolicyPtr(SwitchId)> switch_policy;
  // Wraps each switch's policy in an observer; may be empty.
  std::function<SwitchPolicyPtr(SwitchPolicyPtr)> around = {};
  // May be empty, or return null.
  std::function<HostPolicyPtr(HostId)> host_policy;
  std::function<std::unique_ptr<Controller>(const FabricView&)> controller;
  std::span<const UdpSource> background = {};  // By id.
  const Pins* pins = nullptr;                  // The pins of flows; null if none is pinned.
  std::span<const LinkEvent> events = {};      // Sorted by time.
  std::span<const SwitchEvent> faults = {};    // Sorted by time.
  RoutingTimes routing = {};                   // When failures and repairs are noticed.
  AckPath ack_path = AckPath::kPolicy;
  uint64_t seed = 1;  // Seeds random marks and losses, and the paths of ACKs.
  // Selects the implementation of ports. kCheapest takes the cheapest that is exact; the others are
  // for comparison and give the same results.
  enum class Ports { kCheapest, kQueued, kEager };
  Ports ports = Ports::kCheapest;
  int threads = 1;
  bool moves_switches = false;  // For tests: switches change threads at random.
};

// How switches mark the packets of `transport` unless the ports' settings say. `nic` is the least
// rate of a host's link, and `base_rtt` the longest idle round trip.
UsualMarking UsualMarkingFor(const TransportModel& transport, Duration base_rtt, BitRate nic);

// Returns the traffic that `transport` and `background` send. The arguments are as above.
Traffic TrafficOf(const TransportModel& transport, std::span<const UdpSource> background,
                  Duration base_rtt, BitRate nic);

// Counts packets by where they ended up. Sent = received + dropped + consumed + in flight, always.
struct PacketCounts {
  int64_t data_sent = 0;
  int64_t control_sent = 0;  // ACKs, and packets made by load balancers.
  int64_t datagrams_sent = 0;
  int64_t received = 0;            // Packets received by hosts, datagrams included.
  int64_t datagrams_received = 0;  // Datagrams received by hosts.
  int64_t consumed = 0;            // Taken in by load balancers in switches.
  int64_t dropped[kDropReasons] = {};
  int64_t in_flight = 0;  // On a wire or in front of one, or held back by a load balancer.
  int64_t marked = 0;
  int64_t trimmed = 0;  // Data packets whose payload a switch has cut off.
  int64_t storms = 0;   // Times that a watchdog has given up on a paused class.
  int64_t hops = 0;     // Packets put on wires.

  int64_t sent() const { return data_sent + control_sent + datagrams_sent; }
  int64_t dropped_total() const;
};

class Network {
 public:
  // Everything that `plan` points at must outlive the network.
  explicit Network(const NetworkPlan& plan);

  // Sets the logs of finished flows, one for each thread of the engine.
  void SetLogs(std::span<FlowLog* const> logs);

  Engine& engine() { return engine_; }
  const Graph& graph() const { return *plan_.graph; }

  // The conductor calls these between windows. NextChange() returns when a link, the routes or the
  // load balancer's controller next change something. Change() lets everything happen that is due
  // `now`, in that order.
  Time NextChange() const;
  void Change(Time now);

  const Routing& routing() const { return routing_; }
  size_t hosts() const { return hosts_.size(); }
  Host& host(size_t h) { return *hosts_[h]; }
  Node& NodeOf(VertexId vertex);
  std::span<const std::unique_ptr<Switch>> switches() const { return switches_; }

  // The time from the end of a flow's sender to the end of its receiver. It is long enough for
  // every letter about the flow to be read.
  Duration close_delay() const { return close_delay_; }

  // One direction of a link, with the port that sends on it; in the order of nodes, then ports.
  struct Egress {
    VertexId vertex;
    PortIndex port;
    VertexId peer;
    FifoPort* fifo;
    BitRate rate;
  };
  std::span<const Egress> egresses() const { return egresses_; }
  // Returns the index in egresses() of a port of a vertex.
  size_t EgressOf(VertexId vertex, PortIndex port) const;

  // Returns how long `egress` was paused until `now`, which is between windows.
  PauseTotals PausesOf(const Egress& egress, Time now);

  PacketCounts CountPackets() const;

  // Returns what became of the background's datagrams, by source.
  std::vector<UdpRecord> CollectBackground() const;
  std::span<const std::unique_ptr<Udp>> background() const { return udp_; }

  // Stops the program if a packet has been lost track of. Returns CountPackets().
  PacketCounts CheckConservation() const;

  // Bytes of all nodes' state, without the wires.
  size_t memory_bytes() const;

 private:
  void MakeNodes();
  void MakeLinks();
  void MakeQueues();
  void MakeBackground();
  Udp& UdpOf(HostId host);
  std::vector<bool> FaultyVertices() const;
  SwitchPolicyPtr WithFaults(SwitchId id, SwitchPolicyPtr policy);
  RandomLoss LossOf(VertexId receiver, uint32_t link) const;
  LinkLoss LossesOf(VertexId receiver, uint32_t link) const;
  void MakeController();
  Time NextEvent() const {
    return next_event_ < plan_.events.size() ? plan_.events[next_event_].at : kNever;
  }
  Time NextFault() const {
    return next_fault_ < plan_.faults.size() ? plan_.faults[next_fault_].at : kNever;
  }
  Host& HostAt(VertexId vertex) { return *hosts_[live_.HostAt(vertex)]; }
  Switch& SwitchAt(VertexId vertex) { return *switches_[live_.SwitchAt(vertex)]; }
  Time NextReroute() const { return reroutes_.empty() ? kNever : reroutes_.begin()->first; }
  Time NextControl() const { return controller_ ? controller_->Next() : kNever; }
  void Apply(const LinkEvent& event, Time now);
  void Apply(const SwitchEvent& event);
  void SetLosses(VertexId receiver, const LinkEvent& event);
  void Learn(const LinkNews::News& news, Time now);
  void Leave(uint32_t link, Time now);
  void Leave(VertexId vertex, uint32_t link, Time now);
  void SetRoutes(Switch& at, RoutingTable table);
  void SetNextHops(Switch& at, NextHopTable next_hops);
  PortIndex PortOf(VertexId vertex, uint32_t link) const;
  void Reroute(Time now);
  void LeaveNoticed(Time now);
  void TellNextHops(const Routing& routing);
  Duration LeastCrossing(const Channel& channel) const;
  void SetLink(VertexId vertex, uint32_t link, const Channel& channel, bool up, bool was_up,
               Time now);
  void VoidPauses(VertexId vertex, uint32_t link, Time now);
  void Announce(const LinkEvent& event, Time now);
  PortSettings SettingsOf(const Channel& channel) const;
  FifoPort& AddPort(VertexId vertex, VertexId peer, const Channel& channel);

  const NetworkPlan plan_;
  Graph live_;  // The network as it is now. A link is up if its ends believe so.
  Routing routing_;
  const BuiltFabric map_;
  QueuePlan queue_plan_;
  const bool is_queued_;  // FIFO ports are not exact, or not wanted.
  std::unique_ptr<PathTable> paths_;
  bool weighs_ = false;  // Hosts or switches know rates beyond their own links.
  uint32_t routes_version_ = 1;
  size_t next_event_ = 0;
  size_t next_fault_ = 0;
  // A change of a link that routing does not know of yet. Keyed by the time at which routing hears
  // of it and changes the routes.
  struct RoutedChange {
    uint32_t link;
    std::optional<bool> up;
    std::optional<BitRate> rate;
  };
  std::multimap<Time, RoutedChange> reroutes_;
  Graph routed_;  // The network as routing knows it. Empty if no link ever changes.
  // The directions of a link that carry packets: from its end a to b, and back.
  struct Carries {
    bool there = true;
    bool back = true;

    bool both() const { return there && back; }
  };
  std::vector<Carries> carries_;    // By link.
  std::vector<Carries> announced_;  // By link: the same without what is silent.
  LinkNews news_;
  // By switch, the present routes, which a switch changes when it notices a failure. Empty if no
  // failure is noticed before routing has converged.
  std::vector<RoutingTable> tables_;
  std::vector<NextHopTable> next_hops_;
  std::vector<HostId> next_hop_hosts_;  // By leaf: the host whose next hops stand for the leaf's.
  Duration close_delay_;
  std::unique_ptr<PairBandwidthDelay> bandwidth_delay_;  // Null if the transport needs none.
  std::unique_ptr<TransportMaker> transport_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Switch>> switches_;
  std::vector<SwitchFaults*> faults_;      // By switch; null if it never loses a packet.
  std::vector<std::unique_ptr<Udp>> udp_;  // One for each host with background traffic.
  std::vector<Udp*> udp_of_host_;  // By host; null if it has none. Empty without a background.
  std::vector<Node*> host_nodes_;
  std::vector<Egress> egresses_;
  std::vector<uint16_t> leaf_of_host_;
  std::vector<SwitchPolicy*> switch_policies_;  // The scheme's own, without wrappers.
  std::vector<HostPolicy*> host_policies_;
  FabricView fabric_;
  std::unique_ptr<Controller> controller_;
  Engine engine_;
};

// Returns an upper bound of the time in which a packet and the answer to it cross the network when
// it is idle.
Duration WorstRoundTrip(const Graph& graph, const Routing& routing, const PacketSizes& sizes);

}  // namespace heddle
