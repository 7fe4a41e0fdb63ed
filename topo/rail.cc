// SPDX-License-Identifier: Apache-2.0

#include "topo/rail.h"

#include <algorithm>

namespace heddle {

void Rail::Declare(Fields& fields) {
  fields.Add("pods", pods, Between<int64_t>(1, kMaxOfTier), "Pods.");
  fields.Add("servers", servers, Between<int64_t>(1, kMaxPorts), "Servers of a pod.",
             Fields::kRequired);
  fields.Add("rails", rails, Between<int64_t>(1, kMaxOfTier),
             "Hosts of a server, each a GPU with its NIC, and leaves of a pod.");
  fields.Add("spines", spines, Between<int64_t>(1, kMaxOfTier), "Spine switches.",
             Fields::kRequired);
  DeclareLinks(fields, "The link between a host and its leaf.");
  RequireHosts(pods * servers * rails, "servers", fields);
  RequireSwitches(pods * rails + spines, "pods", fields);
  RequirePorts(std::max(servers + spines, pods * rails), "servers", fields);
  RequireLinks(pods * rails * spines, "spines", fields);
}

Graph Rail::Build(uint64_t seed, std::string_view path, FilesRead& /*files*/,
                  Diagnostics& diagnostics) const {
  const int64_t leaves = pods * rails;
  Graph graph = Switches(pods * servers * rails, leaves, spines);
  const auto leaf = [&](int64_t l) { return graph.VertexOfSwitch(static_cast<size_t>(l)); };
  for (size_t h = 0; h < graph.hosts; ++h) {
    const int64_t server = static_cast<int64_t>(h) / rails;
    const int64_t pod = server / servers;
    graph.Connect(graph.VertexOfHost(h), leaf(pod * rails + static_cast<int64_t>(h) % rails),
                  host_link.channel());
  }
  for (int64_t l = 0; l < leaves; ++l) {
    for (int64_t s = 0; s < spines; ++s) {
      graph.Connect(leaf(l), leaf(leaves + s), fabric_link.channel());
    }
  }
  ApplyAsymmetry(seed, path, graph, diagnostics);
  return graph;
}

}  // namespace heddle
