// SPDX-License-Identifier: Apache-2.0
// Direct all-to-all: each rank sends one message to every other rank, at once or a few at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "workload/jobs/schedule.h"

namespace heddle {

// The order in which a rank sends to the others.
class PeerOrder {
 public:
  virtual ~PeerOrder() = default;

  // The `i`-th rank, from 0, to which `rank` sends, and the inverse of this.
  virtual uint32_t PeerOf(uint32_t rank, uint32_t i) const = 0;
  virtual uint32_t PlaceOf(uint32_t rank, uint32_t peer) const = 0;
};

// The ranks behind its own, in ascending order, counted round.
std::unique_ptr<PeerOrder> MakeRoundOrder(uint32_t ranks);

// NCCL's order (src/init.cc): groups of `group` ranks at distances 0, 1, 3, 6, ..., modulo the
// power of two that is at least the number of groups; within a group, round.
std::unique_ptr<PeerOrder> MakeNcclOrder(uint32_t ranks, uint32_t group);

// A random order for each rank. Its memory does not grow with the ranks.
std::unique_ptr<PeerOrder> MakeRandomOrder(uint32_t ranks, uint64_t seed, uint32_t job);

struct AllToAllSettings {
  uint32_t ranks = 2;
  uint32_t window = 1;  // A rank has at most so many unfinished messages.
  // Bytes from one rank to another; 0: no message.
  std::function<int64_t(uint32_t src, uint32_t dst)> bytes;
  bool is_even = true;  // All ranks send about the same, so a few of them tell the totals.
};

std::unique_ptr<Schedule> MakeAllToAll(AllToAllSettings settings, std::unique_ptr<PeerOrder> order);

}  // namespace heddle
