// SPDX-License-Identifier: Apache-2.0

#include "topo/leaf_spine.h"

#include <fmt/format.h>

namespace heddle {

void LeafSpine::Declare(Fields& fields) {
  fields.Add("leaves", leaves, Between<int64_t>(1, kMaxSwitches / 2), "Leaf switches.",
             Fields::kRequired);
  fields.Add("spines", spines, Between<int64_t>(1, kMaxSwitches / 2), "Spine switches.",
             Fields::kRequired);
  fields.Add("hosts_per_leaf", hosts_per_leaf, Between<int64_t>(1, kMaxPorts),
             "Hosts on each leaf.", Fields::kRequired);
  fields.Add("links_per_pair", links_per_pair, Between<int64_t>(1, 64),
             "Parallel links between a leaf and a spine.");
  fields.Section("host_link", host_link, "The link between a host and its leaf.");
  fields.Section("fabric_link", fabric_link, "The links between leaves and spines.");
  fields.Sections("asymmetry", asymmetry,
                  "Links that differ from the others; later entries win over earlier ones.");
  fields.Section("port", port, "The ports of all switches.");
  fields.Require(leaves * hosts_per_leaf <= kMaxHosts, "hosts_per_leaf",
                 fmt::format("more than {} hosts in all", kMaxHosts));
  fields.Require(leaves * hosts_per_leaf >= 2, "hosts_per_leaf", "at least two hosts are needed");
  fields.Require(
      hosts_per_leaf + spines * links_per_pair <= kMaxPorts && leaves * links_per_pair <= kMaxPorts,
      "links_per_pair", fmt::format("a switch would have more than {} ports", kMaxPorts));
  fields.Require(leaves * spines * links_per_pair <= kMaxLinks, "spines",
                 fmt::format("more than {} links in all", kMaxLinks));
}

Graph LeafSpine::Build(uint64_t seed, std::string_view path, FilesRead& /*files*/,
                       Diagnostics& diagnostics) const {
  Graph graph;
  graph.hosts = static_cast<size_t>(leaves * hosts_per_leaf);
  for (int64_t l = 0; l < leaves; ++l) graph.switches.push_back({fmt::format("leaf{}", l), 0});
  for (int64_t s = 0; s < spines; ++s) graph.switches.push_back({fmt::format("spine{}", s), 1});
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
  ApplyChanges(asymmetry, seed, fmt::format("{}.asymmetry", path), graph, diagnostics);
  return graph;
}

}  // namespace heddle
