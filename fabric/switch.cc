// SPDX-License-Identifier: Apache-2.0

#include "fabric/switch.h"

#include <cassert>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "fabric/letters.h"

namespace heddle {

Switch::Switch(SwitchId id, int tier, size_t ports, SwitchPolicyPtr policy)
    : ports_(ports),
      policy_(std::move(policy)),
      hooks_(policy_.hooks()),
      plain_((hooks_ &
              (SwitchPolicy::kTransmit | SwitchPolicy::kEnqueue | SwitchPolicy::kDropped)) == 0),
      id_(id),
      tier_(tier) {}

FifoPort& Switch::AddPort(const PortSettings& settings, bool faces_host) {
  faces_host_.push_back(faces_host);
  path_parts_.push_back(0);
  return ports_.Add(settings);
}

// A policy that watches transmissions must see them in the order of time, so its ports are eager.
void Switch::UseQueues(const Queueing& queueing, const std::vector<QueuedPorts::Port>& ports) {
  queued_ =
      std::make_unique<QueuedPorts>(queueing, ports, id_, (hooks_ & SwitchPolicy::kTransmit) != 0);
  queued_->SetLost([this](const Packet& packet) { Discard(packet, DropReason::kWatchdog); });
  telemetry_ = !ports.empty() && ports.front().queues.telemetry;
  may_pass_ = plain_ && !telemetry_;
  trims_ = queued_->trims();
  plain_ = false;
}

void RoutingTable::SetSetsOfHosts(std::span<const uint16_t> sets_of_hosts) {
  std::vector<HostGroup> alone;
  for (const uint16_t set : sets_of_hosts) {
    alone.push_back({static_cast<uint16_t>(alone.size()), 0});
    sets_of_group.push_back({set, 0});
  }
  groups = std::make_shared<const std::vector<HostGroup>>(std::move(alone));
}

void Switch::SetRoutes(RoutingTable routes) {
  routes_ = std::move(routes);
  candidates_.clear();
  ecmp_ports_.clear();
  for (const RoutingTable::Set& set : routes_.sets) {
    const std::span<const PortIndex> ports = routes_.PortsOf(set);
    const bool is_last =
        ports.size() == 1 && routes_.uplinks.size() > 1 && IsAmong(routes_.uplinks, ports.front());
    const bool is_host = ports.size() > 1 && faces_host_[ports.front()];
    candidates_.push_back(
        {static_cast<uint32_t>(candidates_.size()), routes_.version, ports, is_last, is_host});
    ecmp_ports_.push_back(is_host ? std::span<const PortIndex>() : ports);
  }
  for (size_t digit = 0; digit < routes_.uplinks.size(); ++digit) {
    path_parts_[routes_.uplinks[digit]] = static_cast<uint16_t>(digit * routes_.path_divisor);
  }
}

void Switch::Attach() {
  policy_->Attach(view_);
  if (!queued_ && hooks_ == 0 && timers_.Next() == kNever) ecmp_salt_ = policy_->ecmp_salt();
}

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

[[gnu::always_inline]] inline void Switch::Handle(const Packet& packet, PortIndex in_port) {
  if (packet.kind == PacketKind::kPause) [[unlikely]] {
    ++consumed_;
    return queued_->OnPause(packet, in_port, now_);
  }
  const Candidates& candidates = CandidatesTo(packet.dst);
  if (candidates.ports.empty()) [[unlikely]]
    return Discard(packet, DropReason::kNoRoute);
  if (packet.hops >= kMaxHops) [[unlikely]]
    return Discard(packet, DropReason::kLoop);
  ForwardBy(candidates, packet, in_port);
}

[[gnu::always_inline]] inline void Switch::HandleArrival() {
  const Arrivals::Taken taken = arrivals_.Take();
  arrived_ = taken;
  if ((hooks_ & SwitchPolicy::kPrefetch) != 0 && arrivals_.Next() < window_->end) {
    policy_->Prefetch(arrivals_.FrontBehind(taken));
  }
  Handle(*taken.packet, taken.port);
  arrivals_.Drop(taken);
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
    return queued_ ? ForwardToQueue(packet, in_port, port, arrived) : ForwardAndTell(packet, port);
  }
  if (!ports_[port].Send(packet, path_parts_[port], now_, *window_)) [[unlikely]]
    ReportDrop(packet);
}

void Switch::ForwardAndTell(const Packet& packet, PortIndex port) {
  FifoPort& out = ports_[port];
  const Time start = std::max(now_, out.busy_until());
  if (!out.Send(packet, path_parts_[port], now_, *window_)) {
    if (hooks_ & SwitchPolicy::kDropped) policy_->OnDropped(view_, packet, port);
    return ReportDrop(packet);
  }
  NoteSent(out, port, start);
}

