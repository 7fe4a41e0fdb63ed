// SPDX-License-Identifier: Apache-2.0
// Loses packets at random, each with the same probability and independently of the others. Faulty
// links and switches call Strikes() once for each packet. The random stream serves nothing else,
// and nothing is drawn from it while the probability is 0.

#pragma once

#include "core/random.h"

namespace heddle {

class RandomLoss {
 public:
  explicit RandomLoss(Rng rng) : rng_(rng) {}

  void Set(double probability) { probability_ = probability; }

  // Returns true if the next packet is lost.
  bool Strikes() { return probability_ > 0 && rng_.Uniform() < probability_; }

 private:
  double probability_ = 0;  // 0 to 1.
  Rng rng_;
};

}  // namespace heddle
