// SPDX-License-Identifier: Apache-2.0
// Time, and what does not take any, where decisions are measured: packets come in visits, and what
// is sent in one arrives after it.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "core/node.h"
#include "core/units.h"

namespace heddle {

inline constexpr uint32_t kPrompt = 0xffff'ffff;  // The last of all timers of one instant.
inline constexpr Duration kCostLinkDelay = 5_us;
// Shorter, so that what a visit sends arrives after it.
inline constexpr Duration kCostVisit = 4_us;

inline double Nanoseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

// Where wires lead: takes everything and does nothing.
class CostSink final : public Node {
 public:
  void Run(const Window& window) override {
    while (arrivals_.Next() < window.end) arrivals_.Pop();
  }
  Time Due() const override { return arrivals_.Next(); }
};

inline Window Until(Time end) { return {end, end}; }

}  // namespace heddle
