// SPDX-License-Identifier: Apache-2.0
// The three values that packets collect under Best-nexthop (in-band network telemetry): latency,
// queue and utilisation. Switches merge them hop by hop with Merge(); the policy turns them into
// one number with CongestionOf() and compares ports by it.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/units.h"

namespace heddle {

// The values in a packet's header. Empty until a switch has written to it.
class IntFields {
 public:
  IntFields() = default;
  IntFields(Duration latency, int64_t queue, double utilisation)
      : latency_(static_cast<uint32_t>(std::min<int64_t>(latency.ps / 1'000, kLongest)) | kIsSet),
        queue_(static_cast<uint16_t>(std::min<int64_t>(queue, 0xffff))),
        utilisation_(ToHalf(utilisation)) {}

  bool is_set() const { return latency_ != 0; }
  double latency() const { return (latency_ & kLongest) * 1e-9; }  // Seconds, up to 2.1.
  double queue() const { return queue_; }                          // Packets.
  double utilisation() const {                                     // The rate estimator's value.
    return std::bit_cast<float>(uint32_t{utilisation_} << 16);
  }

  // Returns the greater of each value: Merge() over all hops gives the maximum along the path.
  static IntFields Merge(const IntFields& a, const IntFields& b) {
    IntFields most;
    most.latency_ = std::max(a.latency_, b.latency_);
    most.queue_ = std::max(a.queue_, b.queue_);
    most.utilisation_ = std::max(a.utilisation_, b.utilisation_);
    return most;
  }

 private:
  static constexpr uint32_t kIsSet = 0x8000'0000;
  static constexpr uint32_t kLongest = 0x7fff'ffff;

  // The upper half of a float has 8 bits of precision, and halves compare as the values do.
  static uint16_t ToHalf(double value) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
  }

  uint32_t latency_ = 0;  // Nanoseconds, and a bit that says that the fields are set.
  uint16_t queue_ = 0;
  uint16_t utilisation_ = 0;
};

// The largest value that each field can have; 0: the field is ignored.
struct IntRange {
  double latency = 0;  // Seconds.
  double queue = 0;
  double utilisation = 0;
};

// Returns the sum of the values, each as a share of its range: 0 to 3.
inline double CongestionOf(const IntFields& fields, const IntRange& range) {
  const auto share = [](double value, double most) {
    return most > 0 ? std::clamp(value / most, 0.0, 1.0) : 0.0;
  };
  if (!fields.is_set()) return 0;
  return share(fields.latency(), range.latency) + share(fields.queue(), range.queue) +
         share(fields.utilisation(), range.utilisation);
}

}  // namespace heddle
