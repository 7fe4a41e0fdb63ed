// SPDX-License-Identifier: Apache-2.0
// The sending half of an MP-RDMA queue pair (Lu et al., NSDI 2018, section 4). A virtual path is a
// UDP source port, by whose hash switches choose a path. The sender keeps no state of paths: an ACK
// names its path, and releases at most two packets on it. One window serves all paths; a mark takes
// half a packet from it. So congested paths lose packets to others. A path whose packets come too
// late gets no new ones.
//
// Sequence numbers count packets.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/packet.h"
#include "core/ring.h"
#include "core/units.h"
#include "fabric/flow.h"
#include "fabric/host.h"
#include "fabric/host_policy.h"
#include "fabric/transport.h"
#include "transport/blocked_time.h"
#include "transport/flow_timers.h"
#include "transport/judge.h"
#include "transport/rdma/mprdma_settings.h"
#include "transport/rtt.h"

namespace heddle {

class MpRdmaSender {
 public:
  // Begins `spec` at this instant. The slot may have held another flow before.
  void Start(const FlowSpec& spec, uint32_t slot, Host& host, const MpRdmaShared& shared);

  void OnAck(const Packet& ack);  // Or a NACK.
  Transport::Pulled Pull(Packet& packet);
  Endpoint::Tuple tuple() const { return {flow_.dst, flow_.tuple_hash, spec_.src_nic}; }

  // A timer of this kind has fired.
  void OnTimer(FlowTimer kind);

  void OnDrop(const DropNotice& notice) { judge_.OnDrop(notice); }

  // Decides the cases whose drops are all known and returns the counters.
  const SenderRecord& Settle(Time known);

  FlowId id() const { return flow_.id; }
  const FlowSpec& spec() const { return spec_; }
  bool done() const { return record_.done != kNever; }
  void AddBlocked(Duration blocked) { record_.pause_blocked += blocked_.Add(blocked); }
  double window() const { return window_; }  // In packets.
  bool recovering() const { return recovering_; }
  FlowState state() const;
  size_t memory_bytes() const {
    return copies_.capacity() * sizeof(uint32_t) + released_.capacity() * sizeof(uint16_t) +
           judge_.memory_bytes();
  }

 private:
  int64_t PayloadOf(uint32_t packet) const {
    const int64_t mss = shared_->sizes.mss;
    return packet + 1 == packets_ ? spec_.size - packet * mss : mss;
  }
  // Packets that have been released and not built yet.
  uint32_t waiting() const { return static_cast<uint32_t>(released_.size()) + fresh_; }
  // The packets after those sent and released; they end where a message waits for its time.
  uint32_t Left() const {
    const uint32_t next = nxt_ + waiting();
    return next < message_end_ ? message_end_ - next : 0;
  }
  // What the window allows beyond the packets in flight.
  double Free() const {
    return window_ + static_cast<double>(inflate_) - static_cast<double>(nxt_ - una_) - waiting();
  }

  uint16_t FreshPath();
  void ReleaseFresh(uint32_t most);
  void ReleaseOn(uint16_t path);
  void GetReady();
  void Build(uint16_t path, Packet& packet);
  void EndMessage();

  void AdjustWindow(bool marked);
  int64_t Advance(uint32_t una);
  void Recover();
  void OnTimeout();
  void RestartTimer();
  void Set(LazyTimer& timer, FlowTimer kind, Time deadline) {
    timer.Set(*host_, TimerKey(kind, flow_.id), deadline);
  }
  void Finish();

  uint32_t una_ = 0;  // The first packet not acknowledged.
  uint32_t nxt_ = 0;  // The next to send; below end_ only in a recovery.
  uint32_t end_ = 0;  // One past the highest ever sent.
  uint32_t packets_ = 0;
  uint32_t message_end_ = 0;  // Packets from here on wait for the message before.
  double window_ = 0;         // In packets.
  int64_t inflate_ = 0;       // Packets beyond una_ that have been acknowledged.
  int64_t max_acked_ = -1;    // The highest of them ever.
  bool recovering_ = false;   // Until una_ reaches recover_.
  uint32_t recover_ = 0;
  uint32_t fresh_ = 0;       // Packets released on random paths.
  Ring<uint16_t> released_;  // Paths of the others.
  uint32_t draws_ = 0;       // Numbers the random draws of the flow.
  Time probe_from_;          // Time from which a fresh path may be tried.
  Duration base_rtt_{0};
  uint32_t tx_id_ = 0;
  LastTimeout last_timeout_;
  uint32_t slot_ = 0;
  bool in_round_ = false;
  LazyTimer rto_;
  LazyTimer message_;
  Ring<uint32_t> copies_;  // Latest transmission number of each packet in [una_, end_).
  RttEstimator rtt_;
  Host* host_ = nullptr;
  const MpRdmaShared* shared_ = nullptr;
  HostFlow flow_;
  FlowSpec spec_;
  SenderRecord record_;
  BlockedTime blocked_;
  RetransmissionJudge judge_;
};

}  // namespace heddle