// The telemetry that came with `packet`; empty for packets that a policy sends or has held back.
inline const Telemetry* Switch::TelemetryFor(const Packet& packet, bool arrived) {
  static constexpr Telemetry kNothing;
  if (!telemetry_ || !CarriesTelemetry(packet.kind)) return nullptr;
  return arrived ? &arrivals_.ExtraOf(arrived_) : &kNothing;
}

[[gnu::always_inline]] inline void Switch::ForwardToQueue(const Packet& packet, PortIndex in_port,
                                                          PortIndex port, bool arrived) {
  const QueuedPorts::Offer offer{
      .packet = packet,
      .telemetry = TelemetryFor(packet, arrived),
      .path_part = path_parts_[port],
      .in = in_port,
      .out = port,
      .is_last = may_pass_ && arrived && !arrivals_.AnyUntil(now_) && timers_.Next() > now_};
  if (trims_) [[unlikely]]
    return ForwardOrTrim(offer);
  if (packet.priority == 0 && queued_->SendsControlAtOnce(port, now_)) return ForwardControl(offer);
  const auto refused = queued_->Accept(offer, now_, *window_);
  if (refused) [[unlikely]] {
    if (hooks_ & SwitchPolicy::kDropped) policy_->OnDropped(view_, packet, port);
    return Discard(packet, *refused);
  }
  if (hooks_ & SwitchPolicy::kEnqueue) policy_->OnEnqueue(view_, queued_->accepted(), port);
}

// A class-0 packet goes before all queues.
[[gnu::always_inline]] inline void Switch::ForwardControl(const QueuedPorts::Offer& offer) {
  FifoPort& out = ports_[offer.out];
  const Time start = std::max(now_, out.busy_until());
  if (!queued_->SendControl(offer, now_, *window_)) [[unlikely]] {
    if (hooks_ & SwitchPolicy::kDropped) policy_->OnDropped(view_, offer.packet, offer.out);
    return ReportDrop(offer.packet);
  }
  if (hooks_ != 0) NoteSent(out, offer.out, start);
}

// A FIFO port has taken a packet, which will start to leave at `start`.
void Switch::NoteSent(FifoPort& out, PortIndex port, Time start) {
  const uint64_t number = out.wire().pushed() - 1;
  if (hooks_ & SwitchPolicy::kEnqueue) policy_->OnEnqueue(view_, out.wire().At(number), port);
  if (hooks_ & SwitchPolicy::kTransmit) transmissions_.Add({start, port, number});
}

// --- Packet trimming ---

void Switch::ForwardOrTrim(const QueuedPorts::Offer& offer) {
  const Packet& packet = offer.packet;
  Trimming& trimming = queued_->trimming();
  trimming.totals(offer.out).offered_bytes += packet.bytes;
  if (packet.priority == 0) {
    if (SendHeader(offer)) return;
    ++trimming.totals(offer.out).header_full;
    trimming.totals(offer.out).dropped_bytes += packet.bytes;
    if (hooks_ & SwitchPolicy::kDropped) policy_->OnDropped(view_, packet, offer.out);
    return Discard(packet, DropReason::kTrimFull);
  }
  const auto refused = queued_->AcceptOrCut(offer, now_, *window_);
  const std::array<Trimming::Cut, 2>& cut = trimming.cut;
  const bool is_cut = trimming.cuts > 0 && !cut[trimming.cuts - 1].was_queued;
  if (refused) {
    trimming.totals(offer.out).dropped_bytes += packet.bytes;
    Discard(packet, *refused);
  } else if (!is_cut && (hooks_ & SwitchPolicy::kEnqueue) != 0) {
    policy_->OnEnqueue(view_, queued_->accepted(), offer.out);
  }
  if ((refused || is_cut) && (hooks_ & SwitchPolicy::kDropped) != 0) {
    policy_->OnDropped(view_, packet, offer.out);
  }
  for (size_t i = 0, cuts = std::exchange(trimming.cuts, 0); i < cuts; ++i) {
    SendCut(Trimming::Cut(cut[i]), offer);  // A copy: a header on its way back may cause more cuts.
  }
}

// Returns false if the packet, which is of class 0, exceeds the limit for headers.
bool Switch::SendHeader(const QueuedPorts::Offer& offer) {
  if (!queued_->AdmitsHeader(offer.out, offer.packet.bytes, now_, *window_)) return false;
  if (queued_->SendsControlAtOnce(offer.out, now_)) {
    ForwardControl(offer);
    return true;
  }
  if (const auto refused = queued_->Accept(offer, now_, *window_)) {
    Discard(offer.packet, *refused);
  } else if ((hooks_ & SwitchPolicy::kEnqueue) != 0) {
    policy_->OnEnqueue(view_, queued_->accepted(), offer.out);
  }
  return true;
}

