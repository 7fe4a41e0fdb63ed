// SPDX-License-Identifier: Apache-2.0
// Proteus: how paths are classed, and what a notice changes. On its own a leaf believes in queues
// of 78 us: a path is light below 39 us of waiting, and heavy above 156 us.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_control.h"

namespace heddle::proteus_test {

// lb/proteus.cc writes this header.
struct Header {
  uint16_t entered;
  uint16_t waited;
  uint8_t utilisation;
  uint8_t told_path;  // Path plus 1.
  uint8_t told_waited;
  uint8_t told_utilisation;
};
struct Notice {
  uint16_t path;
};

class ProteusTest : public testing::Test {
 protected:
  explicit ProteusTest(const std::string& more = "")
      : leaf_("{kind: proteus, stale: 1s" + more + "}") {}

  void Hear(Time at, uint8_t path, uint8_t waited_us, uint8_t utilisation) {
    Packet packet = LbPacket(9);
    packet.src = 1;
    packet.dst = 0;
    packet.path = 0;
    packet.SetScheme(Header{0, 0, 0, static_cast<uint8_t>(path + 1), waited_us, utilisation});
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      policy.OnPacket(view, packet, 0, view.CandidatesTo(0));
    });
  }
  void Notify(Time at, FlowId flow, uint16_t path) {
    const Packet packet = ControlPacket(Notice{path}, flow);
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      EXPECT_EQ(policy.OnPacket(view, packet, 0, view.CandidatesTo(0)).kind,
                Decision::Kind::kConsume);
    });
  }
  PortIndex Send(Time at, FlowId flow) {
    Packet packet = LbPacket(flow);
    packet.flow = flow;
    return leaf_.PortFor(packet, at);
  }
  std::set<PortIndex> NewFlows(Time at) {
    std::set<PortIndex> used;
    for (int i = 0; i < 60; ++i) used.insert(Send(at, next_++));
    return used;
  }

  LbSwitch leaf_;

 private:
  FlowId next_ = 1'000;
};

TEST_F(ProteusTest, NewFlowsTakeLightPathsThenMiddleOnes) {
  EXPECT_EQ(NewFlows(Time{}).size(), 4u);  // Nothing is known.
  Hear(Time{} + 1_us, 0, 100, 0);
  Hear(Time{} + 1_us, 1, 0, 200);
  EXPECT_EQ(NewFlows(Time{} + 2_us), (std::set<PortIndex>{2, 3}));
  Hear(Time{} + 3_us, 2, 200, 0);
  Hear(Time{} + 3_us, 3, 0, 250);
  EXPECT_EQ(NewFlows(Time{} + 4_us), (std::set<PortIndex>{0, 1}));  // The others are heavy.
}

// Headers carry thresholds of up to 1 ms in units of 4 us.
class ProteusLongWaitsTest : public ProteusTest {
 protected:
  ProteusLongWaitsTest() : ProteusTest(", wait_light: 500us, wait_heavy: 1ms") {}
};

TEST_F(ProteusLongWaitsTest, WaitsBeyondAByteOfMicrosecondsCount) {
  Hear(Time{} + 1_us, 0, 120, 0);  // 480 us.
  for (const uint8_t path : std::array<uint8_t, 3>{1, 2, 3}) Hear(Time{} + 1_us, path, 130, 0);
  EXPECT_EQ(NewFlows(Time{} + 2_us), (std::set<PortIndex>{0}));
  Hear(Time{} + 3_us, 0, 255, 0);  // 1.02 ms.
  EXPECT_EQ(NewFlows(Time{} + 4_us), (std::set<PortIndex>{1, 2, 3}));
}

TEST_F(ProteusTest, ANoticeMovesTheFlowAndMakesThePathHeavyForAWhile) {
  const PortIndex first = Send(Time{} + 1_us, 1);
  Notify(Time{} + 50_us, 1, first);
  EXPECT_NE(Send(Time{} + 51_us, 1), first);
  EXPECT_EQ(leaf_.Count("reroutes"), 1);
  EXPECT_FALSE(NewFlows(Time{} + 52_us).contains(first));
  EXPECT_TRUE(NewFlows(Time{} + 66_us).contains(first));  // A round trip later.
}

TEST_F(ProteusTest, AFlowMovesAtMostOnceARoundTripAndOnlyToABetterClass) {
  PortIndex path = Send(Time{} + 1_us, 1);
  Notify(Time{} + 50_us, 1, path);
  path = Send(Time{} + 51_us, 1);
  Notify(Time{} + 52_us, 1, path);
  EXPECT_EQ(Send(Time{} + 53_us, 1), path);
  for (uint16_t other = 0; other < 4; ++other) Notify(Time{} + 90_us, 2, other);
  Notify(Time{} + 91_us, 1, path);  // All are as heavy.
  EXPECT_EQ(Send(Time{} + 92_us, 1), path);
  EXPECT_EQ(leaf_.Count("reroutes"), 1);
}

TEST_F(ProteusTest, ANoticeAboutAPathThatTheFlowHasLeftDoesNotMoveIt) {
  const PortIndex path = Send(Time{} + 1_us, 1);
  Notify(Time{} + 50_us, 1, static_cast<uint16_t>((path + 1) % 4));
  EXPECT_EQ(Send(Time{} + 51_us, 1), path);
}

// --- In a network ---

// Incast stops what leads to its host, and pauses spread upwards.
TEST(ProteusInNetworksTest, NoticesOfPausesMoveFlows) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 3, spines: 4, hosts_per_leaf: 8, host_link: {rate: "
      "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}, port: {memory: {model: dt, "
      "size: 2MB}, pfc: {classes: [3]}}}\n"
      "transport: {kind: rocev2, cc: none, rto: never}\nlb: {kind: proteus, notice_above: 20us}\n"
      "workload: [{kind: poisson, sizes: websearch, load: 0.3, flows: 100},\n"
      "           {kind: incast, fan_in: 15, bytes_each: 200KB, queries: 5, period: 2ms}]\n"));
  EXPECT_EQ(run.result.unfinished, 0);
  const int64_t notices = Counted(run, "notices_taken");
  const int64_t reroutes = Counted(run, "reroutes");
  EXPECT_GT(notices, 0);
  EXPECT_GT(reroutes, 0);
  EXPECT_LE(reroutes, notices);
}

// The link down from spine 1 is slow: it pauses its inputs nearly all of the time.
TEST(ProteusInNetworksTest, NewFlowsAvoidASpineThatPausesAllTheTime) {
  const auto run = [](const std::string& lb) {
    return RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 8, host_link: {rate: "
        "10Gbps, delay: 1us}, fabric_link: {rate: 20Gbps, delay: 1us}, asymmetry: [{links: "
        "[leaf1-spine1], rate: 1Gbps}], port: {memory: {model: dt, size: 2MB}, pfc: {classes: "
        "[3]}}}\ntransport: {kind: rocev2, rto: 5ms}\n"
        "workload: [{kind: poisson, sizes: websearch, load: 0.25, flows: 80}]\nlb: " +
        lb + "\n"));
  };
  const auto share = [](const FinishedRun& its) { return ShareOfUplink(its, "leaf0", "spine1"); };
  const FinishedRun ecmp = run("ecmp");
  const FinishedRun proteus = run("proteus");
  EXPECT_EQ(proteus.result.unfinished, 0);
  EXPECT_LT(share(proteus), share(ecmp) / 2);
  EXPECT_LT(proteus.result.end, ecmp.result.end);
}

}  // namespace heddle::proteus_test
