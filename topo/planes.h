// SPDX-License-Identifier: Apache-2.0
// The topology `planes`: several leaf-spine networks that share nothing but the hosts. Each host
// has a NIC in every plane, and a flow stays in the plane that its host chooses.

#pragma once

#include <cstdint>
#include <string_view>

#include "topo/two_tier.h"

namespace heddle {

// Leaf l of plane p has the number p * leaves + l, and spine s the number p * spines + s. A host's
// link p leads to plane p.
class Planes final : public TwoTier {
 public:
  int64_t planes = 2;
  int64_t leaves = 2;  // Of a plane, like the spines.
  int64_t spines = 2;
  int64_t hosts_per_leaf = 2;

  void Declare(Fields& fields) override;
  Graph Build(uint64_t seed, std::string_view path, FilesRead& files,
              Diagnostics& diagnostics) const override;
};

}  // namespace heddle
