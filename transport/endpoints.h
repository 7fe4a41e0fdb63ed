// SPDX-License-Identifier: Apache-2.0
// Endpoints is the part that all transports share: it keeps the flows of one host, as sender and as
// receiver, from their start until nobody needs them any more. The host hands it packets and
// timers; it passes them to the flow's Sender or Receiver, which decide what the flow does.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/check.h"
#include "core/subflow_id.h"
#include "fabric/host.h"
#include "fabric/letters.h"
#include "fabric/transport.h"
#include "transport/flow_table.h"
#include "transport/flow_timers.h"
#include "transport/resequencing/resequencing.h"

namespace heddle {

// The slots of senders, or of receivers. A slot and its memory are used again when its flow has
// ended.
template <class Half>
struct Halves {
  FlowTable table;                           // First, so that Host::PrefetchParts() reaches it.
  std::vector<std::unique_ptr<Half>> slots;  // By pointer: halves stay in place while it grows.
  std::vector<uint32_t> free;

  Half& operator[](uint32_t slot) { return *slots[slot]; }
  const Half& operator[](uint32_t slot) const { return *slots[slot]; }

  uint32_t Take(FlowId flow) {
    if (free.empty()) {
      free.push_back(static_cast<uint32_t>(slots.size()));
      slots.push_back(std::make_unique<Half>());
    }
    const uint32_t slot = free.back();
    free.pop_back();
    table.Insert(flow, slot);
    return slot;
  }

  void Release(FlowId flow) {
    free.push_back(table.Find(flow));
    table.Erase(flow);
  }

  // Returns nullptr if there is no flow of that id.
  Half* Find(FlowId flow) {
    const uint32_t slot = table.Find(flow);
    return slot == FlowTable::kAbsent ? nullptr : slots[slot].get();
  }
  const Half* Find(FlowId flow) const {
    const uint32_t slot = table.Find(flow);
    return slot == FlowTable::kAbsent ? nullptr : slots[slot].get();
  }

  size_t memory_bytes() const {
    size_t bytes = table.memory_bytes();
    for (const auto& half : slots) bytes += sizeof(*half) + half->memory_bytes();
    return bytes;
  }
};

// `Shared` holds the values that all flows of an experiment share; its `close_delay` is the time
// from the end of a flow's sender to the end of its receiver.
//
// A sender with a constant kHasSubflows is a connection (MPTCP). The flow ids in its packets and
// timers, and the slots that the NIC knows, carry the number of the subflow (core/subflow_id.h).
template <class Sender, class Receiver, class Shared>
class Endpoints : public Transport, private Resequencer::Sink {
 public:
  // `shared` outlives this.
  Endpoints(Host& host, const Shared& shared, const ResequencingModel& resequencing)
      : host_(host), shared_(shared), resequencer_(resequencing.MakeFor(*this)) {}

  void StartFlow(const FlowSpec& spec) override { Start(spec); }

  void ExpectFlow(const FlowSpec& spec) final {
    const uint32_t slot = receivers_.Take(spec.id);
    receivers_[slot].Open(spec, host_, shared_);
    if (resequencer_ == nullptr) return;
    resequencer_->Open(slot);
    hold_timers_.resize(receivers_.slots.size());
    hold_timers_[slot] = LazyTimer{};
  }

  Tuple TupleOf(uint32_t slot) const final {
    if constexpr (kHasSubflows) {
      return senders_[FlowOf(slot)].tuple(SubflowOf(slot));
    } else {
      return senders_[slot].tuple();
    }
  }
  Pulled Pull(uint32_t slot, Packet& packet) final {
    if constexpr (kHasSubflows) {
      return senders_[FlowOf(slot)].Pull(SubflowOf(slot), packet);
    } else {
      return senders_[slot].Pull(packet);
    }
  }

  void AddBlocked(uint32_t slot, Duration blocked) final {
    if constexpr (kHasSubflows) {
      senders_[FlowOf(slot)].AddBlocked(SubflowOf(slot), blocked);
    } else {
      senders_[slot].AddBlocked(blocked);
    }
  }

