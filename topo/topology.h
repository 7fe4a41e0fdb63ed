// SPDX-License-Identifier: Apache-2.0
// Topology is the base of the network shapes that an experiment can choose. The experiment reads
// its settings and calls Build(), which returns the graph.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "settings/kinds.h"
#include "topo/graph.h"
#include "topo/port_rule.h"

namespace heddle {

class FilesRead;

inline constexpr int64_t kMaxHosts = 65'536;     // A HostId has 16 bits.
inline constexpr int64_t kMaxSwitches = 65'535;  // A SwitchId, and their number, has 16 bits.
inline constexpr int64_t kMaxOfTier = (kMaxSwitches + 1) / 2;  // Beside another tier.
inline constexpr int64_t kMaxPorts = 65'535;                   // The most ports of one switch.
inline constexpr int64_t kMaxLinks = 4'000'000;

class Topology {
 public:
  virtual ~Topology() = default;

  virtual void Declare(Fields& fields) = 0;

  // Makes the names of files absolute, whose relative paths start at `folder`.
  virtual void ResolveFiles(const std::string& /*folder*/) {}

  // Builds the network. Random choices are drawn from `seed`, and a file is read through `files`.
  // Errors that only show now, such as the names of links that don't exist, go to `diagnostics`
  // below the path `path`.
  virtual Graph Build(uint64_t seed, std::string_view path, FilesRead& files,
                      Diagnostics& diagnostics) const = 0;

  PortRule port;  // The settings of switch ports.

 protected:
  // Each refuses, at `key`, a network that is larger than Heddle can hold.
  static void RequireHosts(int64_t hosts, std::string_view key, Fields& fields);  // Two at least.
  static void RequireSwitches(int64_t switches, std::string_view key, Fields& fields);
  static void RequirePorts(int64_t ports_of_one, std::string_view key, Fields& fields);
  static void RequireLinks(int64_t links, std::string_view key, Fields& fields);
};

// custom, fat_tree, leaf_spine, planes, rail.
const Kinds<Topology>& Topologies();

}  // namespace heddle
