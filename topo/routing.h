// SPDX-License-Identifier: Apache-2.0
// Computes all shortest paths by hop count over the links that are up; hosts never forward. Network
// makes one at the start, and another after each failure or repair, for the routing tables of
// switches.
//
// A host may have several links, to one switch or to several. A leaf, below, is the switch that
// hosts are attached to, or the set of switches that some hosts share.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fabric/host.h"
#include "fabric/paths.h"
#include "fabric/switch.h"
#include "topo/graph.h"

namespace heddle {

class Routing {
 public:
  explicit Routing(const Graph& graph);

  // The routing table of switch `s`: towards each host, the ports of all shortest paths, ascending.
  const RoutingTable& TableOf(SwitchId s) const { return tables_[s]; }

  // The switch that host `h` is attached to; with several, the first by a link that is up.
  SwitchId LeafOf(HostId h) const { return leaf_of_host_[h]; }

  // Returns true if a link leads from switch `s` to host `h`. Links that are down count only if all
  // of the host's links are down.
  bool IsAttached(SwitchId s, HostId h) const;

  std::span<const SwitchId> leaf_of_host() const { return leaf_of_host_; }

  // The leaf of host `h`, numbered from 0, whether its links are up or not.
  uint16_t LeafIndexOf(HostId h) const { return leaf_index_of_host_[h]; }

  bool HasHosts(SwitchId s) const { return has_hosts_[s]; }

  // The number of links from switch `s` to a group, by its number; the largest number if none lead
  // there.
  uint32_t DistanceTo(SwitchId s, size_t group) const;

  // By leaf index, the host of the leaf with the lowest number; hosts whose links are all up go
  // first.
  const std::vector<HostId>& first_hosts() const { return first_hosts_; }

  // A group is a leaf, or a host with several links of which some are down. Groups are numbered
  // from 0: leaves first, then such hosts in ascending order. FirstOf() is a host of the group, if
  // it has any: all hosts of a leaf may be groups of their own.
  size_t groups() const { return attached_to_.size(); }
  HostId FirstOf(size_t group) const {
    if (group >= leaves()) return partly_up_[group - leaves()];
    const HostId first = first_hosts_[group];
    return GroupOf(first) == group || members_[group].empty() ? first : members_[group].front();
  }

  // The switches of a leaf, by its index.
  const std::vector<SwitchId>& SwitchesOf(size_t leaf) const { return attached_to_[leaf]; }

  // The links of host `src` that begin a shortest path to host `dst`, ascending. If there is no
  // path, they are the links that are up, or all links if none is up.
  std::vector<PortIndex> FirstHops(HostId src, HostId dst) const {
    return FirstHopsTo(src, GroupOf(dst));
  }
  Host::FirstHops FirstHopsOf(HostId src) const;
  size_t LinksOf(HostId h) const { return NicsOf(h).size(); }

  // The two directions of a host's link; all of one host are alike.
  const Channel& HostUplink(HostId h) const { return NicsOf(h).front().out; }
  const Channel& HostDownlink(HostId h) const {
    const Graph::Link& link = graph_.links[NicsOf(h).front().link];
    return link.a == graph_.VertexOfHost(h) ? link.b_to_a : link.a_to_b;
  }

  // Makes the table of paths that hosts may choose from: the paths between each pair of leaves,
  // weighted by the least rate along them.
  std::unique_ptr<PathTable> MakePathTable() const;

  // A path's id is the sum of one term for each switch on the way up. Returns the term for leaving
  // switch `s` through `port`: the number of the uplink, times the place value of the switch's
  // tier.
  uint32_t PathPart(SwitchId s, PortIndex port) const;

  // Path ids are below this, unless it is so large that no packet can hold them.
  uint32_t path_ids() const { return PathDivisor(static_cast<int>(radix_of_tier_.size())); }

  // All shortest paths from host to host, as the channels crossed.
  std::vector<std::vector<Channel>> PathsBetween(HostId src, HostId dst) const;

  // Pairs of leaves without a path, as "leaf3 cannot reach leaf7"; empty if there are none.
  std::vector<std::string> Unreachable() const;

  // MostSwitches() is the largest number of switches on a shortest path between hosts. MeanLinks()
  // is the mean number of its links, over all pairs of different leaves (2 if there is one leaf).
  uint32_t MostSwitches() const;
  double MeanLinks() const;

  const Adjacency& adjacency() const { return adjacency_; }
  const std::vector<Adjacency::Port>& PortsOf(SwitchId s) const {
    return adjacency_.Of(graph_.VertexOfSwitch(s));
  }
  const std::vector<Adjacency::Port>& NicsOf(HostId h) const {
    return adjacency_.Of(graph_.VertexOfHost(h));
  }
  bool IsHost(VertexId vertex) const { return graph_.IsHost(vertex); }
  SwitchId SwitchAt(VertexId vertex) const { return graph_.SwitchAt(vertex); }
  size_t switches() const { return graph_.switches.size(); }
  size_t hosts() const { return graph_.hosts; }
  size_t leaves() const { return first_hosts_.size(); }

 private:
  class SetsOfPorts;

  // A link that is up, from one switch to another.
  struct SwitchLink {
    SwitchId peer;
    PortIndex port;
  };

  using Bits = std::vector<uint64_t>;  // One bit for each group.

  void FindLeaves();
  void FindGroups();  // After FindLeaves().
  std::vector<SwitchId> SwitchesAt(HostId h, bool up) const;
  size_t GroupOf(HostId h) const { return groups_->of_host[h].group; }
  std::vector<uint32_t> DistancesFrom(HostId src) const;
  std::vector<PortIndex> FirstHopsTo(HostId src, size_t group) const;
  template <class Visit>
  void ForEachFirstLink(HostId src, const Visit& visit) const;
  template <class Visit>
  void ForEachPair(const Visit& visit) const;
  void FindSwitchLinks();
  std::vector<std::vector<Bits>> FindDistances();
  RoutingTable MakeTable(SwitchId s, const std::vector<Bits>& behind) const;
  RoutingTable::GroupSets SetsOfAttached(SwitchId s, size_t group, SetsOfPorts& sets) const;
  std::vector<PortIndex> PortsToHost(SwitchId leaf, HostId host) const;
  std::vector<PortIndex> FindUplinks(SwitchId s) const;
  uint32_t PathDivisor(int tier) const;

  const Graph& graph_;
  Adjacency adjacency_;
  std::vector<SwitchId> leaf_of_host_;
  std::vector<uint16_t> leaf_index_of_host_;
  std::vector<HostId> first_hosts_;  // By leaf index.
  // A group is a leaf, by its index, or one host with some links down, numbered behind the leaves.
  std::shared_ptr<const HostGroups> groups_;
  std::vector<HostId> partly_up_;                      // The hosts that are groups, ascending.
  std::vector<std::vector<HostId>> members_;           // By leaf index: the hosts of the group.
  std::vector<std::vector<SwitchId>> attached_to_;     // By group: its switches, ascending.
  std::vector<bool> has_hosts_;                        // By switch.
  std::vector<std::vector<SwitchLink>> switch_links_;  // By switch, by port, ascending.
  std::vector<std::vector<uint16_t>> distances_;       // By switch, then by group.
  std::vector<std::vector<PortIndex>> uplinks_;        // By switch: the ports towards the core.
  std::vector<uint32_t> radix_of_tier_;                // By tier: the most uplinks of a switch.
  std::vector<RoutingTable> tables_;                   // By switch.
};

}  // namespace heddle
