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
// its ring to what it needs.
constexpr uint32_t kFirstCapacity = 16;

size_t RingBytes(uint32_t capacity) {
  return offsetof(PacketRing, slots) + capacity * sizeof(Packet);
}

}  // namespace

PacketRing* PacketRing::New(uint32_t capacity) {
  void* memory = std::aligned_alloc(alignof(PacketRing), RingBytes(capacity));
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

void WireTail::MakeRoom() {
  WireHead& head = consumer_->wire_head(in_port_);
  PacketRing* old = Ring();
  head_seen_ = head.head_.load(std::memory_order_acquire);
  if (old != nullptr && pushed() - head_seen_ <= mask_) return;
  PacketRing* grown = PacketRing::New(old == nullptr ? kFirstCapacity : 2 * (mask_ + 1));
  for (uint64_t i = head_seen_; i != pushed(); ++i) {
    grown->slots[i & grown->mask] = old->slots[i & mask_];
  }
  grown->outgrown = old;
  mask_ = grown->mask;
  ring_.store(grown, std::memory_order_release);
  if (outbox_ != nullptr) {
    outbox_->Writing().grown.push_back(&head);
  } else {
    head.AdoptGrownRing();
  }
}

void WireTail::Announce(Time arrival) {
  if (outbox_ == nullptr) {
    consumer_->Announce(in_port_, arrival);
    return;
  }
  Outbox::Side& mail = outbox_->Writing();
  mail.announcements.push_back({consumer_, in_port_, arrival});
  mail.due = std::min(mail.due, arrival);
}

size_t WireTail::memory_bytes() const { return Ring() == nullptr ? 0 : RingBytes(mask_ + 1); }

bool WireHead::LookAgain() {
  // The tail first: who sees a tail also sees the ring it was published with, or a later one.
  tail_seen_ = tail_end_->tail_.load(std::memory_order_acquire);
  if (popped() == tail_seen_) return false;
  ring_ = tail_end_->ring_.load(std::memory_order_acquire);
  mask_ = ring_->mask;
  return true;
}

void WireHead::AdoptGrownRing() {
  ring_ = tail_end_->ring_.load(std::memory_order_acquire);
  mask_ = ring_->mask;
  PacketRing::Delete(ring_->outgrown);
  ring_->outgrown = nullptr;
}

}  // namespace heddle
