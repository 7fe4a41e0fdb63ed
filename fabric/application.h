// SPDX-License-Identifier: Apache-2.0
// The interface between a host and the programs on it that send a message when others have arrived:
// the ranks of closed-loop workloads (workload/jobs/). Each message is one flow.
//
// All calls come from the handlers of the host. So a message that another one releases starts at
// the same picosecond, for every window length and number of threads.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/packet.h"
#include "fabric/flow.h"

namespace heddle {

class Application {
 public:
  virtual ~Application() = default;

  // The last byte of a message to this host has been handed up, in order.
  virtual void OnReceived(FlowId message) = 0;

  // The NIC has pulled the last packet of a message from this host for the first time.
  virtual void OnHanded(FlowId message) = 0;

  // The ACK of the last byte of a message from this host has arrived.
  virtual void OnAcked(FlowId message) = 0;

  virtual void OnTimer(uint64_t key) = 0;

  // A packet of a message that is not open here has arrived. Returns the flow to open; its start is
  // not known here. Returns nothing if the message has been closed before.
  virtual std::optional<FlowSpec> Expect(FlowId message) = 0;

  // The receiving half of a message has been closed: packets that come for it are late from now on.
  virtual void OnClosed(FlowId message) = 0;

  virtual size_t memory_bytes() const = 0;
};

}  // namespace heddle
