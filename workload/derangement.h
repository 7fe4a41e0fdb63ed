// SPDX-License-Identifier: Apache-2.0
// Permutations of hosts without fixed points, for the patterns in which every host has one partner.
// Workloads and the background draw them from streams of their own, so all load balancers
// meet the same pairs.

#pragma once

#include <vector>

#include "core/packet.h"
#include "workload/workload.h"

namespace heddle {

// Returns the destination of each host in a random permutation in which nobody is its own. With
// `cross_rack`, source and destination are on different leaves; CanCross() must hold. If chance
// finds no such permutation in many draws, the last one is repaired: each host with a forbidden
// destination swaps destinations with a random host for which both are allowed.
std::vector<HostId> Derangement(const Stage& stage, bool cross_rack);

// Every host sends to the one half of all hosts further on, in the order of leaves.
std::vector<HostId> HalfShift(const Stage& stage);

// Returns true if no leaf has more than half of all hosts: then all can send to other leaves.
bool CanCross(const Stage& stage);

}  // namespace heddle
