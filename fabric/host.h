// SPDX-License-Identifier: Apache-2.0
// A host: its NICs, mostly one, its transport, the datagrams it sends in the background, and its
// part of the load balancer.
//
// With several links each has a NIC of its own. All packets of a flow leave through the same one,
// by a hash of the 5-tuple over those that begin a shortest path, until routes change.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/fixed_vector.h"
#include "core/node.h"
#include "core/ring.h"
#include "core/timers.h"
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
  // Who sends and receives datagrams here, and their class. Outlives this.
  void SetBackground(Endpoint* background, uint8_t priority) {
    users_[static_cast<size_t>(Lane::kBackground)] = {background, priority};
  }
  // Of the packets that it sends: those of flows, and ACKs and the like.
  void SetClasses(uint8_t data, uint8_t control) {
    users_[static_cast<size_t>(Lane::kTransport)].priority = data;
    control_class_ = control;
  }
  // From the arrival of a pause frame to its effect; and how long it lasts, 0: until it is lifted.
  void SetPauseResponse(Duration response, uint16_t quanta = 0) {
    pause_response_ = response;
    pause_quanta_ = quanta;
  }
  // A flow of the transport that may send again at once joins the round when its packet has left,
  // behind those that were ready by then; otherwise when its packet begins to leave.
  void LetFlowsJoinAtEnd() {
    for (Nic& nic : nics_) nic.lane(Lane::kTransport).joins_at_end = true;
  }
  // A link damages packets on their way here, but for pause frames.
  void SetLoss(PortIndex link, std::unique_ptr<RandomLoss> loss) {
    loss_.resize(links_);
    loss_[link] = std::move(loss);
  }
  void SetHosts(std::span<Node* const> hosts) { hosts_ = hosts; }
  void SetPaths(const PathTable* paths) { paths_ = paths; }
  void SetLeaves(const LeafMap& leaves) { leaves_ = leaves; }
  void SetLog(FlowLog* log) { log_ = log; }
  void Attach();

  // --- Conductor, between windows ---

  // Flows are given in the order of (start, id).
  void StartFlow(const FlowSpec& spec);
  void ExpectFlow(const FlowSpec& spec) { transport_->ExpectFlow(spec); }

  // A link has another rate and delay.
  void SetChannel(PortIndex link, Time now, BitRate rate, Duration delay);
  // It goes down, when all mail has been read: what has not arrived is lost.
  void TakeDown(PortIndex link, Time now);

  // For a host with several links: which of them begin a shortest path to each host.
  struct FirstHops {
    std::vector<uint16_t> set_of_host;
    std::vector<std::vector<PortIndex>> sets;
  };
  void SetFirstHops(FirstHops hops, Time now);

  RandomLoss& loss(PortIndex link) { return *loss_[link]; }  // It must have been set.

  // --- Node ---

  void Run(const Window& window) override;
  void Prefetch(Time end) const override;
  Time Due() const override { return std::min({arrivals_.Next(), NextTimer(), NextService()}); }
  void OnLetter(const Letter& letter) override;

  // --- For the transport and the background ---

  Time now() const { return now_; }
  HostId id() const { return id_; }
  FlowLog& log() { return *log_; }

  // ACKs and their like go before any data not yet begun and keep their order, so their departure
  // is known at once: fill in ControlSlot(), then SendControl(). The packet is for `dst`, and of
  // the flow with this hash.
  Packet& ControlSlot(HostId dst, uint32_t tuple_hash) {
    building_ = &nics_[NicFor(dst, tuple_hash)];
    Packet& slot = building_->port.Slot();
    slot = Packet();
    slot.priority = control_class_;
    return slot;
  }
  void SendControl() {
    ++control_sent_;
    SendSlot();
  }

  // Where wires carry telemetry: what came with the packet that is being received, and what goes
  // with the one that is being built.
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

  // What packets of a flow to `dst` leave at now.
  BitRate LineRate(HostId dst, uint32_t tuple_hash) const {
    return nics_[NicFor(dst, tuple_hash)].port.rate();
  }

  // Endpoint::OnTimer(key) is called at `at`; the top byte of `key` belongs to the host.
  void SetTimer(Time at, uint64_t key, Lane of = Lane::kTransport) {
    timers_.Set(at, (of == Lane::kTransport ? kTransportTimer : kBackgroundTimer) | key);
  }

  // A letter to `host`, to be read by `due`.
  template <class T>
  void Tell(HostId host, LetterKind kind, const T& body, Time due) {
    Post(Letter::Of(*hosts_[host], kind, body), due);
  }

  // Bytes of a flow have come that had not come before.
  void NotePayload(int64_t bytes) { payload_received_ += bytes; }

  // The load balancer's part, for hooks it asked for.
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
  int64_t damaged() const { return damaged_; }    // Likewise, and not received.
  int64_t payload_received() const { return payload_received_; }
  PauseTotals PausesUntil(PortIndex link, Time now) { return nics_[link].pauses.Until(now); }
  // From now on every pause is logged.
  PauseLog& LogPauses() {
    if (!pause_log_) pause_log_ = std::make_unique<PauseLog>(links_);
    return *pause_log_;
  }

 private:
  friend class HostView;

  static constexpr uint64_t kPauseTimer = 0;  // First among those of one instant.
  static constexpr int kLinkShift = 16;       // In its key.
  static constexpr uint64_t kPauseEnds = 1 << 9;
  static constexpr uint64_t kTransportTimer = uint64_t{1} << 56;
  static constexpr uint64_t kPolicyTimer = uint64_t{2} << 56;
  static constexpr uint64_t kBackgroundTimer = uint64_t{3} << 56;

  // Who sends in a lane.
  struct User {
    Endpoint* endpoint = nullptr;
    uint8_t priority = 0;  // Of all its packets.
    int64_t sent = 0;      // Packets.
  };

  struct NicLane {
    Ring<uint32_t> ready;  // Slots of the flows that take turns.
    Time since = kNever;   // Since when the lane may send; kNever: it may not.
    bool paused = false;   // By the switch.
    bool joins_at_end = false;
    bool joins_again = false;  // The flow at `sent`, when its packet has left.
    uint32_t sent = 0;         // The last that was sent from, if they join at the end,
    Time left{-kNever.ps};     // and when its packet has left.
    Time paused_since;
    Time paused_until = kNever;  // Unless it is lifted.

    bool empty() const { return ready.empty() && !joins_again; }
    void Rejoin() {
      if (!joins_again) return;
      joins_again = false;
      ready.push_back(sent);
    }
    // Whoever is ready by the instant at which the packet has left goes first.
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
    Lane served = Lane::kTransport;  // The last that had its turn.
    PauseMeter pauses;
  };

  User& user(Lane of) { return users_[static_cast<size_t>(of)]; }
  PortIndex IndexOf(const Nic& nic) const { return static_cast<PortIndex>(&nic - nics_.begin()); }
  // Through which NIC a packet of a flow leaves, and a flow of a lane.
  PortIndex NicFor(HostId dst, uint32_t tuple_hash) const {
    if (links_ == 1) return 0;
    return HashedNic(dst, tuple_hash);
  }
  PortIndex HashedNic(HostId dst, uint32_t tuple_hash) const;
  PortIndex NicOf(uint32_t slot, Lane of) const;

  Time NextTimer() const {
    return starts_.empty() ? timers_.Next() : std::min(starts_.front().start, timers_.Next());
  }
  Time NextService() const {
    Time next = nics_[0].NextService();
    for (size_t i = 1; i < links_; ++i) next = std::min(next, nics_[i].NextService());
    return next;
  }
  // The packet in the NIC's slot is complete. What the policy sent while it was being built
  // follows. Returns when the packet has left.
  Time SendSlot() {
    FifoPort& port = std::exchange(building_, nullptr)->port;
    if (!port.SendSlot(now_, *window_)) [[unlikely]]
      ReportDrop(port.Slot(), now_);
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
  void WaitPaused(Nic& nic, NicLane& its, uint32_t slot);
  void NotePauses(Nic& nic);
  void LogPausesByClass(const Nic& nic);
  void OnTimer();
  void Serve();
  void Serve(Nic& nic, Lane of);

  Time now_;
  const Window* window_ = nullptr;
  uint8_t control_class_ = 0;
  Duration pause_response_{0};
  uint16_t pause_quanta_ = 0;
  Nic* building_ = nullptr;  // Its slot holds a packet that is not complete.
  std::vector<Packet> deferred_;
  const size_t links_;
  FixedVector<Nic> nics_;  // By link.
  FirstHops first_hops_;
  std::unique_ptr<Transport> transport_;
  std::array<User, kLanes> users_;
  Ring<FlowSpec> starts_;  // Flows that start soon, by (start, id).
  Timers timers_;
  HostPolicyPtr policy_;
  uint32_t hooks_ = 0;
  HostView view_{*this};

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
  std::vector<std::unique_ptr<RandomLoss>> loss_;  // By link; empty if none ever damages anything.
  std::unique_ptr<PauseLog> pause_log_;            // Null if nobody asks.
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
