// SPDX-License-Identifier: Apache-2.0

#include "topo/planes.h"

#include <fmt/format.h>

namespace heddle {

void Planes::Declare(Fields& fields) {
  fields.Add("planes", planes, Between<int64_t>(2, 64), "Planes, and links of each host.",
             Fields::kRequired);
  fields.Add("leaves", leaves, Between<int64_t>(1, kMaxSwitches / 2), "Leaf switches of a plane.",
             Fields::kRequired);
  fields.Add("spines", spines, Between<int64_t>(1, kMaxSwitches / 2), "Spine switches of a plane.",
             Fields::kRequired);
  fields.Add("hosts_per_leaf", hosts_per_leaf, Between<int64_t>(1, kMaxPorts),
             "Hosts on each leaf; the same in all planes.", Fields::kRequired);
  fields.Section("host_link", host_link, "The link between a host and its leaf of a plane.");
  fields.Section("fabric_link", fabric_link, "The links between leaves and spines.");
  fields.Sections("asymmetry", asymmetry,
                  "Links that differ from the others; later entries win over earlier ones.");
  fields.Section("port", port, "The ports of all switches.");
  fields.Require(leaves * hosts_per_leaf <= kMaxHosts, "hosts_per_leaf",
                 fmt::format("more than {} hosts in all", kMaxHosts));
  fields.Require(leaves * hosts_per_leaf >= 2, "hosts_per_leaf", "at least two hosts are needed");
  fields.Require(planes * (leaves + spines) <= kMaxSwitches, "planes",
                 fmt::format("more than {} switches in all", kMaxSwitches));
  fields.Require(hosts_per_leaf + spines <= kMaxPorts && leaves <= kMaxPorts, "spines",
                 fmt::format("a switch would have more than {} ports", kMaxPorts));
  fields.Require(planes * leaves * spines <= kMaxLinks, "planes",
                 fmt::format("more than {} links in all", kMaxLinks));
}

Graph Planes::Build(uint64_t seed, std::string_view path, FilesRead& /*files*/,
                    Diagnostics& diagnostics) const {
  Graph graph;
  graph.hosts = static_cast<size_t>(leaves * hosts_per_leaf);
  const int64_t all_leaves = planes * leaves;
  for (int64_t l = 0; l < all_leaves; ++l) graph.switches.push_back({fmt::format("leaf{}", l), 0});
  for (int64_t s = 0; s < planes * spines; ++s) {
    graph.switches.push_back({fmt::format("spine{}", s), 1});
  }
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
  ApplyChanges(asymmetry, seed, fmt::format("{}.asymmetry", path), graph, diagnostics);
  return graph;
}

}  // namespace heddle
