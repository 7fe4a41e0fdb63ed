// SPDX-License-Identifier: Apache-2.0
// The windows of the simulator htsim, which `variant: htsim` of reno and of dctcp choose.

#pragma once

#include <cstdint>
#include <memory>

#include "transport/window_control.h"

namespace heddle {

// What they keep of a flow, in CongestionWindow::own.
struct HtsimState {
  double alpha = 0;
  int64_t bytes_acked = 0;  // In the observation window,
  int64_t bytes_marked = 0;
  int64_t window_end = 0;   // which ends after so many bytes.
  int64_t handed_over = 0;  // Segments that the window has allowed so far, sent or not.
};

// The window of htsim's TCP, which is not ECN-capable.
std::unique_ptr<const WindowControl> MakeHtsimTcp();

// The window of htsim's DCTCP. `g`: weight of a new observation in alpha.
std::unique_ptr<const WindowControl> MakeHtsimDctcp(double g);

}  // namespace heddle
