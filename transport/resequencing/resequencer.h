// SPDX-License-Identifier: Apache-2.0
// Resequencer stands between a host's NIC and the receiving halves of its flows. It holds data
// packets that came early and hands them up in order, or gives up waiting for missing ones. One
// object serves all flows of a host, named by their receivers' slots; Endpoints calls it for each
// packet and timer, so it knows no host and sets no timers itself.
//
// All kinds share these rules. A segment below the next one expected is late, sent again or a
// second copy, and goes up at once. A packet that would exceed a limit is not held: its flow hands
// up all that it holds, with this packet, in order. Two copies of a segment stay together. If a
// transport refuses packets, as go-back-N does beyond a hole, they are expected again, so that
// their retransmissions are put in order too.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/resequencing.h"
#include "transport/resequencing/hold_buffer.h"

namespace heddle {

class Resequencer {
 public:
  // Takes the packets in the order in which the transport shall see them.
  class Sink {
   public:
    // Returns false if the transport throws the packet away for being out of order: it will come
    // again.
    virtual bool HandUp(uint32_t slot, const Packet& packet) = 0;

   protected:
    ~Sink() = default;
  };

  // `sink` outlives this.
  Resequencer(Sink& sink, const HoldLimits& limits) : buffer_(limits), sink_(sink) {}
  virtual ~Resequencer() = default;

  // A flow begins at `slot`, which another flow may have used before.
  virtual void Open(uint32_t slot);

  // A data packet has arrived, at this instant.
  void OnPacket(uint32_t slot, const Packet& packet) {
    ++packets_;
    Take(slot, packet);
  }

  // Returns the time to call OnTimer for the flow, kNever if nothing waits. Any call for the flow
  // changes it; calls for other flows only put it off.
  virtual Time Deadline(uint32_t slot) const = 0;
  // Does nothing before the deadline.
  void OnTimer(uint32_t slot, Time now) {
    if (Deadline(slot) <= now) Expire(slot, now);
  }

  // The flow ends: all packets that it holds go up.
  virtual void Close(uint32_t slot, Time now) { HandUpAll(slot, now); }

  // `end` is the end of the run.
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
  // Returns true if the flow's lowest held segment is the next one expected.
  bool FrontIsNext(uint32_t slot) const {
    return buffer_.Holds(slot) && buffer_.Front(slot).seq <= flows_[slot].expected;
  }
  // Returns since when the flow has waited. All that it holds lies beyond the first hole, so it has
  // waited since the first of these packets came. While refused segments come again and fill the
  // hole, it is not given up.
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
  // Returns false if there is no room; then all of the flow has gone up, with `packet`.
  bool Hold(uint32_t slot, const Packet& packet);

  void CountTimeout() { ++timeouts_; }
  void CountEviction() { ++evictions_; }

 private:
  struct Flow {
    uint32_t expected = 0;
    uint32_t repeated_end = 0;  // One past the highest segment that was refused.
    Time repeated_at;           // Time at which one below it was last taken.
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