void Switch::SendCut(const Trimming::Cut& cut, const QueuedPorts::Offer& offer) {
  ReportDrop(cut.packet);
  Trimming& trimming = queued_->trimming();
  TrimTotals& totals = trimming.totals(offer.out);
  const Packet header =
      trimming.HeaderOf(cut.packet, offer.out, cut.was_queued, faces_host_[offer.out]);
  const QueuedPorts::Offer at_front{.packet = header,
                                    .telemetry = telemetry_ ? &cut.telemetry : nullptr,
                                    .path_part = offer.path_part,
                                    .in = cut.in,
                                    .out = offer.out,
                                    .is_last = false};
  if (SendHeader(at_front)) return;
  totals.dropped_bytes += header.bytes;
  if (trimming.settings().overflow == TrimSettings::Overflow::kDrop) {
    ++totals.header_full;
    return Discard(header, DropReason::kTrimFull);
  }
  ++totals.returned;
  ReturnToSender(header, cut.in);
}

// The header becomes a NACK for its packet and is routed like any other (csg-htsim's NDP).
void Switch::ReturnToSender(const Packet& header, PortIndex in_port) {
  Packet back = header;
  back.kind = PacketKind::kNack;
  back.flags = Packet::kTrimmed;
  std::swap(back.src, back.dst);
  back.seq = 0;
  back.nack = {.trigger = header.seq, .returned = true};
  back.scheme = {};
  Handle(back, in_port);
}

void Switch::PrefetchParts(Time end) {
  arrivals_.Prefetch(end);
  for (const FifoPort& port : ports_) port.Prefetch();
  if (!ecmp_salt_) return;
  PrefetchElements(routes_.sets_of_group);
  PrefetchElements(routes_.ports);
  PrefetchElements(ecmp_ports_);
  PrefetchElements(path_parts_);
}

// Run() for ECMP at FIFO ports, without a branch on whether a packet has a choice: that branch
// would be mispredicted.
void Switch::RunEcmp(const Window& window) {
  const uint64_t salt = *ecmp_salt_;
  int64_t asked = 0;
  arrivals_.TakeBefore(window.end, [&](const Packet& packet, PortIndex in_port, Time now) {
    const std::span<const PortIndex> choices = ecmp_ports_[routes_.SetOf(packet.dst)];
    if (choices.empty() || packet.hops >= kMaxHops) [[unlikely]] {
      now_ = now;
      return Handle(packet, in_port);
    }
    asked += choices.size() > 1 ? 1 : 0;
    const PortIndex port = EcmpPort(packet, salt, choices);
    if (ports_[port].Send(packet, path_parts_[port], now, window)) [[likely]]
      return;
    now_ = now;
    ReportDrop(packet);
  });
  asked_ += asked;
}

void Switch::Run(const Window& window) {
  window_ = &window;
  if (ecmp_salt_) return RunEcmp(window);
  if (queued_ && queued_->eager()) return RunEager(window);
  for (;;) {
    const Time timer = timers_.Next();
    now_ = std::min(arrivals_.Next(), timer);
    if (now_ >= window.end) break;
    if (hooks_ & SwitchPolicy::kTransmit) ReplayTransmissions(now_);
    if (now_ == timer && arrivals_.Next() > timer) {
      policy_->OnTimer(view_, static_cast<uint32_t>(timers_.Pop().key));
    } else {
      HandleArrival();
    }
  }
  if (hooks_ & SwitchPolicy::kTransmit) ReplayTransmissions(window.end);
  if (queued_) queued_->CatchUpAll(window.end, window);
}

void Switch::NoteStarted(const QueuedPorts::Started& started) {
  if ((hooks_ & SwitchPolicy::kTransmit) == 0 || started.packet == nullptr) return;
  policy_->OnTransmit(view_, *started.packet, started.port);
}

// Handles the events of one instant in the order of core/node.h.
void Switch::RunEager(const Window& window) {
  QueuedPorts& queued = *queued_;
  for (;;) {
    const Time arrival = arrivals_.Next();
    const Time timer = timers_.Next();
    now_ = std::min({arrival, timer, queued.NextEvent()});
    if (now_ >= window.end) break;
    if (hooks_ & SwitchPolicy::kTransmit) ReplayTransmissions(now_);
    if (queued.NextEnd() == now_) {
      NoteStarted(queued.HandleEnd(std::min(arrival, timer), window));
    } else if (arrival == now_) {
      HandleArrival();
    } else if (queued.NextEffect() == now_) {
      queued.HandleEffect(window);
    } else if (timer == now_) {
      policy_->OnTimer(view_, static_cast<uint32_t>(timers_.Pop().key));
    } else {
      NoteStarted(queued.HandleChoice(window));
    }
  }
  if (hooks_ & SwitchPolicy::kTransmit) ReplayTransmissions(window.end);
}

