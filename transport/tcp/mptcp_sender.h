// SPDX-License-Identifier: Apache-2.0
// The sending half of an MPTCP connection (RFC 8684). Its subflows are whole TCPs, each with its
// own port, window and loss recovery. The connection decides which data a subflow sends: it binds
// the segments of the flow, numbered from 0, to segments of subflows when these are built.
//
//   1. Segments of the connection below `next_` have been bound at least once, in order.
//   2. Those below `data_una_` have arrived: an ACK of some subflow carried that number.
//   3. After a subflow's retransmission timer its unacknowledged data goes first on the others.
//
// With MMPTCP (Kheirkhah et al., INFOCOM 2016) subflow 0 begins alone, and each of its packets has
// a random source port. When the others open it sends no new data any more, and their coupled
// congestion control does not count it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/ring.h"
#include "core/subflow_id.h"
#include "transport/tcp/mptcp_settings.h"
#include "transport/tcp/tcp_sender.h"

namespace heddle {

class BandwidthDelay;

// MMPTCP: the values of the subflow that sprays.
struct SprayShared {
  SprayPhase settings;
  TcpShared tcp;
  const BandwidthDelay* network;  // Counts paths.
};

// The values that all connections of an experiment share.
struct MptcpShared {
  MptcpSettings settings;
  TcpShared tcp;
  std::unique_ptr<SprayShared> spray;  // Null: MPTCP.
  Duration close_delay;
  uint32_t receive_buffer;  // Segments.

  MptcpShared(const MptcpSettings& settings, TcpShared tcp,
              std::unique_ptr<SprayShared> spray = nullptr);

  // All subflows of a connection, with the one that sprays.
  uint32_t subflows() const { return static_cast<uint32_t>(settings.subflows) + (spray ? 1 : 0); }
  const TcpShared& TcpOf(uint32_t subflow) const {
    return spray && subflow == 0 ? spray->tcp : tcp;
  }
};

// Returns the connection's spec with the id and the source port of a subflow.
FlowSpec SubflowSpec(const FlowSpec& connection, uint32_t subflow);

class MptcpSender final : private SubflowSource {
 public:
  static constexpr bool kHasSubflows = true;

  // Begins `spec` at this instant. The slot may have held another connection before.
  void Start(const FlowSpec& spec, uint32_t slot, Host& host, const MptcpShared& shared);

  Transport::Pulled Pull(uint32_t subflow, Packet& packet);
  Endpoint::Tuple tuple(uint32_t subflow) const { return subflows_[subflow].tcp.tuple(); }
  void OnAck(const Packet& ack);
  void OnSynAck(const Packet& answer);
  void OnTimer(uint32_t subflow, FlowTimer kind);
  void OnDrop(const DropNotice& notice) { subflows_[SubflowOf(notice.flow)].tcp.OnDrop(notice); }

  // Decides the cases whose drops are all known and returns the counters, as sums over subflows.
  const SenderRecord& Settle(Time known);

  FlowId id() const { return spec_.id; }
  const FlowSpec& spec() const { return spec_; }
  bool done() const { return done_ != kNever; }
  void AddBlocked(uint32_t subflow, Duration blocked);
  FlowState state() const;
  size_t memory_bytes() const;

  // For tests.
  const TcpSender& subflow(uint32_t number) const { return subflows_[number].tcp; }

 private:
  using Scheduler = MptcpSettings::Scheduler;

  struct Blocked {
    Time from;
    Time until;
  };

  struct Subflow {
    TcpSender tcp;
    Ring<uint32_t> bound;  // Data of the outstanding segments, from segment `first` on.
    uint32_t first = 0;
    Ring<uint32_t> reinjected;  // Its data that waits to be sent on another subflow.
    uint32_t next = 0;          // Redundant: the next data that it sends.
    Time penalised{-kNever.ps / 2};
  };

  // Those that have been prepared; MMPTCP's others are not before they open.
  std::span<Subflow> subflows() { return {subflows_.get(), count_}; }
  std::span<const Subflow> subflows() const { return {subflows_.get(), count_}; }
  Scheduler scheduler() const { return shared_->settings.scheduler; }
  bool is_redundant() const { return scheduler() == Scheduler::kRedundant; }
  bool joins() const { return shared_->settings.setup == MptcpSettings::Setup::kJoin; }
  bool sprays(uint32_t subflow) const { return shared_->spray != nullptr && subflow == 0; }

  // SubflowSource
  bool Offers(uint32_t subflow) override;
  int64_t Fill(uint32_t subflow, uint32_t segment, Packet& packet) override;
  int64_t Acknowledge(uint32_t subflow, uint32_t segments) override;
  void OnTimeout(uint32_t subflow) override;

  void Prepare(uint32_t end);
  uint32_t ExtraDupacks() const;
  void OpenOthers();
  bool MustOpenOthers() const;
  uint16_t RandomPort();
  uint64_t WindowEnd() const { return uint64_t{data_una_} + shared_->receive_buffer; }
  int64_t PayloadOf(uint32_t data) const;
  uint32_t Bind(uint32_t subflow);
  uint32_t BindNew();
  bool IsTurnOf(uint32_t subflow) const;
  bool IsPreferred(uint32_t subflow, uint32_t other) const;
  std::optional<uint32_t> WaitingFor(uint32_t subflow);
  bool MaySendBlocked(uint32_t subflow);
  void FindHolders();
  void PenaliseHolders();
  void WakeAll();
  void Finish();

  std::unique_ptr<Subflow[]> subflows_;
  uint32_t count_ = 0;
  uint32_t slot_ = 0;
  uint32_t segments_ = 0;
  uint32_t next_ = 0;
  uint32_t data_una_ = 0;
  uint32_t waiting_ = 0;      // Entries of all Subflow::reinjected.
  uint32_t turn_ = 0;         // Round robin: the subflow that comes next.
  uint32_t draws_ = 0;        // Random ports drawn.
  bool others_open_ = false;  // Subflows other than the first have opened, or begun to.
  bool is_retired_ = false;   // MMPTCP: the first subflow has sent its last new data.
  bool wakes_ = false;        // What one subflow does may let another one send.
  // When the receive buffer is full: the data that it waits for was sent again below `unblocked_`.
  // `holders_` are the subflows, as bits, that hold segment `held_`.
  uint32_t unblocked_ = 0;
  uint32_t held_ = ~uint32_t{0};
  uint32_t holders_ = 0;
  Host* host_ = nullptr;
  const MptcpShared* shared_ = nullptr;
  FlowSpec spec_;
  Time done_ = kNever;
  std::vector<Blocked> blocked_;  // When subflows have waited in pauses, in order and apart.
  SenderRecord record_;
  Coupling coupling_;
};

}  // namespace heddle
