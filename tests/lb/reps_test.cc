// SPDX-License-Identifier: Apache-2.0
// REPS: which entropies are used again. On its own a host believes in 10 Gbps and an idle round
// trip of 16 us: 13 packets explore.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"

namespace heddle::reps_test {

// lb/reps.cc writes this header.
struct Echo {
  uint16_t entropy;
  bool is_set;
  bool marked;
};
constexpr int kExplorers = 13;

class Sender {
 public:
  explicit Sender(const std::string& settings = "reps", const FabricShape& fabric = {})
      : table_(PathsOfWeights({1, 1})), host_(settings, table_, /*id=*/0, /*seed=*/1, fabric) {
    flow_ = host_.Start(1, 0, now);
  }

  uint16_t Send() { return host_.Send(flow_, 1'460, now).entropy; }
  void Explore() {
    for (int i = 0; i < kExplorers; ++i) Send();
  }
  void Hear(uint16_t entropy, bool marked = false, Duration rtt = 16_us) {
    Packet ack = LbPacket(1);
    ack.kind = PacketKind::kAck;
    ack.sent = now - rtt;
    ack.SetScheme(Echo{entropy, true, marked});
    host_.At(now, [&](HostView& view, HostPolicy& policy) {
      policy.OnAck(view, flow_, ack, {1'460, 0, rtt, marked});
    });
  }
  void TimeOut() {
    host_.At(now, [&](HostView& view, HostPolicy& policy) {
      policy.OnLoss(view, flow_, LossSign::kTimeout);
    });
  }
  int64_t Count(std::string_view counter) const { return host_.Count(counter); }

  Time now = Time{} + 1_ms;

 private:
  const PathTable table_;
  LbHost host_;
  HostFlow flow_;
};

TEST(RepsTest, ExploresForABandwidthDelayProductThenRecyclesInOrder) {
  Sender sender;
  for (const uint16_t entropy : std::vector<uint16_t>{11, 12, 13}) sender.Hear(entropy);
  sender.Explore();
  EXPECT_EQ(sender.Count("drawn"), kExplorers);
  for (const uint16_t entropy : std::vector<uint16_t>{11, 12, 13})
    EXPECT_EQ(sender.Send(), entropy);
  EXPECT_EQ(sender.Count("recycled"), 3);
  sender.Send();  // None is left.
  EXPECT_EQ(sender.Count("drawn"), kExplorers + 1);
}

// 16 us at 10 Gbps are 20 KB: four of them, where packets are as large.
TEST(RepsTest, ExploresPacketsOfTheSizeThatThereAre) {
  Sender sender("reps", {.packet = 4'192_B});
  for (const uint16_t entropy : std::vector<uint16_t>{11, 12, 13}) sender.Hear(entropy);
  for (int i = 0; i < 4; ++i) sender.Send();
  EXPECT_EQ(sender.Count("drawn"), 4);
  EXPECT_EQ(sender.Send(), 11);
}

TEST(RepsTest, AnAckForEachPacketLeavesNothingToDraw) {
  Sender sender;
  std::vector<uint16_t> in_flight;
  for (int i = 0; i < kExplorers; ++i) in_flight.push_back(sender.Send());
  for (int i = 0; i < 500; ++i) {
    sender.Hear(in_flight[static_cast<size_t>(i)]);
    in_flight.push_back(sender.Send());
  }
  EXPECT_EQ(sender.Count("drawn"), kExplorers);
}

TEST(RepsTest, MarkedOnesAreNotKept) {
  Sender sender;
  sender.Explore();
  sender.Hear(11, true);
  sender.Hear(12, false);
  sender.Hear(13, true);
  EXPECT_EQ(sender.Send(), 12);
  sender.Send();
  EXPECT_EQ(sender.Count("recycled"), 1);
}

TEST(RepsTest, KeepsTheLastEight) {
  Sender sender;
  sender.Explore();
  for (uint16_t entropy = 1; entropy <= 11; ++entropy) sender.Hear(entropy);
  for (uint16_t entropy = 4; entropy <= 11; ++entropy) EXPECT_EQ(sender.Send(), entropy);
  sender.Send();
  EXPECT_EQ(sender.Count("recycled"), 8);
}

TEST(RepsTest, AfterATimeoutWithoutCongestionItGoesOverWhatItHas) {
  Sender sender;
  sender.Explore();
  for (const uint16_t entropy : std::vector<uint16_t>{11, 12, 13}) sender.Hear(entropy);
  sender.Send();
  sender.TimeOut();
  EXPECT_EQ(sender.Count("freezes"), 1);
  std::vector<uint16_t> sent;
  for (int i = 0; i < 6; ++i) sent.push_back(sender.Send());
  EXPECT_EQ(sent, (std::vector<uint16_t>{11, 12, 13, 11, 12, 13}));
  sender.now += 10_ms + 1_ps;
  const int64_t drawn = sender.Count("drawn");
  for (int i = 0; i < kExplorers; ++i) sender.Send();  // It has forgotten the entropies it had.
  EXPECT_EQ(sender.Count("drawn"), drawn + kExplorers);
}

TEST(RepsTest, AfterATimeoutWithCongestionItDoesNot) {
  Sender sender;
  sender.Explore();
  sender.Hear(11, false, 16_us * 165 / 100 + 1_ns);
  sender.TimeOut();
  EXPECT_EQ(sender.Count("freezes"), 0);
  Sender off("{kind: reps, freeze: false}");
  off.Explore();
  off.Hear(11);
  off.TimeOut();
  EXPECT_EQ(off.Count("freezes"), 0);
}

// The longest round trip counts until the first sample after the end of its window.
TEST(RepsTest, CongestionCountsForAWindow) {
  Sender sender("{kind: reps, rtt_window: 100us}");
  sender.Explore();
  sender.Hear(11, false, 40_us);
  sender.now += 100_us;
  sender.Hear(12, false, 20_us);  // The last instant of the window.
  sender.TimeOut();
  EXPECT_EQ(sender.Count("freezes"), 0);
  sender.now += 50_us;
  sender.TimeOut();  // No sample has begun another window.
  EXPECT_EQ(sender.Count("freezes"), 0);
  sender.Hear(13, false, 20_us);
  sender.TimeOut();
  EXPECT_EQ(sender.Count("freezes"), 1);
}

// By default a window lasts for twice an idle round trip of 16 us and five marking delays of 78 us.
TEST(RepsTest, TheWindowFollowsFromTheFabric) {
  for (const auto& [later, freezes] : {std::pair(812_us, 0), std::pair(812_us + 1_ps, 1)}) {
    Sender sender;
    sender.Explore();
    sender.Hear(11, false, 40_us);
    sender.now += later;
    sender.Hear(12, false, 20_us);
    sender.TimeOut();
    EXPECT_EQ(sender.Count("freezes"), freezes);
  }
}

// With trimming, every timeout is a failure, and 16 packets explore after a freeze. While frozen,
// the sender goes on to store entropies.
TEST(RepsTest, WithTrimmingEveryTimeoutFreezes) {
  Sender sender("reps", {.trims = true});
  sender.Explore();
  for (const uint16_t entropy : std::vector<uint16_t>{11, 12}) sender.Hear(entropy, false, 40_us);
  sender.TimeOut();
  EXPECT_EQ(sender.Count("freezes"), 1);
  EXPECT_EQ(sender.Send(), 11);
  sender.Hear(13);
  EXPECT_EQ(sender.Send(), 12);
  EXPECT_EQ(sender.Send(), 13);
  EXPECT_EQ(sender.Send(), 11);
  sender.now += 10_ms + 1_ps;
  sender.Hear(14);  // Ends the freeze.
  const int64_t drawn = sender.Count("drawn");
  for (int i = 0; i < 16; ++i) sender.Send();
  EXPECT_EQ(sender.Count("drawn"), drawn + 16);
}

TEST(RepsTest, NoFreezeWhileItExplores) {
  Sender sender("reps", {.trims = true});
  sender.TimeOut();
  EXPECT_EQ(sender.Count("freezes"), 0);
}

TEST(RepsTest, AnEntropyMayBeUsedSeveralTimes) {
  Sender sender("{kind: reps, uses: 2}");
  sender.Explore();
  sender.Hear(11);
  EXPECT_EQ(sender.Send(), 11);
  EXPECT_EQ(sender.Send(), 11);
  sender.Send();
  EXPECT_EQ(sender.Count("recycled"), 2);
}

TEST(RepsTest, DrawsAreFromAsManyAsThereAre) {
  Sender sender("{kind: reps, entropies: 4}");
  std::set<uint16_t> drawn;
  for (int i = 0; i < 200; ++i) drawn.insert(sender.Send());
  EXPECT_EQ(drawn, (std::set<uint16_t>{0, 1, 2, 3}));
}

// --- In networks ---

// The link down from one of 8 spines fails, and routing does not notice. Spraying loses an eighth
// from then on. A connection that freezes goes on over entropies that are known to work.
TEST(RepsTest, LossesByADeadLinkEndWithATimeout) {
  const auto run = [](const std::string& lb) {
    return RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 8, hosts_per_leaf: 1, host_link: {rate: "
        "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}\n"
        "transport: {kind: dctcp, dupthresh: 1000, delack_count: 1, min_rto: 1ms}\n"
        "workload: [{kind: incast, fan_in: 1, bytes_each: 20MB, queries: 1, period: 1ms}]\n"
        "measure: {t_max: 40ms, unfinished: drop}\nrouting: {convergence: 1s}\n"
        "schedule: [{at: 4ms, links: [leaf0-spine3], state: down}]\nlb: " +
        lb + "\n"));
  };
  const auto lost = [](const FinishedRun& its) {
    return its.result.packets.dropped[static_cast<size_t>(DropReason::kLinkDown)];
  };
  const FinishedRun reps = run("{kind: reps, freeze_for: 1s}");
  EXPECT_EQ(reps.result.unfinished, 0);
  const CsvTable flows(reps.files.flows);
  EXPECT_EQ(flows.Integer(0, "rto"), 1);
  EXPECT_GT(lost(reps), 0);
  EXPECT_LT(lost(reps), 20);
  const FinishedRun rps = run("rps");
  EXPECT_EQ(rps.result.unfinished, 1);
  EXPECT_GT(lost(rps), 100);
}

// One of four uplinks has half of the rate.
const std::string kHalfUplink =
    "{leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: 25Gbps, delay: 1us}, fabric_link: "
    "{rate: 25Gbps, delay: 1us}, asymmetry: [{spines: [3], rate: 12500Mbps}]}";

TEST(RepsTest, ASlowUplinkGetsItsShare) {
  Lab lab({.graph = LeafSpineFrom(kHalfUplink),
           .transport = "{kind: dctcp, dupthresh: 1000, delack_count: 1}",
           .balancer = "reps",
           .port = "{buffer: 1MB, ecn_above: 60KB}"});
  for (HostId h = 0; h < 4; ++h) lab.AddFlow(h, static_cast<HostId>(4 + h), 20'000'000);
  lab.Run();
  std::vector<double> sent;
  for (SwitchId spine = 2; spine < 6; ++spine) {
    FifoPort& uplink = lab.PortTo(lab.SwitchVertex(0), lab.SwitchVertex(spine));
    sent.push_back(static_cast<double>(uplink.SentBy(lab.end()).wire_bytes));
  }
  EXPECT_NEAR(sent[3] / ((sent[0] + sent[1] + sent[2]) / 3), 0.5, 0.1);
}

TEST(RepsTest, FlowsAreDoneSoonerThanBySprayingOverASlowUplink) {
  const auto share = [](const std::string& balancer) {
    Lab lab({.graph = LeafSpineFrom(kHalfUplink),
             .transport = "{kind: dctcp, dupthresh: 1000, delack_count: 1}",
             .balancer = balancer,
             .port = "{buffer: 1MB, ecn_above: 60KB}"});
    for (HostId h = 0; h < 4; ++h) lab.AddFlow(h, static_cast<HostId>(4 + h), 10'000'000);
    lab.Run();
    double most = 0;
    for (const FlowRecord& record : lab.records()) most = std::max(most, Seconds(FctRx(record)));
    return most;
  };
  EXPECT_LT(share("reps"), 0.9 * share("rps"));
}

}  // namespace heddle::reps_test
