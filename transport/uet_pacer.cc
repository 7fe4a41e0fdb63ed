// SPDX-License-Identifier: Apache-2.0

#include "transport/uet_pacer.h"

#include "core/random.h"
#include "transport/flow_timers.h"

namespace heddle {

void UetPacer::Join(FlowId flow, UetDemand& demand) {
  if (demand.is_active) return;
  demand.is_active = true;
  active_.push_back(flow);
  Arm();
}

void UetPacer::Arm() {
  if (is_armed_) return;
  is_armed_ = true;
  host_.SetTimer(std::max(host_.now(), free_from_), TimerKey(FlowTimer::kPull, 0));
}

Duration UetPacer::TimeOf(int64_t quanta) {
  EndPeriods();
  double line = 0;
  for (PortIndex link = 0; link < host_.nics(); ++link) {
    line += static_cast<double>(host_.nic(link).rate().bps);
  }
  const double bits = static_cast<double>(8 * quanta * UetCredit::kQuantum);
  return Duration{static_cast<int64_t>(bits * 1e12 / (kShareOfLine * fabric_.rate() * line))};
}

// --- Oversubscribed fabrics ---

void UetPacer::OnArrival(const Packet& packet) {
  if (!shared_.adapts_to_fabric) return;
  hash_ = packet.tuple_hash;
  EndPeriods();
  fabric_.OnArrival(packet);
}

// A period lasts for 1.5 round trips, give or take a quarter. The random number is a hash of a
// flow, whose ports the seed has chosen, and a count.
Duration UetPacer::NextPeriod() {
  const uint64_t draw = Mix64(uint64_t{hash_ ^ host_.id()} << 32 | draws_++);
  const double uniform = static_cast<double>(draw >> 11) * 0x1p-53;
  const double round_trip = static_cast<double>(shared_.rules.rtt.ps);
  return Duration{static_cast<int64_t>(1.5 * round_trip * (0.75 + 0.5 * uniform))};
}

// Ends the periods that are over by now. Periods without packets need no timer: they count here.
void UetPacer::EndPeriods() {
  if (!shared_.adapts_to_fabric) return;
  while (host_.now() >= period_end_) {
    if (fabric_.is_at_rest()) {
      period_end_ = host_.now() + NextPeriod();
      return;
    }
    fabric_.EndPeriod();
    period_end_ += NextPeriod();
  }
}

}  // namespace heddle
