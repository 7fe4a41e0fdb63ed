// SPDX-License-Identifier: Apache-2.0
// IRN's loss recovery at the sender (Mittal et al., SIGCOMM 2018, section 3.1). The RoCE sender
// tells it of ACKs and asks it which packets to send again. Packets are numbered; `una` is the
// first not acknowledged in order, `end` is one past the highest sent.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/ring.h"
#include "transport/segment_set.h"

namespace heddle {

class SelectiveRepeat {
 public:
  void Reset() {
    arrived_.Reset(0);
    sent_alone_.Reset(0);
    alone_.clear();
    highest_ = 0;
    recovering_ = false;
  }

  // Returns false if `packet`, at or above `una`, was known to have arrived out of order.
  bool OnArrived(uint32_t packet) {
    const uint32_t before = arrived_.size();
    arrived_.Insert(packet, packet + 1, [](uint32_t) {});
    highest_ = std::max(highest_, packet + 1);
    if (recovering_) limit_ = std::max(limit_, highest_);
    return arrived_.size() > before;
  }

  // Recovery ends when all that had been sent at its beginning has arrived.
  void AdvanceTo(uint32_t una) {
    arrived_.AdvanceTo(una);
    sent_alone_.AdvanceTo(una);
    if (una >= recovery_end_) recovering_ = false;
  }

  // The first packet below the highest that has arrived which is missing and was not sent again
  // alone.
  std::optional<uint32_t> FirstHole(uint32_t una) const {
    const uint32_t packet = FirstOpen(una);
    return packet < highest_ ? std::optional(packet) : std::nullopt;
  }

  // Such packets count as lost.
  void BeginRecovery(uint32_t una, uint32_t end) { Begin(una, end, highest_); }

  // Every packet not known to have arrived counts as lost, even if it was sent again already.
  void OnTimeout(uint32_t una, uint32_t end) {
    OnGoBack(una);
    Begin(una, end, end);
  }

  // The sender begins anew at `una`.
  void OnGoBack(uint32_t una) {
    sent_alone_.Reset(una);
    alone_.clear();
  }

  bool HasArrived(uint32_t packet) const { return arrived_.Contains(packet); }
  bool recovering() const { return recovering_; }
  uint32_t arrived() const { return arrived_.size(); }

  // `packet` is sent again alone, without a recovery: a switch has trimmed it, the receiver has
  // asked for it, or it has timed out. Recoveries leave it out.
  void SendAlone(uint32_t packet, uint32_t una) {
    if (packet < una || arrived_.Contains(packet)) return;
    alone_.push_back(packet);
    sent_alone_.Insert(packet, packet + 1, [](uint32_t) {});
  }
  bool WasSentAlone(uint32_t packet) const { return sent_alone_.Contains(packet); }

  bool HasLost(uint32_t una) {
    while (!alone_.empty() && HasArrived(alone_.front(), una)) alone_.pop_front();
    return !alone_.empty() || (recovering_ && FirstLost(una) < limit_);
  }

  // Takes the next lost packet; there must be one. It counts as sent again: a recovery repairs each
  // packet once, and a packet lost twice is left to the timeout.
  uint32_t TakeLost(uint32_t una) {
    if (!alone_.empty()) {
      const uint32_t packet = alone_.front();
      alone_.pop_front();
      return packet;
    }
    next_ = FirstLost(una) + 1;
    return next_ - 1;
  }

  size_t memory_bytes() const {
    return arrived_.memory_bytes() + sent_alone_.memory_bytes() +
           alone_.capacity() * sizeof(uint32_t);
  }

 private:
  bool HasArrived(uint32_t packet, uint32_t una) const {
    return packet < una || arrived_.Contains(packet);
  }
  uint32_t FirstLost(uint32_t una) const { return FirstOpen(std::max(next_, una)); }
  // The first packet from `from` on that has neither arrived nor been sent again alone.
  uint32_t FirstOpen(uint32_t from) const {
    uint32_t packet = arrived_.FirstMissing(from);
    while (sent_alone_.Contains(packet)) {
      packet = arrived_.FirstMissing(sent_alone_.FirstMissing(packet));
    }
    return packet;
  }

  void Begin(uint32_t una, uint32_t end, uint32_t limit) {
    recovering_ = true;
    recovery_end_ = end;
    next_ = una;
    limit_ = limit;
  }

  SegmentSet arrived_;     // Packets beyond una.
  SegmentSet sent_alone_;  // Packets from una on that SendAlone() was called for.
  Ring<uint32_t> alone_;   // Those of them that are still to be sent.
  uint32_t highest_ = 0;   // One past the highest packet that has arrived.
  bool recovering_ = false;
  uint32_t recovery_end_ = 0;
  uint32_t next_ = 0;   // The first that this recovery has not looked at.
  uint32_t limit_ = 0;  // Packets from here on don't count as lost.
};

}  // namespace heddle
