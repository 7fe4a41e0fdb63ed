// SPDX-License-Identifier: Apache-2.0

#include "fabric/switch.h"

#include <cassert>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "fabric/letters.h"

namespace heddle {

[[gnu::always_inline]] inline void Switch::ForwardBy(const Candidates& candidates,
                                                     const Packet& packet, PortIndex in_port) {
  PortIndex port = candidates.ports.front();
  if (SwitchPolicy::AsksAbout(hooks_, candidates)) {
    if (candidates.are_links_of_host) [[unlikely]]
      return ForwardOverOneLink(candidates, packet, in_port);
    // Packets without a choice do not count: a policy around the scheme may have asked for them.
    asked_ += candidates.ports.size() > 1 ? 1 : 0;
    const Decision decision = policy_->OnPacket(view_, packet, in_port, candidates);
    if (decision.kind != Decision::Kind::kForward) [[unlikely]]
      return End(packet, decision);
    port = decision.port;
    HEDDLE_CHECK(
        port < ports_.size(),
        "the load balancer chose port {} of {}; if it is a plug-in's, the mistake is there", port,
        ports_.size());
    assert(candidates.Has(port));
  }
  Forward(packet, in_port, port, /*arrived=*/true);
}

void Switch::ForwardOverOneLink(const Candidates& links, const Packet& packet, PortIndex in_port) {
  const uint64_t key = uint64_t{packet.tuple_hash} << 16 | packet.entropy;
  // Mixed twice, so that neither hosts, which pick a NIC by the hash, nor ECMP choose alike.
  const size_t link = Mix64(~Mix64(key)) % links.ports.size();
  ForwardBy({links.id, links.version, links.ports.subspan(link, 1)}, packet, in_port);
}

[[gnu::always_inline]] inline void Switch::Handle(const Packet& packet, PortIndex in_port,
                                                  const Candidates& candidates) {
  if (packet.kind == PacketKind::kPause) [[unlikely]] {
    ++consumed_;
    return queued_->OnPause(packet, in_port, now_, *window_);
  }
  if (candidates.ports.empty()) [[unlikely]]
    return Discard(packet, DropReason::kNoRoute);
  if (packet.hops >= kMaxHops) [[unlikely]]
    return Discard(packet, DropReason::kLoop);
  ForwardBy(candidates, packet, in_port);
}

// Handles a packet whose next hops nothing has looked up before.
void Switch::RouteAndHandle(const Packet& packet, PortIndex in_port) {
  Handle(packet, in_port, CandidatesTo(packet.dst));
}

[[gnu::always_inline]] inline void Switch::HandleArrival() {
  arrived_ = arrivals_.Take();
  const Packet& packet = *arrived_.packet;
  if ((hooks_ & SwitchPolicy::kPrefetch) != 0 && arrivals_.Next() < window_->end) {
    policy_->Prefetch(arrivals_.FrontBehind(arrived_));
  }
  Handle(packet, arrived_.port, CandidatesTo(packet.dst));
  arrivals_.Drop(arrived_);
}

void Switch::End(const Packet& packet, const Decision& decision) {
  switch (decision.kind) {
    case Decision::Kind::kDiscard:
      return Discard(packet, decision.reason);
    case Decision::Kind::kHold:
      ++held_;
      return;
    default:
      ++consumed_;
  }
}

[[gnu::always_inline]] inline void Switch::Forward(const Packet& packet, PortIndex in_port,
                                                   PortIndex port, bool arrived) {
  if (!plain_) {
    return queued_ ? ForwardToQueue(packet, in_port, port, arrived)
                   : ForwardAndTell(packet, port, arrived);
  }
  if (!ports_[port].Send(packet, path_parts_[port], now_, *window_)) [[unlikely]]
    ReportDrop(packet);
}

void Switch::ForwardAndTell(const Packet& packet, PortIndex port, bool arrived) {
  FifoPort& out = ports_[port];
  const Time start = std::max(now_, out.busy_until());
  if (!out.Send(packet, path_parts_[port], now_, *window_)) {
    if (hooks_ & SwitchPolicy::kDropped) policy_->OnDropped(view_, packet, port);
    return ReportDrop(packet);
  }
  NoteSent(out, port, start, arrived);
}

// The telemetry that came with `packet`; empty for packets that a policy sends or has held back.
inline const Telemetry* Switch::TelemetryFor(const Packet& packet, bool arrived) {
  static constexpr Telemetry kNothing;
  if (!telemetry_ || !CarriesTelemetry(packet.kind)) return nullptr;
  return arrived ? &arrivals_.ExtraOf(arrived_) : &kNothing;
}

// Returns true if no arrival and no timer is left at this instant.
[[gnu::always_inline]] inline bool Switch::IsLast() const {
  return !arrivals_.AnyUntil(now_) && NextKept() > now_ && timers_.Next() > now_;
}

// Returns true if nothing else happens at this instant, as far as is known now, that comes before a
// transmission that starts now. Then that may be shown now, rather than in its turn. Where the
// policy needs no order over all ports, only arrivals and timers come before.
[[gnu::always_inline]] inline bool Switch::IsAlone() const {
  if (!shows_in_order_) return IsLast();
  return IsLast() && transmissions_.Next() > now_ && (!queued_ || queued_->Due() > now_);
}

[[gnu::always_inline]] inline void Switch::ForwardToQueue(const Packet& packet, PortIndex in_port,
                                                          PortIndex port, bool arrived) {
  const bool is_alone = arrived && IsAlone();
  const QueuedPorts::Offer offer{.packet = packet,
                                 .telemetry = TelemetryFor(packet, arrived),
                                 .path_part = path_parts_[port],
                                 .in = in_port,
                                 .out = port,
                                 .is_last = may_pass_ && is_alone};
  if (trims_) [[unlikely]]
    return ForwardOrTrim(offer);
  if (Packet* passed = queued_->Pass(offer, now_, *window_)) return NotePassed(*passed, port);
  if (packet.priority == 0 && queued_->SendsControlAtOnce(port, now_, *window_)) {
    return ForwardControl(offer, arrived);
  }
  const Time next_late = queued_->NextLate();
  const int64_t sent = control_sent_ - held_;
  const auto refused = queued_->Accept(offer, now_, *window_);
  if (refused) [[unlikely]] {
    if (hooks_ & SwitchPolicy::kDropped) policy_->OnDropped(view_, packet, port);
    return Discard(packet, *refused);
  }
  if (queued_->has_passed()) return NotePassed(queued_->accepted(), port);
  if (hooks_ & SwitchPolicy::kEnqueue) policy_->OnEnqueue(view_, queued_->accepted(), port);
  // If the hook has sent packets or set a timer, the transmissions of this instant need an order.
  if (shows_in_order_ && is_alone && control_sent_ - held_ == sent && timers_.Next() > now_) {
    Show(queued_->StartAtOnce(port, now_, next_late, *window_));
  }
}

// Calls the hooks for a packet that has passed the queues of `port`.
[[gnu::always_inline]] inline void Switch::NotePassed(Packet& passed, PortIndex port) {
  if (hooks_ & SwitchPolicy::kEnqueue) {
    const int64_t sent = control_sent_ - held_;
    policy_->OnEnqueue(view_, passed, port);
    HEDDLE_CHECK(control_sent_ - held_ == sent,
                 "a policy sends from OnEnqueue(), but its enqueue_only_stamps() is true");
  }
  Show({port, &passed});
}

// A class-0 packet goes before all queues.
void Switch::ForwardControl(const QueuedPorts::Offer& offer, bool arrived) {
  FifoPort& out = ports_[offer.out];
  const Time start = std::max(now_, out.busy_until());
  if (!queued_->SendControl(offer, now_, *window_)) [[unlikely]] {
    if (hooks_ & SwitchPolicy::kDropped) policy_->OnDropped(view_, offer.packet, offer.out);
    return ReportDrop(offer.packet);
  }
  if (hooks_ != 0) NoteSent(out, offer.out, start, arrived);
}

// A FIFO port has taken a packet, which will start to leave at `start`. The policy must not be
// shown this transmission while it sends the packet, so `arrived` is false then.
void Switch::NoteSent(FifoPort& out, PortIndex port, Time start, bool arrived) {
  const uint64_t number = out.wire().pushed() - 1;
  if (hooks_ & SwitchPolicy::kEnqueue) policy_->OnEnqueue(view_, out.wire().At(number), port);
  if ((hooks_ & SwitchPolicy::kTransmit) == 0) return;
  if (arrived && start == now_ && IsAlone()) {
    return policy_->OnTransmit(view_, out.wire().At(number), port);
  }
  transmissions_.Add({start, port, number});
}

void Switch::PrefetchEnds() const {
  arrivals_.PrefetchHeads();
  for (const FifoPort& port : ports_) port.Prefetch();
  if (queued_) queued_->Prefetch();
}

void Switch::PrefetchParts(Time end) {
  arrivals_.Prefetch(end);
  if (!runs_alone_) return;
  ecmp_routes_.Prefetch();
}

// Handles an arrival at a switch with FIFO ports that runs alone. Returns true if the packet had
// several next hops.
[[gnu::always_inline]] inline bool Switch::HandleAlone(const Chosen& chosen, const Packet& packet,
                                                       PortIndex in_port, Time now,
                                                       const Window& window) {
  if (chosen.count == 0 || packet.hops >= kMaxHops) [[unlikely]] {
    now_ = now;
    RouteAndHandle(packet, in_port);
    return false;
  }
  SendBy(chosen, packet, now, window);
  return chosen.count > 1;
}

// Run() at FIFO ports for a switch that runs alone, without a branch on whether a packet has a
// choice: that branch would be mispredicted.
template <bool kHasChoice>
void Switch::RunEcmp(const Window& window) {
  const uint64_t salt = ecmp_salt_.value_or(0);
  int64_t asked = 0;
  const auto look = [&](const Packet& packet) __attribute__((always_inline)) {
    const Chosen chosen = Choose<kHasChoice>(packet, salt);
    __builtin_prefetch(chosen.port, /*rw=*/1);
    return chosen;
  };
  const auto visit = [&](const Packet& packet, PortIndex in_port, Time now, const Chosen& chosen)
      __attribute__((always_inline)) {
    const bool has_choice = HandleAlone(chosen, packet, in_port, now, window);
    if (kHasChoice) asked += has_choice ? 1 : 0;
  };
  arrivals_.TakeLookingAhead(window.end, look, visit);
  asked_ += asked;
}

void Switch::RunAlone(const Window& window) {
  ecmp_routes_.has_choice() ? RunEcmp<true>(window) : RunEcmp<false>(window);
}

// RunEcmp() for late ports.
template <bool kHasChoice>
void Switch::RunEcmpLate(const Window& window) {
  const uint64_t salt = ecmp_salt_.value_or(0);
  const auto look = [&](const Packet& packet) __attribute__((always_inline)) {
    const EcmpRoutes::Choice choice = ecmp_routes_.Choose<kHasChoice>(packet, salt);
    PrefetchPort(static_cast<PortIndex>(choice.port));
    return choice;
  };
  const auto visit = [&](const Packet& packet, PortIndex in, const EcmpRoutes::Choice& choice)
      __attribute__((always_inline)) {
    const bool is_special = packet.kind == PacketKind::kPause || packet.hops >= kMaxHops;
    if (is_special || choice.count == 0) [[unlikely]] {
      RouteAndHandle(packet, in);
      return true;
    }
    if (kHasChoice) asked_ += choice.count > 1 ? 1 : 0;
    return ForwardLate(packet, in, choice.hop());
  };
  RunBy(window, look, visit);
}

// Run() for FIFO ports, and for late ports whose policy need not be shown transmissions in order.
void Switch::RunAsking(const Window& window) {
  const auto look = [&](const Packet& packet) __attribute__((always_inline)) {
    if ((hooks_ & SwitchPolicy::kPrefetch) != 0) policy_->Prefetch(packet);
    const Candidates& candidates = CandidatesTo(packet.dst);
    if (candidates.ports.size() == 1) PrefetchPort(candidates.ports.front());
    return &candidates;
  };
  const auto visit = [&](const Packet& packet, PortIndex in, const Candidates* candidates)
      __attribute__((always_inline)) {
    arrived_ = {in, &packet};
    Handle(packet, in, *candidates);
    return true;
  };
  RunBy(window, look, visit);
}

// Prefetches the first line of a port's transmitter, and of its queues. A packet soon touches the
// second line of the transmitter, too, but to prefetch that as well costs 1 to 3 % with RoCE.
inline void Switch::PrefetchPort(PortIndex port) const {
  __builtin_prefetch(&ports_[port], /*rw=*/1);
  if (queued_) (*queued_)[port].Prefetch();
}

// Runs a window. look(packet) is called for each packet before the preceding one is handled.
// visit(packet, in_port, seen) handles its arrival, and gets what look() has returned. It returns
// true if it may have changed NextOther() or made the ports eager.
template <class Look, class Visit>
[[gnu::always_inline]] inline void Switch::RunBy(const Window& window, const Look& look,
                                                 const Visit& visit) {
  const auto is_eager = [this] { return queued_ && queued_->eager(); };
  while (!is_eager()) {
    const Time other = NextOther();
    const auto take = [&](const Packet& packet, PortIndex in, Time now, const auto& seen)
        __attribute__((always_inline)) {
      now_ = now;
      if (!visit(packet, in, seen)) return true;
      return !is_eager() && NextOther() == other;
    };
    arrivals_.TakeBefore(std::min(window.end, other + 1_ps), look, take);
    const Time next = NextOther();
    if (is_eager() || arrivals_.Next() <= std::min(next, window.end - 1_ps)) continue;
    if (next >= window.end) {
      if (queued_) queued_->CatchUpAll(window.end, window);
      return;
    }
    now_ = next;
    RunOther();
  }
  RunEager(window);
}

// The time of the next event that is no arrival, while ports are not eager: a pause that takes
// effect, a timer, or a transmission in `transmissions_`.
[[gnu::always_inline]] inline Time Switch::NextOther() const {
  const Time effect = queued_ ? queued_->NextEffect() : kNever;
  return std::min({effect, timers_.Next(), transmissions_.Next()});
}

// Runs what is due at NextOther(), in the order of core/node.h.
void Switch::RunOther() {
  if (queued_ && queued_->NextEffect() == now_) {
    queued_->HandleEffect(*window_);
  } else if (timers_.Next() == now_) {
    policy_->OnTimer(view_, static_cast<uint32_t>(timers_.Pop().key));
  } else {
    ShowSent();
  }
}

// Forwards an arrival to a late port. No hook, telemetry or trimming may need the packet. Returns
// true if this may have changed NextOther() or made the ports eager.
[[gnu::always_inline]] inline bool Switch::ForwardLate(const Packet& packet, PortIndex in_port,
                                                       const EcmpRoutes::Hop& hop) {
  const QueuedPorts::Offer offer{.packet = packet,
                                 .telemetry = nullptr,
                                 .path_part = hop.path_part,
                                 .in = in_port,
                                 .out = hop.port,
                                 .is_last = !arrivals_.AnyUntil(now_)};
  if (queued_->Pass(offer, now_, *window_) != nullptr) return false;
  if (packet.priority == 0 && queued_->SendsControlAtOnce(hop.port, now_, *window_)) {
    if (!queued_->SendControl(offer, now_, *window_)) ReportDrop(packet);
    return false;
  }
  if (const auto refused = queued_->Accept(offer, now_, *window_)) [[unlikely]]
    Discard(packet, *refused);
  return true;
}

// Sends a packet that RunInward() has taken.
void Switch::SendInward(const Packet& packet, PortIndex in_port, const EcmpRoutes::Hop& hop,
                        Time now) {
  now_ = now;
  if (trims_) return ForwardToQueue(packet, in_port, hop.port, /*arrived=*/true);
  ForwardLate(packet, in_port, hop);
}

void Switch::Run(const Window& window) {
  window_ = &window;
  kept_.empty() ? RunRest(window) : RunKept(window);
}

// Run() without kept packets.
void Switch::RunRest(const Window& window) {
  if (queued_ && queued_->eager()) return RunEager(window);
  if (queued_ && shows_in_order_) return RunWatched(window);
  if (!RunsAlone()) return RunAsking(window);
  if (!queued_) return RunAlone(window);
  ecmp_routes_.has_choice() ? RunEcmpLate<true>(window) : RunEcmpLate<false>(window);
}

// Run() for late ports whose policy is shown transmissions in order. Handles the events of one
// instant in the order of core/node.h. An event may make ports eager. A transmission that the
// policy is shown may make it set a timer, which comes before later events.
void Switch::RunWatched(const Window& window) {
  QueuedPorts& queued = *queued_;
  for (;;) {
    const Time arrival = arrivals_.Next();
    now_ = std::min({arrival, queued.NextEffect(), timers_.Next(), window.end});
    if (std::min(queued.NextLate(), transmissions_.Next()) < now_) {
      ShowNext(now_);
    } else if (now_ == window.end) {
      break;
    } else if (arrival == now_) {
      HandleArrival();
    } else {
      RunOther();
    }
    if (queued.eager()) [[unlikely]]
      return RunEager(window);
  }
  queued.CatchUpAll(window.end, window);
}

void Switch::RunEager(const Window& window) {
  QueuedPorts& queued = *queued_;
  for (;;) {
    const Time arrival = arrivals_.Next();
    const Time timer = timers_.Next();
    now_ = std::min({arrival, timer, queued.NextEvent(), window.end});
    if (transmissions_.Next() < now_) {
      ShowSent();
    } else if (now_ == window.end) {
      break;
    } else if (queued.NextEnd() == now_) {
      Show(queued.HandleEnd(std::min(arrival, timer), window));
    } else if (arrival == now_) {
      HandleArrival();
    } else if (queued.NextEffect() == now_) {
      queued.HandleEffect(window);
    } else if (timer == now_) {
      policy_->OnTimer(view_, static_cast<uint32_t>(timers_.Pop().key));
    } else {
      Show(queued.HandleChoice(window));
    }
  }
  queued.CalmDown(window);
}

// Shows the policy the next transmission of late ports, if it starts before `before`.
void Switch::ShowNext(Time before) {
  const Time sent = transmissions_.Next();
  Time start = queued_->NextLate();
  if (start <= sent) start = queued_->FindFirst();
  if (std::min(start, sent) >= before) return;
  if (sent < start) return ShowSent();
  now_ = start;
  Show(queued_->ServeFirst(*window_));
}

// A late port has begun to send a packet at `start`, not after now.
void Switch::ShowLate(const QueuedPorts::Started& started, Time start) {
  const int64_t sent = control_sent_ - held_;
  const size_t timers = timers_.size();
  const Time now = std::exchange(now_, start);
  policy_->OnTransmit(view_, *started.packet, started.port);
  now_ = now;
  HEDDLE_CHECK(control_sent_ - held_ == sent && timers_.size() == timers,
               "a policy sends or sets a timer from OnTransmit(), but its watches_by_port() is "
               "true; if it is a plug-in's, the mistake is there");
}

void Switch::Show(const QueuedPorts::Started& started) {
  if ((hooks_ & SwitchPolicy::kTransmit) == 0 || started.packet == nullptr) return;
  policy_->OnTransmit(view_, *started.packet, started.port);
}

// The same for a packet that went to a FIFO port, or was of class 0.
void Switch::ShowSent() {
  const TransmitReplay::Start start = transmissions_.Pop();
  now_ = start.at;
  policy_->OnTransmit(view_, ports_[start.port].wire().At(start.number), start.port);
}

void Switch::Discard(const Packet& packet, DropReason reason) {
  ++discards_[static_cast<size_t>(reason)];
  ReportDrop(packet);
}

// The source of a trimmed packet was told when the packet was cut.
void Switch::ReportDrop(const Packet& packet) {
  if (packet.kind != PacketKind::kData || packet.Has(Packet::kTrimmed)) return;
  const DropNotice notice{packet.flow, packet.data.tx_id, now_};
  Post(Letter::Of(*hosts_[packet.src], kDropNotice, notice), kNever);
}

void Switch::SendOwn(const Packet& packet, uint8_t cls, PortIndex port) {
  HEDDLE_CHECK(packet.bytes >= kMinPacketBytes, "a packet of {} bytes", packet.bytes);
  ++control_sent_;
  Packet sent = packet;
  sent.priority = cls;
  Forward(sent, port, port, /*arrived=*/false);
}

void Switch::SendHeld(const Packet& packet, PortIndex in_port, PortIndex held_for, PortIndex out) {
  HEDDLE_CHECK(held_ > 0, "more packets are released than were held");
  --held_;
  if (queued_) queued_->LetGo(packet, in_port, held_for);
  Forward(packet, in_port, out, /*arrived=*/false);
  if (queued_) queued_->LookAgain(packet, in_port, now_, *window_);
}

}  // namespace heddle
