// SPDX-License-Identifier: Apache-2.0
// What one decision of a load balancer costs on this machine: on the packets that a leaf forwards
// in a simulation, with their times, sizes and order, data and ACKs mixed.

#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/decision/recording.h"
#include "lb/parts/load_balancer.h"
#include "settings/diagnostics.h"
#include "settings/kinds.h"

namespace heddle {

struct DecisionCost {
  double decide_ns = 0;  // Of the question to the switch's policy alone, queues idle.
  // Of all that a leaf does with a packet, as many from its hosts as to them: the decision,
  // forwarding it, and what the scheme does when packets enter and leave queues, when its timers
  // fire, and with what other switches that run it send and write into packets.
  double switch_ns = 0;
  // If the scheme acts at hosts. Of the question to the sending one, and of all that its part at
  // both ends does to a packet of data: when it leaves and arrives, when its ACK does, and by its
  // timers.
  std::optional<double> send_ns;
  std::optional<double> host_ns;
  size_t switch_bytes = 0;  // State, at the end.
  size_t host_bytes = 0;
  std::optional<double> misses;  // Of the last cache, per decision; if the machine tells.
};

// What `yaml` means as the lb of an experiment: "tr", "{kind: tr, table_entries: 131072}".
Chosen<LoadBalancer> ReadBalancer(const std::string& yaml, Diagnostics& diagnostics);

struct CostPlan {
  std::string balancer;  // As ReadBalancer() reads it, which finds no mistake in it.
  size_t candidates = 4;
  int rounds = 3;  // The least of them counts. One more goes before, to fill tables.
};

// FailedPrecondition if the scheme refuses such a fabric, InvalidArgument if it makes no policies.
absl::StatusOr<DecisionCost> MeasureDecisions(const CostPlan& plan,
                                              const std::vector<RecordedPacket>& packets);

// Whether this machine counts cache misses for this program.
bool CountsCacheMisses();

}  // namespace heddle
