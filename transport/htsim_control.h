// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "transport/congestion_control.h"

namespace heddle {

// The window of htsim's TCP, which is not ECN-capable.
std::unique_ptr<CongestionControl> MakeHtsimTcp();

// The window of htsim's DCTCP. `g`: weight of a new observation in alpha.
std::unique_ptr<CongestionControl> MakeHtsimDctcp(double g);

}  // namespace heddle
