// SPDX-License-Identifier: Apache-2.0
// RoCEv2 with each of its loss recoveries beside plain models of the sender and the receiver, which
// see what the hosts' policies see. The sender's model says which packet must leave, when, and what
// an ACK, a NACK or a timeout changes; the receiver's, which answer must leave, and when CNPs do.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "transport/rdma/roce.h"
#include "transport/rtt.h"
#include "transport/uet/uet_ack.h"

namespace heddle::roce_model_test {

constexpr int64_t kMss = 1'024;
constexpr BitRate kRate = 100_Gbps;
using Recovery = RoceSettings::Recovery;

struct Scenario {
  std::string name;
  Recovery recovery;
  std::string settings;  // What follows as numbers, and what changes nothing in the models.
  bool trims = false;    // Behind a link of 40 Gbps; otherwise all have 100.
  int64_t ack_interval = 1;
  std::optional<Duration> nacks_every = std::nullopt;
  uint32_t nack_threshold = 1;
  bool threshold_counts = false;  // Not for ddp_loss: timeout.
  uint32_t window = UINT32_MAX;   // Packets.
  Duration rto = 200_us;          // Of a packet with DDP.
  Duration rto_low = 100_us;
  uint32_t rto_low_packets = 0;
  uint32_t placed = 0;  // DDP: packets beyond the one expected.
  std::optional<Duration> gap_unit = std::nullopt;
  std::optional<Duration> cnps_every = std::nullopt;
  bool cnps_trail = false;
  std::vector<int64_t> sizes = {1'000'000};
  double loss = 0;  // Of data, as the others but lost_acks.
  double marks = 0;
  double overtaken = 0;  // By 10 packets.
  double lost_acks = 0;  // And NACKs.
  bool recovers = false;
  bool times_out = false;

  bool is_irn() const { return recovery == Recovery::kIrn; }
  bool is_ddp() const { return recovery == Recovery::kDdp; }
  bool is_selective() const { return recovery != Recovery::kGoBackN; }
  // IRN's limit is one timeout or the other, by the packets in flight.
  Duration RtoWith(uint32_t in_flight) const {
    return is_irn() && in_flight <= rto_low_packets ? rto_low : rto;
  }
  int64_t headers() const { return is_ddp() ? 78 : 62; }
};

void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

class SenderModel {
 public:
  SenderModel(const Scenario& scenario, int64_t size)
      : rules_(scenario),
        size_(size),
        packets_(static_cast<uint32_t>((size + kMss - 1) / kMss)),
        arrived_(packets_, false),
        latest_(packets_, 0) {}
  SenderModel(const SenderModel&) = delete;

  int64_t timeouts() const { return timeouts_; }
  int64_t recoveries() const { return recoveries_; }
  int64_t repairs() const { return repairs_; }
  bool done() const { return una_ == packets_; }
  Duration srtt() const { return rtt_.srtt(); }

  void OnSent(Time now, const Packet& packet, double rate) {
    SCOPED_TRACE(fmt::format("packet {} at {} ps", packet.seq, now.ps));
    EXPECT_FALSE(loss_due_);
    EXPECT_LE(now, timeout_at_);
    EXPECT_GE(now, next_at_);
    ASSERT_TRUE(HasWork());
    const uint32_t number = FirstLost().value_or(next_);
    ASSERT_EQ(packet.seq, number);
    if (!singles_.empty()) {
      singles_.pop_front();
    } else if (FirstLost()) {
      looked_at_ = number + 1;
    }
    const int64_t payload = PayloadOf(number);
    EXPECT_EQ(packet.data.payload, payload);
    EXPECT_EQ(packet.bytes, std::max<int64_t>(payload + rules_.headers(), 64));
    EXPECT_EQ(packet.Has(Packet::kRetransmission), number < end_);
    EXPECT_TRUE(packet.Has(Packet::kEct));
    repairs_ += number < end_ ? 1 : 0;
    end_ = std::max(end_, number + 1);
    if (number == next_) ++next_;
    const bool asks = rules_.ack_interval > 1 && next_ - una_ >= Window() - Window() / 2;
    EXPECT_EQ(packet.Has(Packet::kCwr), asks);
    sent_.push_back({number, now});
    latest_[number] = sent_.size();
    const int64_t wire = packet.bytes + 20;
    next_at_ = now + GapOf(wire, rate);
    busy_until_ = now + SerializationDelay(Bytes{wire}, kRate);
    RestartTimer(now);
  }

