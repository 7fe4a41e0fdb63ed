// SPDX-License-Identifier: Apache-2.0
// An egress port with one FIFO queue, drop-tail, ECN marking at enqueue, and never paused.
//
// At such a port, the departure of a packet is known when it is enqueued: no later packet and no
// pause can change it. So the port puts the packet onto the wire at once, stamped with its future
// arrival. If the link changes, between windows, the port corrects the packets on the wire. One
// event per packet-hop then gives the same result, to the picosecond, as separate arrival and
// departure events. The queue at any instant is the set of packets that depart later. A packet
// departs the link's delay before it arrives, so the port keeps no record of departures beside the
// wire, except after a change of the delay.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

#include "core/node.h"
#include "core/packet.h"
#include "core/ring.h"
#include "core/units.h"
#include "core/wire.h"

namespace heddle {

inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 2;

struct PortSettings {
  BitRate rate;
  Duration delay;                   // Propagation and receiving switch's latency; at least 1 ps.
  Bytes wire_overhead;              // On the wire but not in buffers: preamble and inter-frame gap.
  bool count_packets = false;       // `buffer` and `mark_above` are packets, not bytes.
  int64_t buffer = kUnlimited;      // A packet that would exceed this is dropped.
  int64_t mark_above = kUnlimited;  // DCTCP's K: marks when the queue, packet included, exceeds it.
};

// The length of a queue. The packet in transmission counts whole, and bytes count as in buffers.
struct QueueLength {
  int64_t bytes = 0;
  int64_t packets = 0;
};

class alignas(64) FifoPort {
 public:
  // Traffic sent by a port. A packet counts when its last bit has left.
  struct Counters {
    int64_t packets = 0;
    int64_t wire_bytes = 0;
    int64_t payload_bytes = 0;  // Payload of flows, retransmissions included.
    int64_t busy_ps = 0;        // Time spent transmitting.

    friend bool operator==(const Counters&, const Counters&) = default;
  };

  explicit FifoPort(const PortSettings& settings);

  // Enqueues a copy of `packet` at `now`, which never decreases; `path_part` is this hop's term in
  // the id of the path taken. Returns false if the packet is dropped because the buffer is full or
  // the link is down.
  [[gnu::always_inline]] bool Send(const Packet& packet, uint16_t path_part, Time now,
                                   const Window& window) {
    if (busy_until_ - now > harmless_ || packet.bytes > largest_) [[unlikely]]
      return SendCounting(packet, path_part, now, window);
    Put(packet, path_part, /*mark=*/false, now, window);
    return true;
  }

  // For a NIC, which builds a packet in its place on the wire: fill in Slot(), then call
  // SendSlot(). There is no buffer limit and no marking, because the host hands over one packet at
  // a time.
  Packet& Slot(Time now) {
    if (!wire_.HasRoom()) [[unlikely]]
      MakeRoom(now);
    return wire_.Next();
  }
  // Returns false if the packet is lost because the link is down.
  bool SendSlot(Time now, const Window& window) {
    Packet& slot = wire_.Next();
    if (down_) [[unlikely]]
      return Lose(slot, now);
    Transmit(slot, slot.bytes, PayloadOf(slot), now, window);
    return true;
  }

  // The payload that counts for flows: that of data packets.
  //
  // Without a branch, which would be mispredicted: data packets and ACKs follow no pattern.
  static int64_t PayloadOf(const Packet& packet) {
    const uint32_t is_data = packet.kind == PacketKind::kData ? 1 : 0;
    return packet.data.payload & (0 - is_data);
  }

  // For queues in front of this port, which fill in Slot() when the link is up. `bytes` is the
  // packet's size, and `payload` its PayloadOf().
  [[gnu::always_inline]] void Transmit(Packet& slot, int64_t bytes, int64_t payload, Time now,
                                       const Window& window) {
    const int64_t wire_bytes = bytes + wire_overhead_;
    const Duration tx = ps_per_byte_ != 0 ? Duration{wire_bytes * ps_per_byte_}
                                          : TransmissionTime(wire_bytes, busy_until_ <= now);
    const Time departure = std::max(busy_until_, now) + tx;
    const Time previous_arrival = last_arrival_;
    Time arrival = departure + delay_;
    if (arrival < previous_arrival) [[unlikely]]
      arrival = Late(departure);
    last_arrival_ = arrival;
    busy_until_ = departure;
    slot.arrival = arrival;
    wire_bytes_ += wire_bytes;
    payload_bytes_ += payload;
    wire_.Commit(arrival, previous_arrival, window.Horizon(wire_));
  }

  // Prefetches what Send() touches first.
  void Prefetch() const {
    __builtin_prefetch(this, /*rw=*/1);
    __builtin_prefetch(&payload_bytes_, /*rw=*/1);
  }

