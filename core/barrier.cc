// SPDX-License-Identifier: Apache-2.0

#include "core/barrier.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace heddle {
namespace {

constexpr int kPatientSpins = 2'000;
constexpr int kImpatientSpins = 20;
constexpr int kFailuresToLosePatience = 3;
constexpr int kImpatientWaits = 63;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int SpinsFor(Barrier::Patience& patience) {
  if (patience.impatient == 0) return kPatientSpins;
  --patience.impatient;
  return kImpatientSpins;
}

}  // namespace

bool Barrier::ArriveAndWait(Patience& patience) {
  const uint32_t round = round_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) return true;
  const int spins = SpinsFor(patience);
  for (int i = 0; i < spins; ++i) {
    if (round_.load(std::memory_order_acquire) != round) {
      if (spins == kPatientSpins) patience.failures = 0;
      return false;
    }
    Pause();
  }
  if (spins == kPatientSpins && ++patience.failures == kFailuresToLosePatience) {
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
