// SPDX-License-Identifier: Apache-2.0
// MPTCP's connection beside plain models of what its sender and its receiver do with data; its
// subflows are TCPs, which have a model of their own (tcp_model_test.cc). The sender's model says
// which data the next segment of each subflow carries: new data by the scheduler's rule, data that
// a timeout has freed, or data that a full receive buffer waits for. With MMPTCP (Kheirkhah et al.,
// INFOCOM 2016) subflow 0 is alone until an ACK finds that more than a limit has been sent; from
// then on it only repairs, and the others go on.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/subflow_id.h"
#include "fabric/reordering.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "transport/tcp/dss.h"
#include "transport/tcp/mptcp.h"

namespace heddle::mptcp_model_test {

constexpr int64_t kMss = 1'440;

struct Scenario {
  std::string name = "";
  std::string scheduler = "";
  std::string settings = "";
  uint32_t subflows = 3;            // With MMPTCP, besides the one that sprays.
  uint32_t buffer = 1'000'000'000;  // Segments of the receive buffer.
  int64_t size = 1'000'001;
  double loss = 0;
  double late = 0;     // The share of packets that are 30 us late.
  bool slow = false;   // The first or the second subflow takes 200 us longer.
  bool frees = false;  // A timeout frees data for another subflow.
  bool unblocks = false;
  std::optional<int64_t> sprayed = {};  // MMPTCP: the limit of bytes.

  uint32_t all_subflows() const { return subflows + (sprayed ? 1 : 0); }
};

void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

class SenderModel {
 public:
  SenderModel(const Scenario& scenario, const MptcpSender& sender)
      : rules_(scenario),
        sender_(sender),
        segments_(static_cast<uint32_t>((scenario.size + kMss - 1) / kMss)),
        subflows_(scenario.all_subflows()),
        open_(scenario.sprayed ? 1 : scenario.subflows) {}

  // What its subflows count together. Without losses, all that is sent again is sent in vain.
  void CheckEnd(const SenderRecord& record) const {
    EXPECT_EQ(open_, rules_.all_subflows());
    EXPECT_LE(sprayed_ - ports_.size(), sprayed_ / 30);
    EXPECT_EQ(record.packets, segments_);
    EXPECT_EQ(record.packets_sent, packets_);
    EXPECT_EQ(record.retransmissions, repairs_);
    EXPECT_EQ(record.retransmissions_spurious + record.retransmissions_loss, repairs_);
    EXPECT_EQ(record.timeouts, timeouts_);
    EXPECT_EQ(record.fast_retransmits, holes_);
    if (rules_.loss > 0) return;
    EXPECT_EQ(record.retransmissions_spurious, repairs_);
    EXPECT_EQ(record.fast_retransmits_reorder, holes_);
  }

  int64_t freed() const { return freed_; }
  int64_t unblocked() const { return unblocked_; }
  bool done() const { return una_ == segments_; }

  void OnSent(Time now, uint32_t subflow, const Packet& packet) {
    SCOPED_TRACE(fmt::format("subflow {}, segment {}", subflow, packet.seq));
    Subflow& its = subflows_[subflow];
    const uint32_t data = DataNumber(packet);
    EXPECT_EQ(packet.data.payload, PayloadOf(data));
    ++packets_;
    repairs_ += packet.Has(Packet::kRetransmission) ? 1 : 0;
    CheckPort(subflow, packet);
    EXPECT_FALSE(packet.Has(Packet::kCwr));
    if (packet.seq < its.data.size()) {  // Sent again, with what it carried.
      EXPECT_EQ(data, its.data[packet.seq]);
      return;
    }
    ASSERT_EQ(packet.seq, its.data.size());
    EXPECT_LT(subflow, open_);
    EXPECT_FALSE(IsRetired(subflow));
    EXPECT_EQ(data, NextFor(now, subflow));
    CheckWindows();
    EXPECT_LT(data, una_ + rules_.buffer);
    its.data.push_back(data);
  }

