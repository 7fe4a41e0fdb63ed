// SPDX-License-Identifier: Apache-2.0
// A host: a NIC with one transmitter, its transport, the datagrams it sends in the background, and
// its part of the load balancer.

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
  Host(HostId id, std::unique_ptr<HostPolicy> policy);  // `policy` may be null.

  // --- Building ---

  FifoPort& SetNic(const PortSettings& settings) { return nic_.emplace(settings); }
  void SetTransport(std::unique_ptr<Transport> transport);
  // Who sends and receives datagrams here, and their class. Outlives this.
  void SetBackground(Endpoint* background, uint8_t priority) {
    lane(Lane::kBackground).user = background;
    lane(Lane::kBackground).priority = priority;
  }
  // Of the packets that it sends: those of flows, and ACKs and the like.
  void SetClasses(uint8_t data, uint8_t control) {
    lane(Lane::kTransport).priority = data;
    control_class_ = control;
  }
  // From the arrival of a pause frame to its effect.
  void SetPauseResponse(Duration response) { pause_response_ = response; }
  // Its link damages packets on their way here, but for pause frames.
  void SetLoss(std::unique_ptr<RandomLoss> loss) { loss_ = std::move(loss); }
  void SetHosts(std::span<Node* const> hosts) { hosts_ = hosts; }
  void SetPaths(const PathTable* paths) { paths_ = paths; }
  void SetLeaves(const LeafMap& leaves) { leaves_ = leaves; }
  void SetLog(FlowLog* log) { log_ = log; }
  void Attach();

  // --- Conductor, between windows ---

  // Flows are given in the order of (start, id).
  void StartFlow(const FlowSpec& spec);
  void ExpectFlow(const FlowSpec& spec) { transport_->ExpectFlow(spec); }

  // The host's link goes down, when all mail has been read: what has not arrived is lost.
  void TakeDown(Time now);

  RandomLoss* loss() { return loss_.get(); }  // Null unless it has been set.

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
  // is known at once: fill in ControlSlot(), then SendControl().
  Packet& ControlSlot() {
    building_ = true;
    Packet& slot = nic_->Slot();
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
  Telemetry& LeavingTelemetry() { return nic_->wire().Extra(nic_->wire().pushed()); }

  // The flow at `slot` may send. Flows take turns, one packet each; a flow calls this once, and
  // again only after Pull has told it that it is out of the round.
  void Ready(uint32_t slot, Lane of = Lane::kTransport) {
    NicLane& its = lane(of);
    if (its.paused) [[unlikely]]
      return WaitPaused(its, slot);
    if (its.ready.empty()) {
      its.since = now_;
      service_from_ = std::min(service_from_, now_);
    }
    its.ready.push_back(slot);
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

  FifoPort& nic() { return *nic_; }
  Transport& transport() { return *transport_; }
  int64_t data_sent() const { return lane(Lane::kTransport).sent; }
  int64_t datagrams_sent() const { return lane(Lane::kBackground).sent; }
  int64_t datagrams_received() const { return datagrams_received_; }
  int64_t control_sent() const { return control_sent_; }
  int64_t received() const { return received_; }  // Packets of all kinds.
  int64_t damaged() const { return damaged_; }    // Likewise, and not received.
  int64_t payload_received() const { return payload_received_; }
  int64_t pause_frames_received() const {
    return pauses_.counts().pauses + pauses_.counts().resumes;
  }
  PauseTotals PausesUntil(Time now) { return pauses_.Until(now); }
  // From now on every pause is logged.
  PauseLog& LogPauses() {
    if (!pause_log_) pause_log_ = std::make_unique<PauseLog>(1);
    return *pause_log_;
  }

 private:
  friend class HostView;

  static constexpr uint64_t kPauseTimer = 0;  // First among those of one instant.
  static constexpr uint64_t kTransportTimer = uint64_t{1} << 56;
  static constexpr uint64_t kPolicyTimer = uint64_t{2} << 56;
  static constexpr uint64_t kBackgroundTimer = uint64_t{3} << 56;

  struct NicLane {
    Endpoint* user = nullptr;
    uint8_t priority = 0;  // Of all its packets.
    Ring<uint32_t> ready;  // Slots of the flows that take turns.
    Time since = kNever;   // Since when the lane may send; kNever: it may not.
    bool paused = false;   // By the switch.
    Time paused_since;
    int64_t sent = 0;  // Packets.
  };

  NicLane& lane(Lane of) { return lanes_[static_cast<size_t>(of)]; }
  const NicLane& lane(Lane of) const { return lanes_[static_cast<size_t>(of)]; }
  Time NextTimer() const {
    return starts_.empty() ? timers_.Next() : std::min(starts_.front().start, timers_.Next());
  }
  Time NextService() const { return std::max(nic_->busy_until(), service_from_); }
  // The packet in the NIC's slot is complete. What the policy sent while it was being built
  // follows.
  void SendSlot() {
    if (!nic_->SendSlot(now_, *window_)) [[unlikely]]
      ReportDrop(nic_->Slot(), now_);
    building_ = false;
    if (!deferred_.empty()) [[unlikely]]
      SendDeferred();
  }
  void SendDeferred();
  void ReportDrop(const Packet& packet, Time now);
  void Receive(const Packet& packet);
  bool IsDamaged(const Packet& packet);
  void ReceiveApart(const Packet& packet);
  void OnPause(const Packet& frame);
  void Pause(unsigned classes, bool stop);
  void Resume(NicLane& its);
  void WaitPaused(NicLane& its, uint32_t slot);
  void NotePauses();
  void LogPausesByClass();
  void OnTimer();
  void Serve();
  void Serve(NicLane& its);

  Time now_;
  Time service_from_ = kNever;  // The earliest `since` of the lanes.
  const Window* window_ = nullptr;
  uint8_t control_class_ = 0;
  Duration pause_response_{0};
  bool building_ = false;  // The NIC's slot holds a packet that is not complete.
  std::vector<Packet> deferred_;
  std::optional<FifoPort> nic_;
  std::unique_ptr<Transport> transport_;
  std::array<NicLane, kLanes> lanes_;
  Lane served_ = Lane::kTransport;  // The last that had its turn.
  Ring<FlowSpec> starts_;           // Flows that start soon, by (start, id).
  Timers timers_;
  std::unique_ptr<HostPolicy> policy_;
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
  std::unique_ptr<RandomLoss> loss_;
  PauseMeter pauses_;
  std::unique_ptr<PauseLog> pause_log_;  // Null if nobody asks.
};

inline Time HostView::now() const { return self_.now_; }
inline HostId HostView::id() const { return self_.id_; }
inline uint32_t HostView::PathsVersion() const { return self_.paths_->version(); }
inline std::span<const PathChoice> HostView::PathsTo(HostId dst) const {
  return self_.paths_->Between(self_.id_, dst);
}
inline size_t HostView::leaves() const { return self_.leaves_.leaves; }
inline uint16_t HostView::LeafOf(HostId host) const { return self_.leaves_.of_host[host]; }
inline void HostView::SetRateLimit(FlowId flow, BitRate limit) {
  self_.transport_->SetRateLimit(flow, limit);
}
inline BitRate HostView::NicRate() const { return self_.nic_->rate(); }

}  // namespace heddle
