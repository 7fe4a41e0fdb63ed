// SPDX-License-Identifier: Apache-2.0

#include "topo/topology.h"

#include "topo/leaf_spine.h"

namespace heddle {

const Kinds<Topology>& Topologies() {
  static const Kinds<Topology> kinds = [] {
    Kinds<Topology> all("topology");
    all.Add<LeafSpine>(
        {"leaf_spine", "Every leaf is linked to every spine; hosts hang on leaves.", ""});
    return all;
  }();
  return kinds;
}

}  // namespace heddle
