// SPDX-License-Identifier: Apache-2.0
// Each load balancer asks switches and hosts only for the hooks that it needs. An unneeded hook
// makes every packet slower: one for the fate of packets takes a switch off its fast path.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/lb_bench.h"

namespace heddle::hooks_test {

using S = SwitchPolicy;
using H = HostPolicy;

struct Row {
  std::string lb;
  uint32_t at_switch;
  std::optional<uint32_t> at_host;  // Nothing: it has no policy there.
};

const std::vector<Row> kRows = {
    {"aac", S::kEveryPacket | S::kEnqueue, {}},
    {"ag", S::kEveryPacket | S::kEnqueue | S::kPrefetch, {}},
    {"amr", S::kLastUplink | S::kNextHops | S::kTransmit, {}},
    {"{kind: amr, period: off}", S::kLastUplink | S::kNextHops, {}},
    {"aps", S::kLastUplink, {}},
    {"best_nexthop", S::kEveryPacket | S::kEnqueue | S::kTransmit | S::kPrefetch, {}},
    {"burstbalancer", S::kLastUplink, {}},
    {"clove_ecn", 0, H::kFlows | H::kSend | H::kSendAck | H::kData | H::kAck},
    {"{kind: clove_ecn, mask_ecn: true}", 0,
     H::kFlows | H::kSend | H::kSendAck | H::kData | H::kAck | H::kEcho},
    {"clove_int", S::kTransmit, H::kFlows | H::kSend | H::kSendAck | H::kData | H::kAck},
    {"conga", S::kEveryPacket | S::kEnqueue | S::kTransmit | S::kPrefetch, {}},
    {"conweave", S::kEveryPacket | S::kEnqueue, {}},
    {"drb", 0, H::kFlows | H::kSend | H::kSendAck},
    {"drill", S::kNextHops, {}},
    {"{kind: drill, visible_after: 1us}", S::kNextHops | S::kEnqueue, {}},
    {"{kind: drill, components: false}", 0, {}},
    {"ecmp", 0, {}},
    {"ecmp_ar", 0, {}},
    {"ethereal", 0, H::kFlows | H::kSend | H::kLoss},
    {"flare", S::kLastUplink, {}},
    {"{kind: flare, shares: capacity}", S::kLastUplink | S::kNextHops, {}},
    {"flb", S::kEveryPacket | S::kEnqueue | S::kTransmit, {}},
    {"{kind: flb, rate_control: true}", S::kEveryPacket | S::kEnqueue | S::kTransmit, 0},
    {"flowbender", 0, H::kFlows | H::kSend | H::kAck | H::kLoss},
    {"hedera", S::kEveryPacket | S::kEnqueue, {}},
    {"hermes", 0, H::kFlows | H::kSend | H::kSendAck | H::kAck | H::kLoss},
    {"hula", S::kEveryPacket | S::kTransmit, {}},
    {"letflow", S::kLastUplink, {}},
    {"lq", 0, {}},
    {"lq_bw", S::kTransmit, {}},
    {"lq_flowlet", S::kLastUplink | S::kPrefetch, {}},
    {"lq_quant", 0, {}},
    {"luopan", S::kEveryPacket | S::kEnqueue | S::kPrefetch, {}},
    {"mlab", S::kEveryPacket, {}},
    {"p2c", 0, {}},
    {"pdlb", 0, H::kFlows | H::kSend | H::kSendAck | H::kAck},
    {"plb", 0, H::kFlows | H::kSend | H::kAck | H::kLoss},
    {"presto", 0, H::kFlows | H::kSend},
    {"proteus", S::kEveryPacket | S::kEnqueue | S::kTransmit, {}},
    {"qdaps", S::kLastUplink, {}},
    {"reps", 0, H::kFlows | H::kSend | H::kSendAck | H::kAck | H::kLoss},
    {"rlb", S::kEveryPacket | S::kLastUplink, {}},
    {"{kind: rlb, inner: presto}", S::kEveryPacket, H::kFlows | H::kSend},
    {"rps", 0, {}},
    {"{kind: rps, weights: capacity}", S::kNextHops, {}},
    {"{kind: rps, selective_red: true}", S::kEveryPacket | S::kNextHops | S::kEnqueue, {}},
    {"rr_dst", 0, {}},
    {"rr_pkt", 0, {}},
    {"switch_ar", 0, {}},
    {"tdlb", S::kEveryPacket | S::kEnqueue | S::kTransmit, {}},
    {"tr", S::kEveryPacket | S::kEnqueue, {}},
    {"wcmp", S::kNextHops, {}},
};

TEST(BalancersHooksTest, AreThoseThatTheirSettingsNeed) {
  for (const auto& [lb, at_switch, at_host] : kRows) {
    SCOPED_TRACE(lb);
    const Chosen<LoadBalancer> balancer = BalancerFrom(lb);
    EXPECT_EQ(balancer.settings->ForSwitch(0, 1).hooks(), at_switch);
    const HostPolicyPtr host = balancer.settings->ForHost(0, 1);
    ASSERT_EQ(host != nullptr, at_host.has_value());
    EXPECT_EQ(host.hooks(), at_host.value_or(0));
  }
}

}  // namespace heddle::hooks_test
