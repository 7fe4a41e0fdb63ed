// SPDX-License-Identifier: Apache-2.0
// The discounting rate estimator of CONGA (Alizadeh et al., SIGCOMM 2014, section 3.2). Every
// transmission adds to a register, which is multiplied by 1 - alpha once a period. At a constant
// rate the register tends to that rate times tau = period / alpha; its time constant is tau.
//
// A policy calls Add() when a port sends and Read() when it compares ports. Both first make up for
// the decays that are due, one by one, so no timer is needed and the register is exact to the last
// bit.

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

  // Adds `amount`, in bytes or packets, that is sent now. Times never decrease.
  void Add(double amount, Time now) {
    Decay(now);
    register_ += amount;
  }

  // Returns the register, in the unit of the amounts added. A decay that is due now has been made.
  double Read(Time now) {
    if (register_ != 0) Decay(now);
    return register_;
  }

  // Returns the register's limit, in bytes, when the port sends at the full `rate`.
  static double FullBytes(BitRate rate, const DreSettings& settings) {
    return static_cast<double>(rate.bps) / 8 * static_cast<double>(settings.period.ps) * 1e-12 /
           settings.alpha;
  }

  // Returns value / full in `bits` bits, rounded down and limited to the largest number.
  static uint32_t Quantise(double value, double full, int bits) {
    const double levels = static_cast<double>(uint64_t{1} << bits);
    return static_cast<uint32_t>(std::min(levels - 1, levels * value / full));
  }

 private:
  // Smaller values become 0, which ends the decays of an idle port.
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
  Time next_;  // Decays are due at the multiples of the period.
  double register_ = 0;
};

}  // namespace heddle