  // A timer may outlive its flow; then it finds nothing.
  void OnTimer(uint64_t key) override {
    const FlowId flow = TimerFlow(key);
    switch (TimerKind(key)) {
      case FlowTimer::kSettle:
        return SettleSender(flow);
      case FlowTimer::kClose:
        return CloseReceiver(flow);
      case FlowTimer::kDelayedAck:
      case FlowTimer::kNotify:
        if (Receiver* receiver = receivers_.Find(FlowOf(flow))) {
          if constexpr (kHasSubflows) {
            receiver->OnTimer(SubflowOf(flow));
          } else {
            receiver->OnTimer();
          }
        }
        return;
      case FlowTimer::kHold:
        return OnHoldTimer(flow);
      case FlowTimer::kPull:
        return;  // Transports that set it take it first.
      case FlowTimer::kRetransmit:
      case FlowTimer::kReorder:
      case FlowTimer::kProbe:
      case FlowTimer::kRate:
      case FlowTimer::kPace:
        if (Sender* sender = senders_.Find(FlowOf(flow))) {
          if constexpr (kHasSubflows) {
            sender->OnTimer(SubflowOf(flow), TimerKind(key));
          } else {
            sender->OnTimer(TimerKind(key));
          }
        }
        return;
    }
  }

  void OnDropNotice(const DropNotice& notice) final {
    if (Sender* sender = senders_.Find(FlowOf(notice.flow))) sender->OnDrop(notice);
  }

  void OnFlowEnded(const FlowEnded& ended) final {
    Receiver* receiver = receivers_.Find(ended.flow);
    HEDDLE_CHECK(receiver != nullptr, "flow {} ended at a host that does not receive it",
                 ended.flow);
    receiver->OnFlowEnded(ended);
    host_.SetTimer(ended.close, TimerKey(FlowTimer::kClose, ended.flow));
  }

  void CollectUnfinishedSenders(std::vector<FlowRecord>& records) final {
    for (const auto& sender : senders_.slots) {
      if (senders_.Find(sender->id()) != sender.get()) continue;
      records.push_back({.receiver = {}, .spec = sender->spec(), .sender = sender->Settle(kNever)});
    }
  }

  void CollectUnfinishedReceivers(std::vector<FlowRecord>& records) final {
    for (const auto& receiver : receivers_.slots) {
      if (receivers_.Find(receiver->id()) == receiver.get()) records.push_back(receiver->record());
    }
  }

  std::optional<FlowState> StateOf(FlowId flow) const final {
    const Sender* sender = senders_.Find(flow);
    if (sender == nullptr || sender->done()) return std::nullopt;
    return sender->state();
  }

  int64_t late_packets() const final { return late_packets_; }

  std::optional<ResequencingStats> Resequencing(Time end) const final {
    if (resequencer_ == nullptr) return std::nullopt;
    return resequencer_->Stats(end);
  }

  size_t most_flows() const final { return senders_.slots.size(); }

  size_t memory_bytes() const override {
    return sizeof(*this) + senders_.memory_bytes() + receivers_.memory_bytes() +
           hold_timers_.capacity() * sizeof(LazyTimer) +
           (resequencer_ ? resequencer_->memory_bytes() : 0);
  }

  // For tests: returns the sender of a flow from this host, nullptr if there is no flow of that id.
  const Sender* FindSender(FlowId flow) const { return senders_.Find(flow); }

 protected:
  Sender* FindSender(FlowId flow) { return senders_.Find(flow); }
  Receiver* FindReceiver(FlowId flow) { return receivers_.Find(flow); }

  // Visits the senders whose flows have not ended.
  template <class Visit>
  void ForEachSender(const Visit& visit) {
    for (const std::unique_ptr<Sender>& sender : senders_.slots) {
      if (!sender->done()) visit(*sender);
    }
  }

  Sender& Start(const FlowSpec& spec) {
    const uint32_t slot = senders_.Take(spec.id);
    senders_[slot].Start(spec, slot, host_, shared_);
    return senders_[slot];
  }

