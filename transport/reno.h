// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "transport/congestion_control.h"

namespace heddle {

// TCP Reno's window. With `ecn` it reacts to marks as to losses (RFC 3168), otherwise its packets
// are not ECN-capable.
std::unique_ptr<CongestionControl> MakeReno(bool ecn, int growth_limit);

}  // namespace heddle
