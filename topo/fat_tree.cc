// SPDX-License-Identifier: Apache-2.0

#include "topo/fat_tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle {
namespace {

constexpr int64_t kMaxK = 254;  // At 256, edge and aggregation switches use up all SwitchIds.

}  // namespace

void FatTree::Declare(Fields& fields) {
  fields.Add("k", k, Between<int64_t>(2, kMaxK),
             "Ports of a switch, an even number: k pods of k/2 edge and k/2 aggregation switches.",
             Fields::kRequired);
  fields.AddOr("auto", "hosts_per_edge", hosts_per_edge, Between<int64_t>(1, kMaxPorts),
               "Hosts on each edge switch. auto: k/2, as many as it has uplinks.");
  fields.AddOr("auto", "core_links_per_agg", core_links_per_agg, Between<int64_t>(1, kMaxSwitches),
               "Core switches to which each aggregation switch is linked; the fabric has k/2 times "
               "as many core switches. auto: k/2.");
  fields.Section("host_link", host_link, "The link between a host and its edge switch.");
  fields.Section("edge_link", edge_link, "The links between edge and aggregation switches.");
  fields.Section("core_link", core_link, "The links between aggregation and core switches.");
  fields.Sections("asymmetry", asymmetry,
                  "Links that differ from the others; later entries win over earlier ones.");
  fields.Section("port", port, "The ports of all switches.");
  fields.Require(
      k % 2 == 0, "k",
      fmt::format("is {}, which is odd; a pod has k/2 edge and k/2 aggregation switches", k));
  RequireHosts(edges() * edge_hosts(), hosts_per_edge ? "hosts_per_edge" : "k", fields);
  RequireSwitches(2 * edges() + half() * agg_cores(),
                  core_links_per_agg ? "core_links_per_agg" : "k", fields);
  RequirePorts(half() + std::max(edge_hosts(), agg_cores()), "k", fields);
  RequireLinks(edges() * (half() + agg_cores()), "k", fields);
}

Graph FatTree::Build(uint64_t seed, std::string_view path, FilesRead& /*files*/,
                     Diagnostics& diagnostics) const {
  Graph graph;
  graph.hosts = static_cast<size_t>(edges() * edge_hosts());
  const int64_t cores = half() * agg_cores();
  for (int64_t e = 0; e < edges(); ++e) graph.switches.push_back({fmt::format("edge{}", e), 0});
  for (int64_t a = 0; a < edges(); ++a) graph.switches.push_back({fmt::format("agg{}", a), 1});
  for (int64_t c = 0; c < cores; ++c) graph.switches.push_back({fmt::format("core{}", c), 2});

  const auto edge = [&](int64_t e) { return graph.VertexOfSwitch(static_cast<size_t>(e)); };
  const auto agg = [&](int64_t a) { return edge(edges() + a); };
  const auto core = [&](int64_t c) { return edge(2 * edges() + c); };
  for (int64_t h = 0; h < edges() * edge_hosts(); ++h) {
    graph.Connect(graph.VertexOfHost(static_cast<size_t>(h)), edge(h / edge_hosts()),
                  host_link.channel());
  }
  for (int64_t e = 0; e < edges(); ++e) {
    const int64_t first_of_pod = e / half() * half();
    for (int64_t j = 0; j < half(); ++j) {
      graph.Connect(edge(e), agg(first_of_pod + j), edge_link.channel());
    }
  }
  for (int64_t a = 0; a < edges(); ++a) {
    const int64_t first_of_agg = a % half() * agg_cores();
    for (int64_t c = 0; c < agg_cores(); ++c) {
      graph.Connect(agg(a), core(first_of_agg + c), core_link.channel());
    }
  }
  ApplyChanges(asymmetry, seed, fmt::format("{}.asymmetry", path), graph, diagnostics);
  return graph;
}

}  // namespace heddle
