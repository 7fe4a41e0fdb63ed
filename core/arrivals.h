// SPDX-License-Identifier: Apache-2.0
// Merges the in-wires of one node in the order (time, in-port, FIFO), by a tournament over the
// arrival of each wire's front packet. The node takes its packets from here while a window runs.

#pragma once

#include <cstddef>
#include <vector>

#include "core/packet.h"
#include "core/prefetch.h"
#include "core/tournament.h"
#include "core/units.h"
#include "core/wire.h"

namespace heddle {

class Arrivals {
 public:
  // Adds the wire that leads to the next free in-port, numbered from 0.
  void Add() {
    heads_.emplace_back();
    next_.Resize(heads_.size());
  }

  // When the next packet arrives, kNever if none is on its way; on which port; and the packet.
  Time Next() const { return next_.Next(); }
  PortIndex Port() const { return static_cast<PortIndex>(next_.First()); }
  const Packet& Front() { return heads_[Port()].Front(); }
  const Telemetry& FrontExtra() { return heads_[Port()].FrontExtra(); }

  // Returns true if the next packet arrives at `time` or earlier.
  bool AnyUntil(Time time) const { return next_.AnyUntil(time); }

  // Removes Front().
  void Pop() {
    const PortIndex port = Port();
    next_.Set(port, heads_[port].Pop());
  }

  // The same in two steps. After Take(), Next() refers to the packet behind the one taken. The
  // taken packet stays where it is until Drop().
  struct Taken {
    PortIndex port = 0;
    const Packet* packet = nullptr;
  };
  Taken Take() {
    const PortIndex port = Port();
    WireHead& head = heads_[port];
    next_.Set(port, head.ReadSecondArrival());
    return {port, &head.Front()};
  }
  void Drop(const Taken& taken) { heads_[taken.port].Drop(); }
  // Between the steps: the packet that arrives at Next().
  const Packet& FrontBehind(const Taken& taken) {
    return heads_[Port()].Behind(Port() == taken.port ? 1 : 0);
  }
  const Telemetry& ExtraOf(const Taken& taken) { return heads_[taken.port].FrontExtra(); }

  // Removes the packets that arrive before `end`, one after the other. Stops in front of the first
  // packet for which goes(packet, port, time) returns false, or behind the first one for which
  // visit(packet, port, time) does. A packet stays where it is until that call returns.
  template <class Goes, class Visit>
  [[gnu::always_inline]] void TakeWhile(Time end, const Goes& goes, const Visit& visit) {
    const int64_t bound = next_.Bound(end);
    int64_t best = next_.Best();
    while (best < bound) {
      const PortIndex port = static_cast<PortIndex>(next_.EntryOf(best));
      const Time at = next_.TimeOf(best);
      WireHead& head = heads_[port];
      if (!goes(head.Front(), port, at)) return;
      best = next_.Set(port, head.ReadSecondArrival());
      const bool goes_on = visit(head.Front(), port, at);
      head.Drop();
      if (!goes_on) return;
    }
  }
  // Removes the packets that arrive before `end`, one after the other, until visit() returns false.
  // Before each call, look(packet) is called for the packet after it, so that the loads for both
  // overlap. visit(packet, port, time, seen) gets what look() has returned for its packet.
  template <class Look, class Visit>
  [[gnu::always_inline]] void TakeBefore(Time end, const Look& look, const Visit& visit) {
    const int64_t bound = next_.Bound(end);
    int64_t best = next_.Best();
    if (best >= bound) return;
    auto next_seen = look(heads_[next_.EntryOf(best)].Front());
    while (best < bound) {
      const PortIndex port = static_cast<PortIndex>(next_.EntryOf(best));
      const Time at = next_.TimeOf(best);
      const auto seen = next_seen;
      WireHead& head = heads_[port];
      best = next_.Set(port, head.ReadSecondArrival());
      if (best < bound) {
        const size_t next = next_.EntryOf(best);
        next_seen = look(heads_[next].Behind(next == port ? 1 : 0));
      }
      const bool goes_on = visit(head.Front(), port, at, seen);
      head.Drop();
      if (!goes_on) return;
    }
  }
  // A faster TakeBefore(): when a packet is visited, the next one has already been removed from
  // Next(). So visit() must not use Next(), Port(), Front() or Take(), and cannot stop.
  template <class Look, class Visit>
  [[gnu::always_inline]] void TakeLookingAhead(Time end, const Look& look, const Visit& visit) {
    const int64_t bound = next_.Bound(end);
    int64_t best = next_.Best();
    if (best >= bound) return;
    size_t port = next_.EntryOf(best);
    Time at = next_.TimeOf(best);
    const Packet* packet = &heads_[port].Front();
    auto seen = look(*packet);
    best = next_.Set(port, heads_[port].ReadSecondArrival());
    while (best < bound) {
      const size_t next_port = next_.EntryOf(best);
      const Time next_at = next_.TimeOf(best);
      WireHead& head = heads_[next_port];
      const uint64_t undropped = next_port == port ? 1 : 0;
      const Packet& next = head.Behind(undropped);
      const auto next_seen = look(next);
      best = next_.Set(next_port, head.ReadSecondArrival(undropped));
      visit(*packet, static_cast<PortIndex>(port), at, seen);
      heads_[port].Drop();
      port = next_port;
      at = next_at;
      packet = &next;
      seen = next_seen;
    }
    visit(*packet, static_cast<PortIndex>(port), at, seen);
    heads_[port].Drop();
  }

  // The wire at `port` has a new packet, which arrives at `arrival`. Returns false if the wire was
  // known to have packets.
  bool Announce(PortIndex port, Time arrival) {
    if (next_.Has(port)) return false;
    next_.Set(port, arrival);
    return true;
  }

  // Between Hide() and Show(), the wire at `port` seems to be empty. Nothing may be sent on
  // it meanwhile.
  void Hide(PortIndex port) { next_.Set(port, kNever); }
  void Show(PortIndex port) { next_.Set(port, heads_[port].NextArrival()); }

  // Reads the wire at `port` again, on which `pushed` packets have been sent. Returns its next
  // arrival.
  Time Refresh(PortIndex port, uint64_t pushed) {
    const Time arrival = heads_[port].Refresh(pushed);
    next_.Set(port, arrival);
    return arrival;
  }

  // Prefetches what Prefetch() reads.
  void PrefetchHeads() const {
    next_.Prefetch();
    PrefetchElements(heads_);
  }
  // Prefetches the first packets of every wire that has a packet due before `end`.
  void Prefetch(Time end) {
    for (size_t i = 0; i < heads_.size(); ++i) {
      if (next_.HasBefore(i, end)) heads_[i].Prefetch();
    }
  }

  WireHead& head(PortIndex port) { return heads_[port]; }
  size_t wires() const { return heads_.size(); }

 private:
  Tournament next_;
  std::vector<WireHead> heads_;
};

}  // namespace heddle
