// SPDX-License-Identifier: Apache-2.0
// These tests break a network for a while, by failures, longer paths, pauses or slower links. They
// check when each transport sends again, how many timeouts it counts, and that all flows end.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/support/experiment_kit.h"

namespace heddle::healed_network_test {

// Hosts on one switch, at 10 Gbps and 1 us. Flow i leads from host i to the last one.
std::string OneSwitch(int senders, int64_t bytes, const std::string& transport,
                      const std::string& schedule, const std::string& port = "{}") {
  std::string links;
  for (int host = 0; host <= senders; ++host) {
    links += fmt::format("{{a: host{}, b: s0}}, ", host);
  }
  return fmt::format(
      "topology: {{kind: custom, hosts: {}, switches: [{{name: s0}}], link: {{rate: 10Gbps, "
      "delay: 1us}}, links: [{}], port: {}}}\nlb: ecmp\ntransport: {}\n"
      "workload: [{{kind: incast, fan_in: {}, receiver: {}, bytes_each: {}B, queries: 1}}]\n"
      "measure: {{t_max: 2s}}\nschedule: [{}]\n",
      senders + 1, links, port, transport, senders, senders, bytes, schedule);
}

CsvTable FlowsOf(const std::string& yaml) {
  return CsvTable(RunExperiment(ExperimentFrom(yaml)).files.flows);
}

// The path back loses the ACKs of the first packets and has become slow, so the sender times out
// and sends packet 0 again. The ACK of a later original then acknowledges all that it has sent
// since, and no other ACK will come to release a packet.
TEST(HealedNetworkTest, MpRdmaGoesOnAfterAnAckOfAnEarlierCopy) {
  const CsvTable flows =
      FlowsOf(OneSwitch(1, 20'480, "{kind: mprdma, rto: 100us}",
                        "{at: 2us, links: [host1-s0], delay: 200us}, "
                        "{at: 2us, links: [host1-s0], direction: up, state: down, silent: true}, "
                        "{at: 208us, links: [host1-s0], direction: up, state: up, silent: true}, "
                        "{at: 1ms, links: [host1-s0], delay: 1us}"));
  EXPECT_EQ(flows.At(0, "finished"), "1");
  EXPECT_LT(flows.Real(0, "fct_tx_ns"), 3e6);
}

// From 300 us on, the round trip takes 606 us and more. RFC 6298 by hand: timeouts 200 and 400 us
// after each other, then the timer is at 800 us, and stays there until a segment sent once has been
// acknowledged. Had any ACK of new data ended the backoff, there were hundreds of timeouts.
TEST(HealedNetworkTest, TcpKeepsItsBackoffUntilItHasANewSample) {
  const CsvTable flows = FlowsOf(OneSwitch(1, 1'460'000, "{kind: tcp, min_rto: 200us}",
                                           "{at: 300us, links: [host0-s0], delay: 300us}"));
  EXPECT_GE(flows.Real(0, "rto"), 2);
  EXPECT_LE(flows.Real(0, "rto"), 3);
  EXPECT_EQ(flows.Real(0, "retx_loss"), 0);
}

// The receiver's link slows down to 1 Mbps for 300 ms, and PFC stops both senders meanwhile: at
// most 36 packets leave. Each timeout needs one that has left since the timeout before.
void ExpectFewTimeouts(const std::string& transport, int data_class) {
  SCOPED_TRACE(transport);
  const std::string port =
      fmt::format("{{buffer: 200KB, pfc: {{classes: [{}], xoff: 10KB}}}}", data_class);
  const CsvTable flows = FlowsOf(OneSwitch(2, 300'000, transport,
                                           "{at: 50us, links: [host2-s0], rate: 1Mbps}, "
                                           "{at: 300ms, links: [host2-s0], rate: 10Gbps}",
                                           port));
  for (size_t flow = 0; flow < 2; ++flow) {
    EXPECT_EQ(flows.At(flow, "finished"), "1");
    EXPECT_GT(flows.Real(flow, "pause_blocked_ns"), 1e8);
    EXPECT_LE(flows.Integer(flow, "rto"), 36);
    EXPECT_EQ(flows.Integer(flow, "retx_loss"), 0);
  }
}

TEST(HealedNetworkTest, NoTimeoutCountsWhileNothingIsSent) {
  ExpectFewTimeouts("{kind: rocev2, cc: none, recovery: irn}", 3);
  ExpectFewTimeouts("{kind: rocev2, cc: none, recovery: gbn, rto: 1ms}", 3);
  ExpectFewTimeouts("{kind: rocev2, cc: none, recovery: sr, rto: 1ms}", 3);
  ExpectFewTimeouts("{kind: mprdma, rto: 400us}", 3);
  ExpectFewTimeouts("{kind: tcp, min_rto: 1ms, control_priority: 0}", 1);
}

// --- Rates of a NIC that change ---

double MillisecondsOf(const std::string& transport, const std::string& before,
                      const std::string& after) {
  const CsvTable flows = FlowsOf(OneSwitch(1, 1'000'000, transport,
                                           fmt::format("{{at: 0ps, links: [host0-s0], rate: {}}}, "
                                                       "{{at: 100us, links: [host0-s0], rate: {}}}",
                                                       before, after)));
  return flows.Real(0, "fct_rx_ns") / 1e6;
}

// 977 packets of 1106 bytes on the wire take 8.848 us each at 1 Gbps. What a NIC has begun to send
// it ends at the old rate.
TEST(HealedNetworkTest, PacingFollowsTheRateOfTheNic) {
  // Six packets take 106 us, the others leave at the line rate.
  EXPECT_NEAR(MillisecondsOf("{kind: rocev2, cc: none, line_rate: 1Gbps}", "500Mbps", "10Gbps"),
              0.106 + 971 * 8.848e-3, 0.01);
  EXPECT_NEAR(MillisecondsOf("{kind: rocev2, cc: none}", "500Mbps", "10Gbps"),
              0.106 + 971 * 0.8848e-3, 0.01);
  // Two packets.
  EXPECT_NEAR(MillisecondsOf("{kind: rocev2, cc: dcqcn}", "100Mbps", "10Gbps"),
              0.177 + 975 * 0.8848e-3, 0.01);
  // A pause of the line does not change a rate that is set: 2 Gbps, of which 100 us at half of it.
  EXPECT_NEAR(MillisecondsOf("{kind: rocev2, cc: {kind: none, rate: 2Gbps}}", "1Gbps", "10Gbps"),
              0.106 + 965 * 4.424e-3, 0.02);
  // 113 packets.
  EXPECT_NEAR(MillisecondsOf("{kind: rocev2, cc: none}", "10Gbps", "1Gbps"), 0.1 + 864 * 8.848e-3,
              0.02);
}

}  // namespace heddle::healed_network_test
