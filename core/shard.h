// SPDX-License-Identifier: Apache-2.0
// A shard is the groups of nodes that one thread runs. Inside a window, the engine calls Run() on
// the shard's thread, and nothing outside the shard touches its nodes.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/due_nodes.h"
#include "core/due_tree.h"
#include "core/faster_way.h"
#include "core/mail.h"
#include "core/node.h"

namespace heddle {

// Nodes tied by short links (a leaf and its hosts). Inside a window a group runs finer windows of
// its own, bounded by its shortest inner link, so that a few metres of cable do not set the pace of
// the whole fabric.
struct Group {
  std::vector<Node*> nodes;
  DueNodes due;                   // By index in `nodes`.
  Duration lookahead{kNever.ps};  // The least time a packet needs between two nodes.
  int64_t weight = 0;             // Number of in-wires, an estimate of the work.
  int64_t visits = 0;             // Nodes run since the engine last shared out work.
};

using Groups = std::vector<std::unique_ptr<Group>>;

class Shard {
 public:
  // `groups` are those of all shards.
  Shard(uint32_t index, const Groups& groups);

  uint32_t index() const { return index_; }

  // Between windows: this shard runs group `g` from now on, or does so no longer.
  void Take(uint32_t g);
  void Release(uint32_t g) { due_.Set(g, kNever); }

  Outbox& OutboxTo(const Shard& other) { return *outboxes_[other.index_]; }

  // Runs window `number`: reads the mail of the last window, then runs all nodes due before `end`.
  void Run(uint64_t number, Time end);
  // The same, and counts how long it takes.
  void RunTimed(uint64_t number, Time end);

  // Delivers the mail that window `number` would read.
  void ReadMail(uint64_t number);

  // When this shard next has something to do, or has mail for another shard that matters.
  Time Due() const;

  // Nodes visited in the last window.
  int64_t visits() const { return visits_; }
  int64_t total_visits() const { return total_visits_; }

  void Wake(const Node& node, Time at) {
    if (groups_[node.group_]->due.Lower(node.index_in_group_, at)) due_.Lower(node.group_, at);
  }

 private:
  friend class Engine;

  using Clock = std::chrono::steady_clock;

  struct DueNode {
    Node* node;
    uint32_t group;
    uint32_t index;  // In the group.
  };

  void CollectDue(Time end);
  void RunOnce(Time end);
  void RunNodes(Time end, bool prefetches);
  void RunGroup(Group& group, Time end);

  const uint32_t index_;
  const Groups& groups_;
  DueTree due_;                                    // By group; kNever for those of other shards.
  std::vector<std::unique_ptr<Outbox>> outboxes_;  // By receiving shard.
  std::vector<Outbox*> inboxes_;                   // By sending shard.
  // In this window:
  std::vector<DueNode> once_;        // Due nodes of groups that run the window as a whole.
  std::vector<size_t> fine_;         // Due groups that run finer windows of their own.
  std::vector<uint32_t> due_nodes_;  // Due nodes of one group.
  int64_t visits_ = 0;

  FasterWay prefetches_{true};  // Whether nodes are prefetched.
  int64_t total_visits_ = 0;
  std::chrono::nanoseconds busy_{0};  // In RunTimed() since the engine last compared shards.
};

}  // namespace heddle