  void OnAck(Time now, const Packet& ack, const AckNews& news) {
    const bool is_nack = ack.kind == PacketKind::kNack;
    const bool is_trimmed = ack.Has(Packet::kTrimmed);
    SCOPED_TRACE(fmt::format("{} {} at {} ps", is_nack ? "NACK" : "ACK", ack.seq, now.ps));
    EXPECT_FALSE(loss_due_);
    EXPECT_LE(now, timeout_at_);
    EXPECT_FALSE(rules_.sizes.size() == 1 && HasWork() && now > std::max(next_at_, busy_until_));
    int64_t acked = 0;
    for (; una_ < ack.seq; ++una_) acked += PayloadOf(una_);
    next_ = std::max(next_, una_);
    if (una_ >= recovers_to_) recovering_ = false;
    int64_t sacked = 0;
    if (rules_.is_ddp() && !is_nack) {
      const UetAck map = UetAck::From(ack);
      for (uint32_t i = 0; i < 64; ++i) {
        if (map.map >> i & 1) Arrive(map.first + i);
      }
      if (rules_.threshold_counts) MaybeRecover();
    } else if (rules_.is_irn() && is_nack && !is_trimmed && ack.nack.trigger >= una_ &&
               Arrive(ack.nack.trigger)) {
      sacked = PayloadOf(ack.nack.trigger);
    }
    EXPECT_EQ(news.newly_acked, acked);
    EXPECT_EQ(news.newly_sacked, sacked);
    EXPECT_EQ(news.rtt, now - ack.sent);
    rtt_.Sample(now - ack.sent);
    EXPECT_EQ(news.ecn_echo, ack.Has(Packet::kEce));
    if (done()) return;
    if (is_nack) OnNack(ack, is_trimmed);
    RestartTimer(now);
  }

  // With out-of-order placement the policy hears of a loss before it hears of the ACK.
  void OnHole() {
    ++recoveries_heard_;
    EXPECT_TRUE(std::exchange(loss_due_, false) || rules_.is_ddp());
  }

  void OnTimeout(Time now) {
    SCOPED_TRACE(fmt::format("timeout at {} ps", now.ps));
    EXPECT_FALSE(loss_due_);
    EXPECT_EQ(now, timeout_at_);
    ++timeouts_;
    if (rules_.is_ddp()) {
      for (const Sent& sent : Unanswered()) {
        if (now - sent.at < rules_.rto) break;
        SendAlone(sent.packet);
        given_up_.insert(latest_[sent.packet]);
      }
    } else if (rules_.is_irn()) {
      recovering_ = true;
      recovers_to_ = lost_below_ = end_;
      looked_at_ = una_;
      alone_.clear();
      singles_.clear();
    } else {
      next_ = una_;
      alone_.clear();
      singles_.clear();
    }
    RestartTimer(now);
  }

  void CheckEnd(const SenderRecord& record) const {
    EXPECT_TRUE(done());
    EXPECT_FALSE(loss_due_);
    EXPECT_EQ(record.packets, packets_);
    EXPECT_EQ(record.timeouts, timeouts_);
    EXPECT_EQ(record.fast_retransmits, recoveries_);
    EXPECT_EQ(recoveries_heard_, recoveries_);
    EXPECT_EQ(record.retransmissions, repairs_);
    EXPECT_EQ(record.packets_sent, packets_ + repairs_);
  }

 private:
  struct Sent {
    uint32_t packet;
    Time at;
  };

