// SPDX-License-Identifier: Apache-2.0
// An egress port with a queue for each class in front of its transmitter. It serves priorities,
// PFC, marking at dequeue and the shared buffer, where the departure of a packet is not known when
// it arrives. QueuedPorts calls it, one object per port of a switch.
//
// A service decision at a time t sees everything that happened up to and at t. The program may make
// the decision later than t with the same result, as long as nothing else happens to the port in
// between. So Serve() may be called late: it starts the next packet at NextService(), provided that
// the port has been told of every event up to that time.
//
// Class 0 goes before all others and is never paused. The departure of its packets is known when
// they arrive, as at a FIFO port, so they go to the transmitter at once and wait in no queue. The
// exception is a port whose pause frames may overtake class 0 (PFC): there, class-0 packets that
// find the transmitter busy wait in a queue.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/check.h"
#include "core/node.h"
#include "core/prefetch.h"
#include "core/random.h"
#include "core/ring.h"
#include "core/telemetry.h"
#include "fabric/fifo_port.h"
#include "fabric/marking.h"
#include "fabric/shared_memory.h"

namespace heddle {

enum class Scheduler : uint8_t {
  kStrict,      // The lowest class first.
  kRoundRobin,  // Class 0 first, the others take turns, one packet each.
  kDeficit,  // Class 0 first, the others share by deficit round robin (Shreedhar, Varghese 1996).
};

struct QueueSettings {
  uint8_t classes = 1;  // Classes in use; bit mask.
  Scheduler scheduler = Scheduler::kRoundRobin;
  bool telemetry = false;       // The port adds its telemetry to data packets.
  bool queues_control = false;  // Class 0 has a queue of its own.
  Marking marking;
  std::array<int64_t, kClasses> quantum = {};  // kDeficit: bytes per turn, by class.
};

class alignas(64) QueuedPort {
 public:
  // `out` transmits the packets that are served. It has no buffer limit or marking of its own, and
  // must stay where it is. `id` is unique among the ports of the network.
  QueuedPort(FifoPort& out, const QueueSettings& settings, Rng rng, uint32_t id);

  // The packet in transmission, or the last one transmitted.
  struct InService {
    Time end{-kNever.ps};
    uint16_t bytes = 0;  // 0 if it has passed and is of class 0.
    PortIndex in = 0;
    uint8_t cls = 0;
  };
  const InService& in_service() const { return in_service_; }

  // When the next service decision is due; kNever if no unpaused class has packets.
  Time NextService() const { return Wants() ? std::max(out_->busy_until(), wants_since_) : kNever; }

  // Returns true if a class-0 packet that arrives now goes to the transmitter and into no queue.
  bool SendsControlAtOnce(Time now) const {
    return !settings_.queues_control || (out_->busy_until() <= now && (backlogged_ & 1) == 0);
  }

  // Appends `packet`, which came in through port `in`, to the queue of its class, and marks it if
  // marking is at enqueue. `telemetry` is the record that came with the packet, or null. Returns
  // the packet in its queue.
  Packet& Enqueue(const Packet& packet, const Telemetry* telemetry, uint16_t path_part,
                  PortIndex in, Time now);

  // Starts the packet that is due at NextService(), and returns the packet on the wire.
  Packet& Serve(const Window& window);

  // Sends a packet at once, past the queues and without telemetry. For data packets the result is
  // that of Enqueue() and Serve(). The caller must know that the port IsFree(), and that nothing
  // else happens to it at `now`. `charged` is the packet's bytes, or 0 for class 0.
  Packet& Pass(const Packet& packet, uint16_t charged, uint16_t path_part, PortIndex in, Time now,
               const Window& window);
  // Returns true if nothing waits, nothing is in transmission and no class is paused.
  bool IsFree(Time now) const { return (backlogged_ | paused_) == 0 && out_->busy_until() <= now; }

