// SPDX-License-Identifier: Apache-2.0
// One directed link: a FIFO ring of packets, each stamped with its arrival time. The sending port
// holds the WireTail and pushes packets; the receiving node holds the WireHead and takes them.
// Nothing else touches the ring, and neither end ever waits for the other.
//
// 1. The tail pushes only packets that arrive when the head has not run yet: at or after the time
//    to which the head's node has run, or will run in this window. So even if both ends run at
//    once, they never meet at a packet. The wait before each window (Shard::border_ran) makes what
//    the tail wrote in earlier windows visible to the head.
// 2. The order of the ring is the order of arrival: nothing inside a wire is ever sorted.
// 3. The slot behind the last packet has the arrival kNever, so a head on the same thread finds the
//    end of the wire without a look at the tail. A head on another thread learns of new packets by
//    mail, once a window. The tail reads the head's index when the ring seems full.
// 4. A full ring is replaced by one of twice the size. A head on another thread may still read the
//    old ring, which is freed when that thread's mail is next read.
// 5. A wire may carry telemetry: a record beside each packet, in the same ring.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/check.h"
#include "core/packet.h"
#include "core/telemetry.h"
#include "core/units.h"

namespace heddle {

class Node;
class Outbox;
class WireHead;

// Both ends hold the address of the ring's first slot, and count bytes instead of packets: packet
// number n is at byte n * sizeof(Packet), modulo the size of the ring. That spares the processor to
// multiply.
struct PacketRing {
  static PacketRing* New(uint32_t capacity, bool telemetry);  // `capacity` is a power of two.
  // Frees `ring` and the rings that it has replaced.
  static void Delete(PacketRing* ring);

  static constexpr uint64_t kBytes = sizeof(Packet);

  alignas(64) uint32_t capacity;
  PacketRing* outgrown;  // The ring this one replaced, while the head may still read it.
  Packet slots[1];

  uint32_t byte_mask() const { return static_cast<uint32_t>((capacity - 1) * kBytes); }
  // The ring whose first slot is at `slots`; null if that is null.
  static PacketRing* Of(std::byte* slots) {
    return slots == nullptr ? nullptr
                            : reinterpret_cast<PacketRing*>(slots - offsetof(PacketRing, slots));
  }
  // The records lie behind the last packet slot, if the wire carries telemetry.
  Telemetry& TelemetryOf(uint64_t number) {
    return reinterpret_cast<Telemetry*>(slots + capacity)[number & (capacity - 1)];
  }
};

class WireTail {
 public:
  WireTail() = default;
  ~WireTail() { PacketRing::Delete(PacketRing::Of(slots_)); }
  WireTail(const WireTail&) = delete;
  WireTail& operator=(const WireTail&) = delete;

  // The slot for the next packet: fill it in, then Commit(). If it is not committed, its arrival
  // must be kNever, as that of a new Packet: the head reads it as the end of the wire.
  Packet& Slot() {
    if (!HasRoom()) [[unlikely]]
      MakeRoom(pushed());
    return Next();
  }

  // The same in steps, for a sender that looks back at packets from number `first` on.
  bool HasRoom() const { return tail_ < full_at_; }
  void MakeRoom(uint64_t first);
  Packet& Next() { return SlotAt(tail_); }

  // Hands over the packet in Slot(), which arrives at `arrival`. `horizon` is the time to which the
  // receiver has run, or will run in this window, and `previous` the arrival of the packet pushed
  // before this one: if that lies at or beyond the horizon, that packet is still on the wire and
  // the receiver already knows of the wire.
  void Commit(Time arrival, Time previous, Time horizon) {
    HEDDLE_CHECK(arrival >= horizon, "a packet arrives at {} ps, but its receiver has run to {} ps",
                 arrival.ps, horizon.ps);
    const uint64_t next = tail_ + PacketRing::kBytes;
    tail_ = next;
    SlotAt(next).arrival = kNever;
    // A store that misses the cache holds up the ones behind it, so the line must be there by then.
    __builtin_prefetch(&SlotAt(next + kAhead), /*rw=*/1);
    if (outbox_ != nullptr) {
      if (!reported_) Report(arrival);
    } else if (previous < horizon) {
      Announce(arrival);
    }
  }

  // Finds a packet by its number, counted from 0. The packet must not have arrived yet, or be one
  // that MakeRoom() keeps.
  Packet& At(uint64_t number) { return SlotAt(number * PacketRing::kBytes); }
  // The telemetry beside packet `number`. It may be written until the end of the window in which
  // the packet was committed.
  Telemetry& Extra(uint64_t number) { return PacketRing::Of(slots_)->TelemetryOf(number); }

  // Counts the packets that the head is known to have taken.
  uint64_t taken() const;
  // Packets from this number on are still in the ring, even if they have been taken.
  uint64_t kept_from() const { return (full_at_ - byte_mask_) / PacketRing::kBytes; }

  // For changes between windows, when all mail has been read. waiting() counts the packets that the
  // head has not taken, TakeBack() removes the last ones, and TellOfChange() tells the consumer
  // that the rest have new arrivals.
  uint64_t waiting() const;
  void TakeBack(uint64_t packets) {
    tail_ -= packets * PacketRing::kBytes;
    if (packets > 0) Next().arrival = kNever;
  }
  void TellOfChange();

  // Packets committed so far.
  uint64_t pushed() const { return tail_ / PacketRing::kBytes; }

  bool within_group() const { return within_group_; }
  const Node& consumer() const { return *consumer_; }

  // Called while building.
  void CarryTelemetry() { telemetry_ = true; }
  bool carries_telemetry() const { return telemetry_; }
  size_t memory_bytes() const;

