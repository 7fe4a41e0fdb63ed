// SPDX-License-Identifier: Apache-2.0
// The shape of a network, as an experiment chooses it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "settings/files_read.h"
#include "settings/kinds.h"
#include "topo/graph.h"
#include "topo/port_rule.h"

namespace heddle {

inline constexpr int64_t kMaxHosts = 65'536;     // A HostId has 16 bits.
inline constexpr int64_t kMaxSwitches = 65'536;  // So has a SwitchId.
inline constexpr int64_t kMaxPorts = 65'535;     // Of one switch.
inline constexpr int64_t kMaxLinks = 4'000'000;

class Topology {
 public:
  virtual ~Topology() = default;

  virtual void Declare(Fields& fields) = 0;

  // Makes the names of files absolute, whose relative paths start at `folder`.
  virtual void ResolveFiles(const std::string& /*folder*/) {}

  // The network. What is chosen at random is drawn from `seed`, and a file is read through `files`.
  // Errors that only show now, such as the names of links that don't exist, go to `diagnostics`
  // below the path `path`.
  virtual Graph Build(uint64_t seed, std::string_view path, FilesRead& files,
                      Diagnostics& diagnostics) const = 0;

  PortRule port;  // Of switches.
};

// custom, fat_tree, leaf_spine.
const Kinds<Topology>& Topologies();

}  // namespace heddle
