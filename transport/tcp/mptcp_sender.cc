// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp/mptcp_sender.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "transport/sender_parts.h"
#include "transport/tcp/dss.h"
#include "transport/transports.h"

namespace heddle {
namespace {

// RFC 8684 section 3.2: a subflow that joins may send data once its third packet, an ACK, has been
// acknowledged.
constexpr uint32_t kJoinExchanges = 2;

}  // namespace

MptcpShared::MptcpShared(const MptcpSettings& mptcp, TcpShared tcp_shared,
                         std::unique_ptr<SprayShared> spray_shared)
    : settings(mptcp),
      tcp(std::move(tcp_shared)),
      spray(std::move(spray_shared)),
      close_delay(tcp.close_delay),
      receive_buffer(static_cast<uint32_t>(tcp.settings.rwnd.value_or(~uint32_t{0}))) {
  // The receive buffer is the connection's; a subflow has no other.
  tcp.max_segments = static_cast<uint32_t>(
      std::min<int64_t>(kMaxWindowSegments, tcp.settings.max_cwnd.value_or(kMaxWindowSegments)));
  tcp.sack_blocks = kSackBlocksBesideDss;
  if (spray == nullptr) return;
  spray->tcp.max_segments = tcp.max_segments;
  spray->tcp.sack_blocks = tcp.sack_blocks;
}

FlowSpec SubflowSpec(const FlowSpec& connection, uint32_t subflow) {
  FlowSpec spec = connection;
  spec.id = SubflowId(connection.id, subflow);
  spec.sport = static_cast<uint16_t>(connection.sport + subflow);
  return spec;
}

void MptcpSender::Start(const FlowSpec& spec, uint32_t slot, Host& host,
                        const MptcpShared& shared) {
  HEDDLE_CHECK(spec.id < kMostConnections && slot < kMostConnections,
               "flow {}: MPTCP takes {} flows at most", spec.id, kMostConnections);
  host_ = &host;
  shared_ = &shared;
  spec_ = spec;
  slot_ = slot;
  const int64_t mss = shared.tcp.sizes.mss;
  segments_ = static_cast<uint32_t>((spec.size + mss - 1) / mss);
  count_ = next_ = data_una_ = waiting_ = turn_ = unblocked_ = holders_ = draws_ = 0;
  held_ = ~uint32_t{0};
  others_open_ = is_retired_ = false;
  wakes_ = scheduler() == Scheduler::kMinRtt || scheduler() == Scheduler::kRoundRobin ||
           shared.tcp.settings.rwnd.has_value();
  done_ = kNever;
  blocked_.clear();
  coupling_.windows.clear();
  coupling_.is_stale = true;
  if (!subflows_) subflows_ = std::make_unique<Subflow[]>(shared.subflows());
  Prepare(shared.spray ? 1 : shared.subflows());
  if (shared.spray) subflows_[0].tcp.RaiseThreshold(ExtraDupacks());
  if (joins()) return subflows_[0].tcp.Connect(1);
  for (Subflow& subflow : subflows()) subflow.tcp.Open();
}

// --- Opening ---

// Prepares the subflows below `end` that have not been prepared.
void MptcpSender::Prepare(uint32_t end) {
  for (; count_ < end; ++count_) {
    Subflow& subflow = subflows_[count_];
    subflow.bound.clear();
    subflow.reinjected.clear();
    subflow.first = subflow.next = 0;
    subflow.penalised = Time{-kNever.ps / 2};
    subflow.tcp.StartSubflow(SubflowSpec(spec_, count_), SubflowId(slot_, count_), *host_,
                             shared_->TcpOf(count_), *this, count_,
                             sprays(count_) ? nullptr : &coupling_);
  }
}

// MMPTCP: duplicate ACKs that reordering alone may cause. On a single path nothing overtakes.
uint32_t MptcpSender::ExtraDupacks() const {
  const SprayShared& spray = *shared_->spray;
  if (const auto given = spray.settings.extra_dupacks) return static_cast<uint32_t>(*given);
  const uint32_t paths = spray.network->Paths(spec_.src, spec_.dst);
  return paths > 1 ? paths : 0;
}

// The first subflow is open: opens the others, or begins to.
void MptcpSender::OpenOthers() {
  others_open_ = true;
  Prepare(shared_->subflows());
  is_retired_ = shared_->spray != nullptr && !joins();
  for (Subflow& other : subflows().subspan(1)) {
    if (joins()) {
      other.tcp.Connect(kJoinExchanges);
    } else {
      other.tcp.Open();
    }
  }
}

// MMPTCP: returns true if the others are to open now. Subflows without data to send would be of no
// use.
bool MptcpSender::MustOpenOthers() const {
  if (others_open_ || shared_->spray == nullptr || next_ == segments_) return false;
  const SprayPhase& rule = shared_->spray->settings;
  const TcpSender& first = subflows_[0].tcp;
  if (rule.switch_when_calm && !first.IsCalm()) return false;
  const int64_t mss = shared_->tcp.sizes.mss;
  return (rule.switch_bytes && next_ * mss > rule.switch_bytes->count) ||
         (rule.switch_window && first.cwnd() > static_cast<double>(*rule.switch_window * mss)) ||
         (rule.switch_on_loss && first.has_fast_retransmitted());
}

// --- What a subflow sends ---

Transport::Pulled MptcpSender::Pull(uint32_t subflow, Packet& packet) {
  const Transport::Pulled pulled = subflows_[subflow].tcp.Pull(packet);
  if (wakes_) WakeAll();
  return pulled;
}

// The dynamic ports of RFC 6335.
uint16_t MptcpSender::RandomPort() {
  const uint64_t draw = Mix64(uint64_t{subflows_[0].tcp.tuple().hash} << 32 | draws_++);
  return static_cast<uint16_t>(49'152 + (draw >> 32 & 0x3fff));
}

void MptcpSender::WakeAll() {
  for (Subflow& subflow : subflows()) subflow.tcp.Wake();
}

bool MptcpSender::Offers(uint32_t subflow) {
  if (is_retired_ && subflow == 0) return false;
  if (is_redundant()) {
    Subflow& its = subflows_[subflow];
    its.next = std::max(its.next, data_una_);
    return its.next < segments_ && its.next < WindowEnd();
  }
  if (waiting_ > 0 && WaitingFor(subflow)) return true;
  if (next_ == segments_) return false;
  return next_ < WindowEnd() ? IsTurnOf(subflow) : MaySendBlocked(subflow);
}

// Returns true if no other subflow is to send the next new data.
bool MptcpSender::IsTurnOf(uint32_t subflow) const {
  if (scheduler() == Scheduler::kPull) return true;
  for (uint32_t other = is_retired_ ? 1 : 0; other < count_; ++other) {
    if (other != subflow && IsPreferred(other, subflow) && subflows_[other].tcp.HasRoom()) {
      return false;
    }
  }
  return true;
}

bool MptcpSender::IsPreferred(uint32_t subflow, uint32_t other) const {
  if (scheduler() == Scheduler::kRoundRobin) {
    return (subflow + count_ - turn_) % count_ < (other + count_ - turn_) % count_;
  }
  const Duration srtt = subflows_[subflow].tcp.srtt();
  const Duration other_srtt = subflows_[other].tcp.srtt();
  return srtt < other_srtt || (srtt == other_srtt && subflow < other);
}

// Returns the subflow with the lowest data that waits to be sent on another one than itself, if
// that may be `subflow`.
std::optional<uint32_t> MptcpSender::WaitingFor(uint32_t subflow) {
  std::optional<uint32_t> lowest;
  for (uint32_t i = 0; i < count_; ++i) {
    Ring<uint32_t>& queue = subflows_[i].reinjected;
    for (; !queue.empty() && queue.front() < data_una_; queue.pop_front()) --waiting_;
    if (i == subflow || queue.empty()) continue;
    if (!lowest || queue.front() < subflows_[*lowest].reinjected.front()) lowest = i;
  }
  return lowest;
}

int64_t MptcpSender::PayloadOf(uint32_t data) const {
  const int64_t mss = shared_->tcp.sizes.mss;
  return data + 1 == segments_ ? spec_.size - int64_t{data} * mss : mss;
}

int64_t MptcpSender::Fill(uint32_t subflow, uint32_t segment, Packet& packet) {
  Subflow& its = subflows_[subflow];
  const uint32_t index = segment - its.first;
  if (index == its.bound.size()) its.bound.push_back(Bind(subflow));
  const uint32_t data = its.bound[index];
  SetDataNumber(packet, data);
  // The entropy is the bits in which the packet's source port differs from the subflow's.
  if (sprays(subflow)) packet.entropy = static_cast<uint16_t>(spec_.sport ^ RandomPort());
  return PayloadOf(data);
}

// Returns the data for the next new segment of a subflow; Offers() has allowed one.
uint32_t MptcpSender::Bind(uint32_t subflow) {
  if (is_redundant()) {
    const uint32_t data = subflows_[subflow].next++;
    return data == next_ ? BindNew() : data;
  }
  uint32_t data = 0;
  if (const std::optional<uint32_t> from = waiting_ > 0 ? WaitingFor(subflow) : std::nullopt) {
    data = subflows_[*from].reinjected.front();
    subflows_[*from].reinjected.pop_front();
    --waiting_;
  } else if (next_ < WindowEnd()) {
    turn_ = (subflow + 1) % count_;
    return BindNew();
  } else {
    data = data_una_;
    unblocked_ = data + 1;
    PenaliseHolders();
  }
  if (data == held_) holders_ |= uint32_t{1} << subflow;
  return data;
}

uint32_t MptcpSender::BindNew() {
  const uint32_t data = next_++;
  if (next_ == segments_) host_->NoteHanded(spec_.id);
  return data;
}

// --- A full receive buffer ---

// Returns true if the subflow may send again the data that the receive buffer waits for. That is
// done once, by a subflow that has not sent that data itself.
bool MptcpSender::MaySendBlocked(uint32_t subflow) {
  if (unblocked_ > data_una_) return false;
  if (held_ != data_una_) FindHolders();
  return (holders_ >> subflow & 1) == 0;
}

void MptcpSender::FindHolders() {
  held_ = data_una_;
  holders_ = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    const Ring<uint32_t>& bound = subflows_[i].bound;
    for (size_t k = 0; k < bound.size(); ++k) {
      if (bound[k] == held_) holders_ |= uint32_t{1} << i;
    }
  }
}

void MptcpSender::PenaliseHolders() {
  for (uint32_t i = 0; i < count_; ++i) {
    if ((holders_ >> i & 1) == 0) continue;
    Subflow& its = subflows_[i];
    const Duration rtt = its.tcp.srtt().ps > 0 ? its.tcp.srtt() : its.tcp.Rto();
    if (host_->now() - its.penalised < rtt) continue;
    its.penalised = host_->now();
    its.tcp.Penalise();
  }
}

// --- Acknowledgements ---

void MptcpSender::OnAck(const Packet& ack) {
  data_una_ = std::max(data_una_, DataAck(ack));
  const bool is_last = data_una_ == segments_;
  if (is_last) {
    for (Subflow& subflow : subflows()) subflow.tcp.Close();
  }
  subflows_[SubflowOf(ack.flow)].tcp.OnAck(ack);
  if (is_last) return Finish();
  if (MustOpenOthers()) OpenOthers();
  if (wakes_) WakeAll();
}

int64_t MptcpSender::Acknowledge(uint32_t subflow, uint32_t segments) {
  Subflow& its = subflows_[subflow];
  int64_t payload = 0;
  for (uint32_t i = 0; i < segments; ++i, its.bound.pop_front()) {
    const uint32_t data = its.bound.front();
    payload += PayloadOf(data);
    // The data waits in the order of the subflow's segments.
    if (!its.reinjected.empty() && its.reinjected.front() == data) {
      its.reinjected.pop_front();
      --waiting_;
    }
  }
  its.first += segments;
  return payload;
}

void MptcpSender::OnSynAck(const Packet& answer) {
  const uint32_t number = SubflowOf(answer.flow);
  TcpSender& subflow = subflows_[number].tcp;
  subflow.OnSynAck(answer.seq);
  if (shared_->spray) {
    is_retired_ = is_retired_ || (number > 0 && subflow.is_open());
  } else if (!others_open_ && subflow.is_open()) {
    OpenOthers();
  }
  if (wakes_) WakeAll();
}

// --- Timers ---

void MptcpSender::OnTimer(uint32_t subflow, FlowTimer kind) {
  if (done()) return;
  subflows_[subflow].tcp.OnTimer(kind);
  if (wakes_) WakeAll();
}

// Data that the receiver has reported, by SACK or for the connection, is not sent again.
void MptcpSender::OnTimeout(uint32_t subflow) {
  if (is_redundant() || count_ == 1) return;
  Subflow& its = subflows_[subflow];
  waiting_ -= static_cast<uint32_t>(its.reinjected.size());
  its.reinjected.clear();
  for (uint32_t i = 0; i < its.bound.size(); ++i) {
    if (its.bound[i] < data_una_ || its.tcp.IsSacked(its.first + i)) continue;
    its.reinjected.push_back(its.bound[i]);
    ++waiting_;
  }
  WakeAll();
}

// --- The end ---

void MptcpSender::Finish() {
  done_ = host_->now();
  for (Subflow& subflow : subflows()) subflow.tcp.EndSubflow();
  host_->SetTimer(done_ + shared_->close_delay / 2, TimerKey(FlowTimer::kSettle, spec_.id));
  host_->NoteAcked(spec_.id);
}

const SenderRecord& MptcpSender::Settle(Time known) {
  record_ = SenderRecord{.done = done_, .packets = segments_};
  for (const Blocked& its : blocked_) record_.pause_blocked += its.until - its.from;
  for (Subflow& subflow : subflows()) {
    const SenderRecord& its = subflow.tcp.Settle(known);
    record_.packets_sent += its.packets_sent;
    record_.retransmissions += its.retransmissions;
    record_.retransmissions_spurious += its.retransmissions_spurious;
    record_.retransmissions_loss += its.retransmissions_loss;
    record_.timeouts += its.timeouts;
    record_.fast_retransmits += its.fast_retransmits;
    record_.fast_retransmits_reorder += its.fast_retransmits_reorder;
  }
  return record_;
}

FlowState MptcpSender::state() const {
  FlowState state{.cwnd = 0, .rate = std::nullopt, .alpha = std::nullopt};
  for (const Subflow& subflow : subflows()) {
    if (!is_retired_ || &subflow != subflows_.get()) *state.cwnd += subflow.tcp.cwnd();
    for (size_t i = 0; i < subflow.bound.size(); ++i)
      state.in_flight += PayloadOf(subflow.bound[i]);
  }
  const int64_t mss = shared_->tcp.sizes.mss;
  state.acked = std::min(int64_t{data_una_} * mss, spec_.size);
  return state;
}

// Waits of subflows for pauses may overlap, and a wait that ends now may cover several that ended
// before. So this keeps the union of all waits: 16 bytes for each pause of the connection's life.
void MptcpSender::AddBlocked(uint32_t subflow, Duration blocked) {
  const Duration waited = subflows_[subflow].tcp.AddBlocked(blocked);
  if (waited == Duration{0}) return;
  const Time now = host_->now();
  Time from = now - waited;
  while (!blocked_.empty() && blocked_.back().until >= from) {
    from = std::min(from, blocked_.back().from);
    blocked_.pop_back();
  }
  blocked_.push_back({from, now});
}

size_t MptcpSender::memory_bytes() const {
  size_t bytes = coupling_.windows.capacity() * sizeof(coupling_.windows[0]) +
                 blocked_.capacity() * sizeof(Blocked);
  if (!subflows_) return bytes;
  for (const Subflow& subflow : std::span(subflows_.get(), shared_->subflows())) {
    bytes += sizeof(subflow) + subflow.tcp.memory_bytes() +
             (subflow.bound.capacity() + subflow.reinjected.capacity()) * sizeof(uint32_t);
  }
  return bytes;
}

}  // namespace heddle
