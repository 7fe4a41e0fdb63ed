// SPDX-License-Identifier: Apache-2.0

#include "topo/leaf_spine.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle {

void LeafSpine::Declare(Fields& fields) {
  fields.Add("leaves", leaves, Between<int64_t>(1, kMaxOfTier), "Leaf switches.",
             Fields::kRequired);
  fields.Add("spines", spines, Between<int64_t>(1, kMaxOfTier), "Spine switches.",
             Fields::kRequired);
  fields.Add("hosts_per_leaf", hosts_per_leaf, Between<int64_t>(1, kMaxPorts),
             "Hosts on each leaf.", Fields::kRequired);
  fields.Add("links_per_pair", links_per_pair, Between<int64_t>(1, 64),
             "Parallel links between a leaf and a spine.");
  DeclareLinks(fields, "The link between a host and its leaf.");
  RequireHosts(leaves * hosts_per_leaf, "hosts_per_leaf", fields);
  RequirePorts(std::max(hosts_per_leaf + spines * links_per_pair, leaves * links_per_pair),
               "links_per_pair", fields);
  RequireLinks(leaves * spines * links_per_pair, "spines", fields);
}

Graph LeafSpine::Build(uint64_t seed, std::string_view path, FilesRead& /*files*/,
                       Diagnostics& diagnostics) const {
  Graph graph = Switches(leaves * hosts_per_leaf, leaves, spines);
  const auto leaf = [&](size_t l) { return graph.VertexOfSwitch(l); };
  const auto spine = [&](size_t s) { return leaf(static_cast<size_t>(leaves) + s); };
  for (size_t h = 0; h < graph.hosts; ++h) {
    graph.Connect(graph.VertexOfHost(h), leaf(h / static_cast<size_t>(hosts_per_leaf)),
                  host_link.channel());
  }
  for (size_t l = 0; l < static_cast<size_t>(leaves); ++l) {
    for (size_t s = 0; s < static_cast<size_t>(spines); ++s) {
      for (int64_t n = 0; n < links_per_pair; ++n) {
        const std::string number = links_per_pair > 1 ? fmt::format("#{}", n) : "";
        graph.Connect(leaf(l), spine(s), fabric_link.channel(), number);
      }
    }
  }
  ApplyAsymmetry(seed, path, graph, diagnostics);
  return graph;
}

}  // namespace heddle
