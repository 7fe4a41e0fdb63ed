// SPDX-License-Identifier: Apache-2.0
// The base of topologies of leaves and spines: their two kinds of links, and the exceptions.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topo/links.h"
#include "topo/topology.h"

namespace heddle {

class TwoTier : public Topology {
 public:
  struct Change : LinkChange {
    static constexpr std::string_view kTop = "spine";
    void Declare(Fields& fields) { DeclareFor(kTop, fields); }
  };

  LinkSettings host_link{10_Gbps, 1_us};
  LinkSettings fabric_link{10_Gbps, 1_us};
  std::vector<Change> asymmetry;

 protected:
  // Declares the links and the ports. `host_link_meaning` says which links `host_link` is for.
  void DeclareLinks(Fields& fields, const std::string& host_link_meaning);

  // Returns a graph without links. The leaves come first, then the spines.
  static Graph Switches(int64_t hosts, int64_t leaves, int64_t spines);

  // Applies `asymmetry` to a graph with all its links.
  void ApplyAsymmetry(uint64_t seed, std::string_view path, Graph& graph,
                      Diagnostics& diagnostics) const;
};

}  // namespace heddle
