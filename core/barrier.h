// SPDX-License-Identifier: Apache-2.0
// Where threads meet between windows. The last to arrive does what must be done alone and then lets
// the others go.
//
// A window is some microseconds of work, so waiting by sleeping costs as much as the work; yet on a
// machine with more threads than cores a thread that spins keeps the one it waits for from running.
// So: spin for a while, a short one if there are more threads than cores, then sleep; and after
// three waits in a row that ended in sleep, because another program has the core, hardly spin for a
// while.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace heddle {

class Barrier {
 public:
  explicit Barrier(int threads);

  // How one thread has fared at waiting.
  struct Patience {
    int failures = 0;   // Waits in a row that ended in sleep.
    int impatient = 0;  // Waits left that should hardly spin.
  };

  // Returns true to the last of the threads, which then calls Release(); all others wait for that.
  bool ArriveAndWait(Patience& patience);

  void Release();

  // The same as ArriveAndWait without waiting.
  bool Arrive() { return arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_; }

 private:
  bool SpinWhile(uint32_t round, std::chrono::steady_clock::duration limit) const;

  const int threads_;
  const std::chrono::steady_clock::duration spin_;  // Before it sleeps.
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
};

}  // namespace heddle
