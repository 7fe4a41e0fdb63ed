// SPDX-License-Identifier: Apache-2.0
// The topology `fat_tree`: three tiers of switches with k ports each (Al-Fares, Loukissas and
// Vahdat, SIGCOMM 2008). k pods of k/2 edge and k/2 aggregation switches are joined by (k/2)^2 core
// switches.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "topo/links.h"
#include "topo/topology.h"

namespace heddle {

// Host h is on edge h / hosts_per_edge; edge and aggregation switch s are in pod s / (k/2). The
// j-th aggregation switch of each pod has the j-th core_links_per_agg of the cores, so that there
// is one way down from a core to each host.
class FatTree final : public Topology {
 public:
  struct Change : LinkChange {
    static constexpr std::string_view kTop = "core";
    void Declare(Fields& fields) { DeclareFor(kTop, fields); }
  };

  int64_t k = 4;
  std::optional<int64_t> hosts_per_edge;      // Not set: k/2, a non-blocking network.
  std::optional<int64_t> core_links_per_agg;  // Not set: k/2, too.
  LinkSettings host_link{10_Gbps, 1_us};
  LinkSettings edge_link{10_Gbps, 1_us};
  LinkSettings core_link{10_Gbps, 1_us};
  std::vector<Change> asymmetry;

  void Declare(Fields& fields) override;
  Graph Build(uint64_t seed, std::string_view path, FilesRead& files,
              Diagnostics& diagnostics) const override;

 private:
  int64_t half() const { return k / 2; }
  int64_t edges() const { return k * half(); }  // There are as many aggregation switches.
  int64_t edge_hosts() const { return hosts_per_edge.value_or(half()); }
  int64_t agg_cores() const { return core_links_per_agg.value_or(half()); }
};

}  // namespace heddle
