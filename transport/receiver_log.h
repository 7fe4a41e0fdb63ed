// SPDX-License-Identifier: Apache-2.0
// ReceiverLog records the packets that arrive for one flow: marks, paths, and the order in which
// they came. The transport's receiver calls it for every data packet, whatever it does with the
// packet itself. The record goes to the results when the flow closes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "fabric/flow.h"
#include "fabric/host.h"
#include "fabric/reordering.h"

namespace heddle {

class ReceiverLog {
 public:
  // Opens the log for `spec`; it may have been used for another flow before.
  void Open(const FlowSpec& spec, Host& host);

  // A data packet has arrived, new or not.
  void Observe(const Packet& data);

  // The header of a trimmed packet has arrived. It overtakes data, so it counts neither as
  // reordered nor among the packets.
  void ObserveTrimmed(const Packet& header) {
    ++record_.receiver.trimmed;
    record_.receiver.trimmed_last_hop += header.Has(Packet::kCutAtLastHop) ? 1 : 0;
  }

  // The packet carries a segment that has not arrived before.
  void OnFirstArrival(uint32_t segment) {
    if (segment < highest_) return NoteBehind(segment);
    highest_ = segment + 1;
  }

  // Bytes of the flow have been taken in, for the first time.
  void OnAccepted(int64_t payload) { host_->NotePayload(payload); }

  void OnComplete() {
    if (record_.receiver.done != kNever) return;
    record_.receiver.done = host_->now();
    host_->NoteReceived(record_.spec.id);
  }

  // The letter that ends the flow has brought the sender's record.
  void OnFlowEnded(const FlowEnded& ended) {
    record_.spec.start = ended.start;
    record_.sender = ended.sender;
  }

  const FlowRecord& record() const { return record_; }
  const std::vector<uint64_t>& paths_seen() const { return paths_seen_; }
  ReceiverRecord& receiver() { return record_.receiver; }
  size_t memory_bytes() const { return tracker_.memory_bytes(); }

 private:
  void NoteBehind(uint32_t segment);
  void NotePath(uint16_t path, bool late);

  static constexpr uint32_t kNone = ~0u;

  std::vector<uint64_t> paths_seen_;  // Bit p of all words: a packet came over path p.
  // What every packet touches lies together: the end of the tracker, and the beginning of the
  // record.
  ReorderingTracker tracker_;
  Host* host_ = nullptr;
  uint32_t highest_ = 0;   // One past the highest segment seen.
  uint32_t path_ = kNone;  // Path of the last packet that none overtook.
  FlowRecord record_;
};

}  // namespace heddle
