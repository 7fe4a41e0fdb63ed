// SPDX-License-Identifier: Apache-2.0
// Damages an input as files get damaged, and as people mistype: the same for the same seed.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/random.h"

namespace heddle {

// One of `corpus`, with a few changes; pieces of others may be in it.
std::string Mutated(const std::vector<std::string>& corpus, Rng& rng);

}  // namespace heddle
