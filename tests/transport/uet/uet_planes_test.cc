// SPDX-License-Identifier: Apache-2.0
// Flows of the Ultra Ethernet transport whose packets take all planes.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/random.h"
#include "fabric/host_policy.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/thread_counts.h"

namespace heddle::uet_planes_test {

const std::string kUet = "{kind: uet, framing: uet_htsim, planes: packet}";
const std::string kTrims =
    "{buffer: unlimited, ecn_above: unlimited, marking: red, red: {min: 37350B, max: 145250B, "
    "probability: 1}, trim: {when: port}}";

std::string Planes(int planes) {
  return fmt::format(
      "topology: {{kind: planes, planes: {}, leaves: 2, spines: 2, hosts_per_leaf: 4,\n"
      "  host_link: {{rate: 100Gbps, delay: 1us}}, fabric_link: {{rate: 100Gbps, delay: 1us}}}}\n",
      planes);
}

Graph GraphOf(int planes) {
  return ExperimentFrom(
             Planes(planes) +
             "transport: {kind: uet}\nlb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n")
      .graph;
}

// A packet of 4150 bytes takes 332 ns on a link. Each plane carries every n-th packet, one behind
// the other, over two links within a leaf and four between leaves.
TEST(UetPlanesTest, ALoneFlowUsesAllPlanesAtOnce) {
  for (const int planes : {2, 3, 4}) {
    for (const int64_t packets : {1, 2, 7, 8, 490}) {
      for (const HostId dst : {HostId{1}, HostId{4}}) {
        SCOPED_TRACE(fmt::format("{} planes, {} packets to {}", planes, packets, dst));
        Lab lab({.graph = GraphOf(planes),
                 .transport = kUet,
                 .balancer = "{kind: oblivious}",
                 .port = kTrims});
        lab.AddFlow(0, dst, packets * 4'086);
        lab.Run();
        const FlowRecord& record = lab.Record(0);
        const int64_t in_turn = (packets + planes - 1) / planes;
        const int64_t links = dst == 1 ? 2 : 4;
        EXPECT_EQ(FctRx(record), (332_ns * (in_turn + links - 1)) + 1_us * links);
        EXPECT_EQ(record.sender.packets_sent, packets);
      }
    }
  }
}

// A flow that a workload has bound to a NIC takes its plane alone.
TEST(UetPlanesTest, AFlowOfOneNicTakesOnePlane) {
  for (const uint8_t nic : {uint8_t{0}, uint8_t{1}}) {
    Lab lab(
        {.graph = GraphOf(2), .transport = kUet, .balancer = "{kind: oblivious}", .port = kTrims});
    lab.AddFlow({.src = 0, .dst = 1, .src_nic = nic, .size = 50 * 4'086, .start = {}});
    lab.Run();
    EXPECT_EQ(FctRx(lab.Record(0)), (332_ns * (50 + 1)) + 2_us);
  }
}

// A host sends four flows to the other leaf at the rate of all its links.
TEST(UetPlanesTest, SeveralFlowsShareAllNics) {
  Lab lab(
      {.graph = GraphOf(2), .transport = kUet, .balancer = "{kind: oblivious}", .port = kTrims});
  for (const HostId dst : {HostId{4}, HostId{5}, HostId{6}, HostId{7}}) {
    lab.AddFlow(0, dst, 100 * 4'086);
  }
  lab.Run();
  ASSERT_TRUE(lab.finished());
  Time last{};
  for (const FlowRecord& record : lab.records()) last = std::max(last, record.receiver.done);
  // 400 packets, 200 on each link of the sender.
  EXPECT_EQ(last, Time{} + (332_ns * (200 + 3)) + 4_us);
}

// Counts for each plane what its flow sends, and checks that answers come to the flow that they
// concern.
class Watching final : public HostPolicy {
 public:
  explicit Watching(std::vector<int64_t>& sent) : sent_(sent) {}

  void OnFlowStart(HostView& /*view*/, HostFlow& flow) override {
    flow.State<uint16_t>() = static_cast<uint16_t>(sent_.size());
    sent_.push_back(0);
  }
  void OnSend(HostView& /*view*/, HostFlow& flow, Packet& packet) override {
    packet.entropy = flow.State<uint16_t>();
    ++sent_[packet.entropy];
  }
  void OnAck(HostView& /*view*/, HostFlow& flow, const Packet& ack,
             const AckNews& /*news*/) override {
    EXPECT_EQ(ack.entropy, flow.State<uint16_t>());
    ++answers_;
  }
  void OnFlowEnd(HostView& /*view*/, HostFlow& flow) override {
    EXPECT_EQ(flow.bytes_sent, sent_[flow.State<uint16_t>()] * 4'086);
    EXPECT_GT(answers_, 10);
  }
  size_t StateBytes() const override { return 0; }
  size_t FlowBytes() const override { return 2; }

 private:
  std::vector<int64_t>& sent_;
  int64_t answers_ = 0;
};

TEST(UetPlanesTest, TheLoadBalancerHasAFlowForEachPlane) {
  std::vector<int64_t> sent;
  Lab lab({.graph = GraphOf(4),
           .transport = kUet,
           .port = kTrims,
           .host_policy = [&](HostId host) -> HostPolicyPtr {
             if (host != 0) return nullptr;
             return std::make_unique<Watching>(sent);
           }});
  lab.AddFlow(0, 5, 400 * 4'086);
  lab.Run();
  EXPECT_EQ(sent, std::vector<int64_t>(4, 100));
}

// The link of host 0 in plane 1 fails for good while a flow of 2 MB is on its way. What was lost is
// repaired, and the rest takes the other plane.
TEST(UetPlanesTest, AFlowGoesOnWhenAPlaneIsLost) {
  const Graph graph = GraphOf(2);
  uint32_t link = 0;
  int links_of_host = 0;
  for (uint32_t i = 0; i < graph.links.size(); ++i) {
    const Graph::Link& one = graph.links[i];
    if ((graph.IsHost(one.a) && one.a.index() == 0) ||
        (graph.IsHost(one.b) && one.b.index() == 0)) {
      link = i;
      ++links_of_host;
    }
  }
  ASSERT_EQ(links_of_host, 2);
  for (const std::string lb : {"oblivious", "reps", "bitmap", "mixed"}) {
    SCOPED_TRACE(lb);
    const LinkEvent down{.at = Time{} + 30_us, .link = link, .up = false, .rate = {}, .delay = {}};
    Lab lab({.graph = graph,
             .transport = kUet,
             .balancer = fmt::format("{{kind: {}}}", lb),
             .port = kTrims,
             .events = {down}});
    lab.AddFlow(0, 4, 490 * 4'086);
    lab.Run(Time{} + 10_ms);
    ASSERT_TRUE(lab.finished());
    const FlowRecord& record = lab.Record(0);
    EXPECT_GT(record.sender.retransmissions, 0);
    // As if one link had carried what was left after 30 us, and some timeouts.
    EXPECT_GT(FctRx(record), 130_us);
    EXPECT_LT(FctRx(record), 1_ms);
  }
}

std::string Workload(const std::string& lb) {
  return "seed: 3\nlb: " + lb + "\ntransport: " + kUet +
         "\nworkload:\n"
         "  - {kind: permutation, size: 300KB}\n"
         "  - {kind: incast, fan_in: 4, bytes_each: 50KB, queries: 2, period: 20us}\n";
}

TEST(UetPlanesTest, ThreadsDoNotChangeResults) {
  std::string fabric = Planes(3);
  fabric.insert(fabric.rfind('}'), ",\n  port: " + kTrims);
  for (const std::string lb :
       {"oblivious", "reps", "bitmap", "mixed", "ecmp", "drill", "rps", "letflow"}) {
    SCOPED_TRACE(lb);
    const Experiment experiment = ExperimentFrom(fabric + Workload(lb));
    const FinishedRun one = RunExperiment(experiment);
    EXPECT_EQ(one.result.unfinished, 0);
    const CsvTable flows(one.files.flows);
    for (size_t row = 0; row < flows.rows.size(); ++row) {
      EXPECT_GE(flows.Real(row, "slowdown"), 1.0);
    }
    for (const int threads : ThreadCounts({2, 3})) {
      EXPECT_TRUE(RunExperiment(experiment, threads).files == one.files) << threads;
    }
  }
}

TEST(UetPlanesTest, NeedPlanes) {
  const std::string leaf_spine =
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n";
  EXPECT_NE(ErrorsOf(leaf_spine + Workload("reps")).find("packet needs topology: {kind: planes}"),
            std::string::npos);
  std::string with_credit = Planes(2) + Workload("reps");
  with_credit.insert(with_credit.find("planes: packet"), "receiver: rccc, ");
  EXPECT_NE(ErrorsOf(with_credit).find("credit is paced for one link"), std::string::npos);
}

}  // namespace heddle::uet_planes_test
