// SPDX-License-Identifier: Apache-2.0
// Puts a graph of any shape together, link by link, and says what cannot be.

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
  // What is wrong, if something is.
  using Mistake = std::optional<std::string>;

  explicit GraphMaker(size_t hosts) : link_of_host_(hosts) { graph_.hosts = hosts; }

  // Without a tier, a switch has that of its distance: as many links as lead from it to the
  // nearest switch with a host. Switches come before links.
  void AddSwitch(std::string name, std::optional<int> tier);

  Mistake AddLink(VertexId a, VertexId b, Channel channel);

  // After all links.
  Mistake Finish();

  // The graph so far, which knows the vertices of all hosts and of the switches that were added.
  const Graph& graph() const { return graph_; }

  // Once finished without a mistake.
  Graph Take() { return std::move(graph_); }

 private:
  std::vector<uint32_t> DistancesFromHosts() const;
  void NumberParallelLinks();

  Graph graph_;
  std::vector<std::optional<Channel>> link_of_host_;  // The first; all of a host are alike.
  std::vector<std::optional<int>> tiers_;             // By switch.
};

}  // namespace heddle
