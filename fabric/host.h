// SPDX-License-Identifier: Apache-2.0
// A host with its NICs (usually one), its transport, its background datagrams and its part of the
// load balancer. The engine runs it as a node; transport, background and policy call it to send
// packets and set timers.
//
// A host with several links has one NIC for each. All packets of a flow leave through the same NIC
// until routes change: the one that the flow asks for, if it begins a shortest path; otherwise a
// hash of the 5-tuple chooses among the NICs that do. A flow that asks for kFreestNic joins, for
// each packet, the NIC with the fewest waiting flows; of several the one that is idle first; of
// several the next in turn.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/fixed_vector.h"
#include "core/node.h"
#include "core/ring.h"
#include "core/timers.h"
#include "fabric/application.h"
#include "fabric/fifo_port.h"
#include "fabric/flow.h"
#include "fabric/host_policy.h"
#include "fabric/paths.h"
#include "fabric/pause_log.h"
#include "fabric/pause_meter.h"
#include "fabric/random_loss.h"
#include "fabric/transport.h"

namespace heddle {

class Host final : public Node {
 public:
  // `policy` may be null.
  Host(HostId id, size_t links, HostPolicyPtr policy);

  // --- Building ---

  FifoPort& AddNic(const PortSettings& settings) { return nics_.Add(settings).port; }
  void SetTransport(std::unique_ptr<Transport> transport);
  // Sets the endpoint that sends and receives datagrams here, and their class. It must outlive the
  // host.
  void SetBackground(Endpoint* background, uint8_t priority) {
    users_[static_cast<size_t>(Lane::kBackground)] = {background, priority};
  }
  // Sets the programs on this host, whose messages have the ids below `end`.
  void SetApplication(std::unique_ptr<Application> application, FlowId end);
  // Sets the classes of sent packets: one for data, one for ACKs and other control packets.
  void SetClasses(uint8_t data, uint8_t control) {
    users_[static_cast<size_t>(Lane::kTransport)].priority = data;
    control_class_ = control;
  }
  // `response` is the time from the arrival of a pause frame to its effect. `quanta` is how long a
  // pause lasts; 0: until a resume frame ends it.
  void SetPauseResponse(Duration response, uint16_t quanta = 0) {
    pause_response_ = response;
    pause_quanta_ = quanta;
  }
  // Lets a transport flow that may send again rejoin the round when its packet has left, behind the
  // flows that are ready by then. By default it rejoins when its packet begins to leave.
  void LetFlowsJoinAtEnd() {
    for (Nic& nic : nics_) nic.lane(Lane::kTransport).joins_at_end = true;
  }
  // Makes a link damage packets on their way to this host, except pause frames.
  void SetLoss(PortIndex link, std::unique_ptr<RandomLoss> loss) {
    loss_.resize(links_);
    loss_[link] = std::move(loss);
  }
  void SetHosts(std::span<Node* const> hosts) { hosts_ = hosts; }
  // Null if no host has a policy of the load balancer.
  void SetPaths(const PathTable* paths) { paths_ = paths; }
  // Network says here if the policy of any host sends packets of its own.
  void SetPoliciesSend(bool send) { policies_send_ = send; }
  void SetLeaves(const LeafMap& leaves) { leaves_ = leaves; }
  void SetLog(FlowLog* log) { log_ = log; }
  void Attach();

  // --- Conductor, between windows ---

  // Flows are given in the order of (start, id).
  void StartFlow(const FlowSpec& spec);
  void ExpectFlow(const FlowSpec& spec) {
    NoteOpened(spec.src);
    transport_->ExpectFlow(spec);
  }

  // A link gets another rate and delay.
  void SetChannel(PortIndex link, Time now, BitRate rate, Duration delay);
  // A link goes down in the direction from here, and the packets that have not arrived are lost.
  // Called when all mail has been read.
  void TakeDown(PortIndex link, Time now);
  // It comes up again in the direction from here.
  void BringUp(PortIndex link, Time now);
  // It goes down in the other direction: the switch's pauses end, because no frame would end them.
  void VoidPauses(PortIndex link, Time now);

