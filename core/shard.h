// SPDX-License-Identifier: Apache-2.0
// A shard is the groups of nodes that one thread runs. Inside a window, the engine calls Run() on
// the shard's thread, and nothing outside the shard touches its nodes.
//
// Groups with a link to another shard are the shard's border; the others are inland. In each window
// the border runs first, and border_ran() tells the other shards. When all borders have run, each
// shard may begin the next window, while others still run their inland groups. So threads whose
// work differs from window to window seldom wait for each other.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/due_nodes.h"
#include "core/due_tree.h"
#include "core/faster_way.h"
#include "core/mail.h"
#include "core/node.h"

namespace heddle {

// Nodes that one thread runs together, all on one of the engine's two sides. If they are tied by
// short links (a leaf and its hosts), the group runs finer windows of its own inside a window,
// bounded by its shortest inner link, so that a few metres of cable do not set the pace of the
// whole fabric. In these, the group may have two sides of its own (`second_side`).
//
// If one node of the group, the leaf, is an end of every link of the group's nodes, and some of
// these links lead to other groups, that node is the hub. A node around the hub is apart in a
// window if no packet goes from it to another node around the hub, or from one of those to it. If
// at least half of the nodes are apart, these run the window as a whole: first the hub sends ahead
// what arrives from outside for them, then they run. The hub then handles what they have sent,
// together with the other nodes, if any, in finer windows. All this goes up to the first packet
// from outside that the hub does not take: one that leaves the group again, or for which a shared
// buffer might hold too much. From then on, all nodes of the group run finer windows.
//
// The first cache line holds all that a window of a group of one node touches.
struct alignas(64) Group {
  absl::InlinedVector<Node*, 1> nodes;
  Duration lookahead{kNever.ps};  // The least time a packet needs between two nodes.
  // How long it took in the sampled windows since the threads last had even work or moved groups.
  std::chrono::nanoseconds sampled{0};
  uint8_t side = 0;        // Of all nodes.
  bool is_border = false;  // A link leads to another shard.
  DueNodes due;            // By index in `nodes`.
  // If two sides inside the group run in turn in finer windows: the index of the first node of the
  // second one. Otherwise 0.
  size_t second_side = 0;
  std::optional<uint32_t> hub;  // By index in `nodes`.
  int64_t weight = 0;           // Number of in-wires, an estimate of the work.
};

using Groups = std::vector<std::unique_ptr<Group>>;

class Shard {
 public:
  // `groups` are those of all shards.
  Shard(uint32_t index, const Groups& groups);

  uint32_t index() const { return index_; }

  // Between windows: this shard runs group `g` from now on, or does so no longer.
  void Take(uint32_t g);
  void Release(uint32_t g) { due_[groups_[g]->side].Set(g, kNever); }

  Outbox& OutboxTo(const Shard& other) { return *outboxes_[other.index_]; }

  // One window of one side.
  struct Turn {
    uint64_t number = 0;
    size_t side = 0;
    Window window;
    bool is_last = true;  // Of its round: then all threads meet.
  };
  // Reads the mail of the window before, then runs all nodes of the side that are due.
  void Run(const Turn& turn);
  // The same, and measures how long it takes. In some windows, which are sampled, it also measures
  // how long each group takes.
  void RunTimed(const Turn& turn);

  // The last window that the border has run in. Changes while other threads look at it.
  const std::atomic<uint64_t>& border_ran() const { return border_ran_; }
  // Called if Run() has failed, so that no other thread waits for the border.
  void GiveUp() { TellBorderRan(kGivenUp); }

  // Delivers the mail that window `number` would read.
  void ReadMail(uint64_t number);

  // When nodes of a side next have something to do: here, or elsewhere because of mail from here.
  Time Due(size_t side) const;

  // Nodes visited in the last window of a side.
  int64_t visits(size_t side) const { return visits_[side]; }
  int64_t total_visits() const { return total_visits_; }

  void Wake(const Node& node, Time at) {
    if (!groups_[node.group_]->due.Lower(node.index_in_group_, at)) return;
    due_[node.side_].Lower(node.group_, at);
  }

 private:
  friend class Engine;

  using Clock = std::chrono::steady_clock;

  struct DueNode {
    Node* node;
    uint32_t group;
    uint32_t index;  // In the group.
  };

  // The nodes and groups of the border, or those inland, that this window runs.
  struct Part {
    std::vector<DueNode> once;  // Nodes of groups that run the window as a whole.
    std::vector<size_t> fine;   // Groups that run finer windows of their own.
    // By side: whether nodes are prefetched.
    std::array<FasterWay, kSides> prefetches{FasterWay(true), FasterWay(true)};
  };

  static constexpr uint64_t kGivenUp = ~uint64_t{0};

  // Measures groups that run one after another, if the window is sampled.
  class Sampler {
   public:
    explicit Sampler(bool samples) : samples_(samples) {
      if (samples) since_ = Clock::now();
    }
    // `group` has run since the last call.
    void Charge(Group& group) {
      if (!samples_) return;
      const Clock::time_point now = Clock::now();
      group.sampled += now - since_;
      since_ = now;
    }

   private:
    bool samples_;
    Clock::time_point since_;
  };

  void TellBorderRan(uint64_t number) {
    border_ran_.store(number, std::memory_order_release);
    border_ran_.notify_all();
  }

  void CollectDue(const Turn& turn);
  void RunPart(Part& part, const Turn& turn);
  void RunOnce(Part& part, const Turn& turn);
  void RunNodes(const std::vector<DueNode>& due, const Turn& turn, bool prefetches);
  void RunGroup(Group& group, const Window& window);
  void RunThroughHub(Group& group, const Window& outer);
  void RunGroupInTurn(Group& group, const Window& outer);
  void RunNodesOf(Group& group, size_t due, const Window& window);

  const uint32_t index_;
  const Groups& groups_;
  // By side, then by group; kNever for groups of the other side and of other shards.
  std::array<DueTree, kSides> due_;
  std::vector<std::unique_ptr<Outbox>> outboxes_;  // By receiving shard.
  std::vector<Outbox*> inboxes_;                   // By sending shard.
  Part border_;
  Part inland_;
  std::vector<uint32_t> due_nodes_;  // Due nodes of one group.
  // By side: nodes visited in its last window, and time in RunTimed() since the engine last
  // compared shards.
  std::array<int64_t, kSides> visits_{};
  std::array<std::chrono::nanoseconds, kSides> busy_{};
  int64_t total_visits_ = 0;
  bool samples_ = false;                              // This window is sampled.
  alignas(64) std::atomic<uint64_t> border_ran_ = 0;  // Read by all threads.
};

}  // namespace heddle
