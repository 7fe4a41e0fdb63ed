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
#include "core/units.h"
#include "fabric/flow.h"

namespace heddle {

// A program on one host tells this to one on another host, outside the simulated network. It takes
// effect at `at`, which lies at least one window after it is told. News of one instant may reach
// the host in any order.
struct News {
  enum class Kind : uint32_t {
    kReleased,  // Operation `number` of rank `to` waits for one less. Told by rank `from`.
    kMessage,   // Message `number` of rank `from` to rank `to` begins to arrive over a local link.
  };
  Time at;
  Kind kind;
  uint32_t job;
  uint32_t iteration;
  uint32_t from;
  uint32_t to;
  uint64_t number;
};

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

  // Called before the host runs, long enough before `news.at`.
  virtual void OnNews(const News& news) = 0;

  // A packet of a message that is not open here has arrived. Returns the flow to open; its start is
  // not known here. Returns nothing if the message has been closed before.
  virtual std::optional<FlowSpec> Expect(FlowId message) = 0;

  // The receiving half of a message has been closed: packets that come for it are late from now on.
  virtual void OnClosed(FlowId message) = 0;
};

}  // namespace heddle
