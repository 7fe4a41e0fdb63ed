// SPDX-License-Identifier: Apache-2.0

#include "core/wire.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/mail.h"
#include "core/node.h"

namespace heddle {
namespace {

// Small rings keep an idle fabric small and the first pages of a short run few; a busy wire doubles
// its ring until all its packets fit.
constexpr uint32_t kFirstCapacity = 16;

size_t RingBytes(uint32_t capacity, bool telemetry) {
  const size_t slot = sizeof(Packet) + (telemetry ? sizeof(Telemetry) : 0);
  return offsetof(PacketRing, slots) + capacity * slot;
}

}  // namespace

PacketRing* PacketRing::New(uint32_t capacity, bool telemetry) {
  void* memory = std::aligned_alloc(alignof(PacketRing), RingBytes(capacity, telemetry));
  if (memory == nullptr) throw std::bad_alloc();
  PacketRing* ring = static_cast<PacketRing*>(memory);
  ring->capacity = capacity;
  ring->outgrown = nullptr;
  return ring;
}

void PacketRing::Delete(PacketRing* ring) {
  while (ring != nullptr) {
    PacketRing* outgrown = ring->outgrown;
    std::free(ring);
    ring = outgrown;
  }
}

void WireTail::MakeRoom(uint64_t first) {
  PacketRing* old = PacketRing::Of(slots_);
  const uint64_t kept_from = std::min(first, taken());
  KeepFrom(kept_from);
  if (HasRoom()) return;
  PacketRing* grown =
      PacketRing::New(old == nullptr ? kFirstCapacity : 2 * old->capacity, telemetry_);
  for (uint64_t i = kept_from; i != pushed(); ++i) {
    grown->slots[i & (grown->capacity - 1)] = At(i);
    if (telemetry_) grown->TelemetryOf(i) = old->TelemetryOf(i);
  }
  grown->outgrown = old;
  slots_ = reinterpret_cast<std::byte*>(grown->slots);
  byte_mask_ = grown->byte_mask();
  KeepFrom(kept_from);
  Next().arrival = kNever;
  if (outbox_ != nullptr) {
    outbox_->Writing().grown.push_back({head_, grown});
  } else {
    head_->Adopt(grown);
  }
}

uint64_t WireTail::taken() const {
  return head_->head_.load(std::memory_order_acquire) / PacketRing::kBytes;
}

uint64_t WireTail::waiting() const { return pushed() - head_->popped(); }

void WireTail::TellOfChange() { consumer_->OnWireChange(in_port_, pushed()); }

// If the head has taken all packets before this one, the ring has room again. That spares the wires
// that are often empty MakeRoom(). The last of those packets may not have departed.
void WireTail::Announce(Time arrival) {
  if (consumer_->Announce(in_port_, arrival)) KeepFrom(std::max<uint64_t>(pushed(), 2) - 2);
}

void WireTail::Report(Time arrival) {
  Outbox::Page& mail = outbox_->Writing();
  mail.news.push_back({this, consumer_, in_port_, arrival});
  Time& due = mail.due[consumer_->side()];
  due = std::min(due, arrival);
  reported_ = true;
}

void Outbox::EndWindow() {
  for (News& news : Writing().news) news.pushed = news.wire->EndReport();
}

size_t WireTail::memory_bytes() const {
  return slots_ == nullptr ? 0 : RingBytes(PacketRing::Of(slots_)->capacity, telemetry_);
}

void WireHead::Learn(uint64_t pushed) {
  const uint64_t end = pushed * PacketRing::kBytes;
  for (uint64_t byte = known_; byte != end; byte += PacketRing::kBytes) {
    __builtin_prefetch(&SlotAt(byte), /*rw=*/0, /*locality=*/2);
  }
  known_ = end;
}

Time WireHead::Refresh(uint64_t pushed) {
  if (known_ != kByArrival) known_ = pushed * PacketRing::kBytes;
  ahead_ = kNever;
  return NextArrival();
}

void WireHead::Adopt(PacketRing* ring) {
  slots_ = reinterpret_cast<std::byte*>(ring->slots);
  byte_mask_ = ring->byte_mask();
  PacketRing::Delete(ring->outgrown);
  ring->outgrown = nullptr;
}

}  // namespace heddle