  int64_t PayloadOf(uint32_t packet) const { return std::min(kMss, size_ - packet * kMss); }
  bool HasArrived(uint32_t packet) const { return packet < una_ || arrived_[packet]; }
  // Senders know how many packets the receiver can place.
  uint32_t Window() const {
    return rules_.is_ddp() ? std::min(rules_.window, rules_.placed) : rules_.window;
  }
  bool HasWork() {
    if (rules_.is_selective() && FirstLost()) return true;
    return next_ < packets_ && next_ - una_ < Window();
  }
  Duration GapOf(int64_t wire, double rate) const {
    if (rate >= 100e9) return Duration{0};
    const Duration gap{
        static_cast<int64_t>(std::ceil(static_cast<double>(wire * 8) * 1e12 / rate))};
    return rules_.gap_unit ? Duration{gap.ps / rules_.gap_unit->ps * rules_.gap_unit->ps} : gap;
  }

  // The packet to be sent again: one that was asked for, or the next hole of the recovery.
  std::optional<uint32_t> FirstLost() {
    while (!singles_.empty() && HasArrived(singles_.front())) singles_.pop_front();
    if (!singles_.empty()) return singles_.front();
    if (!recovering_) return std::nullopt;
    return HoleIn(std::max(looked_at_, una_), lost_below_);
  }
  // The first packet in [from, end) that is missing and was not sent again alone.
  std::optional<uint32_t> HoleIn(uint32_t from, uint32_t end) const {
    for (uint32_t i = from; i < end; ++i) {
      if (!HasArrived(i) && !alone_.contains(i)) return i;
    }
    return std::nullopt;
  }
  void SendAlone(uint32_t packet) {
    singles_.push_back(packet);
    alone_.insert(packet);
  }
  bool Arrive(uint32_t packet) {
    if (HasArrived(packet)) return false;
    arrived_[packet] = true;
    highest_ = std::max(highest_, packet + 1);
    if (recovering_) lost_below_ = std::max(lost_below_, highest_);
    return true;
  }
  int64_t ArrivedBeyond() const {
    return std::count(arrived_.begin() + una_, arrived_.end(), true);
  }
  // A recovery begins when enough packets have come out of order, if any hole is left.
  void MaybeRecover() {
    if (recovering_ || ArrivedBeyond() < rules_.nack_threshold) return;
    if (!HoleIn(una_, highest_)) return;
    recovering_ = true;
    recovers_to_ = end_;
    looked_at_ = una_;
    lost_below_ = highest_;
    ++recoveries_;
    loss_due_ = !rules_.is_ddp();
  }

  void OnNack(const Packet& nack, bool is_trimmed) {
    if (rules_.is_selective() && is_trimmed) {
      if (!HasArrived(nack.nack.trigger)) SendAlone(nack.nack.trigger);
    } else if (rules_.is_irn()) {
      if (nack.nack.trigger >= una_) MaybeRecover();
    } else if (rules_.is_ddp() || nack.seq < una_ || next_ == una_) {
      return;
    } else if (rules_.recovery == Recovery::kSelective) {
      const bool is_new = std::exchange(gone_back_to_, una_) != una_;
      if (is_new && alone_.contains(una_)) return;  // It was trimmed, and is on its way again.
      SendAlone(una_);
      if (!is_new) return;
      ++recoveries_;
      loss_due_ = true;
    } else {
      next_ = una_;
      if (std::exchange(gone_back_to_, una_) == una_) return;
      ++recoveries_;
      loss_due_ = true;
    }
  }

