// SPDX-License-Identifier: Apache-2.0
// Division of numbers of 16 bits by a number that is known while building, as a multiplication.

#pragma once

#include <cstdint>

namespace heddle {

class Divider {
 public:
  // Without a divisor, every quotient is 0.
  Divider() = default;
  // `divisor` is at least 1 and at most 2^16.
  explicit Divider(uint32_t divisor) : reciprocal_(((uint64_t{1} << 32) + divisor - 1) / divisor) {}

  // Exact: `reciprocal_` is too large by less than 1, the product by less than 2^16, and so the
  // quotient, before it is rounded down, by less than 2^-16, which is at most 1 / divisor.
  uint32_t Quotient(uint16_t number) const {
    return static_cast<uint32_t>(number * reciprocal_ >> 32);
  }

 private:
  uint64_t reciprocal_ = 0;  // 2^32 / divisor, rounded up.
};

}  // namespace heddle
