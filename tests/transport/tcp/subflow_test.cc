// SPDX-License-Identifier: Apache-2.0
// A subflow of MPTCP differs from a TCP flow: it is penalised if it holds up a full receive buffer,
// and it ends with its connection, whatever it still waits for.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/subflow_id.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "transport/tcp/dss.h"
#include "transport/tcp/mptcp.h"

namespace heddle::subflow_test {

constexpr int64_t kMss = 1'440;
constexpr Channel kLink{10_Gbps, 1_us};

const Mptcp& MptcpOf(Lab& lab, HostId host) {
  return dynamic_cast<const Mptcp&>(lab.network().host(host).transport());
}

// --- A full receive buffer ---

// Raiciu et al., NSDI 2012, section 4.2: what a full buffer waits for is sent again, once, on a
// subflow that has not sent it. Each subflow that has, and has not had it acknowledged, halves its
// window, once in its round trip at most; before it has measured one, once in its timeout. As in
// Linux, ssthresh stays in slow start, and is two segments at least.
//
// Marks bring windows out of slow start. Without losses, a window changes otherwise only when an
// ACK arrives, before a policy hears of it.
class PenaltyModel final : public HostPolicy {
 public:
  PenaltyModel(uint32_t segments, uint32_t subflows, uint32_t buffer)
      : segments_(segments), buffer_(buffer), subflows_(subflows) {}

  void Use(Lab& lab) { lab_ = &lab; }

  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    SCOPED_TRACE(fmt::format("subflow {} at {} ps", SubflowOf(flow.id), view.now().ps));
    const uint32_t data = DataNumber(packet);
    Subflow& its = subflows_[SubflowOf(flow.id)];
    ASSERT_FALSE(packet.Has(Packet::kRetransmission));
    const bool is_new = data == next_;
    if (is_new) {
      EXPECT_LT(data, una_ + buffer_);
      ++next_;
    } else {
      EXPECT_EQ(data, una_);
      EXPECT_GE(next_, una_ + buffer_);
      EXPECT_TRUE(unblocked_.insert(data).second);
      EXPECT_FALSE(its.Holds(data));
      ++times_unblocked;
    }
    for (uint32_t i = 0; i < subflows_.size(); ++i) {
      SCOPED_TRACE(i);
      if (!is_new && subflows_[i].Holds(data)) Penalise(view.now(), i);
      Check(i);
    }
    its.data.push_back(data);
    due_since_.reset();
    NoteDue(view.now());
  }

  void OnAck(HostView& view, HostFlow& flow, const Packet& ack, const AckNews&) override {
    una_ = std::max(una_, DataAck(ack));
    subflows_[SubflowOf(flow.id)].una = ack.seq;
    const TcpSender& its = Tcp(SubflowOf(flow.id));
    subflows_[SubflowOf(flow.id)].cwnd = its.cwnd();
    subflows_[SubflowOf(flow.id)].ssthresh = its.window().ssthresh;
    for (uint32_t i = 0; i < subflows_.size(); ++i) Check(i);
    NoteDue(view.now());
  }
  void OnLoss(HostView&, HostFlow&, LossSign) override { ADD_FAILURE(); }
  size_t StateBytes() const override { return 0; }

  int64_t times_unblocked = 0;
  int64_t penalties = 0;
  int64_t spared = 0;         // Again within a round trip.
  int64_t before_sample = 0;  // Penalties before a round trip was measured.
  int64_t in_slow_start = 0;
  int64_t at_the_least = 0;  // Of ssthresh.

 private:
  struct Subflow {
    std::vector<uint32_t> data;  // By segment.
    uint32_t una = 0;
    double cwnd = 10 * kMss;
    double ssthresh = std::numeric_limits<double>::infinity();
    std::optional<Time> penalised = std::nullopt;

    bool Holds(uint32_t number) const {
      return std::find(data.begin() + una, data.end(), number) != data.end();
    }
  };

  const TcpSender& Tcp(uint32_t subflow) const {
    return MptcpOf(*lab_, 0).FindSender(0)->subflow(subflow);
  }