  // DDP: transmissions without an answer that nothing has replaced, the oldest first.
  std::vector<Sent> Unanswered() const {
    std::vector<Sent> result;
    for (size_t i = 0; i < sent_.size(); ++i) {
      const uint32_t packet = sent_[i].packet;
      if (!HasArrived(packet) && latest_[packet] == i + 1 && !given_up_.contains(i + 1)) {
        result.push_back(sent_[i]);
      }
    }
    return result;
  }
  void RestartTimer(Time now) {
    if (rules_.is_ddp()) {
      const std::vector<Sent> unanswered = Unanswered();
      timeout_at_ = unanswered.empty() ? kNever : unanswered[0].at + rules_.rto;
    } else {
      timeout_at_ = una_ < end_ ? now + rules_.RtoWith(end_ - una_) : kNever;
    }
  }

  const Scenario& rules_;
  const int64_t size_;
  const uint32_t packets_;
  std::vector<bool> arrived_;  // Beyond una_.
  uint32_t una_ = 0;
  uint32_t next_ = 0;
  uint32_t end_ = 0;
  std::optional<uint32_t> gone_back_to_;
  std::deque<uint32_t> singles_;  // Packets to be sent again one by one.
  std::set<uint32_t> alone_;      // They, and those that were sent so.
  bool recovering_ = false;
  uint32_t recovers_to_ = 0;
  uint32_t looked_at_ = 0;
  uint32_t lost_below_ = 0;
  uint32_t highest_ = 0;
  std::vector<Sent> sent_;
  std::vector<size_t> latest_;  // The transmission of each packet, from 1.
  std::set<size_t> given_up_;   // Transmissions that timed out.
  bool loss_due_ = false;       // The policy is to hear of a loss.
  Time next_at_{};
  Time busy_until_{};
  Time timeout_at_ = kNever;
  RttEstimator rtt_;
  int64_t timeouts_ = 0;
  int64_t recoveries_ = 0;
  int64_t recoveries_heard_ = 0;
  int64_t repairs_ = 0;
};

// What the receiver of one flow must answer.
class ReceiverModel {
 public:
  ReceiverModel(const Scenario& scenario, int64_t size)
      : rules_(scenario), size_(size), packets_(static_cast<uint32_t>((size + kMss - 1) / kMss)) {}
  ReceiverModel(const ReceiverModel&) = delete;

  void OnData(Time now, const Packet& data) {
    EXPECT_FALSE(answer_) << "an answer to " << seq_ << " was due";
    EXPECT_FALSE(cnp_due_);
    EXPECT_FALSE(cnp_at_ && *cnp_at_ < now);
    seq_ = data.seq;
    flagged_ = false;
    if (data.Has(Packet::kTrimmed)) return OnTrimmed(now, data);
    if (rules_.cnps_every && data.Has(Packet::kCe)) OnMark(now);
    if (rules_.is_ddp() && data.seq >= expected_ + rules_.placed) {
      ++discarded_;
      return;
    }
    const bool is_known = Has(data.seq);
    const bool is_ahead = data.seq > expected_;
    if (is_ahead && !rules_.is_selective()) {
      ++discarded_;
      return Ask(now);
    }
    if (is_known) ++duplicates_;
    const uint32_t before = expected_;
    if (!is_known) Keep(data.seq);
    switch (rules_.recovery) {
      case Recovery::kIrn:
        answer_ = data.seq >= expected_ ? PacketKind::kNack : PacketKind::kAck;
        return;
      case Recovery::kDdp:
        ++unanswered_;
        if (is_known || data.Has(Packet::kCe) || expected_ == packets_ ||
            unanswered_ >= rules_.ack_interval || data.Has(Packet::kCwr)) {
          answer_ = PacketKind::kAck;
        }
        return;
      case Recovery::kGoBackN:
      case Recovery::kSelective:
        break;
    }
    if (is_known) {
      answer_ = PacketKind::kAck;
    } else if (is_ahead) {
      Ask(now);
    } else {
      asked_ = false;
      unanswered_ += expected_ - before;
      if (unanswered_ >= rules_.ack_interval || expected_ == packets_) answer_ = PacketKind::kAck;
    }
  }

