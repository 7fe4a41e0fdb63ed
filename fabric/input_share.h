// SPDX-License-Identifier: Apache-2.0
// The share of the free buffer that an input of a switch may hold. SharedMemory limits inputs by
// it, and run.yaml shows it.

#pragma once

#include "fabric/shared_memory.h"

namespace heddle {

// Returns the multiple of the free pool that an input may hold before it pauses.
double InputShare(const MemorySettings& settings, const SharedMemory::Port& port);

}  // namespace heddle
