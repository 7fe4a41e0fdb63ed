// SPDX-License-Identifier: Apache-2.0
// A buffer cut into equal blocks, the first of which are one byte longer if it does not divide.

#pragma once

#include <algorithm>
#include <cstdint>

namespace heddle {

class Blocks {
 public:
  Blocks(int64_t bytes, uint32_t count)
      : each_(bytes / count), longer_(static_cast<uint32_t>(bytes % count)), count_(count) {}

  int64_t Size(uint32_t block) const { return each_ + (block < longer_ ? 1 : 0); }

  // The bytes of the blocks [first, end).
  int64_t Sum(uint32_t first, uint32_t end) const { return Before(end) - Before(first); }

  // The bytes of `length` blocks from `first` on, counted round the ring.
  int64_t SumRound(uint32_t first, uint32_t length) const {
    const uint32_t end = first + length;
    return end <= count_ ? Sum(first, end) : Sum(first, count_) + Sum(0, end - count_);
  }

 private:
  int64_t Before(uint32_t block) const { return each_ * block + std::min(block, longer_); }

  int64_t each_;
  uint32_t longer_;
  uint32_t count_;
};

}  // namespace heddle
