// SPDX-License-Identifier: Apache-2.0
// What a load balancer is to an experiment: settings, and the policies they make for each switch
// and, if it acts there, each host. One file makes one and registers it:
//
//   class MyPolicy final : public SwitchPolicy { ... };  // Or HostPolicy; or both.
//   class MyBalancer final : public LoadBalancer { ... };  // Makes them with std::make_unique.
//   [[maybe_unused]] const bool registered =
//       LoadBalancers().Add<MyBalancer>({"my_balancer", "One sentence.", "Paper, year"});

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/packet.h"
#include "fabric/controller.h"
#include "fabric/host.h"    // The views that policies look through are inline here
#include "fabric/switch.h"  // and here.
#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "settings/kinds.h"

namespace heddle {

// What a scheme may want to know of the fabric before it runs; as it is at the start.
struct FabricShape {
  int tiers = 2;
  size_t leaves = 2;
  size_t leaf_uplinks = 4;    // The most of any in the lowest tier,
  size_t above_uplinks = 0;   // and in the next one.
  Duration base_rtt = 16_us;  // The longest between hosts when idle, of a full packet and its ACK.
  BitRate host_rate = 10_Gbps;     // Of the slowest link of a host,
  BitRate fabric_rate = 10_Gbps;   // and of the slowest between switches.
  Duration marking_delay = 78_us;  // Of the longest queue that is not marked; 0: none ever is.
  Bytes marked_above{0};           // A queue to a host, where congestion control heeds it; 0: none.
  bool is_lossless = false;        // Classes of data are paused, IEEE 802.1Qbb,
  Bytes pause_above{256'000};  // when an input holds more, if that is fixed; else a usual value.
  bool limits_rates = true;    // The transport can hold flows to a rate.
  bool echoes_marks = true;    // Its ACKs tell congestion control of marks.
  Bytes switch_memory{9'000'000};  // Of all ports together, if they share it.
  Bytes packet{1'524};             // A full one of data, as it occupies a wire.
};

class LoadBalancer {
 public:
  virtual ~LoadBalancer() = default;

  virtual void Declare(Fields& fields) = 0;

  // Before any policy is made. What of the settings follows from the fabric is worked out here; a
  // scheme that cannot run on it says so to `diagnostics`, for the setting `path` or one within it,
  // and what the user can do.
  virtual void Prepare(const FabricShape& /*fabric*/, std::string_view /*path*/,
                       Diagnostics& /*diagnostics*/) {}

  // Whether packets of one flow overtake each other as a rule, and not only where it changes paths.
  virtual bool reorders() const { return false; }

  // The policy of one switch. All randomness comes from streams of `seed` and the switch's id.
  virtual SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const = 0;

  // The policy of one host, null if the scheme does nothing there.
  virtual HostPolicyPtr ForHost(HostId /*id*/, uint64_t /*seed*/) const { return nullptr; }

  // What acts on the whole fabric at once, null if nothing does. `fabric` outlives it.
  virtual std::unique_ptr<Controller> ForFabric(const FabricView& /*fabric*/,
                                                uint64_t /*seed*/) const {
    return nullptr;
  }
};

// Every load balancer in the program, sorted by name.
Kinds<LoadBalancer>& LoadBalancers();

}  // namespace heddle
