// SPDX-License-Identifier: Apache-2.0
// The topology `planes`: several leaf-spine networks that share nothing but the hosts. Each host
// has a NIC in every plane, and a flow stays in the plane that its host chooses.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "topo/leaf_spine.h"
#include "topo/topology.h"

namespace heddle {

// Leaf l of plane p has the number p * leaves + l, and spine s the number p * spines + s. A host's
// link p leads to plane p.
class Planes final : public Topology {
 public:
  int64_t planes = 2;
  int64_t leaves = 2;  // Of a plane, like the spines.
  int64_t spines = 2;
  int64_t hosts_per_leaf = 2;
  LinkSettings host_link{10_Gbps, 1_us};
  LinkSettings fabric_link{10_Gbps, 1_us};
  std::vector<LeafSpine::Change> asymmetry;

  void Declare(Fields& fields) override;
  Graph Build(uint64_t seed, std::string_view path, FilesRead& files,
              Diagnostics& diagnostics) const override;
};

}  // namespace heddle
