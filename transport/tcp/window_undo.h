// SPDX-License-Identifier: Apache-2.0
// WindowUndo takes back a reduction of the window that reordering alone has caused. The TCP sender
// calls it; DSACKs must have shown that every retransmission of the episode was spurious (RFC 3708;
// as Linux does).

#pragma once

#include <cstdint>

#include "transport/tcp/window_control.h"

namespace heddle {

class WindowUndo {
 public:
  // An episode of recovery begins; `window` is not reduced yet.
  void Begin(const CongestionWindow& window) {
    before_ = window;
    unproven_ = 0;
    possible_ = true;
  }
  void OnRetransmission() { ++unproven_; }
  bool possible() const { return possible_; }

  // A retransmission has proved spurious. If it was the last of them, restores the window.
  void OnDsack(CongestionWindow& window, const WindowControl& control) {
    if (!possible_ || unproven_ == 0 || --unproven_ > 0) return;
    control.Undo(window, before_);
    possible_ = false;
  }

 private:
  CongestionWindow before_;
  uint32_t unproven_ = 0;
  bool possible_ = false;
};

}  // namespace heddle
