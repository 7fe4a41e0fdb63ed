// SPDX-License-Identifier: Apache-2.0
// What a load balancer is to an experiment: settings, and the policies they make for each switch
// and, if it acts there, each host. One file makes one and registers it:
//
//   class MyBalancer final : public LoadBalancer { ... };
//   [[maybe_unused]] const bool registered =
//       LoadBalancers().Add<MyBalancer>({"my_balancer", "One sentence.", "Paper, year"});

#pragma once

#include <cstdint>
#include <memory>

#include "core/packet.h"
#include "fabric/controller.h"
#include "fabric/host.h"    // The views that policies look through are inline here
#include "fabric/switch.h"  // and here.
#include "settings/fields.h"
#include "settings/kinds.h"

namespace heddle {

class LoadBalancer {
 public:
  virtual ~LoadBalancer() = default;

  virtual void Declare(Fields& fields) = 0;

  // The policy of one switch. All randomness comes from streams of `seed` and the switch's id.
  virtual std::unique_ptr<SwitchPolicy> ForSwitch(SwitchId id, uint64_t seed) const = 0;

  // The policy of one host, null if the scheme does nothing there.
  virtual std::unique_ptr<HostPolicy> ForHost(HostId /*id*/, uint64_t /*seed*/) const {
    return nullptr;
  }

  // What acts on the whole fabric at once, null if nothing does. `fabric` outlives it.
  virtual std::unique_ptr<Controller> ForFabric(const FabricView& /*fabric*/,
                                                uint64_t /*seed*/) const {
    return nullptr;
  }
};

// Every load balancer in the program, sorted by name.
Kinds<LoadBalancer>& LoadBalancers();

}  // namespace heddle
