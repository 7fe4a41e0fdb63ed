// SPDX-License-Identifier: Apache-2.0
// Tests what MLAB measures behind a port, and how it chooses by that.

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"

namespace heddle::mlab_test {

// A leaf with four uplinks. Each packet is a flow, and a flowlet, of its own.
class Leaf {
 public:
  explicit Leaf(const std::string& settings) : leaf_(settings) {}

  PortIndex Send(Time at) { return leaf_.PortFor(Data(++flow_), at); }
  // The ACK of the last packet sent comes back through `port`.
  void Acknowledge(PortIndex port, Time at) {
    Packet ack = LbPacket(flow_);
    ack.kind = PacketKind::kAck;
    ack.flow = flow_;
    ack.seq = 1;
    ack.src = 1;
    ack.dst = 0;
    const PortIndex to_host = static_cast<PortIndex>(leaf_.uplinks().size());
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      const Decision decision = policy.OnPacket(view, ack, port, {1, 1, {&to_host, 1}});
      EXPECT_EQ(decision.port, to_host);
    });
  }
  // Samples all four ports: those of `slow` take 50 us, the others 20 us.
  Time Learn(Time at, const std::set<PortIndex>& slow) {
    std::set<PortIndex> known;
    while (known.size() < 4) {
      const PortIndex port = Send(at);
      known.insert(port);
      Acknowledge(port, at + (slow.contains(port) ? 50_us : 20_us));
      at = at + 60_us;
    }
    return at;
  }
  // The ports that the next hundred flowlets take; nothing is measured meanwhile.
  std::set<PortIndex> Used(Time at) {
    std::set<PortIndex> used;
    for (int i = 0; i < 100; ++i) used.insert(Send(at));
    return used;
  }
  // The way of an ACK to a remote host whose data came through `port`.
  PortIndex WayBack(PortIndex port, Time at) {
    const PortIndex to_host = static_cast<PortIndex>(leaf_.uplinks().size());
    Packet data = Data(++flow_);
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      policy.OnPacket(view, data, port, {1, 1, {&to_host, 1}});
    });
    Packet ack = Data(flow_);
    ack.kind = PacketKind::kAck;
    return leaf_.PortFor(ack, at);
  }
  int64_t Samples() const { return leaf_.Count("samples"); }

 private:
  static Packet Data(FlowId flow) {
    Packet packet = LbPacket(flow);
    packet.flow = flow;
    return packet;
  }

  LbSwitch leaf_;
  FlowId flow_ = 0;
};

TEST(MlabTest, TakesThePortsWhoseAcksComeBackSoonest) {
  Leaf leaf("{kind: mlab, stale: 100ms}");
  const Time then = leaf.Learn(Time{}, {0, 2});
  EXPECT_EQ(leaf.Used(then), (std::set<PortIndex>{1, 3}));
}

TEST(MlabTest, TriesPortsWithoutASampleFirst) {
  Leaf leaf("{kind: mlab, stale: 100ms}");
  std::set<PortIndex> tried;
  Time at{};
  for (int i = 0; i < 4; ++i, at = at + 60_us) {
    const PortIndex port = leaf.Send(at);
    tried.insert(port);
    leaf.Acknowledge(port, at + 20_us);
  }
  EXPECT_EQ(tried.size(), 4u);
}

TEST(MlabTest, ASampleOfLongAgoCountsAsNone) {
  Leaf leaf("mlab");
  const Time then = leaf.Learn(Time{}, {0, 2});
  EXPECT_EQ(leaf.Used(then + 2_ms).size(), 4u);
}

TEST(MlabTest, AMovingAverageTakesAnEighthOfEachSample) {
  Leaf leaf("{kind: mlab, stale: 100ms, within: 0, sample_every: 0ps}");
  Time at = leaf.Learn(Time{}, {});
  // One more sample of 44 us makes 23 us of 20 us: this port is left, the others are not.
  const PortIndex port = leaf.Send(at);
  leaf.Acknowledge(port, at + 44_us);
  EXPECT_FALSE(leaf.Used(at + 60_us).contains(port));
  Leaf near("{kind: mlab, stale: 100ms, within: 0.1501, sample_every: 0ps}");
  at = near.Learn(Time{}, {});
  const PortIndex same = near.Send(at);
  near.Acknowledge(same, at + 44_us);
  EXPECT_TRUE(near.Used(at + 60_us).contains(same));  // 23 is 15 % above 20.
}

TEST(MlabTest, AnAckThroughAnotherPortIsNoSample) {
  Leaf leaf("mlab");
  const PortIndex port = leaf.Send(Time{});
  leaf.Acknowledge(static_cast<PortIndex>((port + 1) % 4), Time{} + 20_us);
  EXPECT_EQ(leaf.Samples(), 0);
}

TEST(MlabTest, SamplesThroughAPortKeepTheirDistance) {
  Leaf leaf("{kind: mlab, sample_every: 1s}");
  Time at{};
  for (int i = 0; i < 100; ++i, at = at + 10_us) leaf.Acknowledge(leaf.Send(at), at + 5_us);
  EXPECT_EQ(leaf.Samples(), 4);
}

TEST(MlabTest, AcksGoBackThroughThePortOfTheirData) {
  Leaf leaf("mlab");
  for (PortIndex port = 0; port < 4; ++port) EXPECT_EQ(leaf.WayBack(port, Time{} + 1_us), port);
}

// The second hop of one path has a fifth of the rate: the leaf's own queues do not show it.
TEST(MlabTest, LeavesASlowSecondHop) {
  const auto run = [](const std::string& lb) {
    return RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 8, host_link: {rate: "
        "10Gbps, delay: 1us}, fabric_link: {rate: 20Gbps, delay: 1us}, asymmetry: [{links: "
        "[leaf1-spine2], rate: 4Gbps}]}\nlb: {kind: " +
        lb +
        ", gap: 20us}\n"
        "workload: [{kind: poisson, sizes: websearch, load: 0.5, pairs: inter_rack, flows: "
        "400}]\nmeasure: {unfinished: drop, t_max: 1s}\n"));
  };
  const double blind = ShareOfUplink(run("letflow"), "leaf0", "spine2");
  const double measured = ShareOfUplink(run("mlab"), "leaf0", "spine2");
  EXPECT_LT(measured, 0.16);
  EXPECT_LT(measured, blind);
}

}  // namespace heddle::mlab_test
