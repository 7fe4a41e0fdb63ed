// SPDX-License-Identifier: Apache-2.0
// The step algorithms of collectives (workload/jobs/steps.h). S is the buffer, n the number of
// ranks.
//
// Sources: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
// MPICH", IJHPCA 2005 (rings, halving and doubling, Bruck, pairwise); Bruck et al., IEEE TPDS 1997;
// Hensgen, Finkel and Manber, IJPP 1988 (dissemination); NCCL's PAT (arXiv 2506.20252).

#pragma once

#include <cstdint>
#include <memory>

#include "workload/jobs/steps.h"

namespace heddle {

enum class Half { kReduceScatter, kAllGather, kBoth };

// A ring. In step k, the rank at position p sends a block of S/n to the one behind. The rank at
// position j is (j * stride) mod n; `stride` and n have no common divisor. `mirrored`: it runs the
// other way round.
std::unique_ptr<StepAlgorithm> MakeRing(uint32_t ranks, Half half, uint32_t stride = 1,
                                        bool mirrored = false);

// All-reduce: ranks exchange halves, quarters, ... of the buffer with partners at distances n/2,
// n/4, ..., and then the results in reverse. If n is no power of two, the first ranks fold their
// buffers into those of their neighbours before, and get the result from them in the end.
std::unique_ptr<StepAlgorithm> MakeHalvingDoubling(uint32_t ranks);

// All-reduce: ranks exchange whole buffers with partners at distances 1, 2, 4, ...
std::unique_ptr<StepAlgorithm> MakeRecursiveDoubling(uint32_t ranks);

// All-gather or reduce-scatter by parallel aggregated trees. `aggregate`: the blocks that travel
// together, a power of two of at most half of n rounded up to one; 0: that most.
std::unique_ptr<StepAlgorithm> MakePat(uint32_t ranks, Half half, uint32_t aggregate = 0);

// All-gather: in step j, each rank sends what it has, up to 2^j blocks, to the rank 2^j before.
std::unique_ptr<StepAlgorithm> MakeBruckAllGather(uint32_t ranks);

// All-to-all: in step j, each rank sends the blocks whose distance has bit j to the rank 2^j on.
std::unique_ptr<StepAlgorithm> MakeBruckAllToAll(uint32_t ranks);

// All-to-all: in step i, each rank exchanges blocks with the rank whose number differs by XOR i; n
// is a power of two.
std::unique_ptr<StepAlgorithm> MakePairwise(uint32_t ranks);

// All-to-all: in step i, each rank sends to the i-th rank behind it.
std::unique_ptr<StepAlgorithm> MakeShift(uint32_t ranks);

// Broadcast: in step j, each rank that has the buffer sends it to one that has not.
std::unique_ptr<StepAlgorithm> MakeBinomialBroadcast(uint32_t ranks, uint32_t root);

// Barrier: in step j, each rank sends one byte to the rank 2^j on.
std::unique_ptr<StepAlgorithm> MakeDissemination(uint32_t ranks);

}  // namespace heddle
