// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "settings/fields.h"
#include "transport/congestion_control.h"

namespace heddle {

struct DctcpSettings {
  double g = 1.0 / 16;       // Weight of a new observation in alpha; RFC 8257 section 4.2.
  double alpha0 = 1;         // Before the first observation.
  double min_cwnd = 2;       // Segments; marks reduce the window no further.
  bool grow_in_cwr = false;  // Grow between a reduction and the end of that window.

  bool HasDefaultsBesidesG() const { return alpha0 == 1 && min_cwnd == 2 && !grow_in_cwr; }

  void Declare(Fields& fields);
};

// `growth_limit`: segments by which one ACK may open the window in slow start.
std::unique_ptr<CongestionControl> MakeDctcp(const DctcpSettings& settings, int growth_limit);

}  // namespace heddle
