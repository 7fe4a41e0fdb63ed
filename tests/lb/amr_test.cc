// SPDX-License-Identifier: Apache-2.0
// Tests how AMR draws ports by weights, and what its controller makes the weights.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"

namespace heddle::amr_test {

const std::vector<int64_t> kCapacities = {10'000'000'000, 20'000'000'000, 5'000'000'000,
                                          40'000'000'000};

LbSwitch::Shape Uneven() {
  LbSwitch::Shape shape;
  std::vector<NextHop> hops;
  for (const int64_t capacity : kCapacities) hops.push_back({capacity, 0});
  shape.next_hops = {hops};
  return shape;
}

// LetFlow, but with a draw in proportion to capacities; written anew.
class WeightedLetFlow {
 public:
  PortIndex PortFor(uint32_t flow, Time at) {
    const auto found = flows_.find(flow);
    const bool goes_on = found != flows_.end() && at - found->second.last <= 100_us;
    const PortIndex port = goes_on ? found->second.port : Draw();
    flows_[flow] = {at, port};
    return port;
  }

 private:
  struct Flow {
    Time last;
    PortIndex port;
  };

  PortIndex Draw() {
    double point = rng_.Uniform() * 75e9;
    for (PortIndex port = 0; port < 3; ++port) {
      const double weight = static_cast<double>(kCapacities[port]);
      if (point < weight) return port;
      point -= weight;
    }
    return 3;
  }

  Rng rng_ = Rng::Stream(1, "amr", 0);
  std::map<uint32_t, Flow> flows_;
};

TEST(AmrTest, WithoutAControllerIsLetFlowWithWeightsByCapacity) {
  LbSwitch leaf("{kind: amr, period: off}", Uneven());
  WeightedLetFlow expected;
  Rng rng = Rng::Stream(9, "test", 0);
  std::vector<int64_t> packets(4);
  Time at{};
  for (int i = 0; i < 20'000; ++i) {
    at = at + Duration{static_cast<int64_t>(rng.Below(2'000'000))};
    const uint32_t flow = rng.Below(100);  // Silent for 100 us on average.
    const PortIndex port = leaf.PortFor(LbPacket(flow), at);
    ASSERT_EQ(port, expected.PortFor(flow, at)) << "packet " << i;
    ++packets[port];
  }
  EXPECT_GT(leaf.Count("flowlets"), 5'000);
  EXPECT_NEAR(static_cast<double>(packets[3]) / 20'000, 40.0 / 75, 0.03);
  EXPECT_NEAR(static_cast<double>(packets[2]) / 20'000, 5.0 / 75, 0.02);
}

TEST(AmrTest, APortThatIsDownIsLeftAtOnce) {
  LbSwitch leaf("{kind: amr, period: off}");
  std::map<PortIndex, int> used;
  for (uint32_t flow = 0; flow < 100; ++flow) leaf.PortFor(LbPacket(flow), Time{});
  const std::vector<PortIndex> live = {0, 2, 3};
  for (uint32_t flow = 0; flow < 100; ++flow) {
    ++used[leaf.PortFor(LbPacket(flow), Time{} + 1_us, live)];
  }
  EXPECT_EQ(used.size(), 3u);
  EXPECT_FALSE(used.contains(1));
}

// Two spines and links of 10 Gbps. `busy` Gbps of datagrams go from leaf 2 to leaf 1 over spine 0,
// so the leaf of the flows, leaf 0, does not see them. Returns the share of spine 0.
double ShareOfBusySpine(const std::string& lb, double busy) {
  const std::string rate = std::to_string(static_cast<int>(busy * 1'000)) + "Mbps";
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 16, host_link: {rate: "
      "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}\nlb: " +
      lb +
      "\nworkload: [{kind: poisson, sizes: small, load: 0.02, from: [0, 1, 2, 3, 4, 5, 6, 7], to: "
      "[16, 17, 18, 19, 20, 21, 22, 23], duration: 60ms}]\n"
      "background: [{from: [32], to: [31], rate: " +
      rate + ", via: spine0}]\nmeasure: {warm_up: 0s, t_max: 1s, unfinished: drop}\n"));
  return ShareOfUplink(run, "leaf0", "spine0");
}

TEST(AmrTest, TheControllerSeesALinkThatIsBusyElsewhere) {
  const double blind = ShareOfBusySpine("{kind: amr, period: off}", 8);
  const double told = ShareOfBusySpine("{kind: amr, period: 1ms}", 8);
  EXPECT_NEAR(blind, 0.5, 0.06);
  EXPECT_LT(told, 0.3);  // 2 of 10 Gbps are left, against nearly 10.
  EXPECT_GT(told, 0.1);
}

// Nothing is left there: the weight is the least, a half of half of the sum. Flowlets do not end,
// as waiting flows would leave that path by themselves.
TEST(AmrTest, APathHasTheLeastWeightAtLeast) {
  const double share = ShareOfBusySpine("{kind: amr, period: 1ms, least: 0.5, gap: 1s}", 9.99);
  EXPECT_NEAR(share, 0.25 / 1.25, 0.06);
}

}  // namespace heddle::amr_test