  // For a host with several links: the links that begin a shortest path to each host.
  struct FirstHops {
    std::vector<uint16_t> set_of_host;
    std::vector<std::vector<PortIndex>> sets;
  };
  void SetFirstHops(FirstHops hops, Time now);

  // Adds to waiting flows what of a pause has passed that has not ended yet. Call it between
  // windows, before the senders of unfinished flows are collected.
  void CountPausesUnderWay(Time now);

  RandomLoss& loss(PortIndex link) { return *loss_[link]; }  // Needs SetLoss() before.

  // The application's timer with this key fires at `at`, in a window that has not opened.
  void WakeApplication(Time at, uint64_t key) {
    SetApplicationTimer(at, key);
    Wake(at);
  }

  // --- Node ---

  void Run(const Window& window) override;
  void PrefetchEnds() const override;
  Time Due() const override { return std::min({arrivals_.Next(), NextTimer(), NextService()}); }
  void OnLetter(const Letter& letter) override;
  bool IsApart(Time start) const override;
  std::optional<int64_t> MostBytesIn(Duration time) const override;
  bool MayMove() const override { return false; }  // Its log belongs to its thread.

  // --- For the transport and the background ---

  Time now() const { return now_; }
  HostId id() const { return id_; }
  FlowLog& log() { return *log_; }

  // Control packets such as ACKs go before any data packet not yet begun and keep their order, so
  // their departure is known at once. Fill in ControlSlot(), then call SendControl(). The packet
  // goes where `tuple` says.
  Packet& ControlSlot(const Endpoint::Tuple& tuple) {
    building_ = &nics_[NicFor(tuple)];
    Packet& slot = building_->port.Slot(now_);
    slot.Clear();
    slot.priority = control_class_;
    return slot;
  }
  void SendControl() {
    ++control_sent_;
    SendSlot();
  }
  // Returns true if the switch at the other end has paused the transport's data (PFC).
  bool IsDataPaused(const Endpoint::Tuple& tuple) {
    return nics_[NicFor(tuple)].lane(Lane::kTransport).paused;
  }

  // Where wires carry telemetry: the record that came with the packet being received, and the
  // record that goes with the packet being built.
  const Telemetry& ArrivedTelemetry() { return arrivals_.FrontExtra(); }
  Telemetry& LeavingTelemetry() {
    WireTail& wire = building_->port.wire();
    return wire.Extra(wire.pushed());
  }

  // The flow at `slot` may send. Flows take turns, one packet each; a flow calls this once, and
  // again only after Pull has told it that it is out of the round.
  void Ready(uint32_t slot, Lane of = Lane::kTransport) {
    Nic& nic = nics_[links_ == 1 ? 0 : NicOf(slot, of)];
    NicLane& its = nic.lane(of);
    if (its.paused) [[unlikely]]
      return WaitPaused(nic, its, slot);
    if (its.empty()) {
      its.since = now_;
      nic.service_from = std::min(nic.service_from, now_);
    }
    its.Join(slot, now_);
  }

  // The link that the packet being received came from, and the one that the packet being built
  // leaves through.
  PortIndex arrival_link() const { return arrivals_.Port(); }
  PortIndex leaving_link() const { return IndexOf(*building_); }

  // The number of transport flows that wait for the NIC of a flow. Within Endpoint::Pull(), the
  // flow that is pulled is not one of them.
  size_t Waiting(const Endpoint::Tuple& tuple) {
    const NicLane& lane = nics_[NicFor(tuple)].lane(Lane::kTransport);
    return lane.waiting();
  }

  // The present rate of the link that packets of a flow leave through.
  BitRate LineRate(const Endpoint::Tuple& tuple) const { return nics_[NicFor(tuple)].port.rate(); }