  // The end of the last transmission so far committed.
  Time busy_until() const { return busy_until_; }

  // QueueingDelay() is the wait of a packet enqueued now. Unsent() is the bytes that have not left,
  // counted as on the wire: the waiting packets and the unsent rest of the packet in transmission.
  Duration QueueingDelay(Time now) const {
    return busy_until_ > now ? busy_until_ - now : Duration{0};
  }
  Bytes Unsent(Time now) const { return busy_until_ > now ? SentIn(busy_until_ - now) : Bytes{0}; }

  // The packets queued at `now`, including the one in transmission, also if `buffer` counts bytes.
  int64_t QueuedPackets(Time now) {
    ForgetDeparted(now);
    return Unforgotten();
  }

  // The sizes, in the buffer's unit, of the packets that have not left by `now`.
  int64_t Backlog(Time now) {
    ForgetDeparted(now);
    for (summed_ = std::max(summed_, left_); summed_ != wire_.pushed(); ++summed_) {
      backlog_ += SizeOf(wire_.At(summed_));
    }
    return backlog_;
  }

  // For queues in front of this port. SizeOf() is a packet's size in the buffer's unit, and
  // WireBytesOf() its bytes on the wire. TransmissionTimeOf() is the time that such bytes take, on
  // an idle or a busy port, and SentIn() the bytes that pass in a time. Mark() marks an ECN-capable
  // packet.
  int64_t SizeOf(const Packet& packet) const { return SizeOf(packet.bytes); }
  int64_t SizeOf(uint16_t bytes) const { return (bytes & size_mask_) | size_unit_; }
  int64_t WireBytesOf(const Packet& packet) const { return packet.bytes + wire_overhead_; }
  int64_t wire_overhead() const { return wire_overhead_; }
  Duration TransmissionTimeOf(int64_t wire_bytes, bool idle) const;
  Bytes SentIn(Duration time) const;
  void Mark(Packet& slot) {
    if (!slot.Has(Packet::kEct) || slot.Has(Packet::kCe)) return;
    slot.Set(Packet::kCe);
    ++marked_;
  }

  bool is_down() const { return down_; }
  BitRate rate() const { return rate_; }
  // Returns true if packets are sure to arrive at the far end no faster than at the port's rate.
  // After a change of the channel, those sent before it may not.
  bool keeps_rate() const {
    const uint64_t taken = wire_.taken();
    return begun_ <= taken && (late_.empty() || late_[late_.size() - 1].number < taken);
  }
  // The time that `size` takes on the wire, without a division for most rates.
  Duration TimeToSend(Bytes size) const {
    return ps_per_byte_ != 0 ? Duration{size.count * ps_per_byte_}
                             : SerializationDelay(size, rate_);
  }
  Duration delay() const { return delay_; }
  WireTail& wire() { return wire_; }

  // --- Between windows, when all mail has been read; every event before `now` has been handled ---

  // Called for each packet whose transmission now starts at another time.
  using Restarted = std::function<void(uint64_t number, Time start)>;

  // Gives the link another rate and delay from `now` on, for packets whose first bit has not left.
  // Packets still arrive in the order in which they were sent.
  void SetChannel(Time now, BitRate rate, Duration delay, const Restarted& restarted);

  // Takes the link down. All packets that have not arrived are lost, and so are those sent until
  // the link comes up again.
  void GoDown(Time now, const std::function<void(const Packet&)>& lost);
  void GoUp(Time now);

  // SentBy() counts the packets that had left by `now`, QueueAt() those that had not, in bytes and
  // packets. `now` is a window boundary, and all packets so far were sent before it.
  Counters SentBy(Time now);
  QueueLength QueueAt(Time now);
  bool counts_packets() const { return size_unit_ != 0; }

  // Counts all packets put on the wire, whether they have left or not.
  Counters Committed() const;
  int64_t CommittedBytes() const {  // As buffered.
    return wire_bytes_ - wire_overhead_ * (static_cast<int64_t>(wire_.pushed()) + lost_on_wire_);
  }
  int64_t dropped() const { return dropped_; }            // Because the buffer was full.
  int64_t dropped_down() const { return dropped_down_; }  // Because the link was down.
  int64_t marked() const { return marked_; }
  size_t memory_bytes() const { return sizeof(*this) + late_.capacity() * sizeof(Departure); }

 private:
  // The rest of Send() where the packet may be dropped or marked, so that the length of the queue
  // must be known.
  bool SendCounting(const Packet& packet, uint16_t path_part, Time now, const Window& window);

