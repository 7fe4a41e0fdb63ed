// SPDX-License-Identifier: Apache-2.0

#include "fabric/queued_port.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace heddle {

QueuedPort::QueuedPort(FifoPort& out, const QueueSettings& settings, Rng rng, uint32_t id)
    : out_(&out), settings_(settings), rng_(rng), id_(id) {
  for (size_t cls = settings.queues_control ? 0 : 1; cls < kClasses; ++cls) {
    if (cls != 0 && (settings.classes >> cls & 1) == 0) continue;
    index_of_[cls] = static_cast<uint8_t>(queues_.size());
    queues_.emplace_back();
  }
  HEDDLE_CHECK(!queues_.empty(), "a queued port without a class");
  plain_up_to_ = PlainUpTo();
}

// Without a second class besides 0 there are no turns to take. A packet that finds the port free is
// not marked if it is no longer than the marking threshold.
uint16_t QueuedPort::PlainUpTo() const {
  constexpr int64_t kAny = std::numeric_limits<uint16_t>::max();
  const Marking& marking = settings_.marking;
  if (std::popcount(classes()) > 1) return 0;
  if (marking.at_dequeue && !marking.counts_departing) return kAny;
  if (out_->counts_packets()) return marking.above >= 1 ? kAny : 0;
  return static_cast<uint16_t>(std::min(marking.above, kAny));
}

void QueuedPort::SetPaused(uint8_t mask, bool paused, Time now) {
  const bool wanted = Wants();
  const unsigned changed = mask & (paused ? ~paused_ : paused_);
  for (unsigned left = changed; left != 0; left &= left - 1) {
    const size_t cls = static_cast<size_t>(std::countr_zero(left));
    if (paused) {
      paused_since_[cls] = now;
    } else {
      paused_for_[cls] += now - paused_since_[cls];
    }
  }
  paused_ = paused ? paused_ | mask : paused_ & ~static_cast<unsigned>(mask);
  if (!wanted && Wants()) wants_since_ = now;
}

// The queue of class 0 holds the packets with the transmitter that no other class sent.
QueueLength QueuedPort::QueueAt(size_t cls, Time now) {
  const bool serves = in_service_.end > now;
  if (cls == 0) {
    QueueLength queue = out_->QueueAt(now);
    if (serves && in_service_.cls != 0) {
      queue = {queue.bytes - in_service_.bytes, queue.packets - 1};
    }
    if (!settings_.queues_control) return queue;
    return {queue.bytes + WaitingBytes(0), queue.packets + static_cast<int64_t>(waiting(0))};
  }
  const QueueLength queue{WaitingBytes(cls), static_cast<int64_t>(waiting(cls))};
  if (!serves || in_service_.cls != cls) return queue;
  return {queue.bytes + in_service_.bytes, queue.packets + 1};
}

int64_t QueuedPort::WaitingBytes(size_t cls) const {
  const ClassQueue& queue = QueueOf(cls);
  if (!out_->counts_packets()) return queue.size;
  int64_t bytes = 0;
  for (size_t i = 0; i < queue.packets.size(); ++i) bytes += queue.packets[i].bytes;
  return bytes;
}

// The rest of Pass() for a packet that may be marked or that takes a turn.
void QueuedPort::PassData(Packet& slot, uint16_t bytes) {
  turn_ = slot.priority;
  QueueOf(turn_).deficit = 0;
  const Marking& marking = settings_.marking;
  const int64_t size = out_->SizeOf(bytes);
  const int64_t length = marking.at_dequeue ? marking.LengthAtDequeue(0, size) : size;
  if (marking.Marks(length, rng_)) out_->Mark(slot);
}

QueuedPort::Taken QueuedPort::TakeNewest(size_t cls, uint16_t path_part) {
  ClassQueue& queue = QueueOf(cls);
  Taken taken{.packet = queue.packets.back(), .telemetry = {}};
  queue.packets.pop_back();
  if (settings_.telemetry) {
    taken.telemetry = queue.telemetry.back();
    queue.telemetry.pop_back();
  }
  Packet& packet = taken.packet;
  taken.in = InputOf(packet);
  --packet.hops;
  packet.taken = static_cast<uint16_t>(packet.taken - path_part);
  queue.size -= SizeOf(packet);
  size_ -= SizeIn(cls, packet);
  --waiting_;
  waiting_wire_bytes_ -= out_->WireBytesOf(packet);
  if (queue.packets.empty()) backlogged_ &= ~(1u << cls);
  return taken;
}

// A class keeps its turn while its deficit lasts, and loses its remaining deficit when its queue
// runs empty.
size_t QueuedPort::PickByDeficit(unsigned eligible) {
  for (;;) {
    if ((eligible >> turn_ & 1) != 0) {
      ClassQueue& queue = QueueOf(turn_);
      const int64_t bytes = queue.packets.front().bytes;
      if (queue.deficit >= bytes) {
        queue.deficit = queue.packets.size() == 1 ? 0 : queue.deficit - bytes;
        return turn_;
      }
    }
    turn_ = static_cast<uint16_t>(NextInTurn(eligible));
    QueueOf(turn_).deficit += settings_.quantum[turn_];
  }
}

// Puts the telemetry of the packet `sent`, the last on the wire, beside it. For a data packet, adds
// the state of this port at the time its first bit leaves.
void QueuedPort::SendTelemetry(ClassQueue& queue, const Packet& sent, Time start) {
  WireTail& wire = out_->wire();
  Telemetry& beside = wire.Extra(wire.pushed() - 1);
  beside = queue.telemetry.front();
  queue.telemetry.pop_front();
  if (sent.kind != PacketKind::kData) return;
  const int64_t left = waiting_wire_bytes_ - waiting_ * out_->wire_overhead();
  beside.Add(id_, start, out_->CommittedBytes() - sent.bytes, left, out_->rate());
}

Duration QueuedPort::QueueingDelay(Time now) const {
  const bool idle = out_->busy_until() <= wants_since_;
  return out_->QueueingDelay(now) + out_->TransmissionTimeOf(waiting_wire_bytes_, idle);
}

size_t QueuedPort::memory_bytes() const {
  size_t bytes = sizeof(*this);
  for (const ClassQueue& queue : queues_) {
    bytes += sizeof(queue) + queue.packets.capacity() * sizeof(Packet) +
             queue.telemetry.capacity() * sizeof(Telemetry);
  }
  return bytes;
}

}  // namespace heddle
