// SPDX-License-Identifier: Apache-2.0

#include "core/random.h"

#include <algorithm>
#include <cmath>

namespace heddle {
namespace {

uint64_t HashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

Rng Rng::Stream(uint64_t seed, std::string_view purpose, uint64_t id) {
  const uint64_t named = Mix64(SplitMix64(seed).Next() ^ HashText(purpose));
  SplitMix64 key(Mix64(named + SplitMix64::kStep * (id + 1)));
  std::array<uint64_t, 4> state;
  for (uint64_t& word : state) word = key.Next();
  return Rng(Xoshiro256(state));
}

uint64_t Rng::Unbiased(uint64_t product, uint32_t n) {
  const uint32_t threshold = -n % n;
  while (static_cast<uint32_t>(product) < threshold) product = (Next() >> 32) * n;
  return product;
}

double Rng::Exponential(double mean) { return -std::log1p(-Uniform()) * mean; }

Duration Rng::ExponentialDuration(double mean_ps) {
  return {std::llround(std::min(Exponential(mean_ps), static_cast<double>(kNever.ps)))};
}

}  // namespace heddle
