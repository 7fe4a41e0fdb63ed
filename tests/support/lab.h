// SPDX-License-Identifier: Apache-2.0
// A network for tests: a graph, settings as a user would write them, and flows. A test runs it to
// the end of its flows, or to a given time, and then reads the results.
//
//   Lab lab({.graph = Line({{10_Gbps, 1_us}, {10_Gbps, 1_us}}), .transport = "{kind: tcp}"});
//   lab.AddFlow(0, 1, 14'600);
//   lab.Run();
//   EXPECT_EQ(FctRx(lab.Record(0)), 19'995'200_ps);

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "fabric/flow.h"
#include "lb/parts/load_balancer.h"
#include "network/network.h"
#include "settings/diagnostics.h"
#include "tests/support/lb_bench.h"  // BalancerFrom
#include "tests/support/printers.h"
#include "topo/graph.h"
#include "topo/port_rule.h"
#include "transport/tcp/tcp_sender.h"
#include "transport/transports.h"

namespace heddle {

class RoceSender;

// --- Graphs; switches are named s0, s1, ... ---

// host 0, a chain of switches, host 1: as many links as there are channels, at least two.
Graph Line(const std::vector<Channel>& links);
inline Graph Line(size_t links, Channel channel) {
  return Line(std::vector<Channel>(links, channel));
}
// Hosts 0 .. n-1, each on one switch.
Graph Star(size_t hosts, Channel link);
// Hosts 0 .. pairs-1 on switch 0, as many more on switch 1.
Graph Dumbbell(size_t pairs, Channel edge, Channel core);

std::map<std::string, Graph::Link> LinksByName(const Graph& graph);

// --- Settings from YAML; what is wrong with them fails the test ---

Graph GraphFrom(const std::string& yaml, uint64_t seed = 1);  // "{kind: fat_tree, k: 4}"
Graph LeafSpineFrom(const std::string& yaml, uint64_t seed = 1);
PortRule PortRuleFrom(const std::string& yaml);
Chosen<TransportModel> TransportFrom(const std::string& yaml);

// --- Running ---

class Lab {
 public:
  struct Plan {
    Graph graph;
    std::string transport = "{kind: tcp}";
    std::string balancer = "{kind: ecmp}";
    std::string port = "{buffer: unlimited, ecn_above: unlimited}";
    // These policies replace the balancer's.
    std::function<SwitchPolicyPtr(SwitchId)> switch_policy = nullptr;
    std::function<HostPolicyPtr(HostId)> host_policy = nullptr;
    std::function<std::unique_ptr<Controller>(const FabricView&)> controller = nullptr;
    std::vector<UdpSource> background = {};
    std::vector<LinkEvent> events = {};    // Ordered by time; routes follow at once.
    std::vector<SwitchEvent> faults = {};  // Ordered by time.
    AckPath ack_path = AckPath::kPolicy;
    int threads = 1;  // With more than two, switches also change threads at random.
    uint64_t seed = 1;
    NetworkPlan::Ports ports = NetworkPlan::Ports::kCheapest;
  };

  explicit Lab(Plan plan);
  ~Lab();

  // Flows are numbered as they are added, and sorted by start when the lab runs: add them in that
  // order. Ports differ between flows unless they are given. Returns the id.
  FlowId AddFlow(FlowSpec spec);
  FlowId AddFlow(HostId src, HostId dst, int64_t size, Time start = Time{0});

  // Calls `sample` at multiples of `interval`, before anything else of that instant.
  void SampleEvery(Duration interval, std::function<void(Time)> sample);

  // Runs until all flows have ended and been forgotten, or to `limit`. Checks that every packet is
  // accounted for and that no flow is faster than alone.
  void Run(Time limit = kNever);

  Network& network() { return *network_; }
  bool finished() const { return unfinished_ == 0; }
  Time end() const { return end_; }

  // The record of a flow, finished or not; valid after Run().
  const FlowRecord& Record(FlowId flow) const { return records_[flow]; }
  const std::vector<FlowRecord>& records() const { return records_; }
  PacketCounts Packets() const { return network_->CountPackets(); }
  int64_t Drops(DropReason reason) const { return Packets().dropped[static_cast<size_t>(reason)]; }
  int64_t LatePackets(HostId host) const;

  // The reordered packets of flows of all size classes.
  ReorderingStats Reordering() const;

  // The port from one vertex to another.
  FifoPort& PortTo(VertexId vertex, VertexId peer);
  VertexId HostVertex(HostId h) const { return graph_.VertexOfHost(h); }
  VertexId SwitchVertex(SwitchId s) const { return graph_.VertexOfSwitch(s); }

  // The same by numbers, for networks that are written out: the switches follow the last host.
  FifoPort& PortTo(uint32_t vertex, uint32_t peer) {
    return PortTo(VertexId(vertex), VertexId(peer));
  }

  // A flow that is being sent; nullptr before its start and after its end.
  const TcpSender* Sender(FlowId flow) const;
  const RoceSender* QueuePair(FlowId flow) const;

 private:
  class Log;
  class Runner;

  void CollectUnfinished();
  void CheckNotTooFast(const FlowRecord& record) const;

  const Graph graph_;
  const PortRule port_;
  const Chosen<TransportModel> transport_;
  const Chosen<LoadBalancer> balancer_;
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Log>> logs_;
  std::vector<FlowSpec> flows_;
  std::vector<FlowRecord> records_;  // By flow.
  size_t unfinished_ = 0;
  Time end_;
  const std::vector<UdpSource> background_;
  const std::vector<LinkEvent> events_;
  const std::vector<SwitchEvent> faults_;
  Duration sample_interval_{0};
  std::function<void(Time)> sample_;
};

// Datagrams of 1518 bytes at a constant rate, with the port 5000 of the sender, as routes lead.
UdpSource Datagrams(uint32_t id, HostId src, HostId dst, BitRate rate, Time stop = kNever);

// A plan in which all hosts send all packets along path `path`, and switches follow it.
Lab::Plan FollowingPath(Graph graph, uint16_t path);

// --- What tests compare ---

inline Duration FctRx(const FlowRecord& record) { return record.receiver.done - record.spec.start; }
inline Duration FctTx(const FlowRecord& record) { return record.sender.done - record.spec.start; }

// Returns when `payload` bytes, all released at time 0, have arrived over `path`. It adds up packet
// by packet and link by link, unlike any closed form.
Duration FctHopByHop(const std::vector<Channel>& path, int64_t payload, const PacketSizes& sizes);

// Everything in a record as text, to compare whole runs.
std::string Describe(const FlowRecord& record);
std::string Describe(const Lab& lab);  // A line a flow.

// Runs a permutation and an incast on a leaf-spine of 16 hosts, which replaces the plan's graph;
// all flows must finish. Returns Describe() of the lab.
std::string RecordsOfSixteenHosts(Lab::Plan plan);

// Events that give the links of a switch above this delay from `at` on.
std::vector<LinkEvent> LongerLinksOf(const Graph& graph, std::string_view upper, Time at,
                                     Duration delay);

}  // namespace heddle
