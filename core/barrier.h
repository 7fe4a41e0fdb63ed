// SPDX-License-Identifier: Apache-2.0
// Where threads meet between windows. The last to arrive does what must be done alone and then lets
// the others go.
//
// A window is a microsecond or two of work, so waiting by sleeping costs as much as the work; yet
// on a machine with more threads than cores a thread that spins keeps the one it waits for from
// running. So: spin for a while, then sleep; and after three waits in a row that ended in sleep,
// hardly spin for a while. Measured on two cores: full speed when idle, within a sixth of one
// thread's speed when another program has one of them.

#pragma once

#include <atomic>
#include <cstdint>

namespace heddle {

class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}

  // How one thread has fared at waiting.
  struct Patience {
    int failures = 0;   // Waits in a row that ended in sleep.
    int impatient = 0;  // Waits left that should hardly spin.
  };

  // Returns true to the last of the threads, which then calls Release(); all others wait for that.
  bool ArriveAndWait(Patience& patience);

  void Release();

 private:
  const int threads_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
};

}  // namespace heddle