  // Puts an admitted packet on the wire.
  [[gnu::always_inline]] void Put(const Packet& packet, uint16_t path_part, bool mark, Time now,
                                  const Window& window) {
    // These values are read before the copy. Behind it, the loads would wait for its stores.
    const uint16_t bytes = packet.bytes;
    const int64_t payload = PayloadOf(packet);
    const uint8_t hops = static_cast<uint8_t>(packet.hops + 1);
    const uint16_t taken = static_cast<uint16_t>(packet.taken + path_part);
    Packet& slot = Slot(now);
    slot = packet;
    slot.hops = hops;
    slot.taken = taken;
    if (mark) Mark(slot);
    Transmit(slot, bytes, payload, now, window);
  }

  // A packet of `bytes` is to be sent, perhaps the largest so far.
  void NoteSize(uint16_t bytes) {
    if (bytes <= largest_) return;
    largest_ = bytes;
    FindHarmless();
  }
  void FindHarmless();

  // Finds the first packet that has not left by `now`. It is called only when the length of the
  // queue matters: while neither a drop nor a mark is possible, nobody counts.
  void ForgetDeparted(Time now) {
    if (left_ < wire_.kept_from()) [[unlikely]]
      ForgetUntil(wire_.kept_from());
    while (left_ != wire_.pushed() && NextDeparture() <= now) {
      if (left_ < summed_) backlog_ -= SizeOf(wire_.At(left_));
      if (IsNextLate()) [[unlikely]]
        late_.pop_front();
      ++left_;
    }
  }
  void ForgetUntil(uint64_t kept);
  void ForgetTaken(Time now);

  // Returns when packet `left_` departs, the first that is not known to have left.
  Time NextDeparture() {
    return IsNextLate() ? late_.front().at : wire_.At(left_).arrival - delay_;
  }
  bool IsNextLate() const { return !late_.empty() && late_.front().number == left_; }

  // The next packet departs at `departure`, and arrives together with the one before it, because
  // some packet before it had a longer delay. Returns when that is.
  Time Late(Time departure) {
    late_.push_back({wire_.pushed(), departure});
    return last_arrival_;
  }

  int64_t Unforgotten() const { return static_cast<int64_t>(wire_.pushed() - left_); }

  bool Drop() {
    ++(down_ ? dropped_down_ : dropped_);
    return false;
  }
  bool Lose(const Packet& slot, Time now);
  int64_t BusyTime() const;

  Duration TransmissionTime(int64_t wire_bytes, bool idle);
  void MakeRoom(Time now);

  static constexpr Duration kNoTime{std::numeric_limits<int64_t>::min()};

  struct Departure {
    uint64_t number;  // Of a packet on the wire.
    Time at;
  };

  // First cache line.
  Time busy_until_{-kNever.ps};  // End of the last transmission; long ago if there was none.
  // While the queueing delay is at most this, no packet up to `largest_` bytes can be dropped or
  // marked. kNoTime: that is never certain.
  Duration harmless_ = kNoTime;
  int64_t ps_per_byte_;  // 0: the rate does not divide 8e12, see TransmissionTime.
  Duration delay_;
  Time last_arrival_{-kNever.ps};  // Arrival of the last packet sent.
  // Not next to payload_bytes_: a compiler would update both by one access across two cache lines.
  int64_t wire_bytes_ = 0;
  uint16_t size_mask_;
  uint16_t size_unit_;
  uint16_t largest_ = 0;  // Bytes of the largest packet given to Send(); other ports have no limit.
  bool down_ = false;
  int64_t wire_overhead_;

  // Second cache line, with the hot part of the wire.
  int64_t payload_bytes_ = 0;
  WireTail wire_;

  uint64_t left_ = 0;  // Packets known to have left.
  // The sum of the sizes of packets left_ to summed_ - 1; 0 if there are none.
  int64_t backlog_ = 0;
  uint64_t summed_ = 0;
  int64_t buffer_;
  int64_t mark_above_;
  int64_t marked_ = 0;
  int64_t dropped_ = 0;
  int64_t dropped_down_ = 0;
  int64_t lost_on_wire_ = 0;  // Dropped packets that had left the port.
  const int64_t settings_buffer_;
  // The departures that do not follow from arrivals, because the channel has changed. Ascending.
  Ring<Departure> late_;
  uint64_t begun_ = 0;  // Packets that had begun to leave when the channel last changed.
  BitRate rate_;
  int64_t carry_ = 0;         // Rounding of the last transmission in picosecond-bits.
  int64_t odd_busy_ps_ = 0;   // Busy time, if it does not follow from the bytes.
  int64_t busy_before_ = 0;   // Busy time at earlier rates.
  int64_t bytes_before_ = 0;  // Bytes sent at earlier rates.
};

}  // namespace heddle
