// SPDX-License-Identifier: Apache-2.0
// SegmentSet is a set of segment numbers at or above a floor that only rises: a bitmap that moves
// along the flow. Senders and receivers keep in it the segments beyond a hole.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heddle {

class SegmentSet {
 public:
  // Forgets everything; the floor becomes `floor`. Keeps its memory.
  void Reset(uint32_t floor) {
    AdvanceTo(end_);
    floor_ = end_ = floor;
  }

  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  bool Contains(uint32_t segment) const {
    return segment >= floor_ && segment < end_ && (Word(segment) >> (segment % 64) & 1) != 0;
  }

  // Adds [first, last), which must not lie below the floor; calls added(segment) for each new one.
  template <class Added>
  void Insert(uint32_t first, uint32_t last, const Added& added) {
    Reserve(last);
    end_ = std::max(end_, last);
    while (first < last) {
      const uint32_t stop = std::min(last, (first / 64 + 1) * 64);
      uint64_t& word = Word(first);
      uint64_t fresh = Mask(first % 64, stop - first) & ~word;
      word |= fresh;
      size_ += static_cast<uint32_t>(std::popcount(fresh));
      for (; fresh != 0; fresh &= fresh - 1) {
        added(first / 64 * 64 + static_cast<uint32_t>(std::countr_zero(fresh)));
      }
      first = stop;
    }
  }

  // Raises the floor, forgetting what lies below it.
  void AdvanceTo(uint32_t floor) {
    while (size_ > 0 && floor_ < floor) {
      const uint32_t stop = std::min(floor, (floor_ / 64 + 1) * 64);
      uint64_t& word = Word(floor_);
      const uint64_t gone = Mask(floor_ % 64, stop - floor_) & word;
      word &= ~gone;
      size_ -= static_cast<uint32_t>(std::popcount(gone));
      floor_ = stop;
    }
    floor_ = std::max(floor_, floor);
    end_ = std::max(end_, floor_);
  }

  // Bit i of the result: segment first + i is in the set.
  uint64_t Next64(uint32_t first) const {
    const uint32_t shift = first % 64;
    const uint64_t low = WordIfHeld(first) >> shift;
    return shift == 0 ? low : low | WordIfHeld(first + 64) << (64 - shift);
  }

  // The first segment at or after `from` that is not in the set.
  uint32_t FirstMissing(uint32_t from) const {
    while (from < end_) {
      const uint64_t missing = ~Word(from) >> (from % 64);
      if (missing != 0) return from + static_cast<uint32_t>(std::countr_zero(missing));
      from = (from / 64 + 1) * 64;
    }
    return from;
  }

  // The longest run [first, last) that contains `segment`, which must be in the set.
  std::pair<uint32_t, uint32_t> RunAround(uint32_t segment) const {
    return {RunStart(segment), FirstMissing(segment)};
  }

  size_t memory_bytes() const { return words_.capacity() * sizeof(uint64_t); }

 private:
  static uint64_t Mask(uint32_t shift, uint32_t bits) {
    return (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1) << shift;
  }
  uint64_t& Word(uint32_t segment) { return words_[segment / 64 & (words_.size() - 1)]; }
  uint64_t Word(uint32_t segment) const { return words_[segment / 64 & (words_.size() - 1)]; }
  // The word of a segment that may lie outside of [floor_, end_). Bits below the floor are clear.
  uint64_t WordIfHeld(uint32_t segment) const {
    const bool is_held = segment / 64 >= floor_ / 64 && segment / 64 * 64 < end_;
    return is_held && size_ > 0 ? Word(segment) : 0;
  }

  // Makes room for segments up to `last`: every word from the floor's to last's has a place of its
  // own.
  void Reserve(uint32_t last) {
    const size_t needed = size_t{(last - 1) / 64 - floor_ / 64} + 1;
    if (needed <= words_.size()) return;
    std::vector<uint64_t> grown(std::bit_ceil(std::max<size_t>(needed, 2)), 0);
    for (uint32_t word = floor_ / 64; size_ > 0 && word <= (end_ - 1) / 64; ++word) {
      grown[word & (grown.size() - 1)] = words_[word & (words_.size() - 1)];
    }
    words_ = std::move(grown);
  }

  uint32_t RunStart(uint32_t segment) const {
    while (segment > floor_) {
      const uint32_t below = segment % 64 == 0 ? 64 : segment % 64;  // Bits to look at.
      const uint64_t word = Word(segment - 1);
      const uint64_t missing = ~word << (64 - below);
      if (missing != 0) return segment - static_cast<uint32_t>(std::countl_zero(missing));
      segment -= below;
    }
    return floor_;
  }

  std::vector<uint64_t> words_;  // A power of two of them.
  uint32_t floor_ = 0;
  uint32_t end_ = 0;  // One past the highest segment ever in the set; at least the floor.
  uint32_t size_ = 0;
};

}  // namespace heddle
