// SPDX-License-Identifier: Apache-2.0
// Runs nodes through simulated time. There is no global event queue.
//
// Nothing that a node does can be felt by another before a packet has crossed the link between
// them. So time is cut into windows no longer than the shortest link (the lookahead); inside a
// window every node runs alone, and what it sends lies on its wires, stamped with its arrival, when
// the next window opens. Windows in which nobody has anything due are skipped.
//
// The order of everything a node handles is fixed by time, port and key (core/node.h). So results
// do not depend on the order in which nodes run, on the length of windows, or on the number of
// threads.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "core/barrier.h"
#include "core/node.h"
#include "core/shard.h"
#include "core/tap.h"
#include "core/units.h"
#include "core/wire.h"

namespace heddle {

// What needs a view of the whole: new flows, scheduled changes, the end of the run. It acts between
// windows, when no node runs, and before every node event of the time it acts at.
class Conductor {
 public:
  virtual ~Conductor() = default;

  // The earliest time at which it has something to do, kNever if there is nothing.
  virtual Time Next() = 0;

  // A window opens at `start`. Does what is due at or before `start`, tells the nodes what begins
  // inside the window, and returns the window's end: at most `latest`, after `start`, and not after
  // the next thing to do.
  virtual Time Open(Time start, Time latest) = 0;

  // A window has ended, at `end`.
  virtual void Close(Time end) = 0;

  // When the run ends. May become earlier, but never earlier than the end of the last window.
  virtual Time End() const = 0;
};

class Engine {
 public:
  using GroupId = uint32_t;

  Engine() = default;

  // --- Building ---

  GroupId AddGroup();

  // `node` must outlive the engine. Nodes run in the order in which they were added.
  void Add(Node& node, GroupId group);

  // `wire`, whose tail a port of `from` holds and which must stay where it is, leads to the next
  // in-port of `to`. A packet takes at least `least` from the moment the port has it to its
  // arrival.
  void Connect(Node& from, WireTail& wire, Node& to, Duration least);

  // No window is longer than this.
  void LimitWindow(Duration longest) { lookahead_ = std::min(lookahead_, longest); }
  Duration lookahead() const { return lookahead_; }

  // Distributes the groups over `threads` threads, fewer if there are fewer groups. Called once,
  // when everything has been added.
  void Place(int threads);

  // After Place(): `tapped` runs in place of its node, or of what runs in its place already. It
  // must outlive the engine.
  void Insert(TappedNode& tapped);

  // --- Running ---

  // Runs until the conductor's end, then delivers the mail of the last window. Returns the end. An
  // exception on any thread ends the run and is thrown from here.
  Time Run(Conductor& conductor);

  int threads() const { return static_cast<int>(shards_.size()); }
  int shard_of(const Node& node) const { return static_cast<int>(node.shard_->index()); }

  // For the conductor, from Open: lets every node read its mail now, before the window does.
  void DeliverMail();

  // --- What it took ---

  uint64_t windows() const { return window_number_; }
  int64_t node_visits() const;
  uint64_t packets_on_wires() const;
  size_t wire_memory_bytes() const;

 private:
  struct Link {
    Node* from;
    WireTail* wire;
  };

  bool OpenNextWindow();
  void RunWindowsAlone();
  void Work(Shard& shard);
  void NoteFailure();

  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<Link> links_;
  std::vector<std::unique_ptr<Shard>> shards_;
  Duration lookahead_{kNever.ps};

  // Written between windows by the one thread that runs then.
  Conductor* conductor_ = nullptr;
  uint64_t window_number_ = 0;
  Time window_end_;
  Time now_;
  bool done_ = false;
  std::atomic<bool> failed_ = false;  // A thread has met an exception,
  std::exception_ptr failure_;        // this one.
  std::unique_ptr<Barrier> barrier_;
};

}  // namespace heddle
