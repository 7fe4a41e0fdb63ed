// SPDX-License-Identifier: Apache-2.0

#include "topo/planes.h"

#include <algorithm>

namespace heddle {

void Planes::Declare(Fields& fields) {
  fields.Add("planes", planes, Between<int64_t>(2, 64), "Planes, and links of each host.",
             Fields::kRequired);
  fields.Add("leaves", leaves, Between<int64_t>(1, kMaxOfTier), "Leaf switches of a plane.",
             Fields::kRequired);
  fields.Add("spines", spines, Between<int64_t>(1, kMaxOfTier), "Spine switches of a plane.",
             Fields::kRequired);
  fields.Add("hosts_per_leaf", hosts_per_leaf, Between<int64_t>(1, kMaxPorts),
             "Hosts on each leaf; the same in all planes.", Fields::kRequired);
  DeclareLinks(fields, "The link between a host and its leaf of a plane.");
  RequireHosts(leaves * hosts_per_leaf, "hosts_per_leaf", fields);
  RequireSwitches(planes * (leaves + spines), "planes", fields);
  RequirePorts(std::max(hosts_per_leaf + spines, leaves), "spines", fields);
  RequireLinks(planes * leaves * spines, "planes", fields);
}

Graph Planes::Build(uint64_t seed, std::string_view path, FilesRead& /*files*/,
                    Diagnostics& diagnostics) const {
  const int64_t all_leaves = planes * leaves;
  Graph graph = Switches(leaves * hosts_per_leaf, all_leaves, planes * spines);
  const auto vertex = [&](int64_t s) { return graph.VertexOfSwitch(static_cast<size_t>(s)); };
  for (size_t h = 0; h < graph.hosts; ++h) {
    const int64_t leaf = static_cast<int64_t>(h) / hosts_per_leaf;
    for (int64_t plane = 0; plane < planes; ++plane) {
      graph.Connect(graph.VertexOfHost(h), vertex(plane * leaves + leaf), host_link.channel());
    }
  }
  for (int64_t l = 0; l < all_leaves; ++l) {
    const int64_t first_spine = all_leaves + l / leaves * spines;
    for (int64_t s = 0; s < spines; ++s) {
      graph.Connect(vertex(l), vertex(first_spine + s), fabric_link.channel());
    }
  }
  ApplyAsymmetry(seed, path, graph, diagnostics);
  return graph;
}

}  // namespace heddle
