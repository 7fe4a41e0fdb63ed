// SPDX-License-Identifier: Apache-2.0
// Random permutations of hosts without fixed points, for the patterns in which every host has one
// partner. Workloads and the background draw them from streams of their own, so all load balancers
// meet the same pairs.

#pragma once

#include <vector>

#include "core/packet.h"
#include "workload/workload.h"

namespace heddle {

// Returns the destination of each host in a random permutation in which nobody is its own. With
// `cross_rack`, source and destination are on different leaves. If chance finds no such permutation
// in many draws, every host sends to the one half of all hosts further on.
std::vector<HostId> Derangement(const Stage& stage, bool cross_rack);

}  // namespace heddle
