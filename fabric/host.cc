// SPDX-License-Identifier: Apache-2.0

#include "fabric/host.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "fabric/letters.h"
#include "fabric/pause_time.h"

namespace heddle {

Host::Host(HostId id, size_t links, HostPolicyPtr policy)
    : links_(links), nics_(links), policy_(std::move(policy)), hooks_(policy_.hooks()), id_(id) {}

void Host::SetTransport(std::unique_ptr<Transport> transport) {
  transport_ = std::move(transport);
  user(Lane::kTransport).endpoint = transport_.get();
}

void Host::SetApplication(std::unique_ptr<Application> application, FlowId end) {
  application_ = std::move(application);
  messages_end_ = end;
}

void Host::Attach() {
  if (policy_) policy_->Attach(view_);
}

void Host::StartFlow(const FlowSpec& spec) {
  NoteOpened(spec.dst);
  starts_.push_back(spec);
  Wake(spec.start);
}

void Host::SetChannel(PortIndex link, Time now, BitRate rate, Duration delay) {
  nics_[link].port.SetChannel(now, rate, delay, [](uint64_t, Time) {});
  now_ = now;
  transport_->OnNewLineRate();
  Wake(now);  // The host may now be able to send earlier.
}

void Host::TakeDown(PortIndex link, Time now) {
  Nic& nic = nics_[link];
  nic.port.GoDown(now, [&](const Packet& packet) { ReportDrop(packet, now); });
  now_ = now;
  Wake(now);
}

void Host::BringUp(PortIndex link, Time now) {
  nics_[link].port.GoUp(now);
  Wake(now);
}

void Host::VoidPauses(PortIndex link, Time now) {
  Nic& nic = nics_[link];
  now_ = now;
  nic.void_before = now;
  Pause(nic, ~0u, false);
  Wake(now);
}

// --- Several links ---

PortIndex Host::NicOfSeveral(const Endpoint::Tuple& tuple) const {
  const std::vector<PortIndex>& hops = first_hops_.sets[first_hops_.set_of_host[tuple.dst]];
  if (tuple.nic == kFreestNic) return FreestNic(hops);
  if (tuple.nic != kAnyNic && std::ranges::find(hops, tuple.nic) != hops.end()) return tuple.nic;
  // Mixed again because switches hash the tuple too: otherwise the flows of one NIC would share
  // bits of the switches' hash.
  return hops[Mix64(tuple.hash) % hops.size()];
}

PortIndex Host::FreestNic(const std::vector<PortIndex>& hops) const {
  const auto rank = [&](PortIndex link) {
    const Nic& nic = nics_[link];
    const NicLane& its = nic.lanes[static_cast<size_t>(Lane::kTransport)];
    const size_t turn = (link + links_ - last_nic_ - 1) % links_;
    return std::tuple(its.paused, its.waiting(), std::max(nic.port.busy_until(), now_), turn);
  };
  return *std::ranges::min_element(hops, {}, rank);
}

PortIndex Host::NicOf(uint32_t slot, Lane of) const {
  return NicOfSeveral(users_[static_cast<size_t>(of)].endpoint->TupleOf(slot));
}

// Waiting flows move to their new NICs, in the order of the old ones.
void Host::SetFirstHops(FirstHops hops, Time now) {
  first_hops_ = std::move(hops);
  now_ = now;
  for (size_t of = 0; of < kLanes; ++of) {
    std::vector<uint32_t> waiting;
    for (Nic& nic : nics_) {
      NicLane& its = nic.lanes[of];
      its.Rejoin();
      for (; !its.ready.empty(); its.ready.pop_front()) {
        const uint32_t slot = its.ready.front();
        if (its.paused) users_[of].endpoint->AddBlocked(slot, now_ - its.paused_since);
        waiting.push_back(slot);
      }
      its.since = kNever;
      nic.FindServiceTime();
      NotePauses(nic);
    }
    for (const uint32_t slot : waiting) Ready(slot, static_cast<Lane>(of));
  }
  Wake(now);
}

// Reports a packet that was lost in this host's NIC or on its link.
void Host::ReportDrop(const Packet& packet, Time now) {
  if (packet.kind != PacketKind::kData) return;
  transport_->OnDropNotice({packet.flow, packet.data.tx_id, now});
}

void Host::PrefetchEnds() const {
  arrivals_.PrefetchHeads();
  PrefetchLines<8>(nics_.begin());
  PrefetchLines<8>(transport_.get());
}

void Host::Run(const Window& window) {
  HEDDLE_CHECK(arrivals_.Next() >= ran_to_,
               "a packet arrives at {} ps, but host {} has run to {} ps", arrivals_.Next().ps, id_,
               ran_to_.ps);
  window_ = &window;
  ran_to_ = window.end;
  for (;;) {
    const Time arrival = arrivals_.Next();
    const Time timer = NextTimer();
    const Time event = std::min(arrival, timer);
    const Time service = NextService();
    now_ = std::min(event, service);
    if (now_ >= window.end) break;
    if (service < event) {
      Serve();
    } else if (arrival <= timer) {
      Receive(arrivals_.Front());
      arrivals_.Pop();
    } else {
      OnTimer();
    }
  }
}

[[gnu::always_inline]] inline void Host::Receive(const Packet& packet) {
  if (!loss_.empty() && IsDamaged(packet)) [[unlikely]]
    return;
  ++received_;
  if (packet.kind == PacketKind::kPause) [[unlikely]]
    return OnPause(packet);
  HEDDLE_CHECK(packet.dst == id_, "a packet for host {} arrived at host {}", packet.dst, id_);
  if (packet.kind >= PacketKind::kControl) return ReceiveApart(packet);
  if (Wants(HostPolicy::kData) && packet.kind == PacketKind::kData) policy_->OnData(view_, packet);
  transport_->OnPacket(packet);
}

bool Host::IsDamaged(const Packet& packet) {
  RandomLoss* loss = loss_[arrivals_.Port()].get();
  if (packet.kind == PacketKind::kPause || loss == nullptr || !loss->Strikes()) return false;
  ++damaged_;
  if (packet.kind == PacketKind::kData && !packet.Has(Packet::kTrimmed)) {
    Tell(packet.src, kDropNotice, DropNotice{packet.flow, packet.data.tx_id, now_}, kNever);
  }
  return true;
}

// The host does not know where messages and the packets of policies will go. It may be another host
// of this leaf.
bool Host::IsApart(Time start) const {
  const bool knows_peers = !policies_send_ && application_ == nullptr;
  return knows_peers && near_halves_ == 0 && near_until_ < start;
}

// For each link: what it carries in `time`, and one packet more. The first packet to arrive may
// have been on the link before, but counts with all its bytes. No bound is known while packets may
// bunch, because a link has changed.
std::optional<int64_t> Host::MostBytesIn(Duration time) const {
  constexpr int64_t kLargest = std::numeric_limits<decltype(Packet::bytes)>::max();
  int64_t bytes = 0;
  for (const Nic& nic : nics_) {
    if (!nic.port.keeps_rate()) return std::nullopt;
    bytes += nic.port.SentIn(time).count + kLargest;
  }
  return bytes;
}

// Receives packets that belong to no flow: datagrams and control packets.
void Host::ReceiveApart(const Packet& packet) {
  if (packet.kind == PacketKind::kDatagram) {
    ++datagrams_received_;
    return user(Lane::kBackground).endpoint->OnPacket(packet);
  }
  if (policy_) policy_->OnControl(view_, packet);
}

// --- Pauses, IEEE 802.1Qbb ---

void Host::OnPause(const Packet& frame) {
  const PortIndex link = arrivals_.Port();
  Nic& nic = nics_[link];
  PauseTotals& counts = nic.pauses.counts();
  ++(frame.pause.stop ? counts.pauses : counts.resumes);
  if (pause_response_ == Duration{0}) return Pause(nic, frame.pause.classes, frame.pause.stop);
  timers_.Set(now_ + pause_response_, kPauseTimer | uint64_t{link} << kLinkShift |
                                          uint64_t{frame.pause.classes} << 1 |
                                          (frame.pause.stop ? 1 : 0));
}

void Host::Pause(Nic& nic, unsigned classes, bool stop) {
  for (size_t i = 0; i < kLanes; ++i) {
    NicLane& its = nic.lanes[i];
    const User& its_user = users_[i];
    if (its_user.endpoint == nullptr || its.paused == stop) continue;
    if ((classes >> its_user.priority & 1) == 0) continue;
    if (!stop) {
      Resume(its, *its_user.endpoint);
      continue;
    }
    its.paused = true;
    its.paused_since = now_;
    its.since = kNever;
  }
  if (stop && pause_quanta_ != 0) SetPauseEnd(nic, classes);
  nic.FindServiceTime();
  NotePauses(nic);
}

// Also extends a pause under way.
void Host::SetPauseEnd(Nic& nic, unsigned classes) {
  const Time end = now_ + PauseTime(pause_quanta_, nic.port.rate());
  for (size_t i = 0; i < kLanes; ++i) {
    if ((classes >> users_[i].priority & 1) != 0) nic.lanes[i].paused_until = end;
  }
  timers_.Set(end, kPauseTimer | uint64_t{IndexOf(nic)} << kLinkShift | kPauseEnds);
}

void Host::OnPauseTimer(uint64_t key) {
  Nic& nic = nics_[key >> kLinkShift];
  if ((key & kPauseEnds) == 0) {
    if (now_ - pause_response_ < nic.void_before) return;  // Whoever sent it has forgotten it.
    return Pause(nic, static_cast<unsigned>(key >> 1) & 0xff, (key & 1) != 0);
  }
  unsigned ended = 0;
  for (size_t i = 0; i < kLanes; ++i) {
    const NicLane& its = nic.lanes[i];
    if (its.paused && its.paused_until == now_) ended |= 1u << users_[i].priority;
  }
  if (ended != 0) Pause(nic, ended, false);
}

void Host::Resume(NicLane& its, Endpoint& endpoint) {
  its.paused = false;
  if (its.empty()) return;
  its.since = now_;
  CountBlocked(its, endpoint);
}

void Host::CountBlocked(const NicLane& its, Endpoint& endpoint) const {
  if (its.joins_again) endpoint.AddBlocked(its.sent, now_ - its.paused_since);
  for (size_t i = 0; i < its.ready.size(); ++i) {
    endpoint.AddBlocked(its.ready[i], now_ - its.paused_since);
  }
}

void Host::CountPausesUnderWay(Time now) {
  now_ = now;
  for (Nic& nic : nics_) {
    for (size_t i = 0; i < kLanes; ++i) {
      NicLane& its = nic.lanes[i];
      if (!its.paused) continue;
      CountBlocked(its, *users_[i].endpoint);
      its.paused_since = now;
    }
  }
}

// The flow became ready during the pause: only the time from now on counts as blocked.
void Host::WaitPaused(Nic& nic, NicLane& its, uint32_t slot) {
  users_[static_cast<size_t>(&its - nic.lanes.data())].endpoint->AddBlocked(
      slot, its.paused_since - now_);
  its.Join(slot, now_);
  NotePauses(nic);
}

void Host::NotePauses(Nic& nic) {
  unsigned paused = 0;
  unsigned waiting = 0;
  for (size_t i = 0; i < kLanes; ++i) {
    paused |= (nic.lanes[i].paused ? 1u : 0u) << i;
    waiting |= (nic.lanes[i].empty() ? 0u : 1u) << i;
  }
  nic.pauses.Set(paused, waiting, now_);
  if (pause_log_) LogPausesByClass(nic);
}

// The log is by class, and both lanes may have the same class.
void Host::LogPausesByClass(const Nic& nic) {
  unsigned paused = 0;
  unsigned waiting = 0;
  for (size_t i = 0; i < kLanes; ++i) {
    if (!nic.lanes[i].paused) continue;
    paused |= 1u << users_[i].priority;
    if (!nic.lanes[i].empty()) waiting |= 1u << users_[i].priority;
  }
  pause_log_->Set(IndexOf(nic), paused, waiting, now_);
}

// Flow starts come first among the timers of one instant.
void Host::OnTimer() {
  if (!starts_.empty() && starts_.front().start <= timers_.Next()) {
    const FlowSpec spec = starts_.front();
    starts_.pop_front();
    return transport_->StartFlow(spec);
  }
  const uint64_t key = timers_.Pop().key;
  const uint64_t rest = key & (kTransportTimer - 1);
  if (key < kTransportTimer) [[unlikely]]
    return OnPauseTimer(key);
  if (key < kPolicyTimer) return transport_->OnTimer(rest);
  if (key >= kApplicationTimer) return application_->OnTimer(rest);
  if (key >= kBackgroundTimer) return user(Lane::kBackground).endpoint->OnTimer(rest);
  policy_->OnTimer(view_, static_cast<uint32_t>(key));
}

// Inlined for each lane, which saves an indirection for the transport's lane.
[[gnu::always_inline]] inline void Host::Serve(Nic& nic, Lane of) {
  NicLane& its = nic.lane(of);
  User& its_user = user(of);
  its.Rejoin();
  const uint32_t slot = its.ready.front();
  its.ready.pop_front();
  Packet& packet = nic.port.Slot(now_);
  packet.Clear();
  packet.priority = its_user.priority;
  building_ = &nic;
  const Endpoint::Pulled pulled = its_user.endpoint->Pull(slot, packet);
  if (its.joins_at_end && pulled.sent) {
    its.sent = slot;
    its.joins_again = pulled.more;
  } else if (pulled.more && links_ == 1) {
    its.ready.push_back(slot);
  }
  if (its.empty()) {
    its.since = kNever;
    nic.FindServiceTime();
  }
  if (!pulled.sent) {
    building_ = nullptr;
    return;
  }
  ++its_user.sent;
  const Time left = SendSlot();
  if (its.joins_at_end) its.left = left;
  if (links_ > 1) [[unlikely]] {
    last_nic_ = IndexOf(nic);
    if (pulled.more && !its.joins_at_end) Ready(slot, of);  // Another NIC may have its next turn.
  }
  if (handed_) [[unlikely]]
    application_->OnHanded(*std::exchange(handed_, std::nullopt));
}

// Serves the NIC whose service is due first. If both its lanes may send, the one not served last
// has its turn.
void Host::Serve() {
  Nic* nic = &nics_[0];
  for (size_t i = 1; i < links_; ++i) {
    if (nics_[i].NextService() < nic->NextService()) nic = &nics_[i];
  }
  const bool background =
      nic->lane(Lane::kBackground).since != kNever &&
      (nic->served == Lane::kTransport || nic->lane(Lane::kTransport).since == kNever);
  nic->served = background ? Lane::kBackground : Lane::kTransport;
  if (background) [[unlikely]]
    return Serve(*nic, Lane::kBackground);
  Serve(*nic, Lane::kTransport);
}

void Host::SendDeferred() {
  for (const Packet& packet : std::exchange(deferred_, {})) SendForPolicy(packet, packet.priority);
}

void Host::SendForPolicy(const Packet& packet, uint8_t priority) {
  HEDDLE_CHECK(policy_->sends_packets(),
               "a host's policy sends a packet, but its sends_packets() is false; if it is a "
               "plug-in's, the mistake is there");
  if (building_ != nullptr) {
    deferred_.push_back(packet);
    deferred_.back().priority = priority;
    return;
  }
  Packet& slot = ControlSlot({packet.dst, packet.tuple_hash});
  slot = packet;
  slot.priority = priority;
  SendControl();
}

void Host::OnLetter(const Letter& letter) {
  switch (letter.kind) {
    case kDropNotice:
      return transport_->OnDropNotice(letter.Body<DropNotice>());
    case kFlowEnded:
      return transport_->OnFlowEnded(letter.Body<FlowEnded>());
    case kNews:
      return application_->OnNews(letter.Body<News>());
    default:
      HEDDLE_CHECK(false, "a letter of unknown kind {}", letter.kind);
  }
}

void HostView::SendControl(const Packet& packet) {
  HEDDLE_CHECK(packet.bytes >= kMinPacketBytes, "a packet of {} bytes", packet.bytes);
  self_.SendForPolicy(packet, self_.control_class_);
}

bool HostView::SendProbe(const Packet& packet) {
  HEDDLE_CHECK(packet.bytes >= kMinPacketBytes, "a packet of {} bytes", packet.bytes);
  Host::Nic& nic = self_.nics_[self_.NicFor({packet.dst, packet.tuple_hash})];
  if (nic.lane(Lane::kTransport).paused) return false;
  self_.SendForPolicy(packet, self_.user(Lane::kTransport).priority);
  return true;
}

void HostView::SetTimer(Time at, uint32_t id) { self_.timers_.Set(at, Host::kPolicyTimer | id); }

}  // namespace heddle