  void OnAck(uint32_t subflow, const Packet& ack, const AckNews& news) {
    SCOPED_TRACE(fmt::format("subflow {}, ACK {}", subflow, ack.seq));
    una_ = std::max(una_, DataAck(ack));
    Subflow& its = subflows_[subflow];
    int64_t acked = 0;
    for (; its.una < ack.seq; ++its.una) {
      const uint32_t data = its.data[its.una];
      acked += PayloadOf(data);
      if (!its.freed.empty() && its.freed.front() == data) its.freed.pop_front();
    }
    EXPECT_EQ(news.newly_acked, acked);
    its.cwnd = sender_.subflow(subflow).cwnd();
    CheckState();
    if (rules_.sprayed && next_ * kMss > *rules_.sprayed && next_ < segments_) {
      open_ = rules_.all_subflows();
    }
  }

  // The data of segments without an ACK may go on another subflow.
  void OnTimeout(uint32_t subflow) {
    ++timeouts_;
    Subflow& its = subflows_[subflow];
    its.freed.clear();
    if (rules_.scheduler == "redundant" || open_ == 1) return;
    for (uint32_t i = its.una; i < its.data.size(); ++i) {
      if (its.data[i] >= una_ && !sender_.subflow(subflow).IsSacked(i)) {
        its.freed.push_back(its.data[i]);
      }
    }
  }
  void OnHole() { ++holes_; }

  // At a host whose NIC is idle no subflow has both room in its window and data to send.
  void CheckIdle() {
    for (uint32_t i = 0; i < open_ && !done(); ++i) {
      EXPECT_FALSE(!IsRetired(i) && sender_.subflow(i).HasRoom() && HasDataFor(i)) << i;
    }
  }

 private:
  struct Subflow {
    std::vector<uint32_t> data;  // By segment.
    uint32_t una = 0;
    std::deque<uint32_t> freed;
    uint32_t next = 0;  // Redundant: what it has not sent.
    std::optional<double> cwnd = {};
    std::optional<Time> penalised = {};
  };

  int64_t PayloadOf(uint32_t data) const {
    return std::min(kMss, rules_.size - int64_t{data} * kMss);
  }

  bool HasDataFor(uint32_t subflow) {
    const uint32_t end = std::min(segments_, una_ + rules_.buffer);
    if (rules_.scheduler == "redundant") return std::max(subflows_[subflow].next, una_) < end;
    if (HolderOfFreed(subflow)) return true;
    if (next_ < end) return IsTurnOf(subflow);
    return next_ < segments_ && MayUnblock(subflow);
  }

  uint32_t NextFor(Time now, uint32_t subflow) {
    if (rules_.scheduler == "redundant") {
      uint32_t& next = subflows_[subflow].next;
      next = std::max(next, una_);
      next_ = std::max(next_, next + 1);
      return next++;
    }
    if (const std::optional<uint32_t> from = HolderOfFreed(subflow)) {
      const uint32_t data = subflows_[*from].freed.front();
      subflows_[*from].freed.pop_front();
      ++freed_;
      return data;
    }
    EXPECT_LT(next_, segments_);
    if (next_ < una_ + rules_.buffer) {
      EXPECT_TRUE(IsTurnOf(subflow));
      turn_ = (subflow + 1) % open_;
      return next_++;
    }
    // The buffer is full: what it waits for goes once, on a subflow that has not sent it.
    EXPECT_TRUE(MayUnblock(subflow));
    unblocked_for_ = una_;
    ++unblocked_;
    Penalise(now);
    return una_;
  }
  // The subflows that have not delivered what the buffer waits for halve their windows, at most
  // once in their round trip time (Raiciu et al., NSDI 2012).
  void Penalise(Time now) {
    for (uint32_t i = 0; i < open_; ++i) {
      Subflow& its = subflows_[i];
      const Duration srtt = sender_.subflow(i).srtt();
      if (std::ranges::count(Outstanding(i), una_) == 0) continue;
      if (its.penalised && now - *its.penalised < (srtt.ps > 0 ? srtt : 500_us)) continue;
      its.penalised = now;
      if (its.cwnd) its.cwnd = std::max<double>(*its.cwnd / 2, kMss);
    }
  }
  // Without losses and reordering, ACKs and the full buffer alone change windows.
  void CheckWindows() const {
    if (rules_.loss > 0 || rules_.late > 0) return;
    for (uint32_t i = 0; i < open_; ++i) {
      const double cwnd = sender_.subflow(i).cwnd();
      EXPECT_DOUBLE_EQ(cwnd, subflows_[i].cwnd.value_or(cwnd));
    }
  }