  // Endpoint::OnTimer(key) is called at `at`; the top byte of `key` belongs to the host.
  void SetTimer(Time at, uint64_t key, Lane of = Lane::kTransport) {
    timers_.Set(at, (of == Lane::kTransport ? kTransportTimer : kBackgroundTimer) | key);
  }

  // A flow or datagrams to or from `peer` will have their sender or receiver here.
  void NoteOpened(HostId peer) { near_halves_ += IsNear(peer) ? 1 : 0; }
  // The transport has released its sender or receiver of a flow. The other end, at `peer`, sends
  // nothing after `last`.
  void NoteReleased(FlowId flow, HostId peer, Time last) {
    if (IsMessage(flow) || !IsNear(peer)) return;
    --near_halves_;
    near_until_ = std::max(near_until_, last);
  }

  // --- Messages of closed-loop workloads ---

  // The transport reports what becomes of each flow. If the flow is a message, the application is
  // told (fabric/application.h); NoteHanded() tells it when the packet that is being built has
  // begun to leave, because it may send something else then.
  void NoteReceived(FlowId flow) {
    if (IsMessage(flow)) application_->OnReceived(flow);
  }
  void NoteHanded(FlowId flow) {
    if (IsMessage(flow)) handed_ = flow;
  }
  void NoteAcked(FlowId flow) {
    if (IsMessage(flow)) application_->OnAcked(flow);
  }
  void NoteClosed(FlowId flow) {
    if (IsMessage(flow)) application_->OnClosed(flow);
  }
  // A packet of a flow that is not open here has arrived. Returns the flow if it is to be opened.
  std::optional<FlowSpec> Expected(FlowId flow) {
    return IsMessage(flow) ? application_->Expect(flow) : std::nullopt;
  }
  // The application starts `message` now.
  void StartMessage(const FlowSpec& message) { transport_->StartFlow(message); }
  // Application::OnTimer(key) is called at `at`, behind all other timers of that instant.
  void SetApplicationTimer(Time at, uint64_t key) { timers_.Set(at, kApplicationTimer | key); }

  // Sends a letter to `host`, which must read it by `due`.
  template <class T>
  void Tell(HostId host, LetterKind kind, const T& body, Time due) {
    Post(Letter::Of(*hosts_[host], kind, body), due);
  }

  // Counts bytes of a flow that have arrived for the first time.
  void NotePayload(int64_t bytes) { payload_received_ += bytes; }

  // The host's load-balancing policy, and whether it has a hook.
  bool Wants(HostPolicy::Hook hook) const { return (hooks_ & hook) != 0; }
  bool has_policy() const { return policy_ != nullptr; }
  HostPolicy& policy() { return *policy_; }
  HostView& view() { return view_; }

  // --- Results ---

  FifoPort& nic(PortIndex link = 0) { return nics_[link].port; }
  size_t nics() const { return nics_.size(); }
  Transport& transport() { return *transport_; }
  int64_t data_sent() const { return users_[static_cast<size_t>(Lane::kTransport)].sent; }
  int64_t datagrams_sent() const { return users_[static_cast<size_t>(Lane::kBackground)].sent; }
  int64_t datagrams_received() const { return datagrams_received_; }
  int64_t control_sent() const { return control_sent_; }
  int64_t received() const { return received_; }  // Packets of all kinds.
  int64_t damaged() const { return damaged_; }    // Damaged packets, which are not in received().
  int64_t payload_received() const { return payload_received_; }
  PauseTotals PausesUntil(PortIndex link, Time now) { return nics_[link].pauses.Until(now); }
  // From now on every pause is logged.
  PauseLog& LogPauses() {
    if (!pause_log_) pause_log_ = std::make_unique<PauseLog>(links_);
    return *pause_log_;
  }

 private:
  friend class HostView;

  static constexpr uint64_t kPauseTimer = 0;  // Fires first among the timers of one instant.
  static constexpr int kLinkShift = 16;       // In the key of a pause timer.
  static constexpr uint64_t kPauseEnds = 1 << 9;
  static constexpr uint64_t kTransportTimer = uint64_t{1} << 56;
  static constexpr uint64_t kPolicyTimer = uint64_t{2} << 56;
  static constexpr uint64_t kBackgroundTimer = uint64_t{3} << 56;
  static constexpr uint64_t kApplicationTimer = uint64_t{4} << 56;

