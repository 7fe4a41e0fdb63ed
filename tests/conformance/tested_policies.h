// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

namespace heddle {

// The load balancers under test: every registered one, or those of the plug-ins that are named.
const std::vector<std::string>& TestedPolicies();

}  // namespace heddle
