// SPDX-License-Identifier: Apache-2.0
// A host's resequencer, to which packets come as a test says.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/printers.h"
#include "tests/support/settings_from.h"
#include "transport/resequencing/resequencer.h"
#include "transport/resequencing/resequencing.h"

namespace heddle::resequencer_kit {

inline constexpr uint16_t kBytes = 1'500;

struct Arrival {
  Time at;
  uint32_t segment = 0;
  uint32_t cell = 0;  // Presto's cell.
  uint32_t slot = 0;
  uint32_t number = 0;  // The number of the arrival.
};

// A packet that has gone up.
struct Up {
  int64_t ns;
  uint32_t segment;
  uint32_t slot = 0;
  uint32_t number = 0;

  friend bool operator==(const Up& a, const Up& b) {
    return std::tie(a.ns, a.segment, a.slot) == std::tie(b.ns, b.segment, b.slot);
  }
};
inline void PrintTo(const Up& up, std::ostream* out) {
  *out << up.segment << " of " << up.slot << " at " << up.ns << " ns";
}

inline Packet PacketOf(const Arrival& arrival) {
  Packet packet;
  packet.arrival = arrival.at;
  packet.seq = arrival.segment;
  packet.bytes = kBytes;
  packet.data.payload = 1'460;
  packet.data.tx_id = arrival.number;
  packet.SetScheme(arrival.cell);
  return packet;
}

// A host's resequencer with its timers.
class Receiver final : public Resequencer::Sink {
 public:
  // `goes_back`: its transport refuses what is out of order.
  explicit Receiver(const std::string& yaml, bool goes_back = false) : goes_back_(goes_back) {
    resequencer_ = KindFrom(yaml, Resequencings()).settings->MakeFor(*this);
    for (uint32_t slot = 0; slot < kSlots; ++slot) resequencer_->Open(slot);
  }

  // Timers of one instant come after the packets of that instant.
  void Arrive(const Arrival& arrival) {
    RunUntil(arrival.at - 1_ps);
    now_ = arrival.at;
    resequencer_->OnPacket(arrival.slot, PacketOf(arrival));
  }
  void Arrive(int64_t us, uint32_t segment, uint32_t cell = 0, uint32_t slot = 0) {
    Arrive({Time{} + us * 1_us, segment, cell, slot});
  }

  void RunUntil(Time end) {
    for (;;) {
      Time next = kNever;
      uint32_t due = 0;
      for (uint32_t slot = 0; slot < kSlots; ++slot) {
        if (resequencer_->Deadline(slot) >= next) continue;
        next = resequencer_->Deadline(slot);
        due = slot;
      }
      if (next > end || next == kNever) break;
      now_ = std::max(now_, next);
      resequencer_->OnTimer(due, now_);
    }
    now_ = std::max(now_, end);
  }
  void Finish() { RunUntil(now_ + 1_s); }

  bool HandUp(uint32_t slot, const Packet& packet) override {
    up_.push_back({(now_ - Time{}).ps / 1'000, packet.seq, slot, packet.data.tx_id});
    if (packet.seq == next_[slot]) ++next_[slot];
    return !goes_back_ || packet.seq < next_[slot];
  }

  // Returns the packets that have gone up since the last call.
  std::vector<Up> Take() { return std::exchange(up_, {}); }
  std::vector<uint32_t> Segments() {
    std::vector<uint32_t> segments;
    for (const Up& up : Take()) segments.push_back(up.segment);
    return segments;
  }

  Resequencer& operator*() { return *resequencer_; }
  Time now() const { return now_; }
  ResequencingStats Stats() const { return resequencer_->Stats(now_); }

 private:
  static constexpr uint32_t kSlots = 4;

  const bool goes_back_;
  uint32_t next_[kSlots] = {};
  std::unique_ptr<Resequencer> resequencer_;
  Time now_;
  std::vector<Up> up_;
};

inline std::vector<std::tuple<int64_t, uint32_t, uint32_t>> Numbers(const std::vector<Up>& up) {
  std::vector<std::tuple<int64_t, uint32_t, uint32_t>> numbers;
  for (const Up& u : up) numbers.emplace_back(u.ns, u.slot, u.number);
  return numbers;
}

}  // namespace heddle::resequencer_kit
