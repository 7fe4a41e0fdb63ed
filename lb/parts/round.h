// SPDX-License-Identifier: Apache-2.0
// Taking turns over next hops in a random order.

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
  // The next one. After `reshuffle` turns for each the order is drawn anew; 0: never.
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

  // For a round over `ports`: an order, and where it stands.
  static size_t StateBytes(size_t ports) { return ports * sizeof(PortIndex) + sizeof(uint32_t); }

 private:
  uint32_t version_ = 0;  // Of the candidates in `order_`; 0: none yet.
  std::vector<PortIndex> order_;
  size_t next_ = 0;
  int64_t rounds_ = 0;
};

}  // namespace heddle
