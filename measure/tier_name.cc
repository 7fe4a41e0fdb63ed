// SPDX-License-Identifier: Apache-2.0

#include "measure/tier_name.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace heddle {

std::string TierName(const Graph& graph, VertexId vertex, VertexId peer) {
  if (graph.IsHost(vertex)) return "host_up";
  const int tier = graph.TierOf(vertex);
  static constexpr std::array<const char*, 3> kNames = {"leaf", "spine", "core"};
  const std::string name =
      tier < 3 ? kNames[static_cast<size_t>(tier)] : fmt::format("tier{}", tier);
  const bool up = graph.TierOf(peer) > tier;
  return name + (up ? "_up" : "_down");
}

}  // namespace heddle
