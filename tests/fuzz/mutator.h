// SPDX-License-Identifier: Apache-2.0
// Damages an input as accidents damage files, and as people mistype. The same seed gives the same
// damage.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/random.h"

namespace heddle {

// Returns one input of `corpus` with a few changes; it may contain pieces of others.
std::string Mutated(const std::vector<std::string>& corpus, Rng& rng);

}  // namespace heddle
