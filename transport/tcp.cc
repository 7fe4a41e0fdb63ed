// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp.h"

#include "core/check.h"
#include "transport/tcp_timers.h"

namespace heddle {

template <class Half>
uint32_t Tcp::Halves<Half>::Take(FlowId flow) {
  if (free.empty()) {
    free.push_back(static_cast<uint32_t>(slots.size()));
    slots.emplace_back();
  }
  const uint32_t slot = free.back();
  free.pop_back();
  table.Insert(flow, slot);
  return slot;
}

template <class Half>
void Tcp::Halves<Half>::Release(FlowId flow) {
  free.push_back(table.Find(flow));
  table.Erase(flow);
}

template <class Half>
Half* Tcp::Halves<Half>::Find(FlowId flow) {
  const uint32_t slot = table.Find(flow);
  return slot == FlowTable::kAbsent ? nullptr : &slots[slot];
}

void Tcp::StartFlow(const FlowSpec& spec) {
  const uint32_t slot = senders_.Take(spec.id);
  TcpSender& sender = senders_.slots[slot];
  sender.Start(spec, slot, host_, shared_);
  if (shared_.settings.setup != TcpSettings::Setup::kPersistent) return;
  if (const auto memory = memories_.find(spec.dst); memory != memories_.end()) {
    sender.Resume(memory->second);
  }
}

void Tcp::ExpectFlow(const FlowSpec& spec) {
  receivers_.slots[receivers_.Take(spec.id)].Open(spec, host_, shared_);
}

void Tcp::OnPacket(const Packet& packet) {
  const bool to_sender = packet.kind == PacketKind::kAck || packet.kind == PacketKind::kSynAck;
  if (to_sender) {
    TcpSender* sender = senders_.Find(packet.flow);
    if (sender == nullptr || sender->done()) {
      ++late_packets_;
    } else if (packet.kind == PacketKind::kAck) {
      sender->OnAck(packet);
      if (sender->done()) OnSenderDone(*sender);
    } else {
      sender->OnSynAck();
    }
    return;
  }
  TcpReceiver* receiver = receivers_.Find(packet.flow);
  if (receiver == nullptr) {
    ++late_packets_;
  } else if (packet.kind == PacketKind::kData) {
    receiver->OnData(packet);
  } else {
    receiver->OnSyn(packet);
  }
}

void Tcp::OnSenderDone(const TcpSender& sender) {
  host_.log().SenderDone(sender.spec(), host_.now());
  if (shared_.settings.setup == TcpSettings::Setup::kPersistent) {
    memories_[sender.spec().dst] = sender.Remember(host_.now());
  }
}

// A timer may outlive its flow; then it finds nothing.
void Tcp::OnTimer(uint64_t key) {
  const FlowId flow = TimerFlow(key);
  switch (TimerKind(key)) {
    case TcpTimer::kRetransmit:
    case TcpTimer::kReorder:
    case TcpTimer::kProbe:
      if (TcpSender* sender = senders_.Find(flow)) sender->OnTimer(TimerKind(key));
      return;
    case TcpTimer::kDelayedAck:
      if (TcpReceiver* receiver = receivers_.Find(flow)) receiver->OnTimer();
      return;
    case TcpTimer::kSettle:
      return SettleSender(flow);
    case TcpTimer::kClose:
      return CloseReceiver(flow);
  }
}

// Every drop before the end of the flow is known by now.
void Tcp::SettleSender(FlowId flow) {
  TcpSender& sender = *senders_.Find(flow);
  const SenderRecord record = sender.Settle(kNever);
  const Time close = record.done + shared_.close_delay;
  host_.Tell(sender.spec().dst, kFlowEnded, FlowEnded{flow, close, record}, close);
  senders_.Release(flow);
}

void Tcp::CloseReceiver(FlowId flow) {
  host_.log().Add(receivers_.Find(flow)->record());
  receivers_.Release(flow);
}

void Tcp::OnDropNotice(const DropNotice& notice) {
  if (TcpSender* sender = senders_.Find(notice.flow)) sender->OnDrop(notice);
}

void Tcp::OnFlowEnded(const FlowEnded& ended) {
  TcpReceiver* receiver = receivers_.Find(ended.flow);
  HEDDLE_CHECK(receiver != nullptr, "flow {} ended at a host that does not receive it", ended.flow);
  receiver->OnFlowEnded(ended);
  host_.SetTimer(ended.close, TimerKey(TcpTimer::kClose, ended.flow));
}

void Tcp::CollectUnfinishedSenders(std::vector<FlowRecord>& records) {
  for (TcpSender& sender : senders_.slots) {
    if (senders_.Find(sender.id()) != &sender) continue;
    records.push_back({sender.spec(), sender.Settle(kNever), ReceiverRecord{}});
  }
}

void Tcp::CollectUnfinishedReceivers(std::vector<FlowRecord>& records) {
  for (const TcpReceiver& receiver : receivers_.slots) {
    if (receivers_.Find(receiver.id()) == &receiver) records.push_back(receiver.record());
  }
}

size_t Tcp::memory_bytes() const {
  size_t bytes = sizeof(*this) + senders_.table.memory_bytes() + receivers_.table.memory_bytes();
  for (const TcpSender& sender : senders_.slots) bytes += sizeof(sender) + sender.memory_bytes();
  for (const TcpReceiver& receiver : receivers_.slots) {
    bytes += sizeof(receiver) + receiver.memory_bytes();
  }
  return bytes;
}

const TcpSender* Tcp::FindSender(FlowId flow) const {
  const uint32_t slot = senders_.table.Find(flow);
  return slot == FlowTable::kAbsent ? nullptr : &senders_.slots[slot];
}

}  // namespace heddle
