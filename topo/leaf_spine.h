// SPDX-License-Identifier: Apache-2.0
// The topology `leaf_spine`: two tiers of switches. Every leaf is linked to every spine, and hosts
// are attached to the leaves.

#pragma once

#include <cstdint>
#include <string_view>

#include "topo/two_tier.h"

namespace heddle {

class LeafSpine final : public TwoTier {
 public:
  int64_t leaves = 2;
  int64_t spines = 2;
  int64_t hosts_per_leaf = 2;
  int64_t links_per_pair = 1;

  void Declare(Fields& fields) override;
  Graph Build(uint64_t seed, std::string_view path, FilesRead& files,
              Diagnostics& diagnostics) const override;
};

}  // namespace heddle
