// SPDX-License-Identifier: Apache-2.0
// If a policy says that it only_chooses(), a leaf may send packets to hosts on short links ahead of
// what these hosts send. These tests fail for a policy that says so, but does more, and for a
// host's policy that sends packets without saying so (sends_packets).

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/conformance/tested_policies.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"

namespace heddle::every_policy_at_short_links_test {

using Ports = NetworkPlan::Ports;

const std::string kFabric =
    "{kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 4, host_link: {rate: 10Gbps, delay: "
    "25ns}, fabric_link: {rate: 10Gbps, delay: 1us}}";

class EveryPolicyAtShortLinksTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, EveryPolicyAtShortLinksTest, testing::ValuesIn(TestedPolicies()));

// Runs flows that mostly leave their leaf. Queues are short, so that packets are lost.
std::vector<FlowRecord> RecordsOf(const std::string& lb, Ports ports) {
  constexpr HostId kHosts = 12;
  Lab lab({.graph = GraphFrom(kFabric),
           .transport = "{kind: dctcp, min_rto: 200us}",
           .balancer = "{kind: " + lb + "}",
           .port = "{buffer: 12pkts, ecn_above: 5pkts}",
           .ports = ports});
  Rng rng = Rng::Stream(1, "flows at short links", 0);
  Time start;
  for (int i = 0; i < 150; ++i) {
    const HostId src = static_cast<HostId>(rng.Below(kHosts));
    const HostId step = static_cast<HostId>(rng.Below(10) == 0 ? 1 : 4 + rng.Below(4));
    lab.AddFlow(src, static_cast<HostId>((src + step) % kHosts), 1 + rng.Below(60'000), start);
    start += Duration{1'000} * rng.Below(40'000);
  }
  lab.Run();
  return lab.records();
}

// At eager ports, a leaf sends nothing ahead of time.
TEST_P(EveryPolicyAtShortLinksTest, IsTheSameAsAtEagerPorts) {
  const std::string yaml = "topology: " + kFabric + "\ntransport: dctcp\nlb: " + GetParam() +
                           "\nworkload: [{kind: permutation, size: 1KB}]\n";
  if (const std::string errors = ErrorsOf(yaml); !errors.empty()) {
    EXPECT_NE(errors.find(": lb"), std::string::npos) << errors;
    GTEST_SKIP() << "refused";
  }
  const std::vector<FlowRecord> records = RecordsOf(GetParam(), Ports::kCheapest);
  const std::vector<FlowRecord> expected = RecordsOf(GetParam(), Ports::kEager);
  ASSERT_EQ(records.size(), expected.size());
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].sender.done, expected[i].sender.done) << "flow " << i;
    EXPECT_EQ(records[i].sender.packets_sent, expected[i].sender.packets_sent) << "flow " << i;
  }
}

}  // namespace heddle::every_policy_at_short_links_test
