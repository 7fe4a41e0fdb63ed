// SPDX-License-Identifier: Apache-2.0
// A stress test for transports: flows of random sizes cross a dumbbell that loses, delays, reorders
// and marks packets. It checks that every flow ends with all its bytes, and that the counts agree.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/random.h"
#include "tests/support/scripted_policy.h"

namespace heddle {

template <size_t n>
std::string OneOf(Rng& rng, const char* const (&words)[n]) {
  return words[rng.Below(n)];
}

// Runs transports 0 .. count-1, each drawn from a stream of its own. Packets that match `markable`
// may be marked.
void Stress(uint64_t count, const std::function<std::string(Rng&)>& transport,
            const Match& markable);

}  // namespace heddle
