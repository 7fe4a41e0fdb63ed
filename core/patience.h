// SPDX-License-Identifier: Apache-2.0
// How a thread waits for another one.
//
// A window is some microseconds of work, so waiting by sleeping costs as much as the work; yet on a
// machine with more threads than cores a thread that spins keeps the one it waits for from running.
// So a thread spins for a while and then sleeps. It spins for a short while if there are more
// threads than cores. After three waits in a row that ended in sleep, because another program has
// the core, it hardly spins for some waits.

#pragma once

#include <atomic>
#include <chrono>

namespace heddle {

// Belongs to one thread.
class Patience {
 public:
  // `threads` run in all.
  explicit Patience(int threads);

  // Waits until is_met(value). Another thread changes the value and calls notify_all().
  template <class T, class IsMet>
  void Await(const std::atomic<T>& value, const IsMet& is_met) {
    const auto met = [&] { return is_met(value.load(std::memory_order_acquire)); };
    if (met()) return;
    const bool patient = impatient_ == 0;
    if (!patient) --impatient_;
    if (Spin(met, patient ? spin_ : Clock::duration{0})) {
      if (patient) sleeps_ = 0;
      return;
    }
    if (patient) NoteSleep();
    for (T now = value.load(std::memory_order_acquire); !is_met(now);
         now = value.load(std::memory_order_acquire)) {
      value.wait(now, std::memory_order_acquire);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Returns true if the wait has ended within `limit`.
  template <class Met>
  static bool Spin(const Met& met, Clock::duration limit) {
    constexpr int kPausesPerLook = 64;  // At the clock.
    const Clock::time_point start = Clock::now();
    do {
      for (int i = 0; i < kPausesPerLook; ++i) {
        if (met()) return true;
        Pause();
      }
    } while (Clock::now() - start < limit);
    return false;
  }

  static void Pause();
  void NoteSleep();

  Clock::duration spin_;  // How long a patient thread spins before it sleeps.
  int sleeps_ = 0;        // Patient waits in a row that ended in sleep.
  int impatient_ = 0;     // Waits left that should hardly spin.
};

}  // namespace heddle
