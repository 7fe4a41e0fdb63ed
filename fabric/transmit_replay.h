// SPDX-License-Identifier: Apache-2.0
// Replays the starts of transmissions at FIFO ports, and of class 0 at others. A FIFO port puts a
// packet on its wire as soon as it is enqueued, but rate estimators and in-band telemetry must act
// when its first bit leaves. The transmissions of one switch are replayed in the order of their
// start, ties by port, on records that still lie on their wires: the receiver reads a record only
// after the window in which its transmission starts has closed.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "core/packet.h"
#include "core/units.h"

namespace heddle {

class TransmitReplay {
 public:
  struct Start {
    Time at;
    PortIndex port;
    uint64_t number;  // Number of the packet on the port's wire.

    friend bool operator>(const Start& a, const Start& b) {
      return std::tie(a.at, a.port) > std::tie(b.at, b.port);
    }
  };

  void Add(const Start& start) {
    heap_.push_back(start);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  // Forgets the transmissions of `port` from `time` on.
  void Forget(PortIndex port, Time time) {
    std::erase_if(heap_,
                  [&](const Start& start) { return start.port == port && start.at >= time; });
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  Time Next() const { return heap_.empty() ? kNever : heap_.front().at; }

  Start Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Start start = heap_.back();
    heap_.pop_back();
    return start;
  }

 private:
  std::vector<Start> heap_;
};

}  // namespace heddle
