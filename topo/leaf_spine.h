// SPDX-License-Identifier: Apache-2.0
// Two tiers: every leaf is linked to every spine, hosts hang on leaves.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topo/topology.h"

namespace heddle {

struct LinkSettings {
  BitRate rate;
  Duration delay;

  void Declare(Fields& fields);
  Channel channel() const { return {rate, delay}; }
};

// Some links, and how they differ from the others.
struct LinkChange {
  enum class Direction { kBoth, kUp, kDown };

  std::vector<std::string> links;  // By name.
  std::vector<int64_t> spines;     // All links of these.
  int64_t random_spines = 0;
  int64_t random_links = 0;  // Of all leaf-spine links.
  Direction direction = Direction::kBoth;
  std::optional<BitRate> rate;
  std::optional<Duration> delay;

  void Declare(Fields& fields);
};

class LeafSpine final : public Topology {
 public:
  int64_t leaves = 2;
  int64_t spines = 2;
  int64_t hosts_per_leaf = 2;
  int64_t links_per_pair = 1;
  LinkSettings host_link{10_Gbps, 1_us};
  LinkSettings fabric_link{10_Gbps, 1_us};
  std::vector<LinkChange> asymmetry;

  void Declare(Fields& fields) override;
  Graph Build(uint64_t seed, std::string_view path, Diagnostics& diagnostics) const override;
};

}  // namespace heddle
