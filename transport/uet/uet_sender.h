// SPDX-License-Identifier: Apache-2.0
// The sending half of an Ultra Ethernet connection; a flow is one message over a connection of its
// own. Packets may take any paths: the receiver places them as they come and reports them by
// selective acknowledgements. A loss shows by the header of a trimmed packet or by a timeout;
// without trimming also by many packets beyond a hole or a probe's answer (STrack's sleek).
//
// If packets take several links of the host, the load balancer has a flow for each, as paths that
// begin at different links share nothing. Answers come back over the link of the packet that they
// answer.
//
// Sequence numbers count packets. Windows count bytes as buffered, headers included. A request to
// send (RTS), which a timeout causes when the sender may not send the lost packet again, takes a
// sequence number and is acknowledged, but carries no data and counts nothing in the window.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

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
#include "transport/rtt.h"
#include "transport/uet/nscc.h"
#include "transport/uet/uet_ack.h"
#include "transport/uet/uet_credit.h"
#include "transport/uet/uet_settings.h"

namespace heddle {

// Sleek: the number of packets beyond a hole that shows a loss, at a window of so many bytes.
// `greatest` is the greatest window.
inline uint32_t HeldAtLoss(double window, double greatest, int64_t mss) {
  const double payload = static_cast<double>(mss);
  const double bytes = std::max(std::min(1.5 * window, greatest), 5 * payload);
  return static_cast<uint32_t>(bytes / payload);
}

class UetSender {
 public:
  // Begins `spec` at this instant. The slot may have held another flow before.
  void Start(const FlowSpec& spec, uint32_t slot, Host& host, const UetShared& shared);

  void OnAck(const Packet& ack);
  void OnNack(const Packet& nack);
  void OnProbeAnswer(const Packet& answer);
  void OnPull(const Packet& pull);
  Transport::Pulled Pull(Packet& packet);
  Endpoint::Tuple tuple() const {
    const bool any = spec_.src_nic == kAnyNic && shared_->settings.spreads();
    return {spec_.dst, flow_.tuple_hash, any ? kFreestNic : spec_.src_nic};
  }

  // A timer of this kind has fired.
  void OnTimer(FlowTimer kind);

  void OnDrop(const DropNotice& notice) { judge_.OnDrop(notice); }

  // Decides the cases whose drops are all known and returns the counters.
  const SenderRecord& Settle(Time known);

  FlowId id() const { return flow_.id; }
  const FlowSpec& spec() const { return spec_; }
  bool done() const { return record_.done != kNever; }
  void AddBlocked(Duration blocked) { record_.pause_blocked += blocked_.Add(blocked); }
  const Nscc& control() const { return control_; }
  int64_t in_flight() const { return in_flight_; }
  bool recovering() const { return recovering_; }
  FlowState state() const;
  size_t memory_bytes() const {
    return sent_.capacity() * sizeof(Sent) + order_.capacity() * sizeof(Order) +
           (repairs_.capacity() + rts_.capacity()) * sizeof(uint32_t) +
           other_links_.capacity() * sizeof(HostFlow) + judge_.memory_bytes();
  }

 private:
  // A packet that may not have arrived.
  struct Sent {
    Time at;
    uint32_t tx_id = 0;
    uint16_t entropy = 0;
    uint8_t sends = 0;  // Up to 255.
    bool arrived : 1 = false;
    bool waits : 1 = false;  // It is to be sent again.
    uint8_t link : 6 = 0;    // The one that it left through, if packets take several.
  };
  static_assert(sizeof(Sent) == 16);
  // A transmission, in the order of time. It is the latest of its packet if the numbers agree.
  struct Order {
    uint32_t packet;
    uint32_t tx_id;
  };

  // The number of requests to send below `end`, and whether `packet` is one.
  uint32_t RtsBelow(uint32_t end) const {
    if (rts_.empty()) [[likely]]
      return 0;
    return static_cast<uint32_t>(std::ranges::lower_bound(rts_, end) - rts_.begin());
  }
  bool IsRts(uint32_t packet) const {
    return !rts_.empty() && RtsBelow(packet) != RtsBelow(packet + 1);
  }
  // The number of data packets below `end`.
  uint32_t DataBelow(uint32_t end) const { return end - RtsBelow(end); }
  int64_t PayloadOf(uint32_t packet) const {
    const int64_t mss = shared_->sizes.mss;
    const uint32_t index = DataBelow(packet);
    return index + 1 == packets_ ? spec_.size - index * mss : mss;
  }
  // As the window counts it.
  int64_t SizeOf(uint32_t packet) const {
    return IsRts(packet) ? 0 : shared_->sizes.DataPacket(PayloadOf(packet));
  }
  // The sizes of all packets below `end`.
  int64_t SizeBelow(uint32_t end) const;
  int64_t last_size() const {
    return shared_->sizes.DataPacket(spec_.size - (packets_ - 1) * shared_->sizes.mss);
  }
  bool IsOutstanding(uint32_t packet) const {
    return packet >= una_ && packet < next_ && !sent_[packet - una_].arrived;
  }

