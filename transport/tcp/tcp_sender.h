// SPDX-License-Identifier: Apache-2.0
// The sending half of a TCP flow. It decides which segment to send and when to send one again; the
// congestion control (window_control.h) decides how large its window is.
//
// Sequence numbers count segments. Loss recovery is that of RFC 6675 (SACK) or RFC 6582 (NewReno),
// started by duplicate ACKs (RFC 5681 section 3.2); the retransmission timer that of RFC 6298.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/flow.h"
#include "fabric/host.h"
#include "fabric/host_policy.h"
#include "fabric/transport.h"
#include "transport/blocked_time.h"
#include "transport/flow_timers.h"
#include "transport/judge.h"
#include "transport/rtt.h"
#include "transport/tcp/scoreboard.h"
#include "transport/tcp/tcp_extensions.h"
#include "transport/tcp/tcp_settings.h"
#include "transport/tcp/window_control.h"

namespace heddle {

// The values that all flows of an experiment share.
struct TcpShared {
  TcpSettings settings;
  PacketSizes sizes;
  RtoLimits rto;
  uint32_t dupthresh;
  uint32_t max_segments;  // Limit of a window: the least of rwnd, max_cwnd and what SACK can name.
  std::unique_ptr<const WindowControl> control;
  Duration close_delay;  // Time from the sender's end to the receiver's.
  TcpSettings::Ecn ecn;
  size_t sack_blocks = 3;  // The most in one ACK (RFC 2018).

  TcpShared(const TcpSettings& settings, TcpSettings::Ecn ecn, const PacketSizes& sizes,
            std::unique_ptr<const WindowControl> control, Duration close_delay);

  // Returns true if the receiver repeats its echo until it sees CWR, instead of echoing each mark
  // once.
  bool latches_echo() const { return ecn == TcpSettings::Ecn::kRfc3168; }
  // Returns true if a data packet is ECN-capable. `again`: it is a retransmission.
  bool IsCapable(bool again) const {
    return ecn != TcpSettings::Ecn::kOff && !(again && latches_echo());
  }
};

// The connection of an MPTCP subflow, for its sender (mptcp_sender.h). It says which data the
// subflow carries; the subflow calls it by its number.
class SubflowSource {
 public:
  // Returns true if the subflow may take data for another new segment.
  virtual bool Offers(uint32_t subflow) = 0;

  // Fills in which data `segment` of the subflow carries, and returns the payload. If the segment
  // is new, the data is bound to it now.
  virtual int64_t Fill(uint32_t subflow, uint32_t segment, Packet& packet) = 0;

  // The oldest `segments` outstanding segments of the subflow are acknowledged. Returns their
  // payload.
  virtual int64_t Acknowledge(uint32_t subflow, uint32_t segments) = 0;

  // The subflow's retransmission timer has expired.
  virtual void OnTimeout(uint32_t subflow) = 0;

 protected:
  ~SubflowSource() = default;
};

class TcpSender {
 public:
  // Begins `spec` at this instant. The slot may have held another flow before.
  void Start(const FlowSpec& spec, uint32_t slot, Host& host, const TcpShared& shared);

  // Prepares subflow `number` of an MPTCP connection. `spec` is the connection's, with the id and
  // the port of the subflow. `coupling` is null if its window is not coupled with others. Open() or
  // Connect() follows.
  void StartSubflow(const FlowSpec& spec, uint32_t slot, Host& host, const TcpShared& shared,
                    SubflowSource& source, uint32_t number, Coupling* coupling);
  // Bears `extra` duplicate ACKs more than the settings say.
  void RaiseThreshold(uint32_t extra) {
    dupthresh_ += std::min(extra, std::numeric_limits<uint32_t>::max() - dupthresh_);
  }
  void Open();
  // Opens after `exchanges` of a SYN and its answer.
  void Connect(uint32_t exchanges);
  // The connection has all its acknowledgements: sends nothing more.
  void Close() { may_send_ = false; }
  void EndSubflow();

  // The subflow may have data to send now.
  void Wake() { GetReady(); }
  // Returns true if its window has room for a new segment, and no lost one goes first.
  bool HasRoom() const;
  // The subflow holds its connection up: halves the window (Raiciu et al., NSDI 2012).
  void Penalise();
  bool is_open() const { return may_send_; }
  // Returns true if it is in congestion avoidance and repairs no loss.
  bool IsCalm() const {
    return window_.cwnd >= window_.ssthresh && !in_recovery_ && nxt_ >= board_.end();
  }
  bool has_fast_retransmitted() const { return record_.fast_retransmits > 0; }
  bool IsSacked(uint32_t segment) const { return board_.IsSacked(segment); }
  Duration srtt() const { return rtt_.srtt(); }
  Duration Rto() const { return rtt_.Rto(shared_->rto); }

  // Starts from where an earlier flow between the same hosts left off (setup: persistent).
  struct Memory {
    double cwnd;
    double ssthresh;
    RttEstimator rtt;
    Time idle_since;
  };
  void Resume(const Memory& memory);
  Memory Remember(Time now) const { return {window_.cwnd, window_.ssthresh, rtt_, now}; }

  void OnAck(const Packet& ack);
  // `exchange` counts the exchanges of SYNs and their answers, from 0; TCP has one.
  void OnSynAck(uint32_t exchange = 0);
  Transport::Pulled Pull(Packet& packet);
  Endpoint::Tuple tuple() const { return {spec_.dst, flow_.tuple_hash, spec_.src_nic}; }

