// SPDX-License-Identifier: Apache-2.0
// An incast of many hosts to one on a lossless fabric, and counts of the pauses that it causes.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"

namespace heddle {

// Seven leaves of five hosts send to one host of the eighth, over eight spines; RoCE without
// congestion control.
inline const std::string kLossless =
    "{buffer: unlimited, ecn_above: unlimited, pfc: {classes: [3], ";
struct LosslessIncast {
  LosslessIncast(const std::string& balancer, int senders, const std::string& pfc = "xoff: 30KB",
                 uint64_t seed = 1, int64_t bytes = 100'000)
      : LosslessIncast(
            LeafSpineFrom(
                "{leaves: 8, spines: 8, hosts_per_leaf: 5, host_link: {rate: 40Gbps, delay: "
                "500ns}, fabric_link: {rate: 40Gbps, delay: 500ns}}"),
            balancer, senders, pfc, seed, bytes) {}
  // The same to the last host of another fabric.
  LosslessIncast(const Graph& graph, const std::string& balancer, int senders,
                 const std::string& pfc, uint64_t seed, int64_t bytes)
      : hosts(static_cast<uint32_t>(graph.hosts)),
        lab({.graph = graph,
             .transport = "{kind: rocev2, cc: none}",
             .balancer = balancer,
             .port = kLossless + pfc + "}}",
             .seed = seed}) {
    for (int i = 0; i < senders; ++i) {
      lab.AddFlow(static_cast<HostId>(i), static_cast<HostId>(hosts - 1), bytes);
    }
  }
  int64_t Sum(std::string_view counter) {
    int64_t sum = 0;
    for (const auto& node : lab.network().switches()) {
      for (const auto& [name, value] : node->policy().Counters()) {
        if (name == counter) sum += value;
      }
    }
    return sum;
  }
  // Links between switches that were ever paused.
  int PausedFabricLinks() {
    const Graph& graph = lab.network().graph();
    int paused = 0;
    for (const Network::Egress& egress : lab.network().egresses()) {
      if (graph.IsHost(egress.vertex) || graph.IsHost(egress.peer)) continue;
      if (lab.network().PausesOf(egress, lab.end()).pauses > 0) ++paused;
    }
    return paused;
  }
  int64_t PausesOfAll() {
    int64_t pauses = 0;
    for (const Network::Egress& egress : lab.network().egresses()) {
      pauses += lab.network().PausesOf(egress, lab.end()).pauses;
    }
    return pauses;
  }

  const uint32_t hosts;
  Lab lab;
};

}  // namespace heddle
