// SPDX-License-Identifier: Apache-2.0

#include "transport/receiver_log.h"

#include <algorithm>
#include <optional>

namespace heddle {

void ReceiverLog::Open(const FlowSpec& spec, Host& host) {
  host_ = &host;
  record_ = FlowRecord{.receiver = {}, .spec = spec, .sender = {}};
  highest_ = 0;
  path_ = kNone;
  std::ranges::fill(paths_seen_, 0);
  tracker_.Reset();
}

void ReceiverLog::Observe(const Packet& data) {
  ReceiverRecord& record = record_.receiver;
  if (record.packets++ == 0) record.hops = data.hops + 1;  // Switches passed, and one.
  record.ce_marked += data.Has(Packet::kCe) ? 1 : 0;
  const std::optional<Reordered> reordered = tracker_.OnArrival(data.data.tx_id, host_->now());
  if (data.taken != path_) NotePath(data.taken, reordered.has_value());
  if (!reordered) return;
  ++record.reordered_net;
  record.max_extent = std::max(record.max_extent, static_cast<int32_t>(reordered->extent));
  record.max_degree = std::max(record.max_degree, reordered->degree);
  host_->log().Reordering(record_.spec.size_class).Add(*reordered);
}

void ReceiverLog::NoteBehind(uint32_t segment) {
  ++record_.receiver.reordered_seq;
  host_->log().Reordering(record_.spec.size_class).behind.Add(highest_ - 1 - segment);
}

// A late packet left before the packet that came last, so the flow has not returned to its path.
void ReceiverLog::NotePath(uint16_t path, bool late) {
  if (!late) {
    record_.receiver.path_switches += path_ == kNone ? 0 : 1;
    path_ = path;
  }
  const size_t word = path / 64;
  if (word >= paths_seen_.size()) paths_seen_.resize(word + 1);
  const uint64_t bit = uint64_t{1} << path % 64;
  record_.receiver.paths_used += (paths_seen_[word] & bit) == 0 ? 1 : 0;
  paths_seen_[word] |= bit;
}

}  // namespace heddle
