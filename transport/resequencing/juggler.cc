// SPDX-License-Identifier: Apache-2.0

#include "transport/resequencing/juggler.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr int64_t kLargestMerge = 65'536;  // Bytes that GRO puts into one packet.

}  // namespace

void JugglerSettings::Declare(Fields& fields) {
  fields.Add("inseq_timeout", inseq_timeout, {.at_least = Duration{0}, .at_most = 1_s},
             "How long in-order packets wait for more packets, up to 64 KB. The paper has the time "
             "of 64 KB at the NIC's rate, 52us at 10 Gbps. 0ps: they go up at once.");
  fields.Add("ofo_timeout", ofo_timeout, {.above = Duration{0}, .at_most = 100_s},
             "How long packets wait behind a hole. Set it to more than the difference of path "
             "delays and less than the retransmission timeout.");
  fields.Add("flows", flows, Between<int64_t>(1, 1'000'000), "Flows in the table of a host.");
  fields.Require(inseq_timeout <= ofo_timeout, "ofo_timeout", "is less than inseq_timeout");
}

void Juggler::Open(uint32_t slot) {
  Resequencer::Open(slot);
  if (slot >= entries_.size()) entries_.resize(slot + 1);
  entries_[slot] = Entry{};
}

void Juggler::Close(uint32_t slot, Time now) {
  HandUpAll(slot, now);
  if (entries_[slot].phase != Phase::kAbsent) Leave(slot);
}

Time Juggler::Deadline(uint32_t slot) const {
  if (!buffer().Holds(slot)) return kNever;
  return WaitingSince(slot) + (FrontIsNext(slot) ? settings_.inseq_timeout : settings_.ofo_timeout);
}

void Juggler::Take(uint32_t slot, const Packet& packet) {
  const Entry& entry = entries_[slot];
  if (entry.phase == Phase::kAbsent) Enter(slot, packet);
  if (entry.phase == Phase::kLossRecovery) {
    Recover(slot, packet);
  } else {
    Merge(slot, packet);
  }
  Settle(slot);
}

void Juggler::Merge(uint32_t slot, const Packet& packet) {
  if (entries_[slot].phase == Phase::kBuildUp) {
    expected(slot) = std::min(expected(slot), packet.seq);
  }
  if (packet.seq < expected(slot)) return HandUpLate(slot, packet);
  const Time now = packet.arrival;
  if (packet.seq == expected(slot) && settings_.inseq_timeout == Duration{0}) {
    HandUp(slot, packet, packet.arrival);
    return HandUpRun(slot, now);
  }
  if (!Hold(slot, packet) || !FrontIsNext(slot)) return;
  if (Deadline(slot) <= now || RunBytes(slot) >= kLargestMerge) HandUpRun(slot, now);
}

// Returns the payload held in order; a segment counts once.
int64_t Juggler::RunBytes(uint32_t slot) {
  Entry& entry = entries_[slot];
  if (entry.run_first != expected(slot)) {
    entry.run_first = entry.run_end = expected(slot);
    entry.run_bytes = 0;
  }
  while (const Packet* next = buffer().Find(slot, entry.run_end)) {
    entry.run_bytes += next->data.payload;
    ++entry.run_end;
  }
  return entry.run_bytes;
}

void Juggler::Recover(uint32_t slot, const Packet& packet) {
  Entry& entry = entries_[slot];
  if (packet.seq < expected(slot)) {
    HandUpLate(slot, packet);
  } else {
    HandUp(slot, packet, packet.arrival);
  }
  if (packet.seq == entry.lost) entry.phase = Phase::kActiveMerge;
}

void Juggler::Expire(uint32_t slot, Time now) {
  if (FrontIsNext(slot)) {
    HandUpRun(slot, now);
  } else {
    CountTimeout();
    entries_[slot].lost = expected(slot);
    HandUpAll(slot, now);
    entries_[slot].phase = Phase::kLossRecovery;
  }
  Settle(slot);
}

// --- The table ---

void Juggler::Note(uint32_t slot, const Packet& /*packet*/) {
  Entry& entry = entries_[slot];
  if (entry.phase == Phase::kBuildUp) entry.phase = Phase::kActiveMerge;
}

void Juggler::Enter(uint32_t slot, const Packet& packet) {
  if (present_ == settings_.flows) Evict(packet.arrival);
  ++present_;
  entries_[slot] = Entry{};
  entries_[slot].phase = Phase::kBuildUp;
  active_.PushBack(slot, Links());
  expected(slot) = packet.seq;
}

void Juggler::Leave(uint32_t slot) {
  ListOf(entries_[slot].phase).Remove(slot, Links());
  entries_[slot].phase = Phase::kAbsent;
  --present_;
}

void Juggler::Evict(Time now) {
  const uint32_t slot = inactive_.empty() ? active_.first() : inactive_.first();
  CountEviction();
  HandUpAll(slot, now);
  Leave(slot);
}

// A packet has been dealt with, or a timeout.
void Juggler::Settle(uint32_t slot) {
  Entry& entry = entries_[slot];
  if (entry.phase == Phase::kLossRecovery) return;
  const bool holds = buffer().Holds(slot);
  const bool was_inactive = entry.phase == Phase::kPostMerge;
  if (holds && !was_inactive) return;
  ListOf(entry.phase).Remove(slot, Links());
  entry.phase = holds ? Phase::kActiveMerge : Phase::kPostMerge;
  ListOf(entry.phase).PushBack(slot, Links());
}

size_t Juggler::memory_bytes() const {
  return Resequencer::memory_bytes() + entries_.capacity() * sizeof(Entry);
}

}  // namespace heddle
