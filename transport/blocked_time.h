// SPDX-License-Identifier: Apache-2.0
// Adds up how long pauses (PFC) block a flow that has something to send. Senders call Add() from
// Endpoint::AddBlocked().

#pragma once

#include <utility>

#include "core/units.h"

namespace heddle {

class BlockedTime {
 public:
  // A flow that begins to wait during a pause is told so by a negative time: how long the pause has
  // lasted. At the end of the pause it is told how long the whole pause was. Returns how long the
  // flow has waited, when the pause has ended. A flow that ends before was not blocked.
  Duration Add(Duration blocked) {
    if (blocked >= Duration{0}) return blocked + std::exchange(missed_, Duration{0});
    missed_ = blocked;
    return Duration{0};
  }

 private:
  Duration missed_{0};  // Negative, or 0.
};

}  // namespace heddle
