// SPDX-License-Identifier: Apache-2.0
// A host: a NIC with one transmitter, its transport, and its part of the load balancer.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/node.h"
#include "core/ring.h"
#include "core/timers.h"
#include "fabric/fifo_port.h"
#include "fabric/flow.h"
#include "fabric/host_policy.h"
#include "fabric/paths.h"
#include "fabric/transport.h"

namespace heddle {

class Host final : public Node {
 public:
  Host(HostId id, std::unique_ptr<HostPolicy> policy);  // `policy` may be null.

  // --- Building ---

  FifoPort& SetNic(const PortSettings& settings) { return nic_.emplace(settings); }
  void SetTransport(std::unique_ptr<Transport> transport);
  // Of the packets that it sends: those of flows, and ACKs and the like.
  void SetClasses(uint8_t data, uint8_t control) {
    data_class_ = data;
    control_class_ = control;
  }
  void SetHosts(std::span<Node* const> hosts) { hosts_ = hosts; }
  void SetPaths(const PathTable* paths) { paths_ = paths; }
  void SetLog(FlowLog* log) { log_ = log; }
  void Attach();

  // --- Conductor, between windows ---

  // Flows are given in the order of (start, id).
  void StartFlow(const FlowSpec& spec);
  void ExpectFlow(const FlowSpec& spec) { transport_->ExpectFlow(spec); }

  // The host's link goes down, when all mail has been read: what has not arrived is lost.
  void TakeDown(Time now);

  // --- Node ---

  void Run(const Window& window) override;
  void Prefetch(Time end) const override;
  Time Due() const override { return std::min({arrivals_.Next(), NextTimer(), NextService()}); }
  void OnLetter(const Letter& letter) override;

  // --- For the transport ---

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

  // The flow at `slot` may send. Flows take turns, one packet each; a flow calls this once, and
  // again only after Pull has told it that it is out of the round.
  void Ready(uint32_t slot) {
    if (ready_.empty()) ready_since_ = now_;
    ready_.push_back(slot);
  }

  // Transport::OnTimer(key) is called at `at`; the top byte of `key` belongs to the host.
  void SetTimer(Time at, uint64_t key) { timers_.Set(at, kTransportTimer | key); }

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
  int64_t data_sent() const { return data_sent_; }
  int64_t control_sent() const { return control_sent_; }
  int64_t received() const { return received_; }
  int64_t payload_received() const { return payload_received_; }

 private:
  friend class HostView;

  static constexpr uint64_t kTransportTimer = uint64_t{1} << 56;
  static constexpr uint64_t kPolicyTimer = uint64_t{2} << 56;

  Time NextTimer() const {
    return starts_.empty() ? timers_.Next() : std::min(starts_.front().start, timers_.Next());
  }
  Time NextService() const {
    return ready_.empty() ? kNever : std::max(nic_->busy_until(), ready_since_);
  }
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
  void OnTimer();
  void Serve();

  Time now_;
  Time ready_since_;
  const Window* window_ = nullptr;
  uint8_t data_class_ = 0;
  uint8_t control_class_ = 0;
  bool building_ = false;  // The NIC's slot holds a packet that is not complete.
  std::vector<Packet> deferred_;
  std::optional<FifoPort> nic_;
  std::unique_ptr<Transport> transport_;
  Ring<uint32_t> ready_;   // Slots of the flows that take turns.
  Ring<FlowSpec> starts_;  // Flows that start soon, by (start, id).
  Timers timers_;
  std::unique_ptr<HostPolicy> policy_;
  uint32_t hooks_ = 0;
  HostView view_{*this};

  const HostId id_;
  std::span<Node* const> hosts_;
  const PathTable* paths_ = nullptr;
  FlowLog* log_ = nullptr;
  int64_t data_sent_ = 0;
  int64_t control_sent_ = 0;
  int64_t received_ = 0;
  int64_t payload_received_ = 0;
};

inline Time HostView::now() const { return self_.now_; }
inline HostId HostView::id() const { return self_.id_; }
inline uint32_t HostView::PathsVersion() const { return self_.paths_->version(); }
inline std::span<const PathChoice> HostView::PathsTo(HostId dst) const {
  return self_.paths_->Between(self_.id_, dst);
}

}  // namespace heddle
