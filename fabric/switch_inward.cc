// SPDX-License-Identifier: Apache-2.0
// A leaf with short links to its hosts, as the hub of their group (core/shard.h). It sends packets
// from outside ahead of those from its hosts. Its policy has promised to look at no port to a host
// (only_chooses), or is not asked at all.

#include "fabric/switch.h"

namespace heddle {

// Fills in `keeps_`. Returns false if the ports are eager or the policy does more than choose, and
// if RunInward() could change the order of packets at a port. It could if a packet from a host for
// a host that is apart is on its way, or if kept packets could not be sent in the order of
// in-ports.
bool Switch::MayRunInward(Time start) {
  if (queued_ && queued_->eager()) return false;
  if (!RunsAlone() && !only_chooses_) return false;
  keeps_.assign(ports_.size(), 0);
  size_t inner = 0;
  size_t end_of_inner = 0;
  bool keeps = false;
  ForEachInnerPort([&](PortIndex port) {
    ++inner;
    end_of_inner = port + size_t{1};
    if (ports_[port].wire().consumer().IsApart(start)) return;
    keeps_[port] = 1;
    keeps = true;
  });
  const bool hosts_come_first = inner == end_of_inner;
  bool may = !keeps || hosts_come_first;  // See RunKept().
  const auto look = [&](const Packet& packet) {
    const EcmpRoutes::Choice choice = ecmp_routes_.Choose<false>(packet, 0);
    const bool is_kept = keeps_[choice.port] != 0;
    if (choice.count == 0 || (IsInner(choice.port) && !is_kept)) may = false;
  };
  ForEachInnerPort([&](PortIndex port) { arrivals_.head(port).ForEachBefore(kNever, look); });
  return may;
}

// Returns how many bytes from outside may arrive before `window.end`, so that queued ports stay
// late whatever the hosts send; negative if the leaf may not send ahead. `outward` is the most that
// the hosts can send. The ports count their buffer anew unless as much is left for packets inward.
int64_t Switch::RoomInward(const Window& window) {
  if (!queued_) return kUnlimited;
  int64_t outward = 0;
  bool is_known = true;
  ForEachInnerPort([&](PortIndex port) {
    const auto its = ports_[port].wire().consumer().MostBytesIn(window.end - window.inner);
    is_known = is_known && its;
    outward += its.value_or(0);
  });
  if (!is_known) return -1;
  return queued_->RoomAhead(2 * outward, window.inner, window) - outward;
}

// In this window, no host of this switch sends to a host that is apart. So the port to such a host
// gets packets only from outside, and these can be sent ahead of all others.
Time Switch::RunInward(const Window& window) {
  if (!MayRunInward(window.inner)) return window.inner;
  int64_t room = RoomInward(window);
  if (room < 0) return window.inner;
  window_ = &window;
  ForEachInnerPort([&](PortIndex port) { arrivals_.Hide(port); });
  Time end = window.end;
  EcmpRoutes::Choice choice{};
  const auto leads_inward = [&](const Packet& packet, PortIndex, Time now)
      __attribute__((always_inline)) {
    choice = ecmp_routes_.Choose<false>(packet, 0);  // Packets with a choice leave the group.
    const bool is_inner = choice.count == 1 && IsInner(choice.port);
    const bool is_special = packet.kind == PacketKind::kPause || packet.hops >= kMaxHops;
    room -= packet.bytes;
    if (is_inner && !is_special && room >= 0) [[likely]]
      return true;
    end = now;
    return false;
  };
  const auto take = [&](const Packet& packet, PortIndex in, Time now)
      __attribute__((always_inline)) {
    if (keeps_[choice.port] != 0) {
      kept_.push_back({packet, in});
    } else if (queued_) {
      SendInward(packet, in, choice.hop(), now);
    } else {
      SendBy({&ports_[choice.port], choice.path_part, choice.count}, packet, now, window);
    }
    return true;
  };
  arrivals_.TakeWhile(window.end, leads_inward, take);
  ForEachInnerPort([&](PortIndex port) {
    arrivals_.Show(port);
    if (queued_ && keeps_[port] == 0) queued_->CatchUp(port, end, window);
  });
  if (queued_) queued_->NoteAhead(end);
  return end;
}

// Run() if RunInward() has kept packets, which it does only if hosts have the first in-ports. So of
// packets that arrive at one instant, those from hosts go first, then the kept ones, then others.
void Switch::RunKept(const Window& window) {
  while (NextKept() < window.end) {
    const Kept& kept = kept_.front();
    const Time now = NextKept();
    // At queued ports, decisions and effects of pauses may be due before. At FIFO ports, only
    // packets from hosts can come before.
    if (queued_) RunRest({.end = now, .inner = window.inner, .outer = window.outer});
    RunInside({.end = now + 1_ps, .inner = window.inner, .outer = window.outer});
    now_ = now;
    RouteAndHandle(kept.packet, kept.in);
    kept_.pop_front();
  }
  RunRest(window);
}

// Handles what arrives before `window.end`, up to the first packet from outside the group.
void Switch::RunInside(const Window& window) {
  const auto is_inner = [this](const Packet&, PortIndex port, Time) { return IsInner(port); };
  const auto take = [&](const Packet& packet, PortIndex in_port, Time now) {
    now_ = now;
    RouteAndHandle(packet, in_port);
    return true;
  };
  arrivals_.TakeWhile(window.end, is_inner, take);
}

}  // namespace heddle
