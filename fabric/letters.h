// SPDX-License-Identifier: Apache-2.0
// What nodes tell each other outside the simulated network (core/mail.h). None of it changes what a
// packet does: it settles statistics, and lets a receiver forget a flow whose sender has finished.

#pragma once

#include <cstdint>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/flow.h"

namespace heddle {

enum LetterKind : uint32_t {
  kDropNotice,
  kFlowEnded,
};

// To the sending host: one transmission of a data packet has been dropped.
struct DropNotice {
  FlowId flow;
  uint32_t tx_id;
  Time at;
};

// To the receiving host: the sender has finished. The receiver stops answering at `close`.
struct FlowEnded {
  FlowId flow;
  Time close;
  SenderRecord sender;
};

}  // namespace heddle
