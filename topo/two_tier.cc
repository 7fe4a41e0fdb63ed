// SPDX-License-Identifier: Apache-2.0

#include "topo/two_tier.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle {
namespace {

// Refuses links of one host that differ: the ideal FCT and the load of a host are those of its
// first link.
void CheckLinksOfHosts(const Graph& graph, const std::string& path, Diagnostics& diagnostics) {
  std::vector<std::optional<std::pair<Channel, Channel>>> first(graph.hosts);
  for (const Graph::Link& link : graph.links) {
    if (!graph.IsHost(link.a)) continue;
    auto& its = first[graph.HostAt(link.a)];
    if (!its) its.emplace(link.a_to_b, link.b_to_a);
    if (*its != std::pair(link.a_to_b, link.b_to_a)) {
      return diagnostics.ErrorAt(
          path,
          fmt::format("{} differs from another link of {}; all links of a host must be alike; "
                      "a schedule may change one, at 0ps as well",
                      link.name, graph.NameOf(link.a)));
    }
  }
}

}  // namespace

void TwoTier::DeclareLinks(Fields& fields, const std::string& host_link_meaning) {
  fields.Section("host_link", host_link, host_link_meaning);
  fields.Section("fabric_link", fabric_link, "The links between leaves and spines.");
  fields.Sections("asymmetry", asymmetry,
                  "Links that differ from the others; later entries win over earlier ones.");
  fields.Section("port", port, "The ports of all switches.");
}

Graph TwoTier::Switches(int64_t hosts, int64_t leaves, int64_t spines) {
  Graph graph;
  graph.hosts = static_cast<size_t>(hosts);
  for (int64_t l = 0; l < leaves; ++l) graph.switches.push_back({fmt::format("leaf{}", l), 0});
  for (int64_t s = 0; s < spines; ++s) graph.switches.push_back({fmt::format("spine{}", s), 1});
  return graph;
}

void TwoTier::ApplyAsymmetry(uint64_t seed, std::string_view path, Graph& graph,
                             Diagnostics& diagnostics) const {
  const std::string at = fmt::format("{}.asymmetry", path);
  ApplyChanges(asymmetry, seed, at, graph, diagnostics);
  CheckLinksOfHosts(graph, at, diagnostics);
}

}  // namespace heddle