  // Pauses the classes in `mask`, or resumes them.
  void SetPaused(uint8_t mask, bool paused, Time now);
  unsigned paused() const { return paused_; }
  Time paused_since(size_t cls) const { return paused_since_[cls]; }
  // How long a class has been paused until `now`.
  Duration PausedFor(size_t cls, Time now) const {
    return paused_for_[cls] + ((paused_ >> cls & 1) != 0 ? now - paused_since_[cls] : Duration{0});
  }
  unsigned backlogged() const { return backlogged_; }  // Classes with packets; bit mask.

  // Queue length in the buffer's unit, of one class and of all classes but 0. The packet in
  // transmission counts whole.
  int64_t Length(size_t cls, Time now) const {
    return QueueOf(cls).size + (in_service_.cls == cls ? Sending(now) : 0);
  }
  int64_t Length(Time now) const { return size_ + Sending(now); }
  int64_t SizeOf(const Packet& packet) const { return out_->SizeOf(packet); }

  // Packets that wait and are not yet with the transmitter, of all classes and of one.
  int64_t waiting() const { return waiting_; }
  size_t waiting(size_t cls) const { return QueueOf(cls).packets.size(); }
  int64_t QueuedPackets(Time now) { return waiting_ + out_->QueuedPackets(now); }
  // The queue of one class in bytes and packets, and the bytes that wait and are not yet with the
  // transmitter. Called between windows.
  QueueLength QueueAt(size_t cls, Time now);
  int64_t WaitingBytes(size_t cls) const;
  // Classes in use, other than 0; bit mask.
  unsigned classes() const { return settings_.classes & ~1u; }
  // The `i`-th waiting packet of a class, and the input port that it came from.
  const Packet& WaitingAt(size_t cls, size_t i) const { return QueueOf(cls).packets[i]; }
  PortIndex WaitsFrom(size_t cls, size_t i) const { return InputOf(QueueOf(cls).packets[i]); }

  // How long a packet enqueued now would wait if everything queued went first. Unsent() gives the
  // same backlog as bytes on the wire.
  Duration QueueingDelay(Time now) const;
  Bytes Unsent(Time now) const { return out_->SentIn(QueueingDelay(now)); }
  // The bytes on the wire that go before a packet of class `cls` enqueued now, if lower classes go
  // first: those with the transmitter, and those waiting in classes up to `cls`.
  Bytes UnsentUpTo(size_t cls, Time now) const {
    Bytes bytes = out_->Unsent(now);
    for (size_t c = settings_.queues_control ? 0 : 1; c <= cls; ++c) {
      if (c != 0 && (settings_.classes >> c & 1) == 0) continue;
      const int64_t packets = static_cast<int64_t>(waiting(c));
      bytes += Bytes{WaitingBytes(c) + packets * out_->wire_overhead()};
    }
    return bytes;
  }

  // The bytes of class 0 that have not left by `now`, waiting or with the transmitter. The buffer
  // counts bytes.
  int64_t ControlBytes(Time now) {
    return out_->Backlog(now) - Sending(now) + (settings_.queues_control ? QueueOf(0).size : 0);
  }

  // Takes the packet of class `cls` that was enqueued last out of its queue, which is not empty.
  struct Taken {
    Packet packet;  // As it came to the port, without this hop.
    Telemetry telemetry;
    PortIndex in = 0;
  };
  Taken TakeNewest(size_t cls, uint16_t path_part);

  // Empties all queues because the link is down; classes stay paused. Calls lost(packet, input) for
  // every packet.
  template <class Lost>
  void Clear(const Lost& lost);
  // The same for one class.
  template <class Lost>
  void ClearClass(size_t cls, const Lost& lost);

  FifoPort& out() { return *out_; }
  const FifoPort& out() const { return *out_; }

  // Prefetches what Pass() touches, besides out().
  void Prefetch() const { PrefetchLines<1>(this); }
  size_t memory_bytes() const;

 private:
  struct ClassQueue {
    Ring<Packet, 16> packets;
    int64_t size = 0;           // In the buffer's unit.
    int64_t deficit = 0;        // kDeficit: bytes it may send in this turn.
    Ring<Telemetry> telemetry;  // The packets' telemetry, if ports record it.
  };

