// SPDX-License-Identifier: Apache-2.0
// Flows of random sizes over a dumbbell that loses, delays, reorders and marks: every flow ends
// with all its bytes, and the counts agree.

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

// Under transports 0 .. count-1, each drawn from a stream of its own. Packets that match `markable`
// may be marked.
void Stress(uint64_t count, const std::function<std::string(Rng&)>& transport,
            const Match& markable);

}  // namespace heddle