  void OnAnswer(const Packet& data, const Packet& answer) {
    SCOPED_TRACE(fmt::format("answer to {}", data.seq));
    EXPECT_EQ(answer.kind, answer_);
    EXPECT_EQ(answer.seq, expected_);
    EXPECT_EQ(answer.sent, data.sent);
    EXPECT_EQ(answer.bytes, 64);
    EXPECT_EQ(answer.Has(Packet::kEce), data.Has(Packet::kCe));
    EXPECT_EQ(answer.Has(Packet::kTrimmed), flagged_);
    EXPECT_FALSE(answer.Has(Packet::kNotify));
    if (answer.kind == PacketKind::kNack) {
      EXPECT_EQ(answer.nack.trigger, data.seq);
      ++nacks_;
    } else if (rules_.is_ddp()) {
      const UetAck ack = UetAck::From(answer);
      EXPECT_EQ(ack.acked, data.seq);
      EXPECT_EQ(ack.first, std::max(data.seq < 63 ? 0 : data.seq - 63, expected_ + 1));
      for (uint32_t i = 0; i < 64; ++i) {
        EXPECT_EQ(ack.map >> i & 1, ahead_.contains(ack.first + i) ? 1u : 0u) << ack.first + i;
      }
    }
    unanswered_ = 0;
    answer_.reset();
  }

  void OnCnp(Time now) {
    ++cnps_;
    if (!std::exchange(cnp_due_, false)) {
      EXPECT_EQ(now, cnp_at_);  // At the end of an interval.
    }
    cnp_at_.reset();
    no_cnp_before_ = now + *rules_.cnps_every;
  }

  void CheckEnd(const ReceiverRecord& record) const {
    EXPECT_FALSE(answer_);
    EXPECT_EQ(expected_, packets_);
    EXPECT_EQ(record.trimmed, trimmed_);
    EXPECT_EQ(record.duplicates, duplicates_);
    EXPECT_EQ(record.discarded, discarded_);
    EXPECT_EQ(record.max_out_of_order_bytes, most_ahead_);
  }
  int64_t nacks() const { return nacks_; }
  int64_t cnps() const { return cnps_; }

 private:
  bool Has(uint32_t packet) const { return packet < expected_ || ahead_.contains(packet); }

  // The header of a trimmed packet asks for it; go-back-N for the packet expected.
  void OnTrimmed(Time now, const Packet& header) {
    ++trimmed_;
    if (Has(header.seq)) {
      const bool is_nack = header.seq >= expected_ && rules_.is_irn();
      answer_ = is_nack ? PacketKind::kNack : PacketKind::kAck;
    } else if (!rules_.is_selective()) {
      // The packet that it has asked for was trimmed once more.
      if (header.seq == expected_ && header.Has(Packet::kRetransmission)) asked_ = false;
      Ask(now);
    } else {
      answer_ = PacketKind::kNack;
      flagged_ = true;
    }
  }
  void Keep(uint32_t number) {
    ahead_.insert(number);
    if (number != expected_) {
      int64_t beyond = 0;
      for (const uint32_t packet : ahead_) beyond += std::min(kMss, size_ - packet * kMss);
      most_ahead_ = std::max(most_ahead_, beyond);
    }
    while (ahead_.erase(expected_) > 0) ++expected_;
  }
  void Ask(Time now) {
    if (asked_ && !(rules_.nacks_every && now >= ask_again_)) return;
    asked_ = true;
    if (rules_.nacks_every) ask_again_ = now + *rules_.nacks_every;
    answer_ = PacketKind::kNack;
  }
  void OnMark(Time now) {
    if (now >= no_cnp_before_) {
      cnp_due_ = true;
    } else if (rules_.cnps_trail) {
      cnp_at_ = no_cnp_before_;
    }
  }

