// SPDX-License-Identifier: Apache-2.0
// Receiver-driven congestion control (RCCC) as the sender of a flow sees it; the receiver's part is
// in uet_pacer.h. It follows uet-htsim (August 2025); the idea is that of EQDS (Olteanu et al.,
// NSDI 2022). Packets spend credit, in bytes, and pulls of the receiver bring more. Each data
// packet tells the receiver how much the sender would like. Both count quanta since the flow's
// start, modulo 2^32, so that the next packet of its kind makes up for a lost one.
//
// Before the receiver's first answer the sender speculates: it may send a greatest window.

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/packet.h"

namespace heddle {

// The quanta that a sender would like to have been granted by now. Data packets and requests to
// send carry them in place of Packet::data.waited, so a run with credit cannot measure queueing.
inline void SetPullTarget(Packet& packet, uint32_t target) {
  packet.data.waited[0] = static_cast<uint16_t>(target);
  packet.data.waited[1] = static_cast<uint16_t>(target >> 16);
}
inline uint32_t PullTarget(const Packet& packet) {
  return uint32_t{packet.data.waited[1]} << 16 | packet.data.waited[0];
}

class UetCredit {
 public:
  static constexpr int64_t kQuantum = 256;  // Bytes.

  // Begins a flow. `most` is the greatest credit in bytes. Without receivers that grant credit,
  // packets need none.
  void Start(bool is_needed, double most) {
    is_needed_ = speculates_ = is_needed;
    most_ = bytes_ = static_cast<int64_t>(most);
    pulled_ = 0;
  }

  // A packet may be sent on any credit, even if it exceeds that.
  bool Allows() const { return !is_needed_ || bytes_ > 0; }
  void Spend(int64_t size) { bytes_ -= size; }

  // The receiver has answered, so the credit of the beginning is void.
  void EndSpeculation() {
    if (!speculates_) return;
    speculates_ = false;
    bytes_ = std::min<int64_t>(bytes_, 0);
  }

  // A pull has arrived. One that another pull has overtaken brings nothing.
  void OnPull(uint32_t granted) {
    EndSpeculation();
    const int32_t more = static_cast<int32_t>(granted - pulled_);
    if (more <= 0) return;
    pulled_ = granted;
    bytes_ = std::min(bytes_ + more * kQuantum, most_);
  }

  // A sender tells Target() how many bytes it would send.
  struct Wish {
    int64_t wanted;    // As far as its window lets it,
    bool has_backlog;  // and whether some of it was never sent.
    int64_t packet;    // The size of a full packet.
    int64_t sharing;   // Flows that wait for this host's NIC; at least 1.
  };

  // Returns the quanta that the sender would like to have been granted, rounded up; fewer than it
  // was granted if it has more credit than it needs. While it speculates it wants a packet at
  // least, so that a short flow has credit when the answer comes.
  uint32_t Target(const Wish& wish) const {
    int64_t more = std::min(wish.wanted, most_) - bytes_;
    if (speculates_ && wish.has_backlog) more = std::max(more, wish.packet);
    more /= wish.sharing;
    if (more > 0) more += kQuantum - 1;
    return pulled_ + static_cast<uint32_t>(more / kQuantum);
  }

 private:
  int64_t bytes_ = 0;
  int64_t most_ = 0;
  uint32_t pulled_ = 0;  // Quanta, by the latest pull.
  bool is_needed_ = false;
  bool speculates_ = false;
};

}  // namespace heddle
