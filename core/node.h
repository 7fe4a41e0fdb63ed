// SPDX-License-Identifier: Apache-2.0
// A switch or a host. A node owns its ports, timers, random streams and state; nothing outside it
// writes to any of these while a window runs, so the nodes of one window need not know each other.
//
// The order in which a node handles the events of one instant:
//   1. transmission completions (a packet counts as queued until then),
//   2. packet arrivals, by in-port; each wire keeps its own order,
//   3. effects of pause frames (PFC) that take a while to act,
//   4. timers, by their key,
//   5. service decisions: an idle or just-freed port picks its next packet.

#pragma once

#include <cstdint>
#include <optional>

#include "core/arrivals.h"
#include "core/mail.h"
#include "core/prefetch.h"
#include "core/units.h"

namespace heddle {

class Shard;

// The part of simulated time in which a node may run alone.
struct Window {
  Time end;  // The node handles events due before this.
  // Its neighbours inside its group, and those outside, have handled all events before these times,
  // or will in this window.
  Time inner;
  Time outer;

  // A window in which all nodes run.
  static Window Until(Time end) { return {end, end, end}; }

  // The earliest time at which a packet on `wire` may arrive.
  Time Horizon(const WireTail& wire) const { return wire.within_group() ? inner : outer; }
};

class Node {
 public:
  Node() = default;
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Handles everything due before `window.end`, in the order above.
  virtual void Run(const Window& window) = 0;

  // When this node next has something to do; kNever if it waits for other nodes.
  virtual Time Due() const = 0;

  virtual void OnLetter(const Letter& /*letter*/) {}

  // Called on the nodes around a hub (core/shard.h) when a window of their group begins, at
  // `start`. Returns true if, from `start` to the end of this window, the node sends no packet
  // whose destination is another node around the hub, and none of those sends a packet to it.
  virtual bool IsApart(Time /*start*/) const { return false; }
  // Called on the nodes around a hub. Returns the most bytes that the hub can receive from this
  // node in any interval of length `time`; nothing if no bound is known.
  virtual std::optional<int64_t> MostBytesIn(Duration /*time*/) const { return std::nullopt; }
  // Called on a hub that has run to `window.inner`. Takes the packets that arrive from outside the
  // group before `window.end`, up to the first one that it cannot or may not send ahead. Sends
  // those for nodes that are apart, and keeps the others until the next calls of Run(). Returns the
  // time up to which it has taken packets. A hub that cannot do so returns `window.inner`: for
  // example, if a packet for a node that is apart is on its way to the hub from inside.
  virtual Time RunInward(const Window& window) { return window.inner; }

  // Returns true if the node writes to nothing that belongs to one thread, or that is read between
  // windows in the order of time. Then it may change threads between windows, and be on either side
  // of the engine.
  virtual bool MayMove() const { return false; }

  // Called one after the other, shortly before Run() to `end`. They prefetch this object; then the
  // ends of its wires; then the packets that arrive, and what else is far from the object.
  void PrefetchSelf() const { PrefetchLines<kLines>(this); }
  virtual void PrefetchEnds() const { arrivals_.PrefetchHeads(); }
  virtual void PrefetchParts(Time end) { arrivals_.Prefetch(end); }

  // The wire at `in_port` has a new packet. Returns false if it was known to have packets.
  bool Announce(PortIndex in_port, Time arrival) {
    const Time before = arrivals_.Next();
    if (!arrivals_.Announce(in_port, arrival)) return false;
    if (arrival < before) Wake(arrival);  // Otherwise it will run by then anyway.
    return true;
  }

  // The same for a wire from another thread, on which `pushed` packets have been sent by now.
  void Announce(PortIndex in_port, Time arrival, uint64_t pushed) {
    arrivals_.head(in_port).Learn(pushed);
    Announce(in_port, arrival);
  }

  // Called between windows when the last packets on the wire at `in_port` have changed. `pushed` is
  // the number of packets sent on that wire.
  void OnWireChange(PortIndex in_port, uint64_t pushed) {
    const Time arrival = arrivals_.Refresh(in_port, pushed);
    if (arrival != kNever) Wake(arrival);
  }

  WireHead& wire_head(PortIndex in_port) { return arrivals_.head(in_port); }

  // Something outside a window (a new flow, a letter) gives this node something to do at `at`.
  void Wake(Time at);

  // Which of the engine's two sides runs this node.
  size_t side() const { return side_; }

 protected:
  // Sends `letter`, which its receiver must have read by `due`: no sooner than the limit of
  // Engine::LimitWindow() from now, or kNever if it does not matter when. Not from OnLetter.
  void Post(const Letter& letter, Time due);

  Arrivals arrivals_;

 private:
  friend class Engine;
  friend class Shard;

  static constexpr size_t kLines = 8;

  Shard* shard_ = nullptr;
  uint32_t group_ = 0;
  uint32_t index_in_group_ = 0;
  uint8_t side_ = 0;
};

}  // namespace heddle