  bool IsMessage(FlowId flow) const { return flow < messages_end_; }

  // The sender of a lane.
  struct User {
    Endpoint* endpoint = nullptr;
    uint8_t priority = 0;  // The class of all its packets.
    int64_t sent = 0;      // Packets sent.
  };

  struct NicLane {
    Ring<uint32_t> ready;  // Slots of the flows that take turns.
    Time since = kNever;   // Since when the lane may send; kNever: it may not.
    bool paused = false;   // Paused by the switch (PFC).
    bool joins_at_end = false;
    bool joins_again = false;  // The flow at `sent` rejoins when its packet has left.
    uint32_t sent = 0;         // joins_at_end: the flow that sent last.
    Time left{-kNever.ps};     // joins_at_end: when that flow's packet has left.
    Time paused_since;
    Time paused_until = kNever;  // Unless a resume frame ends the pause before.

    bool empty() const { return ready.empty() && !joins_again; }
    size_t waiting() const { return ready.size() + (joins_again ? 1 : 0); }
    void Rejoin() {
      if (!joins_again) return;
      joins_again = false;
      ready.push_back(sent);
    }
    // Flows that are ready by the instant at which the packet has left go first.
    void Join(uint32_t slot, Time now) {
      if (left < now) {
        Rejoin();
      } else if (slot == sent && now < left) {
        joins_again = true;
        return;
      }
      ready.push_back(slot);
    }
  };

  struct Nic {
    explicit Nic(const PortSettings& settings) : port(settings) {}

    NicLane& lane(Lane of) { return lanes[static_cast<size_t>(of)]; }
    Time NextService() const { return std::max(port.busy_until(), service_from); }
    void FindServiceTime() { service_from = std::min(lanes[0].since, lanes[1].since); }

    FifoPort port;
    Time service_from = kNever;  // The earliest `since` of the lanes.
    std::array<NicLane, kLanes> lanes;
    Lane served = Lane::kTransport;  // The lane that last had its turn.
    Time void_before{-kNever.ps};    // Pause frames that arrived before this are void.
    PauseMeter pauses;
  };

  // Returns true if `peer` is attached to the leaf of this host.
  bool IsNear(HostId peer) const { return leaves_.of_host[peer] == leaves_.of_host[id_]; }

  User& user(Lane of) { return users_[static_cast<size_t>(of)]; }
  PortIndex IndexOf(const Nic& nic) const { return static_cast<PortIndex>(&nic - nics_.begin()); }
  // The NIC that a packet of a flow leaves through. NicOf() finds it for a flow of a lane.
  PortIndex NicFor(const Endpoint::Tuple& tuple) const {
    if (links_ == 1) return 0;
    return NicOfSeveral(tuple);
  }
  PortIndex NicOfSeveral(const Endpoint::Tuple& tuple) const;
  PortIndex FreestNic(const std::vector<PortIndex>& hops) const;
  PortIndex NicOf(uint32_t slot, Lane of) const;

