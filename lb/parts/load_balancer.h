// SPDX-License-Identifier: Apache-2.0
// The interface of a load balancer. An experiment reads its settings with Declare(), calls
// Prepare() once, and then asks it for the policy of each switch and host. One file defines and
// registers it:
//
//   class MyPolicy final : public SwitchPolicy { ... };  // Or HostPolicy; or both.
//   class MyBalancer final : public LoadBalancer { ... };  // Makes them with std::make_unique.
//   [[maybe_unused]] const bool registered =
//       LoadBalancers().Add<MyBalancer>({"my_balancer", "One sentence.", "Paper, year"});

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "core/packet.h"
#include "fabric/controller.h"
#include "fabric/host.h"    // The views that policies look through are inline here
#include "fabric/switch.h"  // and here.
#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "settings/kinds.h"

namespace heddle {

// Probes and other packets of a scheme's own are as short as Ethernet allows.
inline constexpr uint16_t kControlPacketBytes = 64;

// The properties of the fabric that a scheme may use, as they are before the run.
struct FabricShape {
  int tiers = 2;
  size_t leaves = 2;
  size_t leaf_uplinks = 4;         // The largest number of uplinks of a lowest-tier switch.
  size_t above_uplinks = 0;        // The same of a switch of the next tier.
  Duration base_rtt = 16_us;       // Longest idle RTT between hosts, of a full packet and its ACK.
  BitRate host_rate = 10_Gbps;     // The rate of the slowest host link.
  BitRate fabric_rate = 10_Gbps;   // The rate of the slowest link between switches.
  Duration marking_delay = 78_us;  // The delay of the longest unmarked queue; 0: no ECN marks.
  Duration all_marked_delay = 78_us;  // The delay of a queue from which on all packets are marked.
  Bytes marked_above{0};           // Marking threshold to a host, if transports use marks; else 0.
  bool is_lossless = false;        // PFC (IEEE 802.1Qbb) may pause the data classes.
  Bytes pause_above{256'000};      // Bytes of an input above which PFC pauses its sender; 256 KB if
                                   // that depends on what other inputs hold.
  bool trims = false;              // Switches trim packets of the data classes.
  bool limits_rates = true;        // The transport can limit a flow's rate.
  bool is_ecn_capable = true;      // Switches may mark the transport's data.
  bool echoes_marks = true;        // The transport's ACKs echo marks.
  Bytes switch_memory{9'000'000};  // The shared buffer of all ports.
  Bytes packet{1'524};             // A full data packet on the wire.
};

class LoadBalancer {
 public:
  virtual ~LoadBalancer() = default;

  virtual void Declare(Fields& fields) = 0;

  // Called before any policy is made. Computes the settings that follow from the fabric. A scheme
  // that cannot run on it reports an error to `diagnostics`, at `path` or a setting below it, and
  // says what the user can do.
  virtual void Prepare(const FabricShape& /*fabric*/, std::string_view /*path*/,
                       Diagnostics& /*diagnostics*/) {}

  // Returns true if packets of one flow often overtake each other, not only when it changes its
  // path.
  virtual bool reorders() const { return false; }

  // Returns the flowlet gap if the scheme has one: the idle time after which a flow may take
  // another path. Called after Prepare().
  virtual std::optional<Duration> flowlet_gap() const { return std::nullopt; }

  // Returns the policy of one switch. All its randomness comes from streams of `seed` and the id.
  virtual SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const = 0;

  // Returns the policy of one host, null if the scheme does nothing there.
  virtual HostPolicyPtr ForHost(HostId /*id*/, uint64_t /*seed*/) const { return nullptr; }

  // Returns the scheme's controller of the whole fabric, null if it has none. `fabric` outlives it.
  virtual std::unique_ptr<Controller> ForFabric(const FabricView& /*fabric*/,
                                                uint64_t /*seed*/) const {
    return nullptr;
  }
};

// Every load balancer in the program, sorted by name.
Kinds<LoadBalancer>& LoadBalancers();

}  // namespace heddle