  bool MayUnblock(uint32_t subflow) const {
    return unblocked_for_ != una_ && std::ranges::count(Outstanding(subflow), una_) == 0;
  }
  std::vector<uint32_t> Outstanding(uint32_t subflow) const {
    const Subflow& its = subflows_[subflow];
    return {its.data.begin() + its.una, its.data.end()};
  }

  // Another subflow with the lowest data that a timeout has freed.
  std::optional<uint32_t> HolderOfFreed(uint32_t subflow) {
    std::optional<uint32_t> lowest;
    for (uint32_t i = 0; i < open_; ++i) {
      std::deque<uint32_t>& freed = subflows_[i].freed;
      while (!freed.empty() && freed.front() < una_) freed.pop_front();
      if (i == subflow || freed.empty()) continue;
      if (!lowest || freed.front() < subflows_[*lowest].freed.front()) lowest = i;
    }
    return lowest;
  }

  // No subflow with room comes before it.
  bool IsTurnOf(uint32_t subflow) const {
    if (rules_.scheduler == "pull") return true;
    const auto rank = [&](uint32_t i) {
      const uint32_t place = (i + open_ - turn_) % open_;
      const int64_t srtt = sender_.subflow(i).srtt().ps;
      return rules_.scheduler == "min_rtt" ? std::pair(srtt, int64_t{i})
                                           : std::pair(int64_t{place}, int64_t{0});
    };
    for (uint32_t i = 0; i < open_; ++i) {
      if (i != subflow && !IsRetired(i) && sender_.subflow(i).HasRoom() && rank(i) < rank(subflow))
        return false;
    }
    return true;
  }

  bool IsRetired(uint32_t subflow) const { return rules_.sprayed && subflow == 0 && open_ > 1; }

  // The dynamic ports of RFC 6335, another one for each packet. 100 draws of 16384 are likely to
  // have at most 3 repetitions.
  void CheckPort(uint32_t subflow, const Packet& packet) {
    if (!rules_.sprayed || subflow > 0) {
      EXPECT_EQ(packet.entropy, 0);
      return;
    }
    EXPECT_GE(sender_.spec().sport ^ packet.entropy, 49'152);
    ++sprayed_;
    ports_.insert(packet.entropy);
  }

  void CheckState() const {
    double cwnd = 0;
    int64_t in_flight = 0;
    for (uint32_t i = 0; i < open_; ++i) {
      if (!IsRetired(i)) cwnd += sender_.subflow(i).cwnd();
      for (const uint32_t data : Outstanding(i)) in_flight += PayloadOf(data);
    }
    const FlowState state = sender_.state();
    EXPECT_DOUBLE_EQ(state.cwnd.value(), cwnd);
    EXPECT_EQ(state.in_flight, in_flight);
    EXPECT_EQ(state.acked, std::min(una_ * kMss, rules_.size));
  }

  const Scenario& rules_;
  const MptcpSender& sender_;
  const uint32_t segments_;
  std::vector<Subflow> subflows_;
  uint32_t next_ = 0;  // Data that nobody has sent.
  uint32_t una_ = 0;   // All data below has arrived.
  uint32_t turn_ = 0;
  std::optional<uint32_t> unblocked_for_;
  uint32_t open_;  // Subflows that may send.
  std::set<uint16_t> ports_;
  size_t sprayed_ = 0;
  int64_t freed_ = 0;
  int64_t unblocked_ = 0;
  int64_t packets_ = 0;
  int64_t repairs_ = 0;
  int64_t timeouts_ = 0;
  int64_t holes_ = 0;
};

class BesideSender final : public HostPolicy {
 public:
  explicit BesideSender(const Scenario& scenario) : rules_(scenario) {}