  void Penalise(Time now, uint32_t subflow) {
    Subflow& its = subflows_[subflow];
    const Duration srtt = Tcp(subflow).srtt();
    const Duration pause = srtt.ps > 0 ? srtt : 20_ms;  // rto_init
    if (its.penalised && now - *its.penalised < pause) {
      ++spared;
      return;
    }
    ++penalties;
    its.penalised = now;
    before_sample += srtt.ps == 0 ? 1 : 0;
    if (its.cwnd >= its.ssthresh) {
      at_the_least += its.ssthresh < 4 * kMss ? 1 : 0;
      its.ssthresh = std::max(its.ssthresh / 2, 2.0 * kMss);
    } else {
      ++in_slow_start;
    }
    its.cwnd = std::max(its.cwnd / 2, 1.0 * kMss);
  }

  void Check(uint32_t subflow) const {
    EXPECT_DOUBLE_EQ(Tcp(subflow).cwnd(), subflows_[subflow].cwnd);
    EXPECT_DOUBLE_EQ(Tcp(subflow).window().ssthresh, subflows_[subflow].ssthresh);
  }

  // A subflow whose window has room sends new data that the buffer has room for, or while new data
  // waits what a full buffer waits for, as soon as the NIC is free: whichever ACK let it.
  void NoteDue(Time now) {
    const bool is_full = next_ >= una_ + buffer_;
    bool may = false;
    for (uint32_t i = 0; next_ < segments_ && i < subflows_.size(); ++i) {
      const auto flight = subflows_[i].data.size() - subflows_[i].una;
      const bool has_room = static_cast<double>(flight + 1) * kMss <= subflows_[i].cwnd;
      const bool may_repeat = !unblocked_.contains(una_) && !subflows_[i].Holds(una_);
      may = may || (has_room && (!is_full || may_repeat));
    }
    if (!may) {
      due_since_.reset();
      return;
    }
    if (!due_since_) due_since_ = now;
    EXPECT_LE(now - *due_since_, 1'230'400_ps);
  }

  const uint32_t segments_;
  const uint32_t buffer_;
  std::vector<Subflow> subflows_;
  std::set<uint32_t> unblocked_;
  uint32_t una_ = 0;
  uint32_t next_ = 0;
  std::optional<Time> due_since_;
  Lab* lab_ = nullptr;
};

