// SPDX-License-Identifier: Apache-2.0
// The conformance tests share these functions. `main` reads the load balancers from the command
// line before any test runs, and the program's operator new counts allocations.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace heddle {

// The load balancers under test: every registered one, or those of the plug-ins that are named.
const std::vector<std::string>& TestedPolicies();

// Allocations of the whole program so far; 0 where a sanitizer has an allocator of its own.
size_t Allocations();

}  // namespace heddle
