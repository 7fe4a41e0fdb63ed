// SPDX-License-Identifier: Apache-2.0
// What stands between a host's NIC and the receiving halves of its flows: it holds data packets
// that came early, and hands them up in order, or gives up waiting for what is missing. One object
// for all flows of a host, named by the slots of their receivers; it knows no host and sets no
// timers itself.
//
// What all kinds do: a segment below the next one expected goes up at once, since it is late, sent
// again or a second copy. A packet that would exceed a limit is not held: its flow hands up all
// that it holds, with this packet, in order. Two copies of a segment stay together. What a
// transport refuses, as go-back-N does beyond a hole, is expected again, so that what it sends
// again is put in order too.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/resequencing.h"
#include "transport/hold_buffer.h"

namespace heddle {

class Resequencer {
 public:
  // Where packets go, in the order in which the transport shall see them.
  class Sink {
   public:
    // False if the transport throws the packet away, since it is out of order: it will come again.
    virtual bool HandUp(uint32_t slot, const Packet& packet) = 0;

   protected:
    ~Sink() = default;
  };

  // `sink` outlives this.
  Resequencer(Sink& sink, const HoldLimits& limits) : buffer_(limits), sink_(sink) {}
  virtual ~Resequencer() = default;

  // A flow begins at `slot`, which may have been that of another.
  virtual void Open(uint32_t slot);

  // A data packet has arrived, at this instant.
  void OnPacket(uint32_t slot, const Packet& packet) {
    ++packets_;
    Take(slot, packet);
  }

  // When OnTimer is to be called for the flow, kNever if nothing waits. It changes with any call
  // for the flow; calls for others only put it off.
  virtual Time Deadline(uint32_t slot) const = 0;
  // Does nothing before the deadline.
  void OnTimer(uint32_t slot, Time now) {
    if (Deadline(slot) <= now) Expire(slot, now);
  }

  // The flow ends: what it holds goes up.
  virtual void Close(uint32_t slot, Time now) { HandUpAll(slot, now); }

  // `end`: that of the run.
  ResequencingStats Stats(Time end) const;
  virtual size_t memory_bytes() const;

 protected:
  virtual void Take(uint32_t slot, const Packet& packet) = 0;
  virtual void Expire(uint32_t slot, Time now) = 0;
  // A packet that is not late goes up.
  virtual void Note(uint32_t /*slot*/, const Packet& /*packet*/) {}

  // One past the highest segment that has gone up and was taken.
  uint32_t& expected(uint32_t slot) { return flows_[slot].expected; }
  uint32_t expected(uint32_t slot) const { return flows_[slot].expected; }
  const HoldBuffer& buffer() const { return buffer_; }
  // Whether what it holds begins with what is expected.
  bool FrontIsNext(uint32_t slot) const {
    return buffer_.Holds(slot) && buffer_.Front(slot).seq <= flows_[slot].expected;
  }
  // Since when something has waited: all that is held lies beyond the first hole, so that is when
  // the first of it came. A hole that is being filled with what had been refused is not given up
  // meanwhile.
  Time WaitingSince(uint32_t slot) const {
    return std::max(buffer_.OldestArrival(slot), flows_[slot].repeated_at);
  }

  void HandUp(uint32_t slot, const Packet& packet, Time now);
  void HandUpLate(uint32_t slot, const Packet& packet);
  void HandUpFront(uint32_t slot, Time now) { HandUp(slot, buffer_.TakeFront(slot, now), now); }
  void HandUpAll(uint32_t slot, Time now) {
    while (buffer_.Holds(slot)) HandUpFront(slot, now);
  }
  void HandUpRun(uint32_t slot, Time now) {
    while (FrontIsNext(slot)) HandUpFront(slot, now);
  }
  // False if there is no room: then all of the flow has gone up, with `packet`.
  bool Hold(uint32_t slot, const Packet& packet);

  void CountTimeout() { ++timeouts_; }
  void CountEviction() { ++evictions_; }

 private:
  struct Flow {
    uint32_t expected = 0;
    uint32_t repeated_end = 0;  // One past the highest segment that was refused.
    Time repeated_at;           // When one below it was taken last.
  };

  HoldBuffer buffer_;
  Sink& sink_;
  std::vector<Flow> flows_;  // By slot.
  int64_t packets_ = 0;
  int64_t handed_up_ = 0;
  int64_t late_ = 0;
  int64_t timeouts_ = 0;
  int64_t overflows_ = 0;
  int64_t evictions_ = 0;
};

}  // namespace heddle