  // Returns the sender or the receiver that an arriving packet is for. If the flow has ended here,
  // returns nullptr and counts a late packet.
  Sender* SenderOf(const Packet& packet) {
    Sender* sender = senders_.Find(FlowOf(packet.flow));
    if (sender != nullptr && !sender->done()) [[likely]]
      return sender;
    ++late_packets_;
    return nullptr;
  }
  Receiver* ReceiverOf(const Packet& packet) {
    const uint32_t slot = ReceiverSlot(FlowOf(packet.flow));
    return slot == FlowTable::kAbsent ? nullptr : &receivers_[slot];
  }

  // A data packet has arrived. The receiver's log notes it at once; the receiver acts on it at the
  // packet's turn.
  void OnData(const Packet& data) {
    const uint32_t slot = ReceiverSlot(FlowOf(data.flow));
    if (slot == FlowTable::kAbsent) return;
    Receiver& receiver = receivers_[slot];
    receiver.OnArrival(data);
    if (resequencer_ == nullptr) return receiver.OnData(data);
    resequencer_->OnPacket(slot, data);
    SetHoldTimer(slot, data.flow);
  }

  Host& host_;
  const Shared& shared_;

 private:
  static constexpr bool kHasSubflows = requires { Sender::kHasSubflows; };

  // Returns the flow, or the slot, of a subflow's.
  static constexpr uint32_t FlowOf(uint32_t id) {
    if constexpr (kHasSubflows) return ConnectionOf(id);
    return id;
  }

  // Returns kAbsent, and counts a late packet, if the flow has ended here. The first packet of a
  // message opens its receiver.
  uint32_t ReceiverSlot(FlowId flow) {
    const uint32_t slot = receivers_.table.Find(flow);
    if (slot != FlowTable::kAbsent) [[likely]]
      return slot;
    if (const std::optional<FlowSpec> spec = host_.Expected(flow)) {
      ExpectFlow(*spec);
      return receivers_.table.Find(flow);
    }
    ++late_packets_;
    return FlowTable::kAbsent;
  }

  bool HandUp(uint32_t slot, const Packet& packet) final {
    Receiver& receiver = receivers_[slot];
    const bool taken = !receiver.Refuses(packet);
    receiver.OnData(packet);
    return taken;
  }

  void SetHoldTimer(uint32_t slot, FlowId flow) {
    const Time deadline = std::max(resequencer_->Deadline(slot), host_.now());
    hold_timers_[slot].Set(host_, TimerKey(FlowTimer::kHold, flow), deadline);
  }

  void OnHoldTimer(FlowId flow) {
    const uint32_t slot = receivers_.table.Find(flow);
    if (slot == FlowTable::kAbsent) return;
    if (!hold_timers_[slot].IsDue(host_, TimerKey(FlowTimer::kHold, flow))) return;
    resequencer_->OnTimer(slot, host_.now());
    SetHoldTimer(slot, flow);
  }

  // Every drop before the end of the flow is known by now.
  void SettleSender(FlowId flow) {
    Sender& sender = *senders_.Find(flow);
    const SenderRecord record = sender.Settle(kNever);
    const Time close = record.done + shared_.close_delay;
    host_.Tell(sender.spec().dst, kFlowEnded, FlowEnded{flow, sender.spec().start, close, record},
               close);
    host_.NoteReleased(flow, sender.spec().dst, close);
    senders_.Release(flow);
  }

  void CloseReceiver(FlowId flow) {
    if (resequencer_ != nullptr) resequencer_->Close(receivers_.table.Find(flow), host_.now());
    const FlowRecord record = receivers_.Find(flow)->record();
    host_.log().Add(record);
    host_.NoteReleased(flow, record.spec.src, host_.now());
    receivers_.Release(flow);
    host_.NoteClosed(flow);
  }

  Halves<Sender> senders_;
  Halves<Receiver> receivers_;
  const std::unique_ptr<Resequencer> resequencer_;  // Null: packets go up as they arrive.
  std::vector<LazyTimer> hold_timers_;  // By receiver's slot; empty without resequencing.
  int64_t late_packets_ = 0;            // Packets whose flow has ended here.
};

}  // namespace heddle
