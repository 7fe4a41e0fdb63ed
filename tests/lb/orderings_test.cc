// SPDX-License-Identifier: Apache-2.0
// The tests compare schemes: published results say which one is better, and where.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/paired_seeds.h"

namespace heddle::orderings_test {

// 16 hosts on four leaves send to each other across four spines, each as fast as its link allows.
SimulationResult Permutation(const std::string& lb, uint64_t seed,
                             const std::string& asymmetry = "",
                             const std::string& transport = "{kind: dctcp, min_rto: 5ms}") {
  return RunExperiment(
             ExperimentFrom(
                 "seed: " + std::to_string(seed) +
                 "\ntopology: {kind: leaf_spine, leaves: 4, spines: 4, hosts_per_leaf: 4" +
                 asymmetry + "}\nlb: " + lb + "\ntransport: " + transport +
                 "\nworkload: [{kind: permutation, size: 2MB, cross_rack: true}]\n"))
      .result;
}

std::vector<double> MeanFcts(const std::string& lb, const std::string& asymmetry = "") {
  return AtFiveSeeds([&](uint64_t seed) { return MeanFct(Permutation(lb, seed, asymmetry)); });
}

int64_t Spurious(const SimulationResult& result) {
  int64_t spurious = 0;
  for (const ClassCounters& counters : result.counters) {
    spurious += counters.retransmissions_spurious;
  }
  return spurious;
}

const std::string kLongSpine = ", asymmetry: [{spines: [0], delay: 100us}]";

// Dixit et al., INFOCOM 2013: hashing lets flows collide while other paths are idle.
TEST(OrderingsTest, SprayingBeatsHashingOnASymmetricPermutation) {
  const std::vector<double> ecmp = MeanFcts("ecmp");
  for (const char* spraying : {"rps", "drill", "lq"}) {
    EXPECT_TRUE(IsLess(MeanFcts(spraying), ecmp)) << spraying;
  }
  for (const char* taking_turns : {"drb", "rr_dst"}) {
    EXPECT_TRUE(IsLess(MeanFcts(taking_turns), Times(0.8, ecmp))) << taking_turns;
  }
}

// Three duplicate ACKs don't indicate a loss if one path is 200 us longer.
TEST(OrderingsTest, SprayingLosesToHashingWhereAPathIsLong) {
  EXPECT_TRUE(IsLess(MeanFcts("ecmp", kLongSpine), MeanFcts("rps", kLongSpine)));
  EXPECT_GT(Spurious(Permutation("rps", 1, kLongSpine)), 100);
}

TEST(OrderingsTest, ATransportThatAwaitsReorderingDoesNotRetransmitForIt) {
  const std::string patient = "{kind: dctcp, min_rto: 5ms, dupthresh: 1000}";
  EXPECT_EQ(Spurious(Permutation("rps", 1, kLongSpine, patient)), 0);
}

// Returns the goodput of one flow at 40 Gbps over four uplinks of 10 Gbps, of which one is slower.
double SprayedGbps(const std::string& slowest) {
  const SimulationResult result =
      RunExperiment(
          ExperimentFrom(
              "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 1, "
              "host_link: {rate: 40Gbps, delay: 1us}, asymmetry: [{spines: [0], rate: " +
              slowest +
              "}], port: {buffer: 4MB, ecn_above: 65KB}}\nlb: rps\n"
              "transport: {kind: dctcp, dupthresh: 1000, min_rto: 5ms}\nworkload: [{kind: "
              "incast, fan_in: 1, bytes_each: 40MB, queries: 1, period: 1ms}]\n"))
          .result;
  return 40e6 * 8 / (static_cast<double>(result.samples.at(0).fct_ps) * 1e-12) * 1e-9;
}

// Equal shares for all: the slow one sets the pace of the whole flow, 4 x 5 rather than 35 Gbps.
TEST(OrderingsTest, ASlowUplinkSetsThePaceOfASprayedFlow) {
  EXPECT_GT(SprayedGbps("10Gbps"), 33);
  const double slowed = SprayedGbps("5Gbps");
  EXPECT_LT(slowed, 22);
  EXPECT_GT(slowed, 15);
}

// Vanini et al., NSDI 2017: flowlets end more often on a path that is slow.
TEST(OrderingsTest, LetFlowShiftsTrafficAwayFromASlowPath) {
  const auto share_of_slow = [](const std::string& lb) {
    Graph graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 8}");
    for (Graph::Link& link : graph.links) {
      if (link.name != "leaf0-spine0") continue;
      link.a_to_b.rate = link.b_to_a.rate = 2_Gbps;
    }
    Lab lab({.graph = graph, .transport = "{kind: dctcp, min_rto: 5ms}", .balancer = lb});
    for (HostId h = 0; h < 8; ++h) lab.AddFlow(h, static_cast<HostId>(8 + h), 100'000'000);
    lab.Run(Time{} + 30_ms);
    std::vector<double> bytes;
    for (SwitchId spine = 2; spine < 4; ++spine) {
      bytes.push_back(static_cast<double>(
          lab.PortTo(lab.SwitchVertex(0), lab.SwitchVertex(spine)).SentBy(lab.end()).wire_bytes));
    }
    return bytes[0] / (bytes[0] + bytes[1]);
  };
  EXPECT_LT(share_of_slow("{kind: letflow, gap: 50us}"), 0.3);
}

}  // namespace heddle::orderings_test
