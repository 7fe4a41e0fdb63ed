// SPDX-License-Identifier: Apache-2.0
// The topology `rail`: servers of several hosts, each of which is a GPU with its NIC. Host i of
// every server of a pod is on leaf i of the pod, so hosts of equal place are one switch apart.
// Every leaf is linked to every spine.

#pragma once

#include <cstdint>
#include <string_view>

#include "topo/two_tier.h"

namespace heddle {

// Host i of server s has the number s * rails + i; leaf i of pod p the number p * rails + i.
class Rail final : public TwoTier {
 public:
  int64_t pods = 1;
  int64_t servers = 2;  // Of a pod.
  int64_t rails = 8;    // Hosts of a server.
  int64_t spines = 2;

  void Declare(Fields& fields) override;
  Graph Build(uint64_t seed, std::string_view path, FilesRead& files,
              Diagnostics& diagnostics) const override;
};

}  // namespace heddle