  const Scenario& rules_;
  const int64_t size_;
  const uint32_t packets_;
  uint32_t seq_ = 0;  // The last that came.
  uint32_t expected_ = 0;
  std::set<uint32_t> ahead_;
  int64_t unanswered_ = 0;
  bool asked_ = false;  // For the packet expected.
  Time ask_again_{};
  bool flagged_ = false;  // The answer names a trimmed packet.
  std::optional<PacketKind> answer_;
  bool cnp_due_ = false;
  std::optional<Time> cnp_at_;
  Time no_cnp_before_{};
  int64_t trimmed_ = 0;
  int64_t nacks_ = 0;
  int64_t cnps_ = 0;
  int64_t duplicates_ = 0;
  int64_t discarded_ = 0;
  int64_t most_ahead_ = 0;
};

using Senders = std::vector<std::unique_ptr<SenderModel>>;
using Receivers = std::vector<std::unique_ptr<ReceiverModel>>;

class BesideSender final : public HostPolicy {
 public:
  explicit BesideSender(Senders& models) : models_(models) {}

  void Use(Lab& lab) { transport_ = &dynamic_cast<const Roce&>(lab.network().host(0).transport()); }
  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    const RateState& rate = transport_->FindSender(flow.id)->rate();
    models_[flow.id]->OnSent(view.now(), packet, rate.rate);
  }
  void OnAck(HostView& view, HostFlow& flow, const Packet& packet, const AckNews& news) override {
    models_[flow.id]->OnAck(view.now(), packet, news);
    EXPECT_EQ(flow.srtt, models_[flow.id]->srtt());
  }
  void OnLoss(HostView& view, HostFlow& flow, LossSign sign) override {
    if (sign == LossSign::kTimeout) {
      models_[flow.id]->OnTimeout(view.now());
    } else {
      models_[flow.id]->OnHole();
    }
  }
  size_t StateBytes() const override { return 0; }

 private:
  Senders& models_;
  const Roce* transport_ = nullptr;
};

class BesideReceiver final : public HostPolicy {
 public:
  explicit BesideReceiver(Receivers& models) : models_(models) {}
  void OnData(HostView& view, const Packet& data) override {
    models_[data.flow]->OnData(view.now(), data);
  }
  void OnSendAck(HostView&, const Packet& data, Packet& ack) override {
    models_[data.flow]->OnAnswer(data, ack);
  }
  void OnSendCnp(HostView& view, uint16_t, Packet& cnp) override {
    EXPECT_EQ(cnp.bytes, 64);
    models_[cnp.flow]->OnCnp(view.now());
  }
  size_t StateBytes() const override { return 0; }

 private:
  Receivers& models_;
};

class RoceModelTest : public testing::TestWithParam<Scenario> {};

