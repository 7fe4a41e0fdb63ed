// SPDX-License-Identifier: Apache-2.0
// The state that a TCP flow keeps for options that are off by default. The sender makes it only if
// one of them is on.

#pragma once

#include <cstdint>

#include "transport/flow_timers.h"
#include "transport/tcp/prr.h"
#include "transport/tcp/rack.h"
#include "transport/tcp/window_undo.h"

namespace heddle {

struct TcpExtensions {
  Rack rack;
  Prr prr;
  WindowUndo undo;
  bool rescued = false;  // This episode's one segment beyond the lost ones has been sent.

  // Tail loss probes (RFC 8985 section 7).
  bool probe_due = false;
  bool probe_is_old = false;  // The probe was a retransmission.
  int64_t probe_end = -1;     // board_.end() at the last probe, until its fate is known.

  LazyTimer reorder;
  LazyTimer probe;
};

}  // namespace heddle
