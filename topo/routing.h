// SPDX-License-Identifier: Apache-2.0
// Shortest paths by hop count over the links that are up, all of them; hosts never forward.
//
// A host may have several links, to one switch or to several. A leaf, below, is what hosts are
// attached to: mostly one switch, else the set of switches that some hosts share.

#pragma once

#include <map>
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

  // Of each switch, towards each host, the ports of all shortest paths, ascending.
  const RoutingTable& TableOf(SwitchId s) const { return tables_[s]; }

  // The switch that host `h` is attached to; with several, the first by a link that is up.
  SwitchId LeafOf(HostId h) const { return leaf_of_host_[h]; }

  // Whether a link leads from switch `s` to host `h`: one that is up, if any of its links is.
  bool IsAttached(SwitchId s, HostId h) const;

  std::span<const SwitchId> leaf_of_host() const { return leaf_of_host_; }

  // The leaf of host `h`, numbered from 0, whether its links are up or not.
  uint16_t LeafIndexOf(HostId h) const { return leaf_index_of_host_[h]; }

  bool HasHosts(SwitchId s) const { return number_[s] < with_hosts_.size(); }

  // Links from switch `s` to the leaf of index `leaf`; the largest number if none lead there.
  uint32_t DistanceTo(SwitchId s, size_t leaf) const { return DistanceTo(s, leaves_[leaf]); }

  // Of each leaf the host with the lowest number, by the leaf's index: of those whose links are all
  // up, if there are any.
  const std::vector<HostId>& first_hosts() const { return first_hosts_; }

  // The switches of a leaf, by its index.
  std::vector<SwitchId> SwitchesOf(size_t leaf) const;

  // The links of host `src` that begin a shortest path to host `dst`, ascending; those that are up
  // if there is none, and all if none is.
  std::vector<PortIndex> FirstHops(HostId src, HostId dst) const {
    return FirstHops(src, ReachedBy(dst));
  }
  Host::FirstHops FirstHopsOf(HostId src) const;
  size_t LinksOf(HostId h) const { return NicsOf(h).size(); }

  // The two directions of a host's link; all of one host are alike.
  const Channel& HostUplink(HostId h) const { return NicsOf(h).front().out; }
  const Channel& HostDownlink(HostId h) const {
    const Graph::Link& link = graph_.links[NicsOf(h).front().link];
    return link.a == graph_.VertexOfHost(h) ? link.b_to_a : link.a_to_b;
  }

  // What hosts may choose from: the paths between each pair of leaves, weighted by the least rate
  // along them.
  std::unique_ptr<PathTable> MakePathTable() const;

  // What leaving switch `s` through `port` adds to the id of a path.
  uint32_t PathPart(SwitchId s, PortIndex port) const;

  // Path ids are below this, unless it is so large that no packet can hold them.
  uint32_t path_ids() const { return PathDivisor(static_cast<int>(radix_of_tier_.size())); }

  // All shortest paths from host to host, as the channels crossed.
  std::vector<std::vector<Channel>> PathsBetween(HostId src, HostId dst) const;

  // Pairs of leaves without a path, as "leaf3 cannot reach leaf7"; empty if there are none.
  std::vector<std::string> Unreachable() const;

  // On a shortest path between hosts, the most switches; and the mean of links, over all pairs of
  // different leaves (2 if there is one leaf).
  uint32_t MostSwitches() const;
  double MeanLinks() const;

  const Adjacency& adjacency() const { return adjacency_; }
  const std::vector<Adjacency::Port>& PortsOf(SwitchId s) const {
    return adjacency_.Of(graph_.VertexOfSwitch(s));
  }
  const std::vector<Adjacency::Port>& NicsOf(HostId h) const {
    return adjacency_.Of(graph_.VertexOfHost(h));
  }
  SwitchId SwitchAt(VertexId vertex) const { return graph_.SwitchAt(vertex); }
  size_t switches() const { return graph_.switches.size(); }
  size_t leaves() const { return leaves_.size(); }

 private:
  using Numbers = std::vector<uint32_t>;  // Of switches with hosts, ascending.

  // A link that is up, from one switch to another.
  struct SwitchLink {
    SwitchId peer;
    PortIndex port;
  };

  void FindLeaves();
  void FindGroups();  // After FindLeaves().
  Numbers NumbersOf(HostId h, bool up) const;
  const Numbers& ReachedBy(HostId h) const;
  uint32_t DistanceBetween(HostId src, HostId dst) const;
  std::vector<PortIndex> FirstHops(HostId src, const Numbers& dst) const;
  uint32_t DistanceTo(SwitchId s, const Numbers& leaf) const;
  void FindSwitchLinks();
  void FindDistances();
  RoutingTable MakeTable(SwitchId s) const;
  void FindPortsTowards(SwitchId s, const Numbers& leaf, std::vector<PortIndex>& ports) const;
  std::vector<PortIndex> PortsToHost(SwitchId leaf, HostId host) const;
  std::vector<PortIndex> FindUplinks(SwitchId s) const;
  uint32_t PathDivisor(int tier) const;

  const Graph& graph_;
  Adjacency adjacency_;
  std::vector<SwitchId> leaf_of_host_;
  std::vector<uint16_t> leaf_index_of_host_;
  std::vector<Numbers> leaves_;               // By leaf index.
  std::vector<HostId> first_hosts_;           // Likewise.
  std::map<HostId, Numbers> partly_up_;       // What is left of the leaf of some hosts.
  std::vector<std::vector<HostId>> members_;  // By leaf index: its other hosts, ascending.
  std::shared_ptr<const std::vector<HostGroup>> groups_;  // A leaf's members; one of partly_up_.
  std::vector<SwitchId> with_hosts_;                      // Switches that have hosts, by number.
  std::vector<uint32_t> number_;                          // By switch; into `with_hosts_`.
  std::vector<std::vector<SwitchLink>> switch_links_;     // By switch, by port, ascending.
  std::vector<std::vector<uint16_t>> distances_;          // By switch, then by such a number.
  std::vector<std::vector<PortIndex>> uplinks_;           // By switch: the ports towards the core.
  std::vector<uint32_t> radix_of_tier_;                   // The most uplinks of a switch in it.
  std::vector<RoutingTable> tables_;                      // By switch.
};

}  // namespace heddle
