// SPDX-License-Identifier: Apache-2.0

#include "core/patience.h"

#include <thread>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace heddle {
namespace {

// The spin times. The longer one covers the difference between threads in most windows. It is too
// long if there are more threads than cores, because the awaited thread may not be running.
constexpr std::chrono::microseconds kPatientSpin{300};
constexpr std::chrono::microseconds kCrowdedSpin{5};
constexpr int kSleepsToLosePatience = 3;
constexpr int kImpatientWaits = 63;

}  // namespace

Patience::Patience(int threads)
    : spin_(static_cast<unsigned>(threads) <= std::thread::hardware_concurrency() ? kPatientSpin
                                                                                  : kCrowdedSpin) {}

void Patience::Pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void Patience::NoteSleep() {
  if (++sleeps_ < kSleepsToLosePatience) return;
  sleeps_ = kSleepsToLosePatience - 1;
  impatient_ = kImpatientWaits;
}

}  // namespace heddle
