// SPDX-License-Identifier: Apache-2.0
// Tests the headers of RDMA transports. A packet of any kind names its flow, the flow's hosts and
// the hash of its ports, by which ECMP chooses paths; it has the size that the framing gives to its
// kind.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabric/host_policy.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::packet_headers_test {

using Sizes = std::map<PacketKind, int>;

struct Case {
  std::string transport;
  Sizes sizes;  // Expected sizes of control packets, by kind.
  bool trims = false;
};

// Notifications tell the receiver's load balancer the path of the packet that caused them; there is
// only path 0.
struct Notified final : HostPolicy {
  void OnSendCnp(HostView&, uint16_t taken, Packet&) override { EXPECT_EQ(taken, 0); }
  size_t StateBytes() const override { return 0; }
};

TEST(PacketHeadersTest, NameTheFlowAndItsHosts) {
  const std::string framing =
      "framing: {payload: 1000B, header: 62B, ack: 70B, nack: 90B, cnp: "
      "80B}, rto: 200us";
  const std::string roce =
      "{kind: rocev2, cc: {kind: dcqcn, cnp_interval: 0us}, " + framing + ", recovery: ";
  const Sizes all = {{PacketKind::kAck, 70}, {PacketKind::kNack, 90}, {PacketKind::kCnp, 80}};
  const std::vector<Case> cases = {
      {roce + "gbn}", all},
      {roce + "irn}", all},
      {roce + "sr}", all},
      {roce + "ddp, ddp_rto: 100us}", all, true},
      {"{kind: mprdma, beyond: nack, " + framing + "}",
       {{PacketKind::kAck, 70}, {PacketKind::kNack, 90}}},
      {"{kind: uet, rto: 200us}",  // Probes and their answers.
       {{PacketKind::kAck, 64}, {PacketKind::kSyn, 64}, {PacketKind::kSynAck, 64}}},
      {"{kind: uet, cc: nscc, receiver: rccc}",  // Pulls and requests to send.
       {{PacketKind::kAck, 64},
        {PacketKind::kNack, 64},
        {PacketKind::kCnp, 64},
        {PacketKind::kSyn, 64}},
       true}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.transport);
    const FlowSpec spec{
        .src = 0, .dst = 1, .sport = 1'111, .dport = 2'222, .size = 1'000'000, .start = {}};
    Sizes sizes;
    const auto check = [&](const SwitchView&, const Packet& packet) {
      const bool there = packet.kind == PacketKind::kData || packet.kind == PacketKind::kSyn;
      EXPECT_EQ(packet.flow, 0u);
      EXPECT_EQ(packet.src, there ? 0u : 1u);
      EXPECT_EQ(packet.dst, there ? 1u : 0u);
      EXPECT_EQ(packet.tuple_hash,
                there ? TupleHash(0, 1, 1'111, 2'222) : TupleHash(1, 0, 2'222, 1'111));
      if (packet.kind == PacketKind::kData) return;
      EXPECT_EQ(sizes.try_emplace(packet.kind, packet.bytes).first->second, packet.bytes);
    };
    const Match data = Anything(PacketKind::kData);
    Lab lab({.graph = Line({{100_Gbps, 1_us}, {c.trims ? 40_Gbps : 100_Gbps, 1_us}}),
             .transport = c.transport,
             .port = c.trims ? "{buffer: 20KB, ecn_above: 8KB, trim: {when: port}}"
                             : "{buffer: unlimited}",
             .switch_policy =
                 Scripted({WatchAt(0, Anything(), check), MarkAt(0, WithProbability(0.03, 1, data)),
                           DropAt(0, Data(0, 244)).Times(1),  // The last one of UET.
                           DropAt(0, WithProbability(0.01, 2, data))}),
             .host_policy = [](HostId) { return std::make_unique<Notified>(); }});
    lab.AddFlow(spec);
    lab.Run(Time{} + 1_s);
    EXPECT_TRUE(lab.finished());
    EXPECT_EQ(sizes, c.sizes);
  }
}

}  // namespace heddle::packet_headers_test
