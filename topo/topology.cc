// SPDX-License-Identifier: Apache-2.0

#include "topo/topology.h"

#include <fmt/format.h>

#include "topo/custom.h"
#include "topo/fat_tree.h"
#include "topo/leaf_spine.h"
#include "topo/planes.h"
#include "topo/rail.h"

namespace heddle {

void Topology::RequireHosts(int64_t hosts, std::string_view key, Fields& fields) {
  fields.Require(hosts <= kMaxHosts, key, fmt::format("more than {} hosts in all", kMaxHosts));
  fields.Require(hosts >= 2, key, "at least two hosts are needed");
}

void Topology::RequireSwitches(int64_t switches, std::string_view key, Fields& fields) {
  fields.Require(switches <= kMaxSwitches, key,
                 fmt::format("more than {} switches in all", kMaxSwitches));
}

void Topology::RequirePorts(int64_t ports_of_one, std::string_view key, Fields& fields) {
  fields.Require(ports_of_one <= kMaxPorts, key,
                 fmt::format("a switch would have more than {} ports", kMaxPorts));
}

void Topology::RequireLinks(int64_t links, std::string_view key, Fields& fields) {
  fields.Require(links <= kMaxLinks, key, fmt::format("more than {} links in all", kMaxLinks));
}

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
