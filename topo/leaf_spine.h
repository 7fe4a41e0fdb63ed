// SPDX-License-Identifier: Apache-2.0
// The topology `leaf_spine`: two tiers of switches. Every leaf is linked to every spine, and hosts
// are attached to the leaves.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "topo/links.h"
#include "topo/topology.h"

namespace heddle {

class LeafSpine final : public Topology {
 public:
  struct Change : LinkChange {
    static constexpr std::string_view kTop = "spine";
    void Declare(Fields& fields) { DeclareFor(kTop, fields); }
  };

  int64_t leaves = 2;
  int64_t spines = 2;
  int64_t hosts_per_leaf = 2;
  int64_t links_per_pair = 1;
  LinkSettings host_link{10_Gbps, 1_us};
  LinkSettings fabric_link{10_Gbps, 1_us};
  std::vector<Change> asymmetry;

  void Declare(Fields& fields) override;
  Graph Build(uint64_t seed, std::string_view path, FilesRead& files,
              Diagnostics& diagnostics) const override;
};

}  // namespace heddle
