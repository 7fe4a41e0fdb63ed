// SPDX-License-Identifier: Apache-2.0

#include "transport/uet/uet_pacer.h"

#include <limits>

#include "core/random.h"
#include "transport/flow_timers.h"

namespace heddle {

void UetPacer::NoteDemand(const Packet& packet, UetDemand& demand, bool is_loss) {
  demand.taken = packet.taken;
  if (grants_ == Grants::kArrivals) {
    ++demand.target;
    return Join(packet.flow, demand);
  }
  const bool wants_more = demand.Raise(PullTarget(packet));
  const bool goes_first = is_loss && grants_ == Grants::kWhole;
  if (goes_first) JoinRepairs(packet.flow, demand);
  if (wants_more || (is_loss && !goes_first)) Join(packet.flow, demand);
}

void UetPacer::Join(FlowId flow, UetDemand& demand) {
  if (demand.is_active) return;
  demand.is_active = true;
  active_.push_back(flow);
  Arm();
}

// A lost packet is worth a full one, in whole quanta.
void UetPacer::JoinRepairs(FlowId flow, UetDemand& demand) {
  constexpr int64_t kMost = std::numeric_limits<uint16_t>::max();
  const int64_t quantum = shared_.settings.rccc.quantum.count;
  const int64_t packet = (shared_.full() + quantum - 1) / quantum;
  if (demand.repairs == 0) repairs_.push_back(flow);
  demand.repairs = static_cast<uint16_t>(std::min(demand.repairs + packet, kMost));
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
  return shared_.PullInterval(quanta, line, fabric_.rate());
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