  // While a packet waits, its arrival at the far end is not known, so that field stores the input
  // port that it came from.
  static void SetInput(Packet& queued, PortIndex in) { queued.arrival = Time{in}; }
  static PortIndex InputOf(const Packet& queued) {
    return static_cast<PortIndex>(queued.arrival.ps);
  }

  bool Wants() const { return (backlogged_ & ~paused_) != 0; }
  // A packet's share of the port's queue length. Class 0 does not count.
  int64_t SizeIn(size_t cls, const Packet& packet) const { return cls == 0 ? 0 : SizeOf(packet); }
  bool MarksAt(bool dequeue, size_t cls, int64_t length) {
    return settings_.marking.at_dequeue == dequeue && cls != 0 &&
           settings_.marking.Marks(length, rng_);
  }
  // The size of the packet in transmission, in the buffer's unit; 0 if it is of class 0.
  int64_t Sending(Time now) const {
    return in_service_.end > now && in_service_.cls != 0 ? out_->SizeOf(in_service_.bytes) : 0;
  }
  ClassQueue& QueueOf(size_t cls) { return queues_[index_of_[cls]]; }
  const ClassQueue& QueueOf(size_t cls) const { return queues_[index_of_[cls]]; }
  size_t Pick();
  size_t PickByDeficit(unsigned eligible);
  uint16_t PlainUpTo() const;
  void PassData(Packet& slot, uint16_t bytes);
  size_t NextInTurn(unsigned eligible) const;
  void SendTelemetry(ClassQueue& queue, const Packet& sent, Time start);

  // First cache line: what a packet touches if it finds the port free.
  FifoPort* out_;
  Time wants_since_;  // When the port last began to want to send, or took a packet from a queue.
  InService in_service_;
  unsigned backlogged_ = 0;  // Classes with packets; bit mask.
  unsigned paused_ = 0;      // Classes that must not be sent; bit mask.
  uint16_t plain_up_to_;     // Pass() marks no packet of up to so many bytes, and takes no turn.
  uint16_t turn_ = 0;        // The class other than 0 that was served last, if there are several.
  int64_t size_ = 0;         // The sum over all queues.
  int64_t waiting_wire_bytes_ = 0;

  // Second cache line.
  int64_t waiting_ = 0;
  std::array<uint8_t, kClasses> index_of_ = {};  // Into queues_.
  std::vector<ClassQueue> queues_;

