// SPDX-License-Identifier: Apache-2.0
// The values of settings that follow from other settings or from the network, where a user has
// written auto or nothing. Transports and congestion controls report theirs; run.yaml, `heddle
// check` and reports show them.

#pragma once

#include <string>
#include <utility>
#include <vector>

namespace heddle {

// Names of settings, each with its value as text.
using AutoValues = std::vector<std::pair<std::string, std::string>>;

}  // namespace heddle
