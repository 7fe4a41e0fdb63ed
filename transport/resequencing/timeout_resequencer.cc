// SPDX-License-Identifier: Apache-2.0

#include "transport/resequencing/timeout_resequencer.h"

namespace heddle {

void TimeoutSettings::Declare(Fields& fields) {
  fields.AddOr(
      "never", "timeout", timeout, {.above = Duration{0}, .at_most = 100_s},
      "How long packets wait for a hole to fill, from the first packet beyond it. Set it to more "
      "than the difference of path delays and less than the retransmission timeout.");
}

void TimeoutResequencer::Take(uint32_t slot, const Packet& packet) {
  if (packet.seq < expected(slot)) return HandUpLate(slot, packet);
  if (packet.seq > expected(slot)) {
    Hold(slot, packet);
    return;
  }
  HandUp(slot, packet, packet.arrival);
  HandUpRun(slot, packet.arrival);
}

void TimeoutResequencer::Expire(uint32_t slot, Time now) {
  CountTimeout();
  HandUpAll(slot, now);
}

}  // namespace heddle