  // A timer of this kind has fired.
  void OnTimer(FlowTimer kind);

  void OnDrop(const DropNotice& notice) { judge_.OnDrop(notice); }

  // Decides the cases whose drops are all known and returns the counters.
  const SenderRecord& Settle(Time known);

  FlowId id() const { return flow_.id; }
  const FlowSpec& spec() const { return spec_; }
  bool done() const { return record_.done != kNever; }
  // Returns how long it has waited, when a pause has ended.
  Duration AddBlocked(Duration blocked) {
    const Duration waited = blocked_.Add(blocked);
    record_.pause_blocked += waited;
    return waited;
  }
  double cwnd() const { return window_.cwnd; }
  const CongestionWindow& window() const { return window_; }
  FlowState state() const;
  size_t memory_bytes() const {
    return board_.memory_bytes() + judge_.memory_bytes() + (extra_ ? sizeof(*extra_) : 0);
  }

 private:
  bool IsSack() const { return shared_->settings.recovery == TcpSettings::Recovery::kSack; }
  bool UsesRack() const { return shared_->settings.loss == TcpSettings::Loss::kRack; }
  bool HasNew() const {
    if (FlightSize() >= shared_->max_segments) return false;
    return nxt_ < segments_ || (source_ != nullptr && source_->Offers(subflow_));
  }
  bool MayRescue() const;
  bool MustSend() const;
  uint32_t FlightSize() const { return nxt_ - board_.first(); }  // RFC 5681, in segments.
  // Returns true if the window has room for one segment beyond `segments`.
  bool Fits(uint32_t segments) const { return (segments + 1) * window_.mss <= window_.cwnd; }
  // Returns the payload of the first `segments` segments.
  int64_t PayloadUpTo(uint32_t segments) const {
    return segments == segments_ ? spec_.size : segments * shared_->sizes.mss;
  }

  void Prepare(const FlowSpec& spec, uint32_t slot, Host& host, const TcpShared& shared);
  // Returns the payload of segments [first, end), which have been acknowledged now.
  int64_t Acknowledged(uint32_t first, uint32_t end) {
    if (source_ != nullptr) return source_->Acknowledge(subflow_, end - first);
    return PayloadUpTo(end) - PayloadUpTo(first);
  }
  bool CanSend() const;
  void GetReady();
  uint32_t NextSegment();
  uint32_t NextBeyondLost();
  void Build(uint32_t segment, Packet& packet);
  void SendSyn();

  bool IsWindowLimited(double flight) const;
  bool HearsEcho(const Packet& ack);
  void Advance(const Packet& ack, uint32_t newly_sacked);
  void OnDuplicateAck(const Packet& ack, uint32_t newly_sacked);
  void TellPolicy(const Packet& ack, int64_t newly_acked, uint32_t newly_sacked, Duration rtt);

  void LearnFrom(const Packet& ack);
  void Repair(uint32_t newly_sacked, uint32_t delivered);
  bool DetectLoss(uint32_t newly_sacked);
  bool MayEnterRecovery() const;
  void BeginEpisode();
  void EnterRecovery();
  void ReduceInProportion(uint32_t delivered);
  void ContinueRecovery(int64_t newly_acked);
  void SetThreshold();

  void RestartTimer();
  void Set(LazyTimer& timer, FlowTimer kind, Time deadline);
  bool IsDue(LazyTimer& timer, FlowTimer kind);
  void OnRetransmissionTimer();
  void OnTimeout();
  bool MayProbe() const;
  void ScheduleProbe();
  void OnProbeAcked(const Packet& ack);
  void Finish();

  // Touched by every ACK and every packet.
  Scoreboard board_;       // first() is the oldest unacknowledged segment.
  uint32_t nxt_ = 0;       // The next to send; below board_.end() only after NewReno has rewound.
  uint32_t segments_ = 0;  // Of the flow; of a subflow, those that data has been bound to.
  uint32_t tx_id_ = 0;
  uint32_t slot_ = 0;
  uint32_t dupacks_ = 0;
  uint32_t dupthresh_ = 3;
  bool in_round_ = false;  // The NIC knows that this flow may send.
  bool in_recovery_ = false;
  bool resend_first_ = false;  // Fast retransmit: the first lost segment ignores the window.
  bool may_send_ = false;      // Connected.
  bool send_cwr_ = false;
  bool partial_ack_seen_ = false;
  bool timed_out_ = false;  // timed_out_first_ is valid.
  uint8_t subflow_ = 0;
  uint8_t syn_exchange_ = 0;   // The exchange of SYNs under way,
  uint8_t syn_exchanges_ = 1;  // out of so many.
  CongestionWindow window_;
  RttEstimator rtt_;
  LazyTimer rto_;
  int64_t recover_ = -1;  // board_.end() when recovery was entered, or at the last timeout.
  int32_t backoff_ = 1;
  uint32_t timed_out_first_ = 0;
  LastTimeout last_timeout_;
  Host* host_ = nullptr;
  const TcpShared* shared_ = nullptr;
  SubflowSource* source_ = nullptr;       // Null: the flow is no subflow.
  std::unique_ptr<TcpExtensions> extra_;  // Null if no option needs it.
  HostFlow flow_;
  FlowSpec spec_;
  SenderRecord record_;
  BlockedTime blocked_;
  RetransmissionJudge judge_;
};

}  // namespace heddle
