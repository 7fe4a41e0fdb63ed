// SPDX-License-Identifier: Apache-2.0
// The discounting rate estimator of CONGA (Alizadeh et al., SIGCOMM 2014, section 3.2): a register
// that every transmission adds to, and that is multiplied by 1 - alpha once a period. At a constant
// rate it tends to that rate times tau = period / alpha, and it forgets with the time constant tau.
//
// Decays are made up for when somebody reads or adds, one by one, so that no timer is needed and
// the register is what it would have been with one, to the last bit.

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/units.h"
#include "settings/fields.h"

namespace heddle {

struct DreSettings {
  Duration period = 32_us;
  double alpha = 0.2;

  Duration tau() const {
    return Duration{static_cast<int64_t>(static_cast<double>(period.ps) / alpha)};
  }

  void Declare(Fields& fields) {
    fields.Add("dre_period", period, {.at_least = 1_ns, .at_most = 10_s},
               "Time between two decays of a port's rate estimator.");
    fields.Add("dre_alpha", alpha, {.above = 0.0, .at_most = 1.0},
               "Share that a decay takes off; the estimator's time constant is dre_period / "
               "dre_alpha.");
  }
};

class Dre {
 public:
  explicit Dre(const DreSettings& settings)
      : period_(settings.period), keep_(1 - settings.alpha), next_(Time{} + settings.period) {}

  // `amount`, in bytes or packets, is sent now. Times never decrease.
  void Add(double amount, Time now) {
    Decay(now);
    register_ += amount;
  }

  // In the unit of what is added. A decay that is due now has been made.
  double Read(Time now) {
    if (register_ != 0) Decay(now);
    return register_;
  }

  // What the register tends to at the whole of `rate`, in bytes.
  static double FullBytes(BitRate rate, const DreSettings& settings) {
    return static_cast<double>(rate.bps) / 8 * static_cast<double>(settings.period.ps) * 1e-12 /
           settings.alpha;
  }

  // The share of `full`, in `bits` bits: rounded down, and no more than fits.
  static uint32_t Quantise(double value, double full, int bits) {
    const double levels = static_cast<double>(uint64_t{1} << bits);
    return static_cast<uint32_t>(std::min(levels - 1, levels * value / full));
  }

 private:
  // What is left is nothing then: it ends the decay of a port that is idle.
  static constexpr double kNothing = 1e-6;

  void Decay(Time now) {
    while (next_ <= now) {
      if (register_ == 0) {
        next_ += period_ * ((now - next_) / period_ + 1);
        return;
      }
      register_ *= keep_;
      if (register_ < kNothing) register_ = 0;
      next_ += period_;
    }
  }

  Duration period_;
  double keep_;
  Time next_;  // Decays come at the multiples of the period.
  double register_ = 0;
};

}  // namespace heddle