  void Use(Lab& lab) {
    transport_ = &dynamic_cast<const Mptcp&>(lab.network().host(0).transport());
  }
  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    Model().OnSent(view.now(), SubflowOf(flow.id), packet);
  }
  void OnAck(HostView&, HostFlow& flow, const Packet& ack, const AckNews& news) override {
    Model().OnAck(SubflowOf(flow.id), ack, news);
  }
  void OnLoss(HostView&, HostFlow& flow, LossSign sign) override {
    if (sign == LossSign::kTimeout) return Model().OnTimeout(SubflowOf(flow.id));
    Model().OnHole();
  }
  size_t StateBytes() const override { return 0; }

  bool has_begun() const { return model_.has_value(); }
  SenderModel& Model() {
    if (!model_) model_.emplace(rules_, *transport_->FindSender(0));
    return *model_;
  }

 private:
  const Scenario& rules_;
  const Mptcp* transport_ = nullptr;
  std::optional<SenderModel> model_;
};

// Each ACK tells which data comes next; data that came before is a duplicate.
class BesideReceiver final : public HostPolicy {
 public:
  explicit BesideReceiver(int64_t size) : size_(size) {}

  void OnData(HostView& view, const Packet& packet) override {
    const uint32_t data = DataNumber(packet);
    // Packets of one subflow alone are ordered among each other.
    ReorderingTracker& its = trackers_[SubflowOf(packet.flow)];
    if (const auto reordered = its.OnArrival(packet.data.tx_id, view.now())) {
      ++reordered_;
      max_extent_ = std::max(max_extent_, static_cast<int32_t>(reordered->extent));
      max_degree_ = std::max(max_degree_, reordered->degree);
    }
    ++packets_;
    if (data < next_ || !ahead_.insert(data).second) {
      ++duplicates_;
      return;
    }
    if (data != next_) {
      int64_t beyond = 0;
      for (const uint32_t number : ahead_) beyond += std::min(kMss, size_ - int64_t{number} * kMss);
      most_ahead_ = std::max(most_ahead_, beyond);
    }
    while (ahead_.erase(next_) > 0) ++next_;
  }
  void OnSendAck(HostView&, const Packet&, Packet& ack) override { EXPECT_EQ(DataAck(ack), next_); }
  size_t StateBytes() const override { return 0; }

  void CheckEnd(const ReceiverRecord& record) const {
    EXPECT_EQ(next_, (size_ + kMss - 1) / kMss);
    EXPECT_EQ(record.packets, packets_);
    EXPECT_EQ(record.duplicates, duplicates_);
    EXPECT_EQ(record.max_out_of_order_bytes, most_ahead_);
    EXPECT_EQ(record.reordered_net, reordered_);
    EXPECT_EQ(record.max_extent, max_extent_);
    EXPECT_EQ(record.max_degree, max_degree_);
  }

