// SPDX-License-Identifier: Apache-2.0

#include "fabric/queued_port.h"

#include "core/check.h"

namespace heddle {

QueuedPort::QueuedPort(FifoPort& out, const QueueSettings& settings, Rng rng)
    : out_(&out), settings_(settings), rng_(rng) {
  for (size_t cls = 0; cls < kClasses; ++cls) {
    if ((settings.classes >> cls & 1) == 0) continue;
    index_of_[cls] = static_cast<uint8_t>(queues_.size());
    queues_.emplace_back();
  }
  HEDDLE_CHECK(!queues_.empty(), "a queued port without a class");
}

Packet& QueuedPort::Enqueue(const Packet& packet, uint16_t path_part, PortIndex in, Time now) {
  const size_t cls = packet.priority;
  HEDDLE_CHECK((settings_.classes >> cls & 1) != 0, "a packet of class {}, which is not in use",
               cls);
  if (!Wants()) wants_since_ = now;
  ClassQueue& queue = QueueOf(cls);
  const int64_t size = SizeOf(packet);
  queue.packets.push_back(packet);
  queue.from.push_back(in);
  queue.size += size;
  size_ += size;
  ++waiting_;
  waiting_wire_bytes_ += out_->WireBytesOf(packet);
  backlogged_ |= 1u << cls;
  Packet& queued = queue.packets.back();
  queued.hops = static_cast<uint8_t>(packet.hops + 1);
  queued.taken = static_cast<uint16_t>(packet.taken + path_part);
  if (!settings_.marking.at_dequeue && settings_.marking.Marks(Length(cls, now), rng_)) {
    out_->Mark(queued);
  }
  return queued;
}

Packet& QueuedPort::Serve(const Window& window) {
  const Time start = NextService();
  const size_t cls = Pick();
  ClassQueue& queue = QueueOf(cls);
  Packet& slot = out_->Slot();
  slot = queue.packets.front();
  const int64_t size = SizeOf(slot);
  in_service_ = {.size = size,
                 .bytes = slot.bytes,
                 .in = queue.from.front(),
                 .cls = static_cast<uint8_t>(cls)};
  queue.packets.pop_front();
  queue.from.pop_front();
  queue.size -= size;
  size_ -= size;
  --waiting_;
  waiting_wire_bytes_ -= out_->WireBytesOf(slot);
  if (queue.packets.empty()) backlogged_ &= ~(1u << cls);
  if (settings_.marking.at_dequeue && settings_.marking.Marks(queue.size, rng_)) out_->Mark(slot);
  // As if it had been handed over when the port last had a choice: an unbroken busy period is one.
  out_->SendSlot(wants_since_, window);
  in_service_.end = out_->busy_until();
  wants_since_ = start;
  return slot;
}

void QueuedPort::SetPaused(uint8_t mask, bool paused, Time now) {
  const bool wanted = Wants();
  paused_ = paused ? paused_ | mask : paused_ & ~static_cast<unsigned>(mask);
  if (!wanted && Wants()) wants_since_ = now;
}

size_t QueuedPort::Pick() {
  const unsigned eligible = backlogged_ & ~paused_;
  if ((eligible & 1) != 0) return 0;
  switch (settings_.scheduler) {
    case Scheduler::kStrict:
      return static_cast<size_t>(std::countr_zero(eligible));
    case Scheduler::kRoundRobin:
      return turn_ = NextInTurn(eligible);
    case Scheduler::kDeficit:
      return PickByDeficit(eligible);
  }
  return 0;
}

// The eligible class that follows the one served last.
size_t QueuedPort::NextInTurn(unsigned eligible) const {
  const unsigned later = eligible & ~((2u << turn_) - 1);
  return static_cast<size_t>(std::countr_zero(later != 0 ? later : eligible));
}

// A class keeps its turn while its deficit lasts, and loses what is left when it runs empty.
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
    turn_ = NextInTurn(eligible);
    QueueOf(turn_).deficit += settings_.quantum[turn_];
  }
}

Duration QueuedPort::QueueingDelay(Time now) const {
  const bool idle = out_->busy_until() <= wants_since_;
  return out_->QueueingDelay(now) + out_->TransmissionTimeOf(waiting_wire_bytes_, idle);
}

size_t QueuedPort::memory_bytes() const {
  size_t bytes = sizeof(*this);
  for (const ClassQueue& queue : queues_) {
    bytes += sizeof(queue) + queue.packets.capacity() * sizeof(Packet) +
             queue.from.capacity() * sizeof(PortIndex);
  }
  return bytes;
}

}  // namespace heddle
