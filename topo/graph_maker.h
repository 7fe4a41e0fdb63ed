// SPDX-License-Identifier: Apache-2.0
// GraphMaker puts a graph of any shape together. A topology adds all switches, then all links, and
// calls Finish(); AddLink() and Finish() return the mistake that they find.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topo/graph.h"

namespace heddle {

class GraphMaker {
 public:
  // A description of the mistake; unset if there is none.
  using Mistake = std::optional<std::string>;

  explicit GraphMaker(size_t hosts) : link_of_host_(hosts) { graph_.hosts = hosts; }

  // Adds a switch; all switches come before the links. Without `tier`, its tier is its distance:
  // the number of links to the nearest switch with a host.
  void AddSwitch(std::string name, std::optional<int> tier);

  Mistake AddLink(VertexId a, VertexId b, Channel channel);

  // Completes the graph; called after the last link.
  Mistake Finish();

  // The graph so far, which knows the vertices of all hosts and of the switches that were added.
  const Graph& graph() const { return graph_; }

  // Hands over the graph, once Finish() has found no mistake.
  Graph Take() { return std::move(graph_); }

 private:
  std::vector<uint32_t> DistancesFromHosts() const;
  Mistake NameLinks();

  Graph graph_;
  std::vector<std::optional<Channel>> link_of_host_;  // By host: its first link; all are alike.
  std::vector<std::optional<int>> tiers_;             // By switch.
};

}  // namespace heddle
