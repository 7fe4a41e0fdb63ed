// SPDX-License-Identifier: Apache-2.0
// Runs nodes through simulated time. There is no global event queue.
//
// A node cannot affect another one before a packet has crossed the link between them. The least
// time that this takes, over all links between groups (core/shard.h), is the lookahead. So when a
// node's neighbours have run to some instant, it may run alone for one lookahead more: all packets
// that arrive by then lie on its wires, stamped with their arrival. The stretch of time that it
// runs is a window. Windows in which no node has anything due are skipped.
//
// Fat-trees, leaf-spines and most other fabrics have two sides: links lead only from one side to
// the other (hosts and every second tier; the tiers between). The sides run in turn. Each runs to
// one lookahead beyond the other, so its windows are two lookaheads long. That halves the visits to
// nodes. Where there are no two sides, all nodes run in each window, which is one lookahead long.
//
// Consecutive windows between which the conductor has nothing to do form a round. All threads meet
// after each round. Within a round, a thread waits only for those nodes of other threads that have
// links to other threads (core/shard.h).
//
// Time, port and key fix the order of all events of a node (core/node.h). So results do not depend
// on the order in which nodes run, on the length of windows, or on the number of threads.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "core/barrier.h"
#include "core/node.h"
#include "core/random.h"
#include "core/shard.h"
#include "core/tap.h"
#include "core/units.h"
#include "core/wire.h"

namespace heddle {

// The conductor handles everything that needs a view of the whole network: new flows, scheduled
// changes, the end of the run. It acts between rounds of windows, when no node runs, and before
// every node event of the same instant.
class Conductor {
 public:
  virtual ~Conductor() = default;

  // The earliest time at which the conductor has something to do; kNever if there is nothing.
  virtual Time Next() = 0;

  // A round of windows opens at `start`, the first for all nodes or those of one side. Nodes of the
  // other side may have run further, but not beyond Next(). Does everything due at or before
  // `start`, and tells the nodes of flows that start inside the round. Returns the round's end:
  // after `start`, at most `latest`, and not after the next thing to do between rounds.
  virtual Time Open(Time start, Time latest) = 0;

  // A round has ended, at `end`. No node has run further; those of one side have run less far.
  virtual void Close(Time end) = 0;

  // When the run ends. The end may move earlier, but not before the end of the last round. Both
  // sides run up to it.
  virtual Time End() const = 0;
};

class Engine {
 public:
  using GroupId = uint32_t;

  Engine() = default;

  // --- Building ---

  GroupId AddGroup();

  // `node` must outlive the engine.
  void Add(Node& node, GroupId g);

  // Connects `wire`, whose tail a port of `from` holds and which must stay where it is, to the next
  // in-port of `to`. A packet takes at least `least` from the moment the port has it to its
  // arrival.
  void Connect(Node& from, WireTail& wire, Node& to, Duration least);

  // Limits the length of windows and rounds to `longest`. A letter may be due no earlier than this
  // after it was sent.
  void LimitWindow(Duration longest) { longest_ = std::min(longest_, longest); }
  // The least time from one group to another, or the limit if that is less.
  Duration lookahead() const { return std::min(lookahead_, longest_); }

  // Distributes the groups over `threads` threads, fewer if there are fewer groups. If one group is
  // much heavier than the others, a thread may get none. Called once, when everything has been
  // added.
  void Place(int threads);

  // Called after Place(). `tapped` runs in place of its node, or in place of the tap already there.
  // It must outlive the engine.
  void Insert(TappedNode& tapped);

  // Called after Place(), before Insert(), if someone looks at nodes of both sides between rounds,
  // other than when the conductor acts: they must all have run to the same instant. Makes one side
  // of both, so that windows are half as long.
  void MergeSides();

  // --- Running ---

  // Runs until the conductor's end, then delivers the mail of the last window. Returns the end. An
  // exception on any thread ends the run and is thrown from here.
  Time Run(Conductor& conductor);

  int threads() const { return static_cast<int>(shards_.size()); }
  // True if two sides run in turn, each in windows of up to twice the lookahead.
  bool alternates() const { return alternates_; }
  // Holds for the round, if the node may move, and otherwise for the run.
  int shard_of(const Node& node) const { return static_cast<int>(node.shard_->index()); }

  // For the conductor, inside Open: delivers all mail now, before the round opens.
  void DeliverMail();

  // For tests: in each round, groups that may move go to random threads.
  void MoveGroupsAtRandom(uint64_t seed) { moves_.emplace(Rng::Stream(seed, "moves", 0)); }

  // --- Work done ---

  uint64_t windows() const { return last_.number; }
  int64_t node_visits() const;
  uint64_t packets_on_wires() const;
  size_t wire_memory_bytes() const;

 private:
  // Balance() compares the work of threads at intervals between these.
  static constexpr uint64_t kShortestInterval = 128;
  static constexpr uint64_t kLongestInterval = 4096;

  struct Link {
    Node* from;
    WireTail* wire;
  };

  void FormSides(std::vector<std::vector<uint32_t>>& parts);
  void FormSidesInside();
  void FindHubs();
  void Split(uint32_t g, const std::vector<uint8_t>& sides, std::vector<uint32_t>& part);
  void SetDelivery(const Link& link);
  void FindBorder(uint32_t g);
  void Balance();
  void BalanceSide(size_t side);
  bool Relieve(Shard& heavy, Shard& light, size_t side);
  int64_t CrossingIfMoved(uint32_t g, const Shard& from, const Shard& to) const;
  bool MayMove(uint32_t g) const;
  void MoveGroup(uint32_t g, Shard& to);
  void MoveAtRandom();
  bool IsDense(size_t side) const;
  size_t ChooseSide(Time next);
  bool OpenRound();
  int64_t WindowsInRound(Time start, Time other) const;
  Shard::Turn After(const Shard::Turn& turn) const;
  void RunRoundsAlone();
  void RunRound(Shard& shard, Patience& patience);
  void Work(Shard& shard);
  void NoteFailure();

  Groups groups_;
  std::vector<Link> links_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<Shard*> shard_of_group_;
  // By group; empty if there is one thread: indices in links_, and for each of these links that
  // leads to another group, that group.
  std::vector<std::vector<uint32_t>> links_of_group_;
  std::vector<std::vector<uint32_t>> neighbours_of_group_;
  Duration lookahead_{kNever.ps};
  Duration longest_{kNever.ps};
  bool alternates_ = false;

  // Written between rounds by the one thread that runs then.
  Conductor* conductor_ = nullptr;
  Shard::Turn first_;  // Of this round,
  Shard::Turn last_;   // and its last window.
  Time round_end_;
  RanTo ran_to_;  // How far the sides have run when the round has ended.
  bool balances_ = false;
  // How the work of a side is shared out.
  struct Sharing {
    uint64_t windows = 0;                   // Run by all threads since they were last compared.
    uint64_t interval = kShortestInterval;  // In such windows.
    const Shard* busiest = nullptr;         // At the last comparison, if it was too busy.
  };
  std::array<Sharing, kSides> sharing_;
  std::optional<Rng> moves_;
  Time now_;
  bool done_ = false;
  std::atomic<bool> failed_ = false;  // A thread has thrown an exception.
  std::exception_ptr failure_;        // The exception.
  std::unique_ptr<Barrier> barrier_;
};

}  // namespace heddle
