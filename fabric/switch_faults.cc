// SPDX-License-Identifier: Apache-2.0

#include "fabric/switch_faults.h"

#include <algorithm>

#include "fabric/switch.h"

namespace heddle {
namespace {

bool Fits(const std::vector<bool>& wanted, size_t index) { return wanted.empty() || wanted[index]; }

}  // namespace

bool Blackhole::Takes(const Packet& packet, PortIndex in_port, Time now) const {
  if (now >= until || !Fits(from, packet.src) || !Fits(to, packet.dst)) return false;
  if (!Fits(in_ports, in_port)) return false;
  if (packet.tuple_hash < hash_from || packet.tuple_hash >= hash_to) return false;
  return pairs == kAll ||
         Mix64(salt + (uint64_t{packet.src} << 16 | uint64_t{packet.dst})) >> 32 < pairs;
}

bool SwitchFaults::FallsIntoOne(const Packet& packet, PortIndex in_port, Time now) const {
  return std::ranges::any_of(blackholes_, [&](const Blackhole& blackhole) {
    return blackhole.Takes(packet, in_port, now);
  });
}

Decision SwitchFaults::OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                                const Candidates& candidates) {
  if (links_[in_port].Strikes(view.WireBytes(packet)))
    return Decision::Discard(DropReason::kCorrupt);
  if (FallsIntoOne(packet, in_port, view.now())) return Decision::Discard(DropReason::kBlackhole);
  if (drops_.Strikes()) return Decision::Discard(DropReason::kRandom);
  if (AsksAbout(candidates)) {
    return scheme().OnPacket(view, packet, in_port, candidates);
  }
  return Decision::Forward(candidates.ports.front());
}

}  // namespace heddle
