// SPDX-License-Identifier: Apache-2.0

#include "tests/support/event_switch.h"

#include <algorithm>
#include <tuple>

namespace heddle {
namespace {

__extension__ using Wide = __int128;

}  // namespace

void SortOffers(std::vector<Offer>& offers) {
  std::ranges::stable_sort(offers, [](const Offer& a, const Offer& b) {
    return std::tie(a.at, a.in) < std::tie(b.at, b.in);
  });
}

// --- A port ---

void EventPort::Enqueue(const Packet& packet, PortIndex in, Time now) {
  const size_t cls = packet.priority;
  const bool sends = sending_ && end() > now;
  if (cls == 0 && !sends && queues_[0].empty()) rested_ = begun_ = true;
  if (packet.kind == PacketKind::kPause && rule_.queues_control) {
    const bool is_first = queues_[0].empty() || queues_[0].front().packet.kind != packet.kind;
    if (!sends && is_first) rested_ = true;  // Before all that waits.
    return Overtake({packet, in});
  }
  queues_[cls].push_back({packet, in});
  ++queues_[cls].back().packet.hops;
  if (cls == 0 || rule_.marking.at_dequeue || !packet.Has(Packet::kEct)) return;
  if (Length(cls) > rule_.marking.above) queues_[cls].back().packet.Set(Packet::kCe);
}

// Puts the frame behind packets that have begun to leave at this instant, and behind other such
// frames.
void EventPort::Overtake(Queued frame) {
  std::deque<Queued>& queue = queues_[0];
  auto place = queue.begin() + (begun_ && !queue.empty() ? 1 : 0);
  while (place != queue.end() && place->packet.kind == PacketKind::kPause) ++place;
  ++queue.insert(place, frame)->packet.hops;
}

void EventPort::SetPaused(uint8_t classes, bool stop, Time now) {
  paused_ = stop ? paused_ | classes : paused_ & ~unsigned{classes};
  const bool sends = sending_ && end() > now;
  if (!sends && !CanSendData() && queues_[0].empty()) rested_ = true;
}

EventPort::Lost EventPort::Fail(Time now) {
  Lost lost;
  if (sending_) {
    lost.held.push_back(*std::exchange(sending_, std::nullopt));
    sent.pop_back();
  }
  for (; !sent.empty() && sent.back().departure + settings_.delay >= now; sent.pop_back()) {
    ++lost.on_wire;
  }
  for (std::deque<Queued>& queue : queues_) {
    lost.held.insert(lost.held.end(), queue.begin(), queue.end());
    queue.clear();
  }
  deficit_ = {};
  paused_ = 0;
  down_ = rested_ = true;
  begun_ = false;
  return lost;
}

std::optional<EventPort::Queued> EventPort::Complete(Time now) {
  if (end() != now) return std::nullopt;
  const std::optional<Queued> done = std::exchange(sending_, std::nullopt);
  if (!CanSendData() && queues_[0].empty()) rested_ = true;
  return done;
}

void EventPort::Serve(Time now) {
  if (sending_) return;
  const std::optional<size_t> cls = Pick();
  if (!cls) return;
  begun_ = false;
  Queued next = queues_[*cls].front();
  queues_[*cls].pop_front();
  const bool marks = *cls != 0 && rule_.marking.at_dequeue && next.packet.Has(Packet::kEct);
  const int64_t departing = rule_.marking.counts_departing ? SizeOf(next.packet) : 0;
  if (marks && Length(*cls) + departing > rule_.marking.above) next.packet.Set(Packet::kCe);
  if (rested_) {
    busy_since_ = now;
    bits_ = 0;
  }
  rested_ = false;
  bits_ += WireBits(next.packet);
  sent.push_back({now, After(bits_), next.packet});
  sending_ = next;
}

Time EventPort::After(int64_t bits) const {
  const Wide ps =
      (Wide{bits} * kPicosecondsPerSecond + settings_.rate.bps - 1) / settings_.rate.bps;
  return busy_since_ + Duration{static_cast<int64_t>(ps)};
}

bool EventPort::CanSendData() const {
  for (size_t cls = 1; cls < kClasses; ++cls) {
    if (MayGo(cls)) return true;
  }
  return false;
}

std::optional<size_t> EventPort::Pick() {
  if (!queues_[0].empty()) return 0;
  if (!CanSendData()) return std::nullopt;
  switch (rule_.scheduler) {
    case Scheduler::kStrict:
      for (size_t cls = 1;; ++cls) {
        if (MayGo(cls)) return cls;
      }
    case Scheduler::kRoundRobin:
      return turn_ = *PickInTurn();
    case Scheduler::kDeficit:
      return PickByDeficit();
  }
  return std::nullopt;
}

std::optional<size_t> EventPort::PickInTurn() const {
  for (size_t step = 1; step < kClasses; ++step) {
    const size_t cls = 1 + (turn_ + step + kClasses - 2) % (kClasses - 1);
    if (MayGo(cls)) return cls;
  }
  return MayGo(turn_) ? std::optional(turn_) : std::nullopt;
}

// Visits class after class, empty ones too; each may send what its deficit allows.
std::optional<size_t> EventPort::PickByDeficit() {
  for (;;) {
    if (turn_ != 0 && MayGo(turn_)) {
      const int64_t bytes = queues_[turn_].front().packet.bytes;
      if (bytes <= deficit_[turn_]) {
        deficit_[turn_] -= bytes;
        if (queues_[turn_].size() == 1) deficit_[turn_] = 0;
        return turn_;
      }
    }
    turn_ = turn_ + 1 == kClasses ? 1 : turn_ + 1;
    if (MayGo(turn_)) deficit_[turn_] += rule_.quantum[turn_];
  }
}

int64_t EventPort::Length(size_t cls) const {
  int64_t length = 0;
  for (const Queued& queued : queues_[cls]) length += SizeOf(queued.packet);
  if (sending_ && sending_->packet.priority == cls) length += SizeOf(sending_->packet);
  return length;
}

int64_t EventPort::Length() const {
  int64_t length = 0;
  for (size_t cls = 1; cls < kClasses; ++cls) length += Length(cls);
  return length;
}

int64_t EventPort::QueuedPackets() const {
  int64_t packets = sending_ ? 1 : 0;
  for (const auto& queue : queues_) packets += static_cast<int64_t>(queue.size());
  return packets;
}

QueueLength EventPort::QueueOf(size_t cls) const {
  QueueLength length;
  const auto add = [&](const Packet& packet) {
    length.bytes += packet.bytes;
    ++length.packets;
  };
  for (const Queued& queued : queues_[cls]) add(queued.packet);
  if (sending_ && sending_->packet.priority == cls) add(sending_->packet);
  return length;
}

Duration EventPort::Wait(Time now) const {
  int64_t bits = 0;
  for (const auto& queue : queues_) {
    for (const Queued& queued : queue) bits += WireBits(queued.packet);
  }
  if (!rested_ && (sending_ || bits > 0)) return After(bits_ + bits) - now;
  const Wide ps =
      (Wide{bits} * kPicosecondsPerSecond + settings_.rate.bps - 1) / settings_.rate.bps;
  return {static_cast<int64_t>(ps)};
}

// --- The switch ---

EventSwitch::EventSwitch(const SwitchPlan& plan)
    : plan_(plan),
      memory_(plan.queueing.memory, plan.shares),
      pausing_(plan.ports.size()),
      failed_at_(plan.ports.size()) {
  ByClass never;
  never.fill(kNever);
  paused_until_.assign(plan.ports.size(), never);
  asks_again_.assign(plan.ports.size(), never);
  for (const PortSettings& port : plan.ports) ports_.emplace_back(port, plan.queues);
}

void EventSwitch::Run(const std::vector<Offer>& sorted, const std::vector<PortChange>& changes) {
  size_t next = 0;
  size_t next_change = 0;
  for (;;) {
    Time now = next < sorted.size() ? sorted[next].at : kNever;
    if (next_change < changes.size()) now = std::min(now, changes[next_change].at);
    if (!effects_.empty()) now = std::min(now, effects_.begin()->first);
    for (const EventPort& port : ports_) now = std::min(now, port.end());
    for (const std::vector<ByClass>* times : {&paused_until_, &asks_again_}) {
      for (const ByClass& port : *times) now = std::min(now, *std::ranges::min_element(port));
    }
    if (now == kNever) return;
    for (; next_change < changes.size() && changes[next_change].at == now; ++next_change) {
      Change(changes[next_change]);
    }
    Complete(now);
    for (; next < sorted.size() && sorted[next].at == now; ++next) Arrive(sorted[next]);
    for (; !effects_.empty() && effects_.begin()->first == now; effects_.erase(effects_.begin())) {
      const auto& [port, frame] = effects_.begin()->second;
      if (now - plan_.queueing.pause.response >= failed_at_[port]) Take(port, frame, now);
    }
    EndPauses(now);
    AskAgain(now);
    if (std::exchange(looks_again_, false)) TryResumeAll(now);
    for (EventPort& port : ports_) port.Serve(now);
  }
}

void EventSwitch::Change(const PortChange& change) {
  EventPort& port = ports_[change.port];
  if (change.up) return port.ComeUp();
  const EventPort::Lost lost = port.Fail(change.at);
  for (const EventPort::Queued& queued : lost.held) {
    const size_t cls = queued.packet.priority;
    if (cls != 0) memory_.Release(queued.in, change.port, cls, queued.packet.bytes);
  }
  drops[static_cast<size_t>(DropReason::kLinkDown)] += lost.on_wire + std::ssize(lost.held);
  pausing_[change.port] = {};
  paused_until_[change.port].fill(kNever);
  failed_at_[change.port] = change.at;
  looks_again_ = true;
}

// A pause lasts for quanta of 512 bits, 802.1Qbb.
Time EventSwitch::Quanta(PortIndex port, int64_t quanta, Time now) const {
  const int64_t bps = plan_.ports[port].rate.bps;
  const Wide ps = (Wide{quanta} * 512 * kPicosecondsPerSecond + bps - 1) / bps;
  return now + Duration{static_cast<int64_t>(ps)};
}

void EventSwitch::Take(PortIndex port, const Packet& frame, Time now) {
  const auto [classes, stop] = frame.pause;
  ports_[port].SetPaused(classes, stop, now);
  if (plan_.queueing.pause.quanta == 0) return;
  for (size_t cls = 0; cls < kClasses; ++cls) {
    if ((classes >> cls & 1) == 0) continue;
    paused_until_[port][cls] = stop ? Quanta(port, plan_.queueing.pause.quanta, now) : kNever;
  }
}

void EventSwitch::EndPauses(Time now) {
  for (size_t port = 0; port < ports_.size(); ++port) {
    for (size_t cls = 0; cls < kClasses; ++cls) {
      if (paused_until_[port][cls] != now) continue;
      paused_until_[port][cls] = kNever;
      ports_[port].SetPaused(static_cast<uint8_t>(1u << cls), false, now);
    }
  }
}

void EventSwitch::AskAgain(Time now) {
  for (size_t in = 0; in < ports_.size(); ++in) {
    for (size_t cls = 0; cls < kClasses; ++cls) {
      if (asks_again_[in][cls] != now) continue;
      asks_again_[in][cls] = kNever;
      if (pausing_[in][cls]) Tell(static_cast<PortIndex>(in), cls, true, now);
    }
  }
}

void EventSwitch::Complete(Time now) {
  for (size_t out = 0; out < ports_.size(); ++out) {
    const std::optional<EventPort::Queued> done = ports_[out].Complete(now);
    if (!done || done->packet.priority == 0) continue;
    memory_.Release(done->in, static_cast<PortIndex>(out), done->packet.priority,
                    done->packet.bytes);
    if (!plan_.queueing.pause.scan_all) {
      TryResume(done->in, done->packet.priority, now);
      continue;
    }
    TryResumeAll(now);
  }
}

void EventSwitch::Arrive(const Offer& offer) {
  const Packet& packet = offer.packet;
  if (packet.kind == PacketKind::kPause) {
    if (plan_.queueing.pause.response > Duration{0}) {
      effects_.emplace(offer.at + plan_.queueing.pause.response, Effect(offer.in, packet));
    } else {
      Take(offer.in, packet, offer.at);
    }
    return;
  }
  EventPort& port = ports_[packet.dst];
  if (port.is_down()) {
    ++drops[static_cast<size_t>(DropReason::kLinkDown)];
    return;
  }
  const size_t cls = packet.priority;
  if (cls == 0) return port.Enqueue(packet, offer.in, offer.at);
  const auto refused =
      memory_.Admit(offer.in, packet.dst, cls, packet.bytes, port.Length(), port.SizeOf(packet));
  if (refused) {
    ++drops[static_cast<size_t>(*refused)];
    return;
  }
  port.Enqueue(packet, offer.in, offer.at);
  const PauseSettings& pause = plan_.queueing.pause;
  const bool repeats = pause.quanta > 0 && pause.refresh == PauseSettings::Refresh::kArrivals;
  const bool asks = repeats || !pausing_[offer.in][cls];
  if (memory_.IsLossless(cls) && asks && memory_.MustPause(offer.in, cls)) {
    Tell(offer.in, cls, true, offer.at);
  }
}

void EventSwitch::TryResume(PortIndex in, size_t cls, Time now) {
  if (pausing_[in][cls] && memory_.MayResume(in, cls)) Tell(in, cls, false, now);
}

void EventSwitch::TryResumeAll(Time now) {
  for (size_t in = 0; in < ports_.size(); ++in) {
    for (size_t cls = 1; cls < kClasses; ++cls) TryResume(static_cast<PortIndex>(in), cls, now);
  }
}

void EventSwitch::Tell(PortIndex in, size_t cls, bool stop, Time now) {
  if (ports_[in].is_down()) return;
  pausing_[in][cls] = stop;
  ++frames_sent;
  Packet frame;
  frame.kind = PacketKind::kPause;
  frame.bytes = plan_.queueing.pause.frame_bytes;
  frame.pause = {static_cast<uint8_t>(1u << cls), stop};
  ports_[in].Enqueue(frame, in, now);
  const PauseSettings& pause = plan_.queueing.pause;
  const bool timed = pause.quanta > 0 && pause.refresh == PauseSettings::Refresh::kTimer;
  const Duration lasts = Quanta(in, pause.quanta, now) - now;
  const Duration interval = pause.interval > Duration{0} ? pause.interval : lasts / 2;
  asks_again_[in][cls] = stop && timed ? now + interval : kNever;
}

}  // namespace heddle
