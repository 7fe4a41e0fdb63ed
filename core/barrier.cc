// SPDX-License-Identifier: Apache-2.0

#include "core/barrier.h"

#include <thread>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

// The spin times. The longer one covers the difference between threads in most windows. It is too
// long if there are more threads than cores, because the awaited thread may not be running.
constexpr std::chrono::microseconds kPatientSpin{300};
constexpr std::chrono::microseconds kCrowdedSpin{5};
constexpr int kPausesPerLook = 64;
constexpr int kFailuresToLosePatience = 3;
constexpr int kImpatientWaits = 63;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Barrier::Barrier(int threads)
    : threads_(threads),
      spin_(static_cast<unsigned>(threads) <= std::thread::hardware_concurrency() ? kPatientSpin
                                                                                  : kCrowdedSpin) {}

// Returns true if the round ended within `limit`.
bool Barrier::SpinWhile(uint32_t round, Clock::duration limit) const {
  const Clock::time_point start = Clock::now();
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if (round_.load(std::memory_order_acquire) != round) return true;
      Pause();
    }
  } while (Clock::now() - start < limit);
  return false;
}

bool Barrier::ArriveAndWait(Patience& patience) {
  const uint32_t round = round_.load(std::memory_order_relaxed);
  if (Arrive()) return true;
  const bool patient = patience.impatient == 0;
  if (!patient) --patience.impatient;
  if (SpinWhile(round, patient ? spin_ : Clock::duration{0})) {
    if (patient) patience.failures = 0;
    return false;
  }
  if (patient && ++patience.failures == kFailuresToLosePatience) {
    patience = {.failures = kFailuresToLosePatience - 1, .impatient = kImpatientWaits};
  }
  round_.wait(round, std::memory_order_acquire);
  return false;
}

void Barrier::Release() {
  arrived_.store(0, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

}  // namespace heddle