  // The load balancer's flow for a link; for the link of the packet that is being received.
  HostFlow& FlowOn(size_t link) { return link == 0 ? flow_ : other_links_[link - 1]; }
  HostFlow& ArrivedFlow() { return other_links_.empty() ? flow_ : FlowOn(host_->arrival_link()); }
  // The link that the packet being built leaves through.
  uint8_t LeavingLink() const {
    return other_links_.empty() ? 0 : static_cast<uint8_t>(host_->leaving_link());
  }

  void GetReady();
  bool HasWork();
  uint32_t NextPacket() const { return waiting_ > 0 ? repairs_.front() : next_; }
  void Build(uint32_t number, Packet& packet);
  bool IsFull(int64_t more) const;
  // Returns true if it has something to send, and no credit.
  bool LacksCredit() const { return !credit_.Allows() && (waiting_ > 0 || next_ != end_); }
  void AskForCredit(Packet& packet, size_t sharing) const;
  void TakeBack();

  Duration TakeSample(const Packet& ack, uint32_t acked, bool marked);
  void Remove(const UetAck& ack);
  uint64_t TakeMap(const UetAck& ack);
  void MarkArrived(uint32_t packet);
  void QueueRepair(uint32_t packet);
  void PopRepair();
  void DropStaleRepairs();

  void Recover(uint32_t expected, uint16_t held);
  void BeginRecovery();
  void QueueHoles(uint32_t expected);
  void OnTimeout();
  Packet& NewControl(uint32_t number, bool asks);
  void SendProbe();
  void RequestToSend();
  void SendRts(uint32_t number);
  void RestartTimers(bool is_ack);
  bool ForgetOld();
  void Set(LazyTimer& timer, FlowTimer kind, Time deadline) {
    timer.Set(*host_, TimerKey(kind, flow_.id), deadline);
  }
  void Finish();

  uint32_t una_ = 0;      // All packets below have arrived.
  uint32_t next_ = 0;     // The next packet never sent.
  uint32_t end_ = 0;      // One past the last packet, requests to send included.
  uint32_t packets_ = 0;  // Data packets.
  uint32_t slot_ = 0;
  uint32_t tx_id_ = 0;
  bool in_round_ = false;
  int64_t in_flight_ = 0;
  int64_t reported_ = 0;  // The most bytes that the receiver has reported.
  uint64_t map_ = 0;      // Of the latest ACK,
  uint32_t mapped_ = 0;   // which begins at this packet.
  Nscc control_;
  UetCredit credit_;
  Ring<Sent> sent_;                // [una_, next_).
  Ring<Order> order_;              // Transmissions, the oldest first.
  std::vector<uint32_t> repairs_;  // A heap of packets to send again, the lowest in front.
  size_t waiting_ = 0;             // Packets to send again; others in the heap have arrived since.
  int64_t waiting_bytes_ = 0;      // Their bytes.
  uint8_t asked_ = 0;              // Requests for credit alone since the last pull, up to 4.
  uint32_t arrived_ = 0;           // Packets that the receiver has reported.
  uint32_t returned_ = 0;          // Headers that switches have sent back.
  bool recovering_ = false;        // Sleek.
  uint32_t recover_ = 0;
  uint32_t hole_ = 0;  // Sleek: holes below have been queued.
  uint32_t probes_ = 0;
  std::vector<uint32_t> rts_;       // The numbers of requests to send, sorted.
  Time rts_at_{-kNever.ps};         // The time of the last one.
  uint32_t rts_transmissions_ = 0;  // Among tx_id_.
  LazyTimer rto_;
  LazyTimer probe_;
  RttEstimator rtt_;  // The load balancer's estimate.
  Host* host_ = nullptr;
  const UetShared* shared_ = nullptr;
  HostFlow flow_;
  std::vector<HostFlow> other_links_;  // For links 1, 2, ..., if packets take several.
  FlowSpec spec_;
  SenderRecord record_;
  BlockedTime blocked_;
  RetransmissionJudge judge_;
};

}  // namespace heddle
