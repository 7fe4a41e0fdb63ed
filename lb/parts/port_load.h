// SPDX-License-Identifier: Apache-2.0
// The load of a port, in bytes or in time, for policies that compare the switch's own ports.

#pragma once

#include <cstdint>

#include "fabric/switch_policy.h"
#include "settings/fields.h"

namespace heddle {

enum class LoadMetric {
  kBytes,  // Bytes not sent yet, with the rest of the packet on the wire.
  kDelay,  // Time to send them: comparable between ports of different rates.
};

inline void DeclareMetric(Fields& fields, LoadMetric& metric) {
  fields.Choice("metric", metric, {{"bytes", LoadMetric::kBytes}, {"delay", LoadMetric::kDelay}},
                "How ports are compared. bytes: by the bytes not yet sent; delay: by the time that "
                "sending these takes, which fits ports of different rates.");
}

inline int64_t LoadOf(const SwitchView& view, PortIndex port, LoadMetric metric) {
  return metric == LoadMetric::kBytes ? view.Unsent(port).count : view.QueueingDelay(port).ps;
}

// The same, but counts only what is sent before a packet of `priority`: its own class and preferred
// classes.
inline int64_t LoadBefore(const SwitchView& view, PortIndex port, uint8_t priority,
                          LoadMetric metric) {
  const Bytes before = view.UnsentBefore(port, priority);
  return metric == LoadMetric::kBytes ? before.count : view.TimeToSend(port, before).ps;
}

inline void DeclarePerClass(Fields& fields, bool& per_class) {
  fields.Add("per_class", per_class,
             "Count only packets of the packet's own class and of higher-priority classes.");
}

// Returns `cost`, which is not negative, if the port is not paused; a paused port, where the wait
// is unknown, costs more than any other. One number, as pairs compare slowly.
inline int64_t PausedLast(const SwitchView& view, const Packet& packet, PortIndex port,
                          int64_t cost) {
  return cost | int64_t{view.IsPaused(port, packet.priority)} << 62;
}

}  // namespace heddle