  const QueueSettings settings_;
  Rng rng_;
  const uint32_t id_;
  std::array<Time, kClasses> paused_since_ = {};
  std::array<Duration, kClasses> paused_for_ = {};  // Time in pauses that have ended.
};

[[gnu::always_inline]] inline Packet& QueuedPort::Enqueue(const Packet& packet,
                                                          const Telemetry* telemetry,
                                                          uint16_t path_part, PortIndex in,
                                                          Time now) {
  const size_t cls = packet.priority;
  HEDDLE_CHECK(cls == 0 || (settings_.classes >> cls & 1) != 0,
               "a packet of class {}, which is not in use", cls);
  if (!Wants()) wants_since_ = now;
  ClassQueue& queue = QueueOf(cls);
  const int64_t size = SizeIn(cls, packet);
  queue.packets.push_back(packet);
  if (settings_.telemetry) queue.telemetry.push_back(telemetry ? *telemetry : Telemetry());
  queue.size += SizeOf(packet);
  size_ += size;
  ++waiting_;
  waiting_wire_bytes_ += out_->WireBytesOf(packet);
  backlogged_ |= 1u << cls;
  Packet& queued = queue.packets.back();
  SetInput(queued, in);
  queued.hops = static_cast<uint8_t>(packet.hops + 1);
  queued.taken = static_cast<uint16_t>(packet.taken + path_part);
  if (MarksAt(false, cls, Length(cls, now))) out_->Mark(queued);
  return queued;
}

inline Packet& QueuedPort::Serve(const Window& window) {
  const Time start = NextService();
  const size_t cls = Pick();
  ClassQueue& queue = QueueOf(cls);
  Packet& slot = out_->Slot(start);
  // The packet is read before it is copied, see FifoPort::Send().
  const Packet& packet = queue.packets.front();
  const int64_t size = SizeIn(cls, packet);
  const uint16_t bytes = packet.bytes;
  const int64_t payload = FifoPort::PayloadOf(packet);
  in_service_ = {.bytes = bytes, .in = InputOf(packet), .cls = static_cast<uint8_t>(cls)};
  queue.size -= SizeOf(packet);
  waiting_wire_bytes_ -= out_->WireBytesOf(packet);
  slot = packet;
  queue.packets.pop_front();
  size_ -= size;
  --waiting_;
  if (queue.packets.empty()) {
    queue.packets.clear();
    backlogged_ &= ~(1u << cls);
  }
  if (MarksAt(true, cls, settings_.marking.LengthAtDequeue(queue.size, size))) out_->Mark(slot);
  // The packet counts as handed over when the port last had a choice. So the transmissions of a
  // busy period follow each other without a gap.
  out_->Transmit(slot, bytes, payload, wants_since_, window);
  if (settings_.telemetry) SendTelemetry(queue, slot, start);
  in_service_.end = out_->busy_until();
  wants_since_ = start;
  return slot;
}

[[gnu::always_inline]] inline Packet& QueuedPort::Pass(const Packet& packet, uint16_t charged,
                                                       uint16_t path_part, PortIndex in, Time now,
                                                       const Window& window) {
  const uint8_t cls = packet.priority;
  const uint16_t bytes = packet.bytes;
  const int64_t payload = FifoPort::PayloadOf(packet);
  const uint8_t hops = static_cast<uint8_t>(packet.hops + 1);
  const uint16_t taken = static_cast<uint16_t>(packet.taken + path_part);
  Packet& slot = out_->Slot(now);
  slot = packet;
  slot.hops = hops;
  slot.taken = taken;
  if (charged > plain_up_to_) [[unlikely]]
    PassData(slot, bytes);
  out_->Transmit(slot, bytes, payload, now, window);
  in_service_ = {.end = out_->busy_until(), .bytes = charged, .in = in, .cls = cls};
  return slot;
}

inline size_t QueuedPort::Pick() {
  const unsigned eligible = backlogged_ & ~paused_;
  if ((eligible & 1) != 0) return 0;
  switch (settings_.scheduler) {
    case Scheduler::kStrict:
      return static_cast<size_t>(std::countr_zero(eligible));
    case Scheduler::kRoundRobin:
      return turn_ = static_cast<uint16_t>(NextInTurn(eligible));
    case Scheduler::kDeficit:
      return PickByDeficit(eligible);
  }
  return 0;
}

// The eligible class that follows the one served last.
inline size_t QueuedPort::NextInTurn(unsigned eligible) const {
  const unsigned later = eligible & ~((2u << turn_) - 1);
  return static_cast<size_t>(std::countr_zero(later != 0 ? later : eligible));
}

template <class Lost>
void QueuedPort::Clear(const Lost& lost) {
  for (ClassQueue& queue : queues_) {
    for (; !queue.packets.empty(); queue.packets.pop_front()) {
      lost(queue.packets.front(), InputOf(queue.packets.front()));
    }
    queue.telemetry.clear();
    queue.size = queue.deficit = 0;
  }
  backlogged_ = 0;
  size_ = waiting_ = waiting_wire_bytes_ = 0;
  in_service_ = {};
}

template <class Lost>
void QueuedPort::ClearClass(size_t cls, const Lost& lost) {
  ClassQueue& queue = QueueOf(cls);
  for (; !queue.packets.empty(); queue.packets.pop_front()) {
    lost(queue.packets.front(), InputOf(queue.packets.front()));
    --waiting_;
    waiting_wire_bytes_ -= out_->WireBytesOf(queue.packets.front());
  }
  queue.telemetry.clear();
  if (cls != 0) size_ -= queue.size;
  queue.size = queue.deficit = 0;
  backlogged_ &= ~(1u << cls);
}

}  // namespace heddle