 private:
  const int64_t size_;
  uint32_t next_ = 0;
  std::set<uint32_t> ahead_;
  int64_t packets_ = 0;
  int64_t duplicates_ = 0;
  int64_t most_ahead_ = 0;
  ReorderingTracker trackers_[5];
  int64_t reordered_ = 0;
  int32_t max_extent_ = 0;
  int32_t max_degree_ = 0;
};

class MptcpModelTest : public testing::TestWithParam<Scenario> {};

TEST_P(MptcpModelTest, SendsWhatTheRulesSay) {
  const Scenario& scenario = GetParam();
  int64_t freed = 0;
  int64_t unblocked = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    BesideSender* sender = nullptr;
    BesideReceiver* receiver = nullptr;
    std::vector<Rule> rules = {
        DropAt(0, WithProbability(scenario.loss, seed, Anything())),
        DropAt(2, WithProbability(scenario.loss, seed + 100, Anything())),
        HoldAt(1, WithProbability(scenario.late, seed + 200, Anything()), 30_us)};
    const FlowId slow = SubflowId(0, static_cast<uint32_t>(seed % 2));
    if (scenario.slow) rules.push_back(HoldAt(1, AllData(slow), 200_us));
    Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
             .transport = fmt::format(
                 "{{kind: {}, min_rto: 500us, subflows: {}, scheduler: {}{}{}}}",
                 scenario.sprayed ? fmt::format("mmptcp, switch_bytes: {}B", *scenario.sprayed)
                                  : "mptcp",
                 scenario.subflows, scenario.scheduler,
                 scenario.buffer < 1'000'000 ? fmt::format(", rwnd: {}", scenario.buffer) : "",
                 scenario.settings),
             .switch_policy = Scripted(std::move(rules)),
             .host_policy = [&](HostId host) -> HostPolicyPtr {
               if (host == 0) {
                 auto policy = std::make_unique<BesideSender>(scenario);
                 sender = policy.get();
                 return policy;
               }
               auto policy = std::make_unique<BesideReceiver>(scenario.size);
               receiver = policy.get();
               return policy;
             }});
    sender->Use(lab);
    lab.AddFlow(0, 1, scenario.size);
    lab.SampleEvery(700_ns, [&](Time now) {
      const bool is_idle = lab.network().host(0).nic().busy_until() < now;
      if (is_idle && sender->has_begun()) sender->Model().CheckIdle();
    });
    lab.Run(Time{} + 10_s);
    ASSERT_TRUE(lab.finished());
    EXPECT_TRUE(sender->Model().done());
    sender->Model().CheckEnd(lab.Record(0).sender);
    receiver->CheckEnd(lab.Record(0).receiver);
    freed += sender->Model().freed();
    unblocked += sender->Model().unblocked();
    if (HasFailure()) return;
  }
  EXPECT_EQ(freed > 0, scenario.frees);
  EXPECT_EQ(unblocked > 0, scenario.unblocks);
}

std::vector<Scenario> Scenarios() {
  std::vector<Scenario> all;
  for (const std::string scheduler : {"pull", "min_rtt", "round_robin", "redundant"}) {
    const bool is_redundant = scheduler == "redundant";
    const auto named = [&](const std::string& what, Scenario rest) {
      rest.name = scheduler + "_" + what;
      rest.scheduler = scheduler;
      all.push_back(rest);
    };
    named("idle", {});
    named("lossy", {.loss = 0.03, .late = 0.1, .frees = !is_redundant});
    named("late", {.late = 0.1});
    named(
        "rack",
        {.settings = ", loss: rack, tlp: true", .loss = 0.03, .late = 0.1, .frees = !is_redundant});
    named("slow", {.settings = ", cc: reno", .slow = true});
    named("buffer", {.subflows = 2, .buffer = 16, .slow = true, .unblocks = !is_redundant});
    named("lossy_buffer", {.subflows = 4,
                           .buffer = 30,
                           .loss = 0.03,
                           .slow = true,
                           .frees = !is_redundant,
                           .unblocks = !is_redundant});
  }
  const std::vector<Scenario> plain = all;
  for (Scenario sprayed : plain) {
    if (sprayed.scheduler == "redundant") continue;  // MMPTCP has no such scheduler.
    sprayed.name += "_sprayed";
    sprayed.sprayed = all.size() % 2 == 0 ? 100'000 : 20 * kMss;
    all.push_back(sprayed);
  }
  all.push_back({.name = "one", .scheduler = "pull", .subflows = 1, .loss = 0.02});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Networks, MptcpModelTest, testing::ValuesIn(Scenarios()),
                         [](const auto& test) { return test.param.name; });

}  // namespace heddle::mptcp_model_test
