// SPDX-License-Identifier: Apache-2.0

#include "topo/topology.h"

#include "topo/custom.h"
#include "topo/fat_tree.h"
#include "topo/leaf_spine.h"
#include "topo/planes.h"
#include "topo/rail.h"

namespace heddle {

const Kinds<Topology>& Topologies() {
  static const Kinds<Topology> kinds = [] {
    Kinds<Topology> all("topology");
    all.Add<Custom>({"custom", "A network of any shape, given link by link.", ""});
    all.Add<FatTree>({"fat_tree", "Pods of edge and aggregation switches, joined by core switches.",
                      "Al-Fares et al., SIGCOMM 2008"});
    all.Add<LeafSpine>(
        {"leaf_spine", "Every leaf is linked to every spine; hosts hang on leaves.", ""});
    all.Add<Planes>(
        {"planes", "Several leaf-spine networks; each host has a NIC in every one.", ""});
    all.Add<Rail>(
        {"rail", "Host i of every server is on leaf i; every leaf is linked to every spine.", ""});
    return all;
  }();
  return kinds;
}

}  // namespace heddle
