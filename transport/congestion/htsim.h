// SPDX-License-Identifier: Apache-2.0
// The windows of the simulator htsim. reno and dctcp make them if `variant: htsim` is set, so that
// runs can be compared with htsim's.

#pragma once

#include <cstdint>
#include <memory>

#include "transport/tcp/window_control.h"

namespace heddle {

// The state of a flow, in CongestionWindow::own.
struct HtsimState {
  double alpha = 0;
  int64_t bytes_acked = 0;  // Bytes acknowledged in the observation window,
  int64_t bytes_marked = 0;
  int64_t window_end = 0;   // which ends after so many bytes.
  int64_t handed_over = 0;  // Segments that the window has allowed so far, sent or not.
};

// The window of htsim's TCP, which is not ECN-capable.
std::unique_ptr<const WindowControl> MakeHtsimTcp();

// The window of htsim's DCTCP. `g`: weight of a new observation in alpha.
std::unique_ptr<const WindowControl> MakeHtsimDctcp(double g);

}  // namespace heddle
