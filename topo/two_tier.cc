// SPDX-License-Identifier: Apache-2.0

#include "topo/two_tier.h"

#include <fmt/format.h>

namespace heddle {

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
  ApplyChanges(asymmetry, seed, fmt::format("{}.asymmetry", path), graph, diagnostics);
}

}  // namespace heddle