  Time NextTimer() const {
    return starts_.empty() ? timers_.Next() : std::min(starts_.front().start, timers_.Next());
  }
  Time NextService() const {
    Time next = nics_[0].NextService();
    for (size_t i = 1; i < links_; ++i) next = std::min(next, nics_[i].NextService());
    return next;
  }
  // The packet in the NIC's slot is complete. Sends it, and then the packets that the policy sent
  // while it was being built. Returns when the packet has left.
  Time SendSlot() {
    FifoPort& port = std::exchange(building_, nullptr)->port;
    // A packet that follows another without a gap belongs to the same busy period: see
    // FifoPort::TransmissionTime().
    const Time since = port.busy_until() == now_ ? now_ - 1_ps : now_;
    if (!port.SendSlot(since, *window_)) [[unlikely]]
      ReportDrop(port.Slot(now_), now_);
    const Time left = port.busy_until();
    if (!deferred_.empty()) [[unlikely]]
      SendDeferred();
    return left;
  }
  void SendForPolicy(const Packet& packet, uint8_t priority);
  void SendDeferred();
  void ReportDrop(const Packet& packet, Time now);
  void Receive(const Packet& packet);
  bool IsDamaged(const Packet& packet);
  void ReceiveApart(const Packet& packet);
  void OnPause(const Packet& frame);
  void OnPauseTimer(uint64_t key);
  void Pause(Nic& nic, unsigned classes, bool stop);
  void SetPauseEnd(Nic& nic, unsigned classes);
  void Resume(NicLane& its, Endpoint& endpoint);
  void CountBlocked(const NicLane& its, Endpoint& endpoint) const;
  void WaitPaused(Nic& nic, NicLane& its, uint32_t slot);
  void NotePauses(Nic& nic);
  void LogPausesByClass(const Nic& nic);
  void OnTimer();
  void Serve();
  void Serve(Nic& nic, Lane of);

  Time now_;
  Time ran_to_{-kNever.ps};  // The end of the last window.
  const Window* window_ = nullptr;
  uint8_t control_class_ = 0;
  Duration pause_response_{0};
  uint16_t pause_quanta_ = 0;
  Nic* building_ = nullptr;  // The NIC whose slot holds an unfinished packet.
  std::vector<Packet> deferred_;
  const size_t links_;
  FixedVector<Nic> nics_;  // By link.
  // With several NICs: the one that the last packet of a flow left through.
  PortIndex last_nic_ = 0;
  FirstHops first_hops_;
  std::unique_ptr<Transport> transport_;
  std::array<User, kLanes> users_;
  Ring<FlowSpec> starts_;  // Flows that start soon, by (start, id).
  Timers timers_;
  HostPolicyPtr policy_;
  uint32_t hooks_ = 0;
  HostView view_{*this};
  std::unique_ptr<Application> application_;
  FlowId messages_end_ = 0;
  // The number of senders and receivers here whose other end is at this leaf. Those of a flow count
  // from before its start until they are released, those of datagrams to the end of the run.
  // Messages do not count. Of the flows released here, neither end sends anything after
  // `near_until_`.
  int64_t near_halves_ = 0;
  Time near_until_{-kNever.ps};
  bool policies_send_ = false;    // See SetPoliciesSend().
  std::optional<FlowId> handed_;  // The message whose last packet is being built.

  const HostId id_;
  std::span<Node* const> hosts_;
  const PathTable* paths_ = nullptr;
  LeafMap leaves_;
  FlowLog* log_ = nullptr;
  int64_t control_sent_ = 0;
  int64_t received_ = 0;
  int64_t datagrams_received_ = 0;
  int64_t payload_received_ = 0;
  int64_t damaged_ = 0;
  std::vector<std::unique_ptr<RandomLoss>> loss_;  // By link; empty if no link damages packets.
  std::unique_ptr<PauseLog> pause_log_;            // Null unless LogPauses() was called.
};

inline Time HostView::now() const { return self_.now_; }
inline HostId HostView::id() const { return self_.id_; }
inline uint32_t HostView::PathsVersion() const { return self_.paths_->version(); }
inline std::span<const PathChoice> HostView::PathsTo(HostId dst) const {
  return self_.paths_->Between(self_.id_, dst);
}
inline size_t HostView::leaves() const { return self_.leaves_.leaves; }
inline size_t HostView::hosts() const { return self_.leaves_.of_host.size(); }
inline uint16_t HostView::LeafOf(HostId host) const { return self_.leaves_.of_host[host]; }
inline BitRate HostView::NicRate() const { return self_.nics_[0].port.rate(); }
inline void HostView::SetRateLimit(FlowId flow, BitRate limit) {
  self_.transport_->SetRateLimit(flow, limit);
}

}  // namespace heddle
