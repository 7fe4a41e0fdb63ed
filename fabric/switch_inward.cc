// SPDX-License-Identifier: Apache-2.0
// A leaf with short links to its hosts, as the hub of their group (core/shard.h). It sends packets
// from outside ahead of those from its hosts. Its policy is asked about no packet, or it only
// chooses (SwitchPolicy::only_chooses): it reads the queues of its candidates, none of which leads
// to a host.

#include <limits>
#include <optional>

#include "fabric/switch.h"

namespace heddle {

// Fills in `keeps_`. Returns false if the ports are eager, if the policy does more than choose, or
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

// Returns the most bytes that can arrive from hosts before `window.end`, if queued ports are sure
// to stay late with these; nothing if not. The ports count their shared buffer anew if they might
// not stay late with twice as many, half of them from outside.
std::optional<int64_t> Switch::MostOutward(const Window& window) {
  if (!queued_) return 0;
  constexpr int64_t kUnknown = kUnlimited / (4 * (std::numeric_limits<PortIndex>::max() + 1));
  int64_t total = 0;
  const auto stay_late = [&](int64_t times) {
    bool all = true;
    total = 0;
    ForEachInnerPort([&](PortIndex port) {
      const Node& host = ports_[port].wire().consumer();
      const int64_t most = host.MostBytesIn(window.end - window.inner).value_or(kUnknown);
      total += most;
      all = all && queued_->StaysLate(port, most, /*others=*/0);
    });
    return all && queued_->StaysLate(/*in=*/0, /*bytes=*/0, times * total);
  };
  if (stay_late(2)) return total;
  queued_->CountMemory(window.inner, window);
  return stay_late(1) ? std::optional(total) : std::nullopt;
}

// In this window, no host of this switch sends to a host that is apart. So the port to such a host
// gets packets only from outside, and these can be sent ahead of all others.
Time Switch::RunInward(const Window& window) {
  if (!MayRunInward(window.inner)) return window.inner;
  const std::optional<int64_t> outward = MostOutward(window);
  if (!outward) return window.inner;
  window_ = &window;
  ForEachInnerPort([&](PortIndex port) { arrivals_.Hide(port); });
  Time end = window.end;
  EcmpRoutes::Choice choice{};
  const auto goes = [&](const Packet& packet, PortIndex in, Time now)
      __attribute__((always_inline)) {
    choice = ecmp_routes_.Choose<false>(packet, 0);  // Packets with a choice leave the group.
    const bool is_inner = choice.count == 1 && IsInner(choice.port);
    const bool is_special = packet.kind == PacketKind::kPause || packet.hops >= kMaxHops;
    const bool fits = !queued_ || queued_->StaysLate(in, packet.bytes, *outward);
    if (is_inner && !is_special && fits) [[likely]]
      return true;
    end = now;
    return false;
  };
  const auto take = [&](const Packet& packet, PortIndex in, Time now)
      __attribute__((always_inline)) {
    if (keeps_[choice.port] != 0) {
      kept_.push_back({packet, in});
      if (queued_) queued_->Reserve(in, packet.bytes);
    } else if (queued_) {
      SendInward(packet, in, choice.hop(), now);
    } else {
      SendBy({&ports_[choice.port], choice.path_part, choice.count}, packet, now, window);
    }
    return true;
  };
  arrivals_.TakeWhile(window.end, goes, take);
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
    if (queued_) queued_->Unreserve(kept.in, kept.packet.bytes);
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
