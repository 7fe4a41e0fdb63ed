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
  return Duration{static_cast<int64_t>(bits * 1e12 / (kShareOfLine * rate_ * line))};
}

// --- Oversubscribed fabrics ---

void UetPacer::OnArrival(const Packet& packet) {
  if (!shared_.adapts_to_fabric) return;
  hash_ = packet.tuple_hash;
  EndPeriods();
  ++packets_;
  if (packet.Has(Packet::kTrimmed)) {
    trimmed_ += packet.Has(Packet::kCutAtLastHop) ? 0 : 1;
    return;
  }
  ++whole_;
  marked_ += packet.Has(Packet::kCe) ? 1 : 0;
}

// A period lasts for 1.5 round trips, give or take a quarter. The generator is a hash of the flow,
// whose ports the seed has chosen, and a count.
Duration UetPacer::NextPeriod() {
  const uint64_t draw = Mix64(uint64_t{hash_ ^ host_.id()} << 32 | draws_++);
  const double uniform = static_cast<double>(draw >> 11) * 0x1p-53;
  const double round_trip = static_cast<double>(shared_.rules.rtt.ps);
  return Duration{static_cast<int64_t>(1.5 * round_trip * (0.75 + 0.5 * uniform))};
}

// Ends the periods that are over by now. Periods without packets need no timer: they are made up
// for here. They raise the rate, and when that is 1 again they change nothing.
void UetPacer::EndPeriods() {
  if (!shared_.adapts_to_fabric) return;
  constexpr double kNoMarks = 1e-9;
  while (host_.now() >= period_end_) {
    if (packets_ == 0 && rate_ == 1 && marked_share_ < kNoMarks) {
      marked_share_ = 0;
      period_end_ = host_.now() + NextPeriod();
      return;
    }
    AdaptRate();
    period_end_ += NextPeriod();
  }
}

// uet-htsim's rule for oversubscribed fabrics.
void UetPacer::AdaptRate() {
  constexpr double kMarksAllowed = 0.3;
  constexpr double kCut = 0.5;
  constexpr double kStep = 0.01;
  constexpr double kLeast = 0.01;
  constexpr int64_t kDoublings = 7;  // By then a step exceeds the whole line.
  const auto share = [](int64_t part, int64_t all) {
    return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
  };
  marked_share_ = (marked_share_ + share(marked_, whole_)) / 2;
  if (trimmed_ > 0) rate_ -= share(trimmed_, packets_);
  if (marked_share_ > kMarksAllowed) rate_ *= 1 - kCut * (marked_share_ - kMarksAllowed);
  if (trimmed_ > 0 || marked_share_ > kMarksAllowed) {
    increases_ = 0;
  } else {
    const int64_t steps = marked_ > 0 ? 1 : int64_t{1} << std::min(increases_, kDoublings);
    rate_ += kStep * static_cast<double>(steps);
    ++increases_;
  }
  rate_ = std::clamp(rate_, kLeast, 1.0);
  packets_ = whole_ = marked_ = trimmed_ = 0;
}

}  // namespace heddle
