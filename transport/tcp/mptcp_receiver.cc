// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp/mptcp_receiver.h"

#include <algorithm>
#include <bit>

#include "transport/tcp/dss.h"

namespace heddle {

void MptcpReceiver::Open(const FlowSpec& spec, Host& host, const MptcpShared& shared) {
  host_ = &host;
  shared_ = &shared;
  record_ = FlowRecord{.receiver = {}, .spec = spec, .sender = {}};
  const int64_t mss = shared.tcp.sizes.mss;
  segments_ = static_cast<uint32_t>((spec.size + mss - 1) / mss);
  next_ = 0;
  ahead_.Reset(0);
  bytes_ahead_ = 0;
  if (!subflows_) subflows_ = std::make_unique<TcpReceiver[]>(shared.subflows());
  for (uint32_t i = 0; i < shared.subflows(); ++i) {
    subflows_[i].OpenSubflow(SubflowSpec(spec, i), host, shared.TcpOf(i), next_);
  }
}

void MptcpReceiver::OnArrival(const Packet& data) {
  if (record_.receiver.packets++ == 0) record_.receiver.hops = data.hops + 1;
  subflows_[SubflowOf(data.flow)].OnArrival(data);
}

void MptcpReceiver::OnData(const Packet& data) {
  Accept(data);
  subflows_[SubflowOf(data.flow)].OnData(data);
}

void MptcpReceiver::Accept(const Packet& data) {
  ReceiverRecord& record = record_.receiver;
  const uint32_t segment = DataNumber(data);
  if (segment < next_ || ahead_.Contains(segment)) {
    ++record.duplicates;
    return;
  }
  host_->NotePayload(data.data.payload);
  if (segment != next_) {
    ahead_.Insert(segment, segment + 1, [](uint32_t) {});
    bytes_ahead_ += data.data.payload;
    record.max_out_of_order_bytes = std::max(record.max_out_of_order_bytes, bytes_ahead_);
    return;
  }
  ++next_;
  if (!ahead_.empty()) {
    const uint32_t filled = ahead_.FirstMissing(next_);
    for (; next_ != filled; ++next_) bytes_ahead_ -= PayloadOf(next_);
    ahead_.AdvanceTo(next_);
  }
  if (next_ != segments_) return;
  record.done = host_->now();
  host_->NoteReceived(record_.spec.id);
}

int64_t MptcpReceiver::PayloadOf(uint32_t segment) const {
  const int64_t mss = shared_->tcp.sizes.mss;
  return segment + 1 == segments_ ? record_.spec.size - int64_t{segment} * mss : mss;
}

void MptcpReceiver::OnFlowEnded(const FlowEnded& ended) {
  record_.spec.start = ended.start;
  record_.sender = ended.sender;
}

int32_t MptcpReceiver::PathsUsed() const {
  size_t words = 0;
  for (const TcpReceiver& subflow : subflows()) {
    words = std::max(words, subflow.log().paths_seen().size());
  }
  int32_t paths = 0;
  for (size_t word = 0; word < words; ++word) {
    uint64_t seen = 0;
    for (const TcpReceiver& subflow : subflows()) {
      const std::vector<uint64_t>& its = subflow.log().paths_seen();
      if (word < its.size()) seen |= its[word];
    }
    paths += std::popcount(seen);
  }
  return paths;
}

FlowRecord MptcpReceiver::record() const {
  FlowRecord record = record_;
  ReceiverRecord& all = record.receiver;
  for (const TcpReceiver& subflow : subflows()) {
    const ReceiverRecord& its = subflow.record().receiver;
    all.ce_marked += its.ce_marked;
    all.reordered_net += its.reordered_net;
    all.reordered_seq += its.reordered_seq;
    all.max_extent = std::max(all.max_extent, its.max_extent);
    all.max_degree = std::max(all.max_degree, its.max_degree);
    all.path_switches += its.path_switches;
  }
  all.paths_used = PathsUsed();
  return record;
}

size_t MptcpReceiver::memory_bytes() const {
  size_t bytes = ahead_.memory_bytes();
  if (!subflows_) return bytes;
  for (const TcpReceiver& subflow : subflows()) bytes += sizeof(subflow) + subflow.memory_bytes();
  return bytes;
}

}  // namespace heddle