TEST_P(RoceModelTest, SendsWhatTheRulesSay) {
  const Scenario& scenario = GetParam();
  const BitRate narrow = scenario.trims ? 40_Gbps : 100_Gbps;
  int64_t timeouts = 0;
  int64_t recoveries = 0;
  int64_t cnps = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Senders senders;
    Receivers receivers;
    for (const int64_t size : scenario.sizes) {
      senders.push_back(std::make_unique<SenderModel>(scenario, size));
      receivers.push_back(std::make_unique<ReceiverModel>(scenario, size));
    }
    BesideSender* beside = nullptr;
    const Match data = Anything(PacketKind::kData);
    const auto drop_answers = [&](PacketKind kind) {
      return DropAt(2, WithProbability(scenario.lost_acks, seed + 30, Anything(kind)));
    };
    Lab lab({.graph = Line({{kRate, 1_us}, {kRate, 1_us}, {narrow, 1_us}, {kRate, 1_us}}),
             .transport = "{kind: rocev2, " + scenario.settings + "}",
             .port = scenario.trims ? "{buffer: 20KB, ecn_above: 8KB, trim: {when: port}}"
                                    : "{buffer: unlimited}",
             .switch_policy =
                 Scripted({DropAt(0, WithProbability(scenario.loss, seed, data)),
                           MarkAt(0, WithProbability(scenario.marks, seed + 10, data)),
                           LetPassAt(0, WithProbability(scenario.overtaken, seed + 20, data), 10),
                           drop_answers(PacketKind::kAck), drop_answers(PacketKind::kNack)}),
             .host_policy = [&](HostId host) -> HostPolicyPtr {
               if (host == 1) return std::make_unique<BesideReceiver>(receivers);
               auto policy = std::make_unique<BesideSender>(senders);
               beside = policy.get();
               return policy;
             }});
    beside->Use(lab);
    for (const int64_t size : scenario.sizes) lab.AddFlow(0, 1, size);
    lab.Run(Time{} + 1_s);
    ASSERT_TRUE(lab.finished());
    for (FlowId flow = 0; flow < scenario.sizes.size(); ++flow) {
      const FlowRecord& record = lab.Record(flow);
      senders[flow]->CheckEnd(record.sender);
      receivers[flow]->CheckEnd(record.receiver);
      if (scenario.lost_acks == 0) {
        EXPECT_EQ(record.sender.nacks, receivers[flow]->nacks());
        // One may come when the flow has ended.
        EXPECT_LE(record.sender.cnps, receivers[flow]->cnps());
        EXPECT_LE(receivers[flow]->cnps(), record.sender.cnps + 1);
      }
      timeouts += senders[flow]->timeouts();
      recoveries += senders[flow]->recoveries();
      cnps += receivers[flow]->cnps();
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(timeouts > 0, scenario.times_out);
  EXPECT_EQ(recoveries > 0, scenario.recovers);
  EXPECT_EQ(cnps > 0, scenario.cnps_every.has_value());
}

INSTANTIATE_TEST_SUITE_P(
    Networks, RoceModelTest,
    testing::Values(
        Scenario{.name = "GoBackN",
                 .recovery = Recovery::kGoBackN,
                 .settings = "cc: none, rto: 200us",
                 .loss = 0.05,
                 .overtaken = 0.01,
                 .recovers = true,
                 .times_out = true},
        Scenario{
            .name = "GoBackNLosesAcks",
            .recovery = Recovery::kGoBackN,
            .settings = "cc: none, rto: 200us, ack_interval: 4, nack: timer, nack_interval: 3us",
            .ack_interval = 4,
            .nacks_every = 3_us,
            .sizes = {300'000, 1, 1'024, 200'001},
            .loss = 0.02,
            .overtaken = 0.02,
            .lost_acks = 0.05,
            .recovers = true,
            .times_out = true},
        Scenario{.name = "GoBackNTrims",
                 .recovery = Recovery::kGoBackN,
                 .settings = "cc: none, rto: 200us, window: bdp, bdp: 60000B",
                 .trims = true,
                 .window = 59,
                 .sizes = {400'000},
                 .loss = 0.01,
                 .recovers = true},
        Scenario{.name = "GoBackNPaced",
                 .recovery = Recovery::kGoBackN,
                 .settings = "cc: none, rto: 200us, line_rate: 30Gbps, gap_unit: 50ns",
                 .gap_unit = 50_ns,
                 .loss = 0.05,
                 .recovers = true,
                 .times_out = true},
        Scenario{.name = "IrnPaced",
                 .recovery = Recovery::kIrn,
                 .settings = "recovery: irn, cc: none, bdp: 80KB, line_rate: 30Gbps",
                 .window = 78,
                 .rto = 320_us,
                 .rto_low_packets = 3,
                 .loss = 0.05,
                 .overtaken = 0.01,
                 .lost_acks = 0.01,
                 .recovers = true,
                 .times_out = true},
        Scenario{.name = "IrnThreshold",
                 .recovery = Recovery::kIrn,
                 .settings = "recovery: irn, cc: none, bdp: 100000B, nack_threshold: 3, rto_low: "
                             "60us, rto_high: 90us, rto_low_packets: 10",
                 .nack_threshold = 3,
                 .window = 97,
                 .rto = 90_us,
                 .rto_low = 60_us,
                 .rto_low_packets = 10,
                 .sizes = {300'000, 1, 1'024, 200'001},
                 .loss = 0.05,
                 .overtaken = 0.02,
                 .lost_acks = 0.05,
                 .recovers = true,
                 .times_out = true},
        Scenario{.name = "IrnTrims",
                 .recovery = Recovery::kIrn,
                 .settings = "recovery: irn, cc: none, bdp: 60000B",
                 .trims = true,
                 .window = 58,
                 .rto = 320_us,
                 .rto_low_packets = 3,
                 .loss = 0.01,
                 .overtaken = 0.01,
                 .lost_acks = 0.02,
                 .recovers = true,
                 .times_out = true},
        Scenario{.name = "SelectiveRepeat",
                 .recovery = Recovery::kSelective,
                 .settings = "recovery: sr, cc: none, rto: 200us, ack_interval: 3",
                 .ack_interval = 3,
                 .sizes = {300'000, 1, 1'024, 200'001},
                 .loss = 0.01,
                 .overtaken = 0.01,
                 .lost_acks = 0.02,
                 .recovers = true,
                 .times_out = true},
        Scenario{.name = "SelectiveRepeatTrims",
                 .recovery = Recovery::kSelective,
                 .settings = "recovery: sr, cc: none, rto: 200us, window: bdp, bdp: 60000B, nack: "
                             "timer, nack_interval: 2us",
                 .trims = true,
                 .nacks_every = 2_us,
                 .window = 59,
                 .sizes = {400'000},
                 .loss = 0.05,
                 .overtaken = 0.01,
                 .recovers = true,
                 .times_out = true},
        Scenario{.name = "Placement",
                 .recovery = Recovery::kDdp,
                 .settings = "recovery: ddp, cc: none, ddp_rto: 50us, ddp_window: 40000B, "
                             "ack_interval: 4",
                 .ack_interval = 4,
                 .rto = 50_us,
                 .placed = 40,
                 .loss = 0.01,
                 .marks = 0.02,
                 .overtaken = 0.01,
                 .lost_acks = 0.02,
                 .times_out = true},
        Scenario{.name = "PlacementByThreshold",
                 .recovery = Recovery::kDdp,
                 .settings = "recovery: ddp, cc: none, ddp_rto: 80us, ddp_window: 200KB, ddp_loss: "
                             "threshold, nack_threshold: 12",
                 .nack_threshold = 12,
                 .threshold_counts = true,
                 .rto = 80_us,
                 .placed = 196,
                 .sizes = {300'000, 1, 1'024, 200'001},
                 .loss = 0.02,
                 .overtaken = 0.01,
                 .lost_acks = 0.05,
                 .recovers = true,
                 .times_out = true},
        Scenario{.name = "PlacementTrims",
                 .recovery = Recovery::kDdp,
                 .settings = "recovery: ddp, cc: none, ddp_rto: 80us, ddp_window: 100KB, window: "
                             "bdp, bdp: 60000B",
                 .trims = true,
                 .window = 59,
                 .rto = 80_us,
                 .placed = 98,
                 .sizes = {400'000},
                 .loss = 0.01,
                 .times_out = true},
        Scenario{.name = "Dcqcn",
                 .recovery = Recovery::kGoBackN,
                 .settings = "cc: {kind: dcqcn, cnp_interval: 10us}, rto: 200us",
                 .cnps_every = 10_us,
                 .sizes = {200'000, 100'000},
                 .marks = 0.02},
        Scenario{.name = "TrailingCnps",
                 .recovery = Recovery::kIrn,
                 .settings = "recovery: irn, bdp: 1MB, cc: {kind: dcqcn, cnp_interval: 6us, "
                             "cnp_trailing: true}, rto_high: 2ms, rto_low: 2ms",
                 .window = 976,
                 .rto = 2_ms,
                 .rto_low = 2_ms,
                 .cnps_every = 6_us,
                 .cnps_trail = true,
                 .sizes = {200'000, 100'000},
                 .marks = 0.1}),
    [](const auto& test) { return test.param.name; });

}  // namespace heddle::roce_model_test
