// SPDX-License-Identifier: Apache-2.0
// The losses of one direction of a faulty link: a share of the packets, bit errors, every n-th
// packet, and bursts. Switches call Strikes() once for each packet that arrives over the link; each
// kind of loss decides independently of the others. Nothing is drawn for a kind that is not set.

#pragma once

#include <cmath>
#include <cstdint>

#include "core/random.h"
#include "core/units.h"
#include "fabric/random_loss.h"

namespace heddle {

// Losses in bursts (Gilbert and Elliott): in the bad state, the link loses the share `bad`. Each
// packet may change the state first, with these probabilities.
struct BurstLoss {
  double to_bad = 0;
  double to_good = 1;
  double bad = 1;

  bool is_set() const { return to_bad > 0; }
};

class LinkLoss {
 public:
  // `share` draws which packets of a share are lost, `rng` everything else.
  LinkLoss(RandomLoss share, Rng rng) : share_(share), rng_(rng) {}

  void SetShare(double probability) { share_.Set(probability); }
  void SetBitErrors(double rate) { log_of_good_bit_ = std::log1p(-rate); }
  // 0: none.
  void SetEvery(int64_t packets) {
    every_ = packets;
    since_last_ = 0;
  }
  void SetBursts(const BurstLoss& bursts) {
    bursts_ = bursts;
    is_bad_ = false;
  }

  // Returns true if the next packet, of `wire_bytes`, is lost.
  bool Strikes(Bytes wire_bytes) {
    const bool by_share = share_.Strikes();
    const bool by_bits = log_of_good_bit_ < 0 && rng_.Uniform() < Damage(wire_bytes);
    const bool by_count = every_ > 0 && CountsOut();
    const bool by_burst = bursts_.is_set() && IsInBurst();
    return by_share || by_bits || by_count || by_burst;
  }

 private:
  // The probability that at least one bit is wrong: 1 - (1 - rate)^bits.
  double Damage(Bytes wire_bytes) const {
    return -std::expm1(8 * static_cast<double>(wire_bytes.count) * log_of_good_bit_);
  }

  bool CountsOut() {
    if (++since_last_ < every_) return false;
    since_last_ = 0;
    return true;
  }

  bool IsInBurst() {
    const double change = is_bad_ ? bursts_.to_good : bursts_.to_bad;
    if (rng_.Uniform() < change) is_bad_ = !is_bad_;
    return is_bad_ && rng_.Uniform() < bursts_.bad;
  }

  RandomLoss share_;
  Rng rng_;
  double log_of_good_bit_ = 0;
  int64_t every_ = 0;
  int64_t since_last_ = 0;
  BurstLoss bursts_;
  bool is_bad_ = false;
};

}  // namespace heddle
