// SPDX-License-Identifier: Apache-2.0
// Each packet is lost with the same probability, whatever became of others: one draw a packet from
// a stream that serves nothing else, and none while nothing is lost.

#pragma once

#include "core/random.h"

namespace heddle {

class RandomLoss {
 public:
  explicit RandomLoss(Rng rng) : rng_(rng) {}

  void Set(double probability) { probability_ = probability; }

  // Whether the next packet is lost.
  bool Strikes() { return probability_ > 0 && rng_.Uniform() < probability_; }

 private:
  double probability_ = 0;  // 0 to 1.
  Rng rng_;
};

}  // namespace heddle
