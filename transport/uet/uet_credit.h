// SPDX-License-Identifier: Apache-2.0
// Receiver-driven congestion control (RCCC) as the sender of a flow sees it; the receiver's part is
// in uet_pacer.h. It follows uet-htsim (August 2025); the idea is that of EQDS (Olteanu et al.,
// NSDI 2022). Packets spend credit, in bytes, and pulls of the receiver bring more. Each data
// packet tells the receiver how much the sender would like. Both count quanta since the flow's
// start, modulo 2^32, so that the next packet of its kind makes up for a lost one.
//
// Before the receiver's first answer the sender speculates: it may send a greatest window.
//
// Credit may count packets instead, as in NDP (Handley et al., SIGCOMM 2017): a pull brings one
// packet, and the first window is the sender's whatever the receiver answers.

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
  // How a flow begins. Without receivers that grant credit, packets need none.
  struct Terms {
    bool is_needed = false;
    bool counts_packets = false;  // A packet costs one quantum, which is one packet.
    uint16_t quantum = 256;       // Bytes.
    int64_t first = 0;            // Credit at the start, in bytes,
    int64_t most = 0;             // and at most.
  };

  void Start(const Terms& terms) {
    is_needed_ = terms.is_needed;
    counts_packets_ = terms.counts_packets;
    speculates_ = terms.is_needed && !terms.counts_packets;
    quantum_ = terms.quantum;
    bytes_ = terms.first;
    most_ = terms.most;
    pulled_ = 0;
  }

  // A packet may be sent on any credit, even if it exceeds that.
  bool Allows() const { return !is_needed_ || bytes_ > 0; }
  void Spend(int64_t size) { bytes_ -= counts_packets_ ? quantum_ : size; }

  // Where credit counts packets: the sender takes one that the receiver did not grant.
  void TakePacket() { bytes_ += quantum_; }
  bool counts_packets() const { return counts_packets_; }
  uint32_t pulled() const { return pulled_; }

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
    bytes_ = std::min(bytes_ + int64_t{more} * quantum_, most_);
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
    if (more > 0) more += quantum_ - 1;
    return pulled_ + static_cast<uint32_t>(more / quantum_);
  }

 private:
  int64_t bytes_ = 0;
  int64_t most_ = 0;
  uint32_t pulled_ = 0;  // Quanta, by the latest pull.
  uint16_t quantum_ = 256;
  bool is_needed_ : 1 = false;
  bool counts_packets_ : 1 = false;
  bool speculates_ : 1 = false;
};

}  // namespace heddle
