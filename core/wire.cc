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
  ring->mask = capacity - 1;
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
  WireHead& head = consumer_->wire_head(in_port_);
  PacketRing* old = ring_;
  kept_from_ = std::min(first, taken());
  if (old != nullptr && HasRoom()) return;
  PacketRing* grown =
      PacketRing::New(old == nullptr ? kFirstCapacity : 2 * (mask_ + 1), telemetry_);
  for (uint64_t i = kept_from_; i != pushed(); ++i) {
    grown->slots[i & grown->mask] = old->slots[i & mask_];
    if (telemetry_) grown->TelemetryOf(i) = old->TelemetryOf(i);
  }
  grown->outgrown = old;
  mask_ = grown->mask;
  ring_ = grown;
  Next().arrival = kNever;
  if (outbox_ != nullptr) {
    outbox_->Writing().grown.push_back({&head, grown});
  } else {
    head.Adopt(grown);
  }
}

uint64_t WireTail::taken() const {
  return consumer_->wire_head(in_port_).head_.load(std::memory_order_acquire);
}

uint64_t WireTail::waiting() const { return tail_ - consumer_->wire_head(in_port_).popped(); }

void WireTail::TellOfChange() { consumer_->OnWireChange(in_port_, tail_); }

void WireTail::Announce(Time arrival) { consumer_->Announce(in_port_, arrival); }

void WireTail::Report(Time arrival) {
  Outbox::Side& mail = outbox_->Writing();
  mail.news.push_back({this, consumer_, in_port_, arrival});
  Time& due = mail.due[consumer_->side()];
  due = std::min(due, arrival);
  reported_ = true;
}

void Outbox::EndWindow() {
  for (News& news : Writing().news) news.pushed = news.wire->EndReport();
}

size_t WireTail::memory_bytes() const {
  return ring_ == nullptr ? 0 : RingBytes(mask_ + 1, telemetry_);
}

void WireHead::Learn(uint64_t pushed) {
  for (uint64_t i = known_; i != pushed; ++i) {
    __builtin_prefetch(&ring_->slots[i & mask_], /*rw=*/0, /*locality=*/2);
  }
  known_ = pushed;
}

Time WireHead::Refresh(uint64_t pushed) {
  if (known_ != kByArrival) known_ = pushed;
  ahead_ = kNever;
  return ring_ == nullptr ? kNever : NextArrival();
}

void WireHead::Adopt(PacketRing* ring) {
  ring_ = ring;
  mask_ = ring_->mask;
  PacketRing::Delete(ring_->outgrown);
  ring_->outgrown = nullptr;
}

}  // namespace heddle
