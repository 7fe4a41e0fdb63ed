// SPDX-License-Identifier: Apache-2.0
// The barrier at which threads meet between windows. The last thread to arrive does the work that
// one thread must do alone, and then calls Release().
//
// A window is some microseconds of work, so waiting by sleeping costs as much as the work; yet on a
// machine with more threads than cores a thread that spins keeps the one it waits for from running.
// So a thread spins for a while and then sleeps. It spins for a short while if there are more
// threads than cores. After three waits in a row that ended in sleep, because another program has
// the core, it hardly spins for some waits.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace heddle {

class Barrier {
 public:
  explicit Barrier(int threads);

  // The waiting history of one thread.
  struct Patience {
    int failures = 0;   // Waits in a row that ended in sleep.
    int impatient = 0;  // Waits left that should hardly spin.
  };

  // Returns true to the last thread that arrives, which must then call Release(). The others wait
  // for that.
  bool ArriveAndWait(Patience& patience);

  void Release();

  // The same as ArriveAndWait without waiting.
  bool Arrive() { return arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_; }

 private:
  bool SpinWhile(uint32_t round, std::chrono::steady_clock::duration limit) const;

  const int threads_;
  const std::chrono::steady_clock::duration spin_;  // How long a thread spins before it sleeps.
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
};

}  // namespace heddle
