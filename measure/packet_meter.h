// SPDX-License-Identifier: Apache-2.0
// What is measured packet by packet, if it is asked for: how long data waits in the queues of
// switches, and how much of what their ports send is of flows of which size.
//
// It stands around the policy of each switch, which is told when a packet comes to a port and when
// its first bit leaves, and looks at what arrives at hosts by taps. A run that does not ask for it
// has neither.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/histogram.h"
#include "core/tap.h"
#include "fabric/flow.h"
#include "fabric/switch_policy.h"
#include "measure/size_classes.h"
#include "network/network.h"

namespace heddle {

class PacketMeter {
 public:
  struct Asked {
    bool queueing = false;
    bool link_classes = false;
    bool any() const { return queueing || link_classes; }
  };

  // `classes` must outlive it.
  PacketMeter(Asked asked, const SizeClasses& classes);
  ~PacketMeter();

  // While building: stands around the policy of a switch. The result must not outlive the meter.
  SwitchPolicyPtr Around(SwitchPolicyPtr scheme);

  // Before the run, when the network has been built. The meter must outlive it.
  void Watch(Network& network);

  // Between windows: a flow will start. Called in the order of ids.
  void OnStart(const FlowSpec& spec);

  // Between windows: the bytes of flows that each port of each switch has begun to send so far. In
  // the order of switches, then ports, then atoms of the size classes.
  std::vector<int64_t> PayloadByClass() const;

  // How long packets of measured flows have waited in all queues on their way; by atom.
  std::vector<Histogram> Queueing() const;

 private:
  class Stamp;
  class Arrivals;

  // Whose packets are whose, read by all threads while a window runs.
  struct Flows {
    std::vector<uint16_t> atom;  // By flow.
    std::vector<bool> measured;
  };

  const Asked asked_;
  const SizeClasses& classes_;
  Flows flows_;
  std::vector<Stamp*> stamps_;                   // By switch.
  std::vector<std::unique_ptr<Arrivals>> taps_;  // By thread.
  std::deque<TappedNode> hosts_;                 // They stay where they are.
};

}  // namespace heddle