void Switch::SetChannel(PortIndex port, Time now, BitRate rate, Duration delay) {
  const bool replays = (hooks_ & SwitchPolicy::kTransmit) != 0;
  if (replays) transmissions_.Forget(port, now);
  ports_[port].SetChannel(now, rate, delay, [&](uint64_t number, Time start) {
    if (replays) transmissions_.Add({start, port, number});
  });
  if (queued_) queued_->OnNewChannel(port);
  Wake(now);  // The switch may now have to send earlier.
}

void Switch::TakeDown(PortIndex port, Time now) {
  now_ = now;
  if (hooks_ & SwitchPolicy::kTransmit) transmissions_.Forget(port, now);
  ports_[port].GoDown(now, [this](const Packet& packet) { ReportDrop(packet); });
  if (!queued_) return;
  queued_->TakeDown(port, now,
                    [this](const Packet& packet) { Discard(packet, DropReason::kLinkDown); });
  Wake(now);
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

void Switch::ReplayTransmissions(Time before) {
  while (transmissions_.HasBefore(before)) {
    const TransmitReplay::Start start = transmissions_.Pop();
    const Time now = std::exchange(now_, start.at);
    policy_->OnTransmit(view_, ports_[start.port].wire().At(start.number), start.port);
    now_ = now;
  }
}

int64_t Switch::drops(DropReason reason) const {
  int64_t drops = discards_[static_cast<size_t>(reason)];
  if (reason == DropReason::kTail) {
    for (const FifoPort& port : ports_) drops += port.dropped();
  } else if (reason == DropReason::kLinkDown) {
    for (const FifoPort& port : ports_) drops += port.dropped_down();
  }
  return drops;
}

size_t Switch::memory_bytes() const {
  size_t bytes = sizeof(*this) + policy_->StateBytes();
  for (const FifoPort& port : ports_) bytes += port.memory_bytes();
  if (queued_) bytes += queued_->memory_bytes();
  return bytes + routes_.sets_of_group.capacity() * sizeof(RoutingTable::GroupSets);
}

void Switch::SendOwn(const Packet& packet, uint8_t cls, PortIndex port) {
  HEDDLE_CHECK(packet.bytes >= kMinPacketBytes, "a packet of {} bytes", packet.bytes);
  ++control_sent_;
  Packet sent = packet;
  sent.priority = cls;
  Forward(sent, port, port, /*arrived=*/false);
}

void SwitchView::SendControl(const Packet& packet, PortIndex port) {
  self_.SendOwn(packet, self_.control_class_, port);
}

void SwitchView::SendAsData(const Packet& packet, PortIndex port) {
  self_.SendOwn(packet, self_.data_class_, port);
}

bool SwitchView::Hold(const Packet& packet, PortIndex in_port, PortIndex port) {
  return !self_.queued_ || !self_.queued_->Keep(packet, in_port, port, self_.now_, *self_.window_);
}

void SwitchView::Release(const Packet& packet, PortIndex in_port, PortIndex port) {
  Release(packet, in_port, port, port);
}

void SwitchView::Release(const Packet& packet, PortIndex in_port, PortIndex port, PortIndex out) {
  HEDDLE_CHECK(self_.held_ > 0, "more packets are released than were held");
  --self_.held_;
  if (self_.queued_) self_.queued_->LetGo(packet, in_port, port);
  self_.Forward(packet, in_port, out, /*arrived=*/false);
  if (self_.queued_) self_.queued_->LookAgain(packet, in_port, self_.now_, *self_.window_);
}

void SwitchView::RefuseNextHops() {
  HEDDLE_CHECK(false,
               "the load balancer looks at next hops without wants_next_hops(); if it is a "
               "plug-in's, the mistake is there");
}

std::optional<InputFill> SwitchView::FillOf(PortIndex input, uint8_t priority) const {
  const SharedMemory* const memory = self_.queued_ ? self_.queued_->memory() : nullptr;
  if (memory == nullptr || !memory->IsLossless(priority)) return std::nullopt;
  return InputFill{Bytes{memory->held(input, priority)}, Bytes{memory->pause_above(input)}};
}

std::optional<SwitchId> SwitchView::PeerOf(PortIndex port) const {
  return self_.map_ == nullptr ? std::nullopt : self_.map_->PeerOf(self_.id_, port);
}

std::optional<Way> SwitchView::WayTo(PortIndex port, uint16_t leaf) const {
  return self_.map_ == nullptr ? std::nullopt : self_.map_->WayTo(self_.id_, port, leaf);
}

Bytes SwitchView::BufferOf(PortIndex port) const {
  return self_.map_ == nullptr ? Bytes{kUnlimited} : self_.map_->BufferOf(self_.id_, port);
}

void SwitchView::SetTimer(Time at, uint32_t id) { self_.timers_.Set(at, id); }

}  // namespace heddle
