// SPDX-License-Identifier: Apache-2.0
// The queues in which ConWeave's leaf of the destination holds back packets of rerouted flows: some
// for each port to a host, one flow in each, each of limited length.

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
    PortIndex in_port;  // It came through.
  };
  struct Queue {
    uint64_t flow = 0;
    PortIndex port = 0;
    bool is_taken = false;
    Time resume = kNever;  // When what it holds goes on, whatever has come until then.
    Ring<Held> packets = {};
  };

  ConWeaveHolds(size_t per_port, size_t most_packets)
      : per_port_(per_port), most_packets_(most_packets) {}

  void Attach(size_t ports) { queues_.resize(ports * per_port_); }

  // A queue for a flow that has none, if there is one left.
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

  // Of the queues; what lies in them is the switch's memory.
  size_t memory_bytes() const { return queues_.size() * (sizeof(Queue) - sizeof(Ring<Held>)); }

 private:
  const size_t per_port_;
  const size_t most_packets_;
  std::vector<Queue> queues_;  // By port.
};

}  // namespace heddle