TEST(FullBufferTest, HalvesTheWindowsOfTheSubflowsThatHoldItUp) {
  int64_t spared = 0;
  int64_t before_sample = 0;
  int64_t in_slow_start = 0;
  int64_t penalties = 0;
  int64_t at_the_least = 0;
  for (const uint32_t subflows : {2u, 4u}) {
    for (const uint32_t buffer : {16u, 25u, 60u}) {
      for (const Duration late : {30_us, 200_us, 3_ms}) {
        for (const char* cc : {"reno", "lia"}) {
          SCOPED_TRACE(fmt::format("{} subflows, {} segments, {}, {} ps late", subflows, buffer, cc,
                                   late.ps));
          PenaltyModel* model = nullptr;
          std::vector<Rule> rules = {
              MarkAt(0, WithProbability(0.02, buffer, Anything(PacketKind::kData)))};
          for (uint32_t i = 1; i < subflows; ++i) {
            rules.push_back(HoldAt(1, AllData(SubflowId(0, i)), late * i));
          }
          Lab lab(
              {.graph = Line(4, kLink),
               .transport = fmt::format(
                   "{{kind: mptcp, cc: {}, ecn: rfc3168, subflows: {}, rwnd: {}, rto_init: 20ms}}",
                   cc, subflows, buffer),
               .switch_policy = Scripted(std::move(rules)),
               .host_policy = [&](HostId host) -> HostPolicyPtr {
                 if (host == 1) return nullptr;
                 auto policy = std::make_unique<PenaltyModel>(800, subflows, buffer);
                 model = policy.get();
                 return policy;
               }});
          model->Use(lab);
          lab.AddFlow(0, 1, 800 * kMss);
          lab.Run(Time{} + 1_s);
          ASSERT_TRUE(lab.finished());
          EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
          penalties += model->penalties;
          spared += model->spared;
          before_sample += model->before_sample;
          in_slow_start += model->in_slow_start;
          at_the_least += model->at_the_least;
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(penalties, in_slow_start);
  EXPECT_GT(spared, 0);
  EXPECT_GT(before_sample, 0);
  EXPECT_GT(in_slow_start, 0);
  EXPECT_GT(at_the_least, 0);
}

// The receive buffer is the connection's. ACKs of the second subflow get lost, but those of the
// first report its data too, so it sends all that its own window holds. A round trip takes fewer
// packets than the buffer holds, so it is never full.
TEST(FullBufferTest, LimitsTheConnectionAndNoSubflow) {
  const auto sent_by_the_second = [](const std::string& rest) {
    int64_t packets = 0;
    const auto count = [&](const SwitchView&, const Packet&) { ++packets; };
    Lab lab({.graph = Line(4, kLink),
             .transport = "{kind: mptcp, subflows: 2, iw: 30, " + rest + "}",
             .switch_policy = Scripted({WatchAt(0, AllData(SubflowId(0, 1)), count),
                                        DropAt(2, AllAcks(SubflowId(0, 1)))})});
    lab.AddFlow(0, 1, 300 * kMss);
    lab.Run(Time{} + 1_s);
    EXPECT_TRUE(lab.finished());
    EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
    return packets;
  };
  EXPECT_EQ(sent_by_the_second("rwnd: 20"), 30);
  EXPECT_EQ(sent_by_the_second("rwnd: 20, max_cwnd: 25"), 25);
  EXPECT_EQ(sent_by_the_second("max_cwnd: 1"), 1);
}

// --- Pauses ---

// Tells the transport at each ACK that waits of subflows have ended. Each begins and ends with an
// ACK of the flow, given by its number.
class Pausing final : public HostPolicy {
 public:
  struct Wait {
    uint32_t subflow;
    size_t from;
    size_t to;
  };

  explicit Pausing(std::vector<Wait> waits) : waits_(std::move(waits)) {}

  void Use(Lab& lab) { lab_ = &lab; }
  void OnAck(HostView& view, HostFlow&, const Packet&, const AckNews&) override {
    times_.push_back(view.now());
    for (const Wait& wait : waits_) {
      if (wait.to + 1 != times_.size()) continue;
      lab_->network().host(0).transport().AddBlocked(SubflowId(0, wait.subflow),
                                                     times_.back() - times_[wait.from]);
    }
  }
  size_t StateBytes() const override { return 0; }

  // The time between ACKs in which any subflow waits.
  Duration Together() const {
    Duration sum{0};
    for (size_t i = 0; i + 1 < times_.size(); ++i) {
      const auto covers = [&](const Wait& wait) { return wait.from <= i && i < wait.to; };
      if (std::ranges::any_of(waits_, covers)) sum += times_[i + 1] - times_[i];
    }
    return sum;
  }

 private:
  const std::vector<Wait> waits_;
  std::vector<Time> times_;
  Lab* lab_ = nullptr;
};

// Where waits of several subflows overlap, the time counts once.
TEST(SubflowPauseTest, TimeInWhichSeveralSubflowsWaitCountsOnce) {
  const std::vector<std::vector<Pausing::Wait>> cases = {
      {{0, 10, 20}},
      {{0, 10, 20}, {1, 20, 25}},
      {{0, 10, 20}, {1, 22, 25}, {2, 22, 25}},
      {{0, 10, 20}, {1, 15, 25}, {2, 19, 25}},
      {{0, 10, 20}, {1, 5, 20}, {2, 2, 20}},
      {{0, 10, 20}, {1, 5, 25}, {2, 8, 30}},
      {{0, 10, 20}, {1, 5, 25}, {0, 3, 31}},
      {{0, 10, 20}, {1, 15, 25}, {0, 5, 26}, {2, 30, 31}, {1, 28, 33}},
      {{0, 12, 14}, {1, 16, 18}, {2, 11, 19}},
      {{0, 12, 14}, {1, 16, 18}, {2, 13, 19}}};
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    Pausing* pausing = nullptr;
    Lab lab({.graph = Line(4, kLink),
             .transport = "{kind: mptcp, subflows: 3}",
             .host_policy = [&](HostId host) -> HostPolicyPtr {
               if (host == 1) return nullptr;
               auto policy = std::make_unique<Pausing>(cases[i]);
               pausing = policy.get();
               return policy;
             }});
    pausing->Use(lab);
    lab.AddFlow(0, 1, 100 * kMss);
    lab.AddFlow(0, 1, 100 * kMss, Time{} + 1_ms);  // In the same slot.
    lab.Run();
    EXPECT_EQ(lab.Record(0).sender.pause_blocked, pausing->Together());
    EXPECT_EQ(lab.Record(1).sender.pause_blocked, Duration{0});
    EXPECT_GT(pausing->Together(), Duration{0});
  }
}

// --- The end of the connection ---

// Every segment goes over both subflows. The second one has lost segment 8, and its segment 9 is
// the first to arrive: the ACK of it ends the connection and says that 8 is missing. RACK would
// wait for 8 for a quarter of a round trip more; then the connection has ended.
TEST(SubflowEndTest, RepairsNothingAfterTheEndOfItsConnection) {
  Lab lab({.graph = Line(4, kLink),
           .transport = "{kind: mptcp, subflows: 2, scheduler: redundant, loss: rack}",
           .switch_policy = Scripted(
               {DropAt(0, Data(SubflowId(0, 1), 8)), HoldAt(2, Data(SubflowId(0, 0), 9), 50_us)})});
  lab.AddFlow(0, 1, 10 * kMss);
  lab.Run();
  const FlowRecord& record = lab.Record(0);
  EXPECT_EQ(record.sender.packets_sent, 20);
  EXPECT_EQ(record.sender.fast_retransmits, 0);
  EXPECT_EQ(record.sender.timeouts, 0);
  EXPECT_LT(FctTx(record), 50_us);
}

// A subflow may have lost segments to send again, and wait for its turn at the NIC among other
// flows, when an ACK of another subflow ends the connection.
TEST(SubflowEndTest, SendsNothingAfterTheEndOfItsConnection) {
  for (const char* scheduler : {"redundant", "pull"}) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", scheduler, seed));
      Time last;
      Lab lab({.graph = Line(4, kLink),
               .transport = fmt::format(
                   "{{kind: mptcp, subflows: 3, scheduler: {}, min_rto: 300us, iw: 4}}", scheduler),
               .switch_policy = Scripted(
                   {WatchAt(
                        0,
                        [](const Packet& p) {
                          return p.kind == PacketKind::kData && ConnectionOf(p.flow) == 0;
                        },
                        [&](const SwitchView&, const Packet& p) { last = p.sent; }),
                    DropAt(0, WithProbability(0.1, seed, [](const Packet& p) {
                             return p.kind == PacketKind::kData && ConnectionOf(p.flow) == 0;
                           }))})});
      for (int i = 0; i < 9; ++i) lab.AddFlow(0, 1, i == 0 ? 60 * kMss : 200 * kMss);
      lab.Run(Time{} + 1_s);
      EXPECT_TRUE(lab.finished());
      EXPECT_LE(last, lab.Record(0).sender.done);
    }
  }
}

// --- What packets and settings carry ---

// The number of 32 bits travels in two fields of 16; the first two SACK blocks stay as they are.
TEST(DataNumberTest, HasAllThe32Bits) {
  for (const uint32_t number : {0u, 1u, 0xffffu, 0x10000u, 0x12345678u, 0xffff0000u, ~0u}) {
    Packet data;
    SetDataNumber(data, number);
    EXPECT_EQ(DataNumber(data), number);
    EXPECT_EQ(data.data.waited[0], number & 0xffff);
    EXPECT_EQ(data.data.waited[1], number >> 16);
    Packet ack;
    ack.ack.sack = {SackBlock{1, 2}, SackBlock{3, 4}, SackBlock{}};
    SetDataAck(ack, number);
    EXPECT_EQ(DataAck(ack), number);
    EXPECT_EQ(ack.ack.sack[0].start, 1);
    EXPECT_EQ(ack.ack.sack[0].length, 2);
    EXPECT_EQ(ack.ack.sack[1].start, 3);
    EXPECT_EQ(ack.ack.sack[1].length, 4);
  }
}

// The subflow that sprays is a NewReno without any option that needs SACK, whatever the others are.
TEST(SprayPhaseTest, TheFirstSubflowHasNoOptionThatNeedsSack) {
  TcpSettings others;
  others.loss = TcpSettings::Loss::kRack;
  others.undo = TcpSettings::Undo::kDsack;
  others.tlp = others.rescue = others.prr = others.reordering_adapt = true;
  others.iw = 7;
  others.rwnd = 9;
  others.min_rto = 3_ms;
  EXPECT_TRUE(others.extended());
  const TcpSettings first = SprayPhase::FirstOf(others);
  EXPECT_FALSE(first.extended());
  EXPECT_EQ(first.recovery, TcpSettings::Recovery::kNewReno);
  EXPECT_EQ(first.loss, TcpSettings::Loss::kDupAcks);
  EXPECT_EQ(first.undo, TcpSettings::Undo::kNone);
  EXPECT_FALSE(first.tlp || first.rescue || first.prr || first.reordering_adapt);
  EXPECT_EQ(first.iw, 7);
  EXPECT_EQ(first.rwnd, 9);
  EXPECT_EQ(first.min_rto, 3_ms);
}

// Each option alone needs the state of the extensions.
TEST(TcpSettingsTest, EachOptionMakesAFlowExtended) {
  EXPECT_FALSE(TcpSettings().extended());
  for (bool TcpSettings::*option : {&TcpSettings::tlp, &TcpSettings::rescue, &TcpSettings::prr,
                                    &TcpSettings::reordering_adapt}) {
    TcpSettings settings;
    settings.*option = true;
    EXPECT_TRUE(settings.extended());
  }
  TcpSettings rack;
  rack.loss = TcpSettings::Loss::kRack;
  EXPECT_TRUE(rack.extended());
  TcpSettings undo;
  undo.undo = TcpSettings::Undo::kDsack;
  EXPECT_TRUE(undo.extended());
}

// --- Paths ---

// A path that several subflows took counts once.
TEST(SubflowPathsTest, AreThoseOfAllSubflowsTogether) {
  class Noting final : public HostPolicy {
   public:
    explicit Noting(std::map<FlowId, std::set<uint16_t>>& taken) : taken_(taken) {}
    void OnData(HostView&, const Packet& packet) override {
      taken_[ConnectionOf(packet.flow)].insert(packet.taken);
    }
    size_t StateBytes() const override { return 0; }

   private:
    std::map<FlowId, std::set<uint16_t>>& taken_;
  };
  // A flow that takes most of 200 paths.
  std::map<FlowId, std::set<uint16_t>> sprayed;
  Lab sprays({.graph = LeafSpineFrom("{leaves: 2, spines: 200, hosts_per_leaf: 1}"),
              .balancer = "{kind: rps}",
              .host_policy = [&](HostId) { return std::make_unique<Noting>(sprayed); }});
  sprays.AddFlow(0, 1, 900 * kMss);
  sprays.Run();
  EXPECT_GT(sprayed[0].size(), 150u);
  EXPECT_EQ(sprays.Record(0).receiver.paths_used, static_cast<int>(sprayed[0].size()));

  std::map<FlowId, std::set<uint16_t>> taken;
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 8, hosts_per_leaf: 1, host_link: {rate: 10Gbps, delay: 1us}, "
               "fabric_link: {rate: 10Gbps, delay: 1us}}"),
           .transport = "{kind: mptcp, subflows: 3}",
           .host_policy = [&](HostId host) -> HostPolicyPtr {
             if (host == 0) return nullptr;
             return std::make_unique<Noting>(taken);
           }});
  for (int i = 0; i < 12; ++i) lab.AddFlow(0, 1, 90 * kMss, Time{} + 1_ms * i);
  lab.Run();
  bool some_share = false;
  bool some_spare_the_first = false;
  for (FlowId flow = 0; flow < 12; ++flow) {
    EXPECT_EQ(lab.Record(flow).receiver.paths_used, static_cast<int>(taken[flow].size()));
    some_share = some_share || taken[flow].size() < 3;
    some_spare_the_first = some_spare_the_first || !taken[flow].contains(0);
  }
  EXPECT_TRUE(some_share);
  EXPECT_TRUE(some_spare_the_first);
}

}  // namespace heddle::subflow_test