 private:
  friend class Engine;
  friend class Outbox;
  friend class WireHead;

  // The slot prefetched lies so far behind the next one.
  static constexpr uint64_t kAhead = 2 * PacketRing::kBytes;

  Packet& SlotAt(uint64_t byte) { return *reinterpret_cast<Packet*>(slots_ + (byte & byte_mask_)); }

  void Announce(Time arrival);  // Tells a consumer on this thread.
  void Report(Time arrival);    // Tells a consumer on another thread.
  void KeepFrom(uint64_t number) { full_at_ = number * PacketRing::kBytes + byte_mask_; }
  uint64_t EndReport() {
    reported_ = false;
    return pushed();
  }

  std::byte* slots_ = nullptr;  // Allocated with the first packet.
  uint64_t tail_ = 0;           // Bytes pushed.
  uint64_t full_at_ = 0;        // The slots until this byte may be used. One marks the end.
  uint32_t byte_mask_ = 0;
  PortIndex in_port_ = 0;
  bool within_group_ = true;
  bool reported_ = false;  // Report() was called in this window.
  Node* consumer_ = nullptr;
  Outbox* outbox_ = nullptr;  // Between threads: the outbox for news to the consumer's thread.
  WireHead* head_ = nullptr;  // The consumer's.
  bool telemetry_ = false;
};

class WireHead {
 public:
  WireHead() = default;
  WireHead(const WireHead& other) : slots_(other.slots_), byte_mask_(other.byte_mask_) {}

  Packet& Front() { return SlotAt(head()); }
  // The packet behind the first `undropped` ones.
  Packet& Behind(uint64_t undropped) { return SlotAt(head() + undropped * PacketRing::kBytes); }
  const Telemetry& FrontExtra() { return PacketRing::Of(slots_)->TelemetryOf(popped()); }

  // Removes the front packet and returns the arrival of the next one, kNever if there is none yet.
  Time Pop() {
    const Time next = ReadSecondArrival();
    Drop();
    return next;
  }

  // The arrival of the front packet; kNever if there is none.
  Time NextArrival() const { return slots_ == nullptr ? kNever : ArrivalAt(head()); }
  // The arrival of the packet behind the front one; kNever if there is none. Call it once for each
  // packet, in order; `undropped` packets, for which it has been called, still wait for Drop(). It
  // also reads the arrival behind that one, for the next call: the merge of wires would have to
  // wait for a slot that is not in the cache.
  Time ReadSecondArrival(uint64_t undropped = 0) {
    const uint64_t front = head() + undropped * PacketRing::kBytes;
    const Time second = ahead_ == kNever ? ArrivalAt(front + PacketRing::kBytes) : ahead_;
    ahead_ = second == kNever ? kNever : ArrivalAt(front + 2 * PacketRing::kBytes);
    return second;
  }

  // Removes the front packet. The sender may use its slot.
  void Drop() { head_.store(head() + PacketRing::kBytes, std::memory_order_release); }

  // Visits the known packets that arrive before `end`, in their order, without taking them. While a
  // window runs, these are all packets that arrive in it.
  template <class Visit>
  void ForEachBefore(Time end, const Visit& visit) const {
    if (slots_ == nullptr) return;
    for (uint64_t byte = head(); ArrivalAt(byte) < end; byte += PacketRing::kBytes) {
      visit(SlotAt(byte));
    }
  }

  // Prefetches the first packets: two more than have been taken since the last call, at most kMost.
  void Prefetch() {
    const uint32_t front = static_cast<uint32_t>(popped());
    const uint32_t count = std::min(front - std::exchange(prefetched_from_, front) + 2, kMost);
    for (uint32_t i = 0; i < count; ++i) {
      __builtin_prefetch(&SlotAt(head() + i * PacketRing::kBytes));
    }
  }

  // Packets taken so far.
  uint64_t popped() const { return head() / PacketRing::kBytes; }

  // Between threads: `pushed` packets had been sent by the end of the last window. Prefetches the
  // new ones, which lie in another core's cache.
  void Learn(uint64_t pushed);

  // `pushed` packets have been sent, and the last of them have changed. Returns the arrival of the
  // front packet.
  Time Refresh(uint64_t pushed);

  // Moves to the tail's new ring and frees the old ones.
  void Adopt(PacketRing* ring);

 private:
  friend class Engine;
  friend class WireTail;

  static constexpr uint64_t kByArrival = ~uint64_t{0};
  static constexpr uint32_t kMost = 12;  // Packets that Prefetch() asks for.

  uint64_t head() const { return head_.load(std::memory_order_relaxed); }
  Packet& SlotAt(uint64_t byte) const {
    return *reinterpret_cast<Packet*>(slots_ + (byte & byte_mask_));
  }
  // `byte` is at most that of the next packet to come.
  Time ArrivalAt(uint64_t byte) const {
    if (byte == known_) return kNever;
    __builtin_prefetch(&SlotAt(byte + PacketRing::kBytes));
    return SlotAt(byte).arrival;
  }

  std::byte* slots_ = nullptr;
  std::atomic<uint64_t> head_ = 0;  // Bytes taken.
  // The bytes known to have been sent, if the tail is on another thread. kByArrival: the slot
  // behind the last packet tells.
  uint64_t known_ = kByArrival;
  Time ahead_ = kNever;  // What ReadSecondArrival() returns next, if that has been read.
  uint32_t byte_mask_ = 0;
  uint32_t prefetched_from_ = 0;  // The front packet's number at the last Prefetch(), mod 2^32.
};

}  // namespace heddle
