// SPDX-License-Identifier: Apache-2.0
// Resequencing with a fixed timeout, as DRB uses it (Cao et al., CoNEXT 2013). Early packets wait
// until all packets before them have come. A hole is given up when the first packet beyond it has
// waited for the timeout; then all held packets go up, across further holes too. So no packet waits
// longer than the timeout, and the transport sees a loss at most that much later.

#pragma once

#include <cstdint>
#include <optional>

#include "core/packet.h"
#include "core/units.h"
#include "settings/fields.h"
#include "transport/resequencing/resequencer.h"

namespace heddle {

struct TimeoutSettings {
  std::optional<Duration> timeout = 100_us;  // Not set: never.

  void Declare(Fields& fields);
};

class TimeoutResequencer final : public Resequencer {
 public:
  TimeoutResequencer(Sink& sink, const HoldLimits& limits, const TimeoutSettings& settings)
      : Resequencer(sink, limits), timeout_(settings.timeout) {}

  Time Deadline(uint32_t slot) const override {
    if (!timeout_ || !buffer().Holds(slot)) return kNever;
    return WaitingSince(slot) + *timeout_;
  }

 private:
  void Take(uint32_t slot, const Packet& packet) override;
  void Expire(uint32_t slot, Time now) override;

  const std::optional<Duration> timeout_;
};

}  // namespace heddle
