// SPDX-License-Identifier: Apache-2.0
// How loaded a port is, for schemes that compare the switch's own ports.

#pragma once

#include <cstdint>

#include "fabric/switch_policy.h"
#include "settings/fields.h"

namespace heddle {

enum class LoadMetric {
  kBytes,  // Not sent yet, the rest of the packet on the wire included.
  kDelay,  // Until they are: ports of different rates compare.
};

inline void DeclareMetric(Fields& fields, LoadMetric& metric) {
  fields.Choice("metric", metric, {{"bytes", LoadMetric::kBytes}, {"delay", LoadMetric::kDelay}},
                "What is compared of ports. bytes: what they have not sent yet; delay: how long "
                "that takes, which weighs ports of different rates.");
}

inline int64_t LoadOf(const SwitchView& view, PortIndex port, LoadMetric metric) {
  return metric == LoadMetric::kBytes ? view.Unsent(port).count : view.QueueingDelay(port).ps;
}

// The same of what goes before a packet of `priority` alone: its class and those that are
// preferred.
inline int64_t LoadBefore(const SwitchView& view, PortIndex port, uint8_t priority,
                          LoadMetric metric) {
  const Bytes before = view.UnsentBefore(port, priority);
  return metric == LoadMetric::kBytes ? before.count : view.TimeToSend(port, before).ps;
}

inline void DeclarePerClass(Fields& fields, bool& per_class) {
  fields.Add("per_class", per_class,
             "Count only packets of the packet's own class and of those before it.");
}

// `cost`, which is not negative, for a port that is not paused; a paused one, which makes a packet
// wait for nobody knows how long, comes after all of those. One number, since pairs compare slowly.
inline int64_t PausedLast(const SwitchView& view, const Packet& packet, PortIndex port,
                          int64_t cost) {
  return cost | int64_t{view.IsPaused(port, packet.priority)} << 62;
}

}  // namespace heddle
