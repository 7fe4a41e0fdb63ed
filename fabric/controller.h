// SPDX-License-Identifier: Apache-2.0
// A controller is the part of a load balancer that sees more than one switch or host, such as a
// central scheduler or a table shared by the hosts of a rack. It acts between windows, when no node
// runs, and before every node event of the same instant; its actions take effect at that instant. A
// scheme that models control latency acts that much later.

#pragma once

#include <span>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/host_policy.h"
#include "fabric/switch_policy.h"

namespace heddle {

// The policies of the fabric. A controller knows those of its own scheme and may read and write
// their state; it sends no packets and sets no timers through them.
struct FabricView {
  std::span<SwitchPolicy* const> switches;  // By id.
  std::span<HostPolicy* const> hosts;       // By id; null where the scheme does nothing.
  std::span<const SwitchId> leaf_of_host;
};

class Controller {
 public:
  virtual ~Controller() = default;

  // When the controller wants to act next; kNever if never.
  virtual Time Next() const = 0;

  // Acts at `now`, which is Next(). Afterwards Next() must be later.
  virtual void Act(Time now) = 0;
};

}  // namespace heddle
