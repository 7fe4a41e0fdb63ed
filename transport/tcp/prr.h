// SPDX-License-Identifier: Apache-2.0
// Proportional rate reduction (RFC 6937): during recovery a sender sends in proportion to the data
// that arrives, so that the window shrinks smoothly to ssthresh instead of sending nothing for half
// a round trip. The TCP sender calls it if the option is on. Counted in segments.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace heddle {

class Prr {
 public:
  void Enter(uint32_t flight) { *this = Prr{flight}; }
  void OnSend() { ++out_; }

  // `delivered` more segments have arrived, `pipe` are in the network. Returns how many may be sent
  // now.
  uint32_t OnAck(uint32_t delivered, uint32_t pipe, double ssthresh) {
    delivered_ += delivered;
    double count = 0;
    if (pipe > ssthresh) {
      count = std::ceil(delivered_ * ssthresh / std::max(flight_, 1.0)) - out_;
    } else {
      const double limit = std::max(delivered_ - out_, static_cast<double>(delivered)) + 1;
      count = std::min(std::floor(ssthresh) - pipe, limit);
    }
    return static_cast<uint32_t>(std::max(count, 0.0));
  }

  Prr() = default;

 private:
  explicit Prr(uint32_t flight) : flight_(flight) {}

  double flight_ = 0;  // Segments in flight when recovery began.
  double delivered_ = 0;
  double out_ = 0;
};

}  // namespace heddle
