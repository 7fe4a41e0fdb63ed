// SPDX-License-Identifier: Apache-2.0
// The barrier at which threads meet between rounds of windows. The last thread to arrive does the
// work that one thread must do alone, and then calls Release().

#pragma once

#include <atomic>
#include <cstdint>

#include "core/patience.h"

namespace heddle {

class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}

  // Returns true to the last thread that arrives, which must then call Release(). The others wait
  // for that, with the patience of their thread.
  bool ArriveAndWait(Patience& patience) {
    const uint32_t round = round_.load(std::memory_order_relaxed);
    if (Arrive()) return true;
    patience.Await(round_, [&](uint32_t now) { return now != round; });
    return false;
  }

  void Release() {
    arrived_.store(0, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

  // The same as ArriveAndWait without waiting.
  bool Arrive() { return arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_; }

 private:
  const int threads_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
};

}  // namespace heddle
