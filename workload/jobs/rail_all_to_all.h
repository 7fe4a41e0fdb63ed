// SPDX-License-Identifier: Apache-2.0
// All-to-all along rails, as NCCL's PXN does it: ranks are in servers, and a message for rank j of
// another server is handed to rank j of the own server first, which sends it on. So messages
// between servers stay on one rail, and those of a server to one rank can travel as one.

#pragma once

#include <cstdint>
#include <memory>

#include "workload/jobs/schedule.h"

namespace heddle {

struct RailAllToAllSettings {
  uint32_t ranks = 2;
  uint32_t server = 1;  // Ranks of a server; divides `ranks`.
  int64_t bytes = 0;    // What a rank sends to all, itself included.
  bool merges = true;   // What a server's ranks send to one rank travels as one message.
};

std::unique_ptr<Schedule> MakeRailAllToAll(const RailAllToAllSettings& settings);

}  // namespace heddle
