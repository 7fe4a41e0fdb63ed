// SPDX-License-Identifier: Apache-2.0
// Tests which load balancers are registered, and what they are told before a run.

#include "lb/parts/load_balancer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/experiment_kit.h"

namespace heddle::load_balancer_test {

TEST(LoadBalancersTest, KnowTheBaselines) {
  for (const char* name :
       {"aac",      "ag",     "aps",    "burstbalancer", "clove_ecn", "clove_int", "conga",
        "conweave", "drb",    "drill",  "ecmp",          "ecmp_ar",   "flare",     "flowbender",
        "hedera",   "hermes", "hula",   "letflow",       "lq",        "lq_bw",     "lq_flowlet",
        "lq_quant", "luopan", "p2c",    "plb",           "presto",    "proteus",   "qdaps",
        "reps",     "rps",    "rr_dst", "rr_pkt",        "switch_ar", "wcmp"}) {
    EXPECT_TRUE(LoadBalancers().Knows(name)) << name;
  }
  EXPECT_TRUE(std::ranges::is_sorted(LoadBalancers().Names()));
}

const std::string kLeafSpine =
    "{kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 2, "
    "fabric_link: {rate: 10Gbps, delay: 1us}}";

std::string Yaml(const std::string& topology, const std::string& transport = "dctcp") {
  return "topology: " + topology + "\ntransport: " + transport +
         "\nlb: picky\nworkload: [{kind: poisson, sizes: small, load: 0.5, "
         "flows: 60}]\n";
}

class Picky final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override { fields.Add("ports", ports_, "Is never right."); }
  void Prepare(const FabricShape& fabric, std::string_view path,
               Diagnostics& diagnostics) override {
    if (fabric.tiers > 2) {
      diagnostics.ErrorAt(path, "picky is for two tiers; use lb: ecmp");
    }
    shape = fabric;
  }
  SwitchPolicyPtr ForSwitch(SwitchId, uint64_t) const override { return nullptr; }

  static inline FabricShape shape;

 private:
  bool ports_ = false;
};

TEST(LoadBalancerTest, CanRefuseAFabricAndSayWhatWouldDo) {
  LoadBalancers().Add<Picky>({"picky", "Is for two tiers.", "This test"});
  EXPECT_EQ(ErrorsOf(Yaml(kLeafSpine)), "");
  EXPECT_EQ(ErrorsOf(Yaml("{kind: fat_tree, k: 4}")),
            "test.yaml:3:5: lb: picky is for two tiers; use lb: ecmp\n1 error\n");
}

TEST(LoadBalancerTest, IsToldOfTheFabric) {
  LoadBalancers().Add<Picky>({"picky", "Is for two tiers.", "This test"});
  EXPECT_EQ(ErrorsOf(Yaml("{kind: leaf_spine, leaves: 3, spines: 5, hosts_per_leaf: 2, "
                          "host_link: {rate: 25Gbps, delay: 1us}, fabric_link: {rate: 40Gbps, "
                          "delay: 2us}, asymmetry: [{spines: [1], rate: 10Gbps}]}")),
            "");
  const FabricShape& shape = Picky::shape;
  EXPECT_EQ(shape.tiers, 2);
  EXPECT_EQ(shape.leaves, 3u);
  EXPECT_EQ(shape.leaf_uplinks, 5u);
  EXPECT_EQ(shape.above_uplinks, 0u);
  EXPECT_EQ(shape.host_rate, 25_Gbps);
  EXPECT_EQ(shape.fabric_rate, 10_Gbps);
  EXPECT_EQ(shape.marking_delay, 78_us);  // 97.5 KB at 10 Gbps; less at 40.
  EXPECT_FALSE(shape.is_lossless);
  EXPECT_GT(shape.base_rtt, 12_us);  // Propagation alone.
  EXPECT_LT(shape.base_rtt, 16_us);
  ErrorsOf(Yaml("{kind: fat_tree, k: 4, core_links_per_agg: 3}"));
  EXPECT_EQ(shape.leaf_uplinks, 2u);
  EXPECT_EQ(shape.above_uplinks, 3u);
}

// The delay of a queue follows from the thresholds that mark. Here: DCTCP's K, DCQCN's 1 and 4 KB
// per Gbps, and a fifth and four fifths of Ultra Ethernet's bandwidth-delay product.
TEST(LoadBalancerTest, IsToldWhenQueuesAreMarked) {
  LoadBalancers().Add<Picky>({"picky", "Is for two tiers.", "This test"});
  const FabricShape& shape = Picky::shape;
  const auto load = [](const std::string& transport) {
    EXPECT_EQ(ErrorsOf(Yaml(kLeafSpine, transport)), "");
  };
  load("dctcp");
  EXPECT_EQ(shape.marking_delay, 78_us);
  EXPECT_EQ(shape.all_marked_delay, 78_us);
  EXPECT_TRUE(shape.is_ecn_capable);
  load("rocev2");
  EXPECT_EQ(shape.marking_delay, 8_us);
  EXPECT_EQ(shape.all_marked_delay, 32_us);
  load("{kind: rocev2, cc: swift}");
  EXPECT_EQ(shape.marking_delay, 78_us);
  load("uet");
  EXPECT_GT(shape.marking_delay, shape.base_rtt / 5);
  EXPECT_LT(shape.marking_delay, shape.base_rtt / 2);
  EXPECT_LT(shape.all_marked_delay, shape.base_rtt * 6 / 5);
  load("{kind: tcp, ecn: off}");
  EXPECT_EQ(shape.marking_delay, 78_us);
  EXPECT_FALSE(shape.is_ecn_capable);
}

TEST(LoadBalancerTest, EachSaysWhereItComesFrom) {
  for (const std::string& name : LoadBalancers().Names()) {
    EXPECT_FALSE(LoadBalancers().InfoOf(name).source.empty()) << name;
  }
}

}  // namespace heddle::load_balancer_test
