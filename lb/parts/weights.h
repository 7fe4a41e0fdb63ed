// SPDX-License-Identifier: Apache-2.0
// Shares as tables: how often each of several ports appears in a table that a hash, or a turn,
// picks from (WCMP, Zhou et al., EuroSys 2014).

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

// `capacities` divided by their greatest common divisor, if those sum to no more than `limit`;
// else what comes near to them and does. Nothing is below 1, even if that exceeds the limit.
std::vector<int64_t> ReduceWeights(std::span<const int64_t> capacities, int64_t limit,
                                   double target);

// By how much the most overloaded port exceeds its fair share if `reduced` stands for `weights`:
// 1.0 if none does.
double Oversubscription(std::span<const int64_t> weights, std::span<const int64_t> reduced);

// Indices 0 .. n-1, each as often as its weight says, spread evenly: smooth weighted round robin,
// in which each earns its weight every turn, and the richest goes and pays for all.
std::vector<uint32_t> Interleave(std::span<const int64_t> weights);

}  // namespace heddle
