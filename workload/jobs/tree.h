// SPDX-License-Identifier: Apache-2.0
// Trees through which pieces of a buffer go up, down, or both: all-reduce over one binary tree or
// two, broadcast over a tree or a chain. Pieces overlap.
//
// Source of the binary trees: NCCL, src/graph/trees.cc.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "workload/jobs/schedule.h"

namespace heddle {

class Tree {
 public:
  virtual ~Tree() = default;

  // Nothing for the root.
  virtual std::optional<uint32_t> ParentOf(uint32_t rank) const = 0;
  // In the order in which a rank sends to them.
  virtual std::vector<uint32_t> ChildrenOf(uint32_t rank) const = 0;
};

// NCCL's binary tree; `mirrored` is the second of a double tree, in which inner ranks of the first
// are leaves.
std::unique_ptr<Tree> MakeBinaryTree(uint32_t ranks, bool mirrored = false);

// The binary tree, or the chain of all ranks, from another root than 0.
std::unique_ptr<Tree> MakeRootedTree(uint32_t ranks, uint32_t root);
std::unique_ptr<Tree> MakeChain(uint32_t ranks, uint32_t root);

struct TreeSettings {
  struct Lane {
    const Tree* tree;
    int64_t bytes;  // One piece.
    uint32_t channel;
    uint32_t piece = 0;  // Among the lanes of its channel.
  };
  uint32_t ranks = 2;
  std::vector<Lane> lanes;  // In the order of sending.
  bool goes_up = true;      // From the leaves to the root.
  bool goes_down = true;    // From the root to the leaves; behind the way up.
  double reduce_bps = 0;    // How fast a rank adds up what comes from a child; 0: in no time.
};

// Owns the trees that the lanes refer to.
std::unique_ptr<Schedule> MakeTreeSchedule(TreeSettings settings,
                                           std::vector<std::unique_ptr<Tree>> trees);

}  // namespace heddle
