// SPDX-License-Identifier: Apache-2.0
// The packets that Themis' last leaf has forwarded to its hosts lately. They tell whether a packet
// that a host asks for is lost, or has only been overtaken.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

// The packets that a leaf has forwarded to a host lately, for each of a number of flows.
class ForwardedPackets {
 public:
  ForwardedPackets(size_t flows, size_t packets) : packets_(packets), rings_(flows * packets) {
    free_.reserve(flows);
    for (size_t flow = flows; flow > 0; --flow) free_.push_back(static_cast<uint32_t>(flow - 1));
  }

  struct Ring {
    uint32_t slot = 0;
    uint32_t next = 0;  // Where the next packet goes,
    uint32_t size = 0;  // and how many there are.
  };

  Ring Take() {
    const uint32_t slot = free_.back();
    free_.pop_back();
    return {.slot = slot};
  }
  void GiveBack(const Ring& ring) { free_.push_back(ring.slot); }

  // `is_first` is true for a packet that has never been sent before.
  void Add(Ring& ring, uint32_t packet, bool is_first) {
    rings_[ring.slot * packets_ + ring.next] = packet << 1 | (is_first ? 1 : 0);
    ring.next = ring.next + 1 == packets_ ? 0 : ring.next + 1;
    if (ring.size < packets_) ++ring.size;
  }

  enum class Fate { kUnknown, kOnItsWay, kLost };

  // What became of packet `missed`, for which the host has asked.
  Fate FateOf(const Ring& ring, uint32_t missed, uint32_t paths) const {
    bool has_later = false;
    bool is_proved = false;
    size_t at = ring.next + packets_ - ring.size;
    for (uint32_t i = 0; i < ring.size; ++i, ++at) {
      const uint32_t entry = rings_[ring.slot * packets_ + at % packets_];
      const int32_t ahead = static_cast<int32_t>((entry & ~1u) - (missed << 1)) / 2;
      // A packet that left before all later ones cannot have been overtaken on the last link.
      if (ahead == 0) return has_later ? Fate::kOnItsWay : Fate::kLost;
      if (ahead < 0) continue;
      has_later = true;
      if ((entry & 1) != 0 && static_cast<uint32_t>(ahead) % paths == 0) is_proved = true;
    }
    return is_proved ? Fate::kLost : Fate::kUnknown;
  }

  size_t memory_bytes() const {
    return rings_.size() * sizeof(uint32_t) + free_.capacity() * sizeof(uint32_t);
  }

 private:
  const size_t packets_;
  std::vector<uint32_t> rings_;  // By flow; twice the packet's number, plus one if it is a first.
  std::vector<uint32_t> free_;
};

}  // namespace heddle
