// SPDX-License-Identifier: Apache-2.0
// A round robin over the next hops of a switch in a random order. A policy calls Next() for each
// packet; when the candidates change, a new order is drawn.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "core/random.h"
#include "fabric/switch_policy.h"

namespace heddle {

class Round {
 public:
  // Returns the next port. Draws a new order after `reshuffle` rounds; 0: never.
  PortIndex Next(const Candidates& candidates, int64_t reshuffle, Rng& rng) {
    if (version_ != candidates.version) {
      version_ = candidates.version;
      order_.assign(candidates.ports.begin(), candidates.ports.end());
      rng.MoveToFront(order_, order_.size());
      next_ = 0;
      rounds_ = 0;
    } else if (next_ == order_.size()) {
      next_ = 0;
      if (++rounds_ == reshuffle) {
        rounds_ = 0;
        rng.MoveToFront(order_, order_.size());
      }
    }
    return order_[next_++];
  }

  // The bytes of a round over `ports` in hardware: the order, and the position in it.
  static size_t StateBytes(size_t ports) { return ports * sizeof(PortIndex) + sizeof(uint32_t); }

 private:
  uint32_t version_ = 0;  // Version of the candidates in `order_`; 0: none yet.
  std::vector<PortIndex> order_;
  size_t next_ = 0;
  int64_t rounds_ = 0;
};

}  // namespace heddle
