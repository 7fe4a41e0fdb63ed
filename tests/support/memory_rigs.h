// SPDX-License-Identifier: Apache-2.0
// Random settings of shared buffers, of every model.

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "fabric/shared_memory.h"

namespace heddle {

inline constexpr size_t kRigPorts = 3;

struct MemoryRig {
  MemorySettings settings;
  std::vector<SharedMemory::Port> ports;
  bool is_round = false;
};

inline int64_t RoundTo(int64_t bytes, int64_t unit) { return bytes / unit * unit; }
// All sizes are multiples of 500, so that packets of such sizes meet limits to the byte.
inline void MakeRound(MemoryRig& rig) {
  rig.is_round = true;
  rig.settings.size = RoundTo(rig.settings.size, 16'000);
  rig.settings.mtu = 1'000;
  rig.settings.resume_offset = 500;
  for (SharedMemory::Port& port : rig.ports) {
    for (int64_t* bytes : {&port.buffer, &port.headroom}) *bytes = RoundTo(*bytes, 1'000);
    if (port.xoff != kUnlimited) port.xoff = RoundTo(port.xoff, 500);
  }
}

// Small enough for every limit to bind, with some classes lossless and some not.
inline MemoryRig RandomMemoryRig(MemorySettings::Model model, Rng& rng) {
  const auto below = [&](uint32_t n) { return static_cast<int64_t>(rng.Below(n)); };
  const double alphas[] = {1.0 / 16, 1.0 / 8, 0.5, 1, 8};
  MemoryRig rig;
  rig.settings = {.model = model,
                  .size = 190'000 + below(100'000),
                  .alpha = alphas[rng.Below(5)],
                  .alpha_in = alphas[rng.Below(3)],
                  .reserve = 1'000 * below(5),
                  .mtu = 1'000 + below(500),
                  .lossless = static_cast<uint8_t>(rng.Below(2) == 0 ? 0 : 0b1100),
                  .resume_offset = 1 + below(4'000)};
  for (size_t p = 0; p < kRigPorts; ++p) {
    rig.ports.push_back({.buffer = 20'000 + below(20'000),
                         .headroom = rig.settings.lossless == 0 ? 0 : 2'000 + below(20'000),
                         .xoff = rng.Below(2) == 0 && model != MemorySettings::Model::kPrivate
                                     ? kUnlimited
                                     : 10'000 + below(20'000),
                         .faster = static_cast<double>(1 + rng.Below(4))});
  }
  rig.settings.limits_lossless = model == MemorySettings::Model::kBroadcom && rng.Below(2) == 0;
  if (rng.Below(2) == 0) MakeRound(rig);
  return rig;
}

// Calls check(model, seed, rng) for each model with so many seeds, until one of them fails.
template <class Check>
void ForEachMemoryModel(uint64_t seeds, uint64_t stream, const Check& check) {
  using Model = MemorySettings::Model;
  for (const Model model : {Model::kPrivate, Model::kDynamic, Model::kHpcc, Model::kBroadcom}) {
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      SCOPED_TRACE(fmt::format("model {}, seed {}", static_cast<int>(model), seed));
      Rng rng = Rng::Stream(seed, "test", stream);
      check(model, seed, rng);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace heddle
