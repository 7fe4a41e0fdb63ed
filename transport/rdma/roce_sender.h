// SPDX-License-Identifier: Apache-2.0
// The sending half of a RoCEv2 queue pair (QP); a flow is one message over a QP of its own. It
// starts at line rate, without a handshake; each packet waits for its time by the rate that the
// congestion control allows. Losses are repaired by go-back-N (InfiniBand's reliable connections)
// or by selective repeat (IRN, or as commodity NICs do it).
//
// Sequence numbers count packets of the MTU.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

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
#include "transport/rdma/rate_control.h"
#include "transport/rdma/roce_settings.h"
#include "transport/rdma/selective_repeat.h"
#include "transport/rtt.h"
#include "transport/transports.h"

namespace heddle {

// The values that all flows of an experiment share.
struct RoceShared {
  RoceSettings settings;
  PacketSizes sizes;
  std::unique_ptr<const RateControl> control;
  CnpRule cnps;
  BaseRtt base_rtt;                       // The round trip that `control` wants to know.
  bool telemetry;                         // ACKs and NACKs bring telemetry for `control`.
  const BandwidthDelay* bandwidth_delay;  // Null if no window follows from it.
  Duration close_delay;                   // Time from the sender's end to the receiver's.
  Duration ddp_rto{0};                    // Out-of-order placement: the timeout of a packet,
  uint32_t ddp_window = 0;                // and packets beyond the one expected that are placed.
};

class RoceSender {
 public:
  // Begins `spec` at this instant. The slot may have held another flow before.
  void Start(const FlowSpec& spec, uint32_t slot, Host& host, const RoceShared& shared);

  void OnAck(const Packet& ack);  // Or a NACK.
  void OnCnp();
  Transport::Pulled Pull(Packet& packet);
  Endpoint::Tuple tuple() const { return {spec_.dst, flow_.tuple_hash, spec_.src_nic}; }

  // A timer of this kind has fired.
  void OnTimer(FlowTimer kind);

  void OnDrop(const DropNotice& notice) { judge_.OnDrop(notice); }

  // Sends no faster than `limit` from now on, whatever the congestion control says; 0: not at all.
  void SetLimit(BitRate limit);
  // Its NIC may have another rate from now on.
  void OnNewLineRate();

  // Decides the cases whose drops are all known and returns the counters.
  const SenderRecord& Settle(Time known);

  FlowId id() const { return flow_.id; }
  const FlowSpec& spec() const { return spec_; }
  bool done() const { return record_.done != kNever; }
  void AddBlocked(Duration blocked) { record_.pause_blocked += blocked_.Add(blocked); }
  const RateState& rate() const { return rate_; }
  uint32_t in_flight() const { return end_ - una_; }
  FlowState state() const;
  size_t memory_bytes() const {
    return copies_.capacity() * sizeof(uint32_t) + order_.capacity() * sizeof(Order) +
           repair_.memory_bytes() + judge_.memory_bytes();
  }

 private:
  // A transmission, for out-of-order placement.
  struct Order {
    uint32_t packet;
    uint32_t tx_id;
    Time at;
  };

  bool IsIrn() const { return shared_->settings.is_irn(); }
  bool IsDdp() const { return shared_->settings.is_ddp(); }
  bool IsSelective() const { return shared_->settings.is_selective(); }
  int64_t PayloadOf(uint32_t packet) const {
    const int64_t mss = shared_->sizes.mss;
    return packet + 1 == packets_ ? spec_.size - packet * mss : mss;
  }

  void SetBandwidthDelay();
  void StartControl();
  bool HasWork() {
    if (nxt_ < packets_ && nxt_ - una_ < window_) return true;
    return IsSelective() && repair_.HasLost(una_);
  }
  // Returns true if the packet just counted in asks for an ACK at once (the AckReq bit of
  // InfiniBand, here kCwr). Without that, a receiver that answers every n-th packet would wait for
  // packets that the window does not allow. From half of the window on, because it may shrink.
  bool AsksForAck() const {
    return shared_->settings.ack_interval > 1 && nxt_ - una_ >= window_ - window_ / 2;
  }
  void GetReady();
  void GetInRound();
  void Build(uint32_t number, Packet& packet);
  void Pace(int64_t wire_bytes);
  void FindGap(double bits);
  Duration Gap() const;
  double Rate() const { return std::min(rate_.rate, limit_); }
  void Retime();

  int64_t Advance(uint32_t una);
  void TakeCnp();
  void OnNack(const Packet& nack);
  void RepairHoles();
  void RepairExpected(const Packet& nack);
  void OnLossFound(uint32_t packet);
  void OnTimeout();
  void TakeMap(const Packet& ack);
  bool ForgetOld();

  double WindowAt(double share) const;
  // Applies the decisions of the congestion control.
  void FollowControl() {
    if (rate_.rate != followed_rate_ || rate_.window != followed_window_) FollowRate();
    if (rate_.deadline != control_timer_.deadline) {
      Set(control_timer_, FlowTimer::kRate, rate_.deadline);
    }
  }
  void FollowRate();
  // Out-of-order placement has a timeout for each packet sent.
  bool MayTimeOut() const { return IsDdp() || last_timeout_.HasSentSince(tx_id_); }
  void RestartTimer();
  Duration Rto() const;
  void Set(LazyTimer& timer, FlowTimer kind, Time deadline) {
    timer.Set(*host_, TimerKey(kind, flow_.id), deadline);
  }
  bool IsDue(LazyTimer& timer, FlowTimer kind) {
    return timer.IsDue(*host_, TimerKey(kind, flow_.id));
  }
  void Finish();

  // Touched by every ACK and every packet.
  uint32_t una_ = 0;  // The first packet not acknowledged.
  uint32_t nxt_ = 0;  // The next to send; below end_ only when go-back-N has gone back.
  uint32_t end_ = 0;  // One past the highest ever sent.
  uint32_t packets_ = 0;
  int64_t gone_back_to_ = -1;  // una_ when a NACK last told of a loss; -1: none has.
  uint32_t window_ = 0;        // Packets that may be in flight.
  uint32_t tx_id_ = 0;
  uint32_t slot_ = 0;
  bool in_round_ = false;  // The NIC holds this slot; it may outlive the flow.
  Time next_avail_;        // Time at which the rate allows another packet.
  Time paced_from_;        // Time at which the last packet left.
  double paced_bits_ = 0;  // Its length on the wire.
  double paced_rate_ = 0;
  Duration gap_{0};   // Gap() at that length and rate.
  double limit_ = 0;  // Set by SetLimit; no limit at first.
  LastTimeout last_timeout_;
  double nic_rate_ = 0;
  double followed_rate_ = 0;  // The rate and window that FollowRate() last applied.
  double followed_window_ = 0;
  RateState rate_;
  LazyTimer rto_;
  LazyTimer pace_;
  LazyTimer control_timer_;
  Ring<uint32_t> copies_;   // Latest transmission number of each packet in [una_, end_).
  Ring<Order> order_;       // Out-of-order placement: transmissions, the oldest first.
  SelectiveRepeat repair_;  // Not for go-back-N.
  double bdp_packets_ = 0;
  double whole_window_ = 0;          // WindowAt(1).
  std::unique_ptr<Telemetry> told_;  // Telemetry of the last ACK; null if unwanted.
  RttEstimator rtt_;                 // The load balancer's estimate.
  Host* host_ = nullptr;
  const RoceShared* shared_ = nullptr;
  HostFlow flow_;
  FlowSpec spec_;
  SenderRecord record_;
  BlockedTime blocked_;
  RetransmissionJudge judge_;
};

}  // namespace heddle
