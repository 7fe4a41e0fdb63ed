// SPDX-License-Identifier: Apache-2.0
// Draws small networks of any shape, for tests that compare what is computed about a graph with a
// plain way to compute it.

#pragma once

#include <cstdint>
#include <string>

#include "core/random.h"
#include "topo/graph.h"

namespace heddle {

struct GraphShape {
  uint32_t hosts = 6;
  uint32_t switches = 5;
  uint32_t links = 9;   // Between switches; the first ones join all switches.
  uint32_t nics = 2;    // A host has up to this many links.
  uint32_t tiers = 3;   // Switches have tiers below this.
  double broken = 0.2;  // The share of links that are down.
};

inline Graph DrawGraph(const GraphShape& shape, Rng& rng) {
  Graph graph{.hosts = shape.hosts, .switches = {}, .links = {}};
  for (uint32_t s = 0; s < shape.switches; ++s) {
    graph.switches.push_back({"s" + std::to_string(s), static_cast<int>(rng.Below(shape.tiers))});
  }
  const auto any_switch = [&] { return graph.VertexOfSwitch(rng.Below(shape.switches)); };
  const auto rate = [&] { return BitRate{int64_t{1 + rng.Below(4)} * 1'000'000'000}; };
  for (uint32_t h = 0; h < shape.hosts; ++h) {
    const Channel channel{rate(), 1_us};
    for (uint32_t nics = 1 + rng.Below(shape.nics); nics > 0; --nics) {
      graph.Connect(graph.VertexOfHost(h), any_switch(), channel);
    }
  }
  for (uint32_t l = 0; l < shape.links; ++l) {
    const bool joins = l + 1 < shape.switches;
    const VertexId a = joins ? graph.VertexOfSwitch(l + 1) : any_switch();
    const VertexId b = joins ? graph.VertexOfSwitch(rng.Below(l + 1)) : any_switch();
    if (a != b) graph.Connect(a, b, {rate(), 1_us});
  }
  for (Graph::Link& link : graph.links) link.up = rng.Uniform() >= shape.broken;
  return graph;
}

}  // namespace heddle
