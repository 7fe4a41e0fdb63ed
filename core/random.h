// SPDX-License-Identifier: Apache-2.0
// Random numbers with names. Every consumer draws from a stream of its own. A stream's seed is made
// of the experiment's seed, its purpose and its owner's id, so a new consumer shifts no other
// stream.
//
// A stream is a xoshiro256** generator that SplitMix64 has seeded. The distributions that shape
// results are written here, because those of the standard library differ between vendors.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"

namespace heddle {

// A bijective mixing of 64 bits (the finaliser of SplitMix64): every input bit flips about half of
// the output bits.
constexpr uint64_t Mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// SplitMix64 (Vigna's public-domain splitmix64.c): fills the state of another generator.
class SplitMix64 {
 public:
  explicit constexpr SplitMix64(uint64_t seed) : state_(seed) {}

  constexpr uint64_t Next() { return Mix64(state_ += kStep); }

  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;  // 2^64 by the golden ratio, made odd.

 private:
  uint64_t state_;
};

// xoshiro256** 1.0 (Blackman and Vigna, 2018), from a state that is not all zeros.
class Xoshiro256 {
 public:
  explicit constexpr Xoshiro256(const std::array<uint64_t, 4>& state) : state_(state) {}

  constexpr uint64_t Next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

 private:
  std::array<uint64_t, 4> state_;
};

class Rng {
 public:
  // The stream `purpose` of entity `id` in an experiment with this seed.
  static Rng Stream(uint64_t seed, std::string_view purpose, uint64_t id);

  uint64_t Next() { return generator_.Next(); }

  // Uniform in {0, ..., n-1}, without modulo bias (Lemire, 2019); n > 0.
  uint32_t Below(uint32_t n) {
    uint64_t product = (Next() >> 32) * n;
    if (static_cast<uint32_t>(product) < n) product = Unbiased(product, n);
    return static_cast<uint32_t>(product >> 32);
  }

  // Moves `count` of `items`, drawn at random without replacement, to the front.
  template <class T>
  void MoveToFront(std::vector<T>& items, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      std::swap(items[i], items[i + Below(static_cast<uint32_t>(items.size() - i))]);
    }
  }

  // Uniform in [0, 1): the 53 top bits.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  // Exponential with the given mean, in the same unit.
  double Exponential(double mean);

  // An exponential length of time, rounded to picoseconds.
  Duration ExponentialDuration(double mean_ps);

 private:
  explicit Rng(const Xoshiro256& generator) : generator_(generator) {}
  uint64_t Unbiased(uint64_t product, uint32_t n);

  Xoshiro256 generator_;
};

}  // namespace heddle
