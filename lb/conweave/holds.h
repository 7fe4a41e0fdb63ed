// SPDX-License-Identifier: Apache-2.0
// The queues in which ConWeave's destination leaf holds back packets of rerouted flows. Each port
// to a host has a fixed number of queues of limited length, and each queue holds one flow. The
// policy takes a queue for a flow's first held packet and gives it back when it has released them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/packet.h"
#include "core/ring.h"
#include "core/units.h"

namespace heddle {

class ConWeaveHolds {
 public:
  struct Held {
    Packet packet;
    PortIndex in_port;  // The port that it came in through.
  };
  struct Queue {
    uint64_t flow = 0;
    PortIndex port = 0;
    bool is_taken = false;
    Time resume = kNever;  // When the held packets are released, whether or not the TAIL has come.
    Ring<Held> packets = {};
  };

  ConWeaveHolds(size_t per_port, size_t most_packets)
      : per_port_(per_port), most_packets_(most_packets) {}

  void Attach(size_t ports) { queues_.resize(ports * per_port_); }

  // Takes a free queue for a flow; nothing if all are taken.
  std::optional<uint32_t> Take(uint64_t flow, PortIndex port) {
    for (size_t i = port * per_port_; i < (port + size_t{1}) * per_port_; ++i) {
      if (queues_[i].is_taken) continue;
      queues_[i].flow = flow;
      queues_[i].port = port;
      queues_[i].is_taken = true;
      queues_[i].resume = kNever;
      return static_cast<uint32_t>(i);
    }
    return std::nullopt;
  }
  void GiveBack(uint32_t queue) { queues_[queue].is_taken = false; }

  bool IsFull(uint32_t queue) const { return queues_[queue].packets.size() >= most_packets_; }
  void Push(uint32_t queue, const Packet& packet, PortIndex in_port) {
    queues_[queue].packets.push_back({packet, in_port});
  }

  Queue& operator[](uint32_t queue) { return queues_[queue]; }

  // The size of the queues themselves; the packets in them count as the switch's buffer.
  size_t memory_bytes() const { return queues_.size() * (sizeof(Queue) - sizeof(Ring<Held>)); }

 private:
  const size_t per_port_;
  const size_t most_packets_;
  std::vector<Queue> queues_;  // By port.
};

}  // namespace heddle
