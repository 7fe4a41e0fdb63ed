// SPDX-License-Identifier: Apache-2.0
// The letters that nodes send each other outside the simulated network (core/mail.h). Drop notices
// and ends of flows change no packet: they settle statistics, and let a receiver forget a flow
// whose sender has finished. What programs tell each other (kNews) takes effect at a time that the
// letter names.

#pragma once

#include <cstdint>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/flow.h"

namespace heddle {

enum LetterKind : uint32_t {
  kDropNotice,
  kFlowEnded,
  kNews,
};

// Tells the sending host that one transmission of a data packet has been dropped.
struct DropNotice {
  FlowId flow;
  uint32_t tx_id;
  Time at;
};

// Tells the receiving host that the sender has finished. The receiver stops answering at `close`.
struct FlowEnded {
  FlowId flow;
  Time start;  // The flow's start, which the receiver of a message learns only now.
  Time close;
  SenderRecord sender;
};

}  // namespace heddle
