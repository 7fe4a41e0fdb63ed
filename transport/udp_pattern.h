// SPDX-License-Identifier: Apache-2.0
// The timing of a UDP source: UdpPattern holds the settings, and UdpClock tells Udp when the next
// datagram is ready.

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
  double jitter = 0.1;  // Largest jitter, as a share of a gap.
  // On/off sources: the mean times of sending and of silence.
  Duration mean_on = 1_ms;
  Duration mean_off = 1_ms;
  Lengths on = Lengths::kExponential;
  Lengths off = Lengths::kExponential;
  double shape = 1.5;  // The shape of Pareto lengths.

  void Declare(Fields& fields);

  // Returns the rate while a source sends, if `average` is its rate over all times.
  BitRate PeakRate(BitRate average) const;
};

// The times of one source's datagrams. A constant rate is exact: without jitter the n-th datagram
// comes n gaps after the first, rounded down to picoseconds.
class UdpClock {
 public:
  // `wire` is the bytes of each datagram on the wire, which `average` counts. The clock begins at
  // `start`.
  UdpClock(const UdpPattern& pattern, Bytes wire, BitRate average, Time start, Rng rng);

  // The time of the next datagram.
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
  const int64_t wire_bits_;  // A gap in picoseconds at one bit per second.
  int64_t carry_ = 0;        // The rounding error of past gaps, in picoseconds times rate_.
  Rng rng_;
  Time next_;
  Duration on_left_{0};  // The rest of the time on, after `next_`.
};

}  // namespace heddle
