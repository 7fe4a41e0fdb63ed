// SPDX-License-Identifier: Apache-2.0

#include "fabric/trimming.h"

#include <algorithm>

namespace heddle {

Trimming::Trimming(const TrimSettings& settings, const std::vector<TrimLimits>& ports,
                   uint64_t seed, uint64_t switch_id)
    : settings_(settings) {
  for (size_t p = 0; p < ports.size(); ++p) {
    ports_.push_back({ports[p], {}, Rng::Stream(seed, "trim", switch_id << 16 | p)});
  }
}

bool Trimming::Cuts(PortIndex port, int64_t length) {
  Port& its = ports_[port];
  if (settings_.when == TrimSettings::When::kPort) return length > its.limits.threshold;
  return settings_.when == TrimSettings::When::kMark && its.limits.marking.Marks(length, its.rng);
}

bool Trimming::CutsNewest(PortIndex port) {
  if (settings_.victim != TrimSettings::Victim::kCoin) {
    return settings_.victim == TrimSettings::Victim::kNewest;
  }
  return ports_[port].rng.Below(2) == 0;
}

Packet Trimming::HeaderOf(const Packet& whole, PortIndex port, bool was_queued, bool at_last_hop) {
  Packet header = whole;
  header.bytes = std::min(whole.bytes, settings_.header);
  header.priority = 0;
  header.data.payload = 0;
  header.Set(Packet::kTrimmed);
  if (at_last_hop) header.Set(Packet::kCutAtLastHop);
  TrimTotals& totals = ports_[port].totals;
  ++totals.trimmed;
  totals.trimmed_newest += was_queued ? 1 : 0;
  totals.cut_bytes += whole.bytes - header.bytes;
  return header;
}

}  // namespace heddle
