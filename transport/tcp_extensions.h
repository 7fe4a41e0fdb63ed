// SPDX-License-Identifier: Apache-2.0
// What a TCP flow keeps for options that are off by default; made only if one of them is on.

#pragma once

#include <cstdint>

#include "transport/flow_timers.h"
#include "transport/prr.h"
#include "transport/rack.h"
#include "transport/window_undo.h"

namespace heddle {

struct TcpExtensions {
  Rack rack;
  Prr prr;
  WindowUndo undo;
  bool rescued = false;  // The one segment beyond what is lost has been sent, in this episode.

  // Tail loss probes (RFC 8985 section 7).
  bool probe_due = false;
  bool probe_is_old = false;  // It was a retransmission.
  int64_t probe_end = -1;     // board_.end() when the last was sent, until its fate is known.

  LazyTimer reorder;
  LazyTimer probe;
};

}  // namespace heddle
