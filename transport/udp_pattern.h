// SPDX-License-Identifier: Apache-2.0
// When a UDP source has its datagrams ready.

#pragma once

#include <cstdint>

#include "core/random.h"
#include "core/units.h"
#include "settings/fields.h"

namespace heddle {

struct UdpPattern {
  enum class Kind { kCbr, kPoisson, kOnOff };
  enum class Lengths { kExponential, kConstant, kPareto };

  Kind kind = Kind::kCbr;
  double jitter = 0.1;  // Of a gap, at most.
  // Of on/off sources: how long they send, and are silent.
  Duration mean_on = 1_ms;
  Duration mean_off = 1_ms;
  Lengths on = Lengths::kExponential;
  Lengths off = Lengths::kExponential;
  double shape = 1.5;  // Of Pareto lengths.

  void Declare(Fields& fields);

  // While a source sends, if `average` is its rate over all times.
  BitRate PeakRate(BitRate average) const;
};

// The instants of one source. Those of a constant rate are exact: without jitter the n-th comes n
// gaps after the first, rounded down to picoseconds.
class UdpClock {
 public:
  // `wire`: of each datagram, all that is on the wire; `average` counts it. The clock begins at
  // `start`.
  UdpClock(const UdpPattern& pattern, Bytes wire, BitRate average, Time start, Rng rng);

  // Of the next datagram.
  Time next() const { return next_; }
  void Advance() { Move(Gap()); }

 private:
  void BeginOnOrOff();
  void BeginWithinGap();
  Duration Gap();
  Duration ConstantGap();
  Duration Draw(UdpPattern::Lengths lengths, Duration mean);
  void Move(Duration gap);

  const UdpPattern pattern_;
  const int64_t rate_;       // Bits per second, while it sends.
  const int64_t wire_bits_;  // In picoseconds at one bit per second.
  int64_t carry_ = 0;        // What gaps have been rounded down by, in picoseconds times rate_.
  Rng rng_;
  Time next_;
  Duration on_left_{0};  // Of the time on, after `next_`.
};

}  // namespace heddle
