// SPDX-License-Identifier: Apache-2.0
// The clock of the decision benchmarks, wall and simulated. Packets come in visits: all packets of
// 4 us of simulated time are handled together, so that two readings of the wall clock are shared by
// several decisions. Reading it takes no simulated time.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "core/node.h"
#include "core/units.h"

namespace heddle {

inline constexpr uint32_t kPrompt = 0xffff'ffff;  // The last of all timers of one instant.
inline constexpr Duration kCostLinkDelay = 5_us;
// Shorter than a link, so that packets sent in one visit arrive after it.
inline constexpr Duration kCostVisit = 4_us;

inline double Nanoseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

// The compiler must compute `result` and everything in memory that leads to it: it acts as Google
// Benchmark's DoNotOptimize() and ClobberMemory(), which heddle is not linked with.
template <class T>
inline void KeepResult(const T& result) {
  asm volatile("" : : "g"(&result) : "memory");
}

// The node that wires lead to. It takes every packet and does nothing with it.
class CostSink final : public Node {
 public:
  void Run(const Window& window) override {
    while (arrivals_.Next() < window.end) arrivals_.Pop();
  }
  Time Due() const override { return arrivals_.Next(); }
};

}  // namespace heddle
