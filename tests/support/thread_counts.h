// SPDX-License-Identifier: Apache-2.0
// The numbers of threads with which a test repeats a run. Under ThreadSanitizer runs take fifteen
// times as long, and fewer of them do: it sees each access that no lock or message orders, in any
// run on several threads.

#pragma once

#include <initializer_list>
#include <vector>

#include "core/sanitizers.h"

namespace heddle {

#ifdef HEDDLE_TSAN
inline constexpr bool kUnderThreadSanitizer = true;
#else
inline constexpr bool kUnderThreadSanitizer = false;
#endif

// All of `counts`; under ThreadSanitizer 3 alone.
inline std::vector<int> ThreadCounts(std::initializer_list<int> counts) {
  if (kUnderThreadSanitizer) return {3};
  return counts;
}

}  // namespace heddle
