// SPDX-License-Identifier: Apache-2.0

#include "topo/rail.h"

#include <fmt/format.h>

namespace heddle {

void Rail::Declare(Fields& fields) {
  fields.Add("pods", pods, Between<int64_t>(1, kMaxSwitches / 2), "Pods.");
  fields.Add("servers", servers, Between<int64_t>(1, kMaxPorts), "Servers of a pod.",
             Fields::kRequired);
  fields.Add("rails", rails, Between<int64_t>(1, kMaxSwitches / 2),
             "Hosts of a server, each a GPU with its NIC, and leaves of a pod.");
  fields.Add("spines", spines, Between<int64_t>(1, kMaxSwitches / 2), "Spine switches.",
             Fields::kRequired);
  fields.Section("host_link", host_link, "The link between a host and its leaf.");
  fields.Section("fabric_link", fabric_link, "The links between leaves and spines.");
  fields.Sections("asymmetry", asymmetry,
                  "Links that differ from the others; later entries win over earlier ones.");
  fields.Section("port", port, "The ports of all switches.");
  fields.Require(pods * servers * rails <= kMaxHosts, "servers",
                 fmt::format("more than {} hosts in all", kMaxHosts));
  fields.Require(pods * servers * rails >= 2, "servers", "at least two hosts are needed");
  fields.Require(pods * rails + spines <= kMaxSwitches, "pods",
                 fmt::format("more than {} switches in all", kMaxSwitches));
  fields.Require(servers + spines <= kMaxPorts && pods * rails <= kMaxPorts, "servers",
                 fmt::format("a switch would have more than {} ports", kMaxPorts));
  fields.Require(pods * rails * spines <= kMaxLinks, "spines",
                 fmt::format("more than {} links in all", kMaxLinks));
}

Graph Rail::Build(uint64_t seed, std::string_view path, FilesRead& /*files*/,
                  Diagnostics& diagnostics) const {
  Graph graph;
  graph.hosts = static_cast<size_t>(pods * servers * rails);
  const int64_t leaves = pods * rails;
  for (int64_t l = 0; l < leaves; ++l) graph.switches.push_back({fmt::format("leaf{}", l), 0});
  for (int64_t s = 0; s < spines; ++s) graph.switches.push_back({fmt::format("spine{}", s), 1});
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
  ApplyChanges(asymmetry, seed, fmt::format("{}.asymmetry", path), graph, diagnostics);
  return graph;
}

}  // namespace heddle
