// SPDX-License-Identifier: Apache-2.0
// Weights as tables: each port appears in a table as often as its weight says, and a hash or a turn
// picks an entry (WCMP, Zhou et al., EuroSys 2014). WCMP and path orders call these functions.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

// Returns `capacities` divided by their greatest common divisor if the sum is at most `limit`;
// otherwise weights within the limit that come near them. No weight is below 1, even if the sum
// then exceeds the limit.
std::vector<int64_t> ReduceWeights(std::span<const int64_t> capacities, int64_t limit,
                                   double target);

// Returns the factor by which the most overloaded port exceeds its fair share if `reduced` replaces
// `weights`: 1.0 if no port does.
double Oversubscription(std::span<const int64_t> weights, std::span<const int64_t> reduced);

// Returns the indices 0 to n-1, each as often as its weight, spread evenly by smooth weighted round
// robin: in each turn every index earns its weight, and the richest is taken and pays the total.
std::vector<uint32_t> Interleave(std::span<const int64_t> weights);

}  // namespace heddle
