// SPDX-License-Identifier: Apache-2.0
// Datagrams in small networks, to the picosecond.

#include "transport/udp.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::udp_test {

constexpr Duration kTx{1'230'400};  // 1538 bytes at 10 Gbps.

// 1472 bytes of payload in Ethernet's frames, without jitter.
UdpSource Source(uint32_t id, HostId src, HostId dst, BitRate rate, Time stop = kNever) {
  return {.id = id,
          .entry = 0,
          .src = src,
          .dst = dst,
          .sport = static_cast<uint16_t>(5'000 + id),
          .path = kNoPath,
          .priority = 2,
          .payload = Bytes{1'472},
          .packet = Bytes{1'518},
          .wire = Bytes{1'538},
          .rate = rate,
          .pattern = {.jitter = 0},
          .start = Time{},
          .stop = stop,
          .rng = Rng::Stream(1, "test", id)};
}

// The lab runs until a flow of one byte has ended that starts at `end`.
void RunUntil(Lab& lab, HostId src, HostId dst, Time end) {
  lab.AddFlow(src, dst, 1, end);
  lab.Run();
  EXPECT_TRUE(lab.finished());
}

TEST(DatagramBytesTest, CountIpUdpAndTheTransportsFraming) {
  const auto bytes = [](const std::string& transport, int64_t payload) {
    return DatagramBytes(TransportFrom(transport).settings->sizes(), payload);
  };
  EXPECT_EQ(bytes("{kind: dctcp}", 1'472), 1'518);
  EXPECT_EQ(bytes("{kind: dctcp, timestamps: true}", 1'472), 1'518);
  EXPECT_EQ(bytes("{kind: dctcp}", 12), 64);
  EXPECT_EQ(bytes("{kind: dctcp, framing: ip1500}", 1'472), 1'500);
  EXPECT_EQ(bytes("{kind: dctcp, framing: ip1500}", kMinUdpPayload), 40);
  EXPECT_EQ(bytes("{kind: rocev2}", 1'000), 1'046);
  EXPECT_EQ(bytes("{kind: rocev2, framing: ns3_rdma}", 1'000), 1'042);
  EXPECT_EQ(bytes("{kind: rocev2, framing: ip1500}", 1'000), 1'028);
  EXPECT_EQ(bytes("{kind: dctcp, lb_header: 12B}", 1'472), 1'530);
}

TEST(UdpTest, LeavesWhenItsClockSaysAndArrivesWhenTheLinksSay) {
  std::vector<Packet> seen;
  std::vector<Time> at_switch;
  const auto note = [&](const SwitchView& view, const Packet& packet) {
    seen.push_back(packet);
    at_switch.push_back(view.now());
  };
  Lab lab({.graph = Line({{10_Gbps, 1_us}, {40_Gbps, 3_us}}),
           .port = "{buffer: unlimited, ecn_above: 1B}",
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kDatagram), note)}),
           .background = {Source(0, 0, 1, 3_Gbps, Time{} + 1_ms)}});
  RunUntil(lab, 1, 0, Time{} + 2_ms);
  // One every 4101.333 ns, from 0 on, before 1 ms.
  ASSERT_EQ(seen.size(), 244u);
  for (size_t n = 0; n < seen.size(); ++n) {
    const Time due{static_cast<int64_t>(n) * 12'304'000 / 3};
    EXPECT_EQ(seen[n].sent, due);
    EXPECT_EQ(at_switch[n], due + kTx + 1_us);
    EXPECT_EQ(seen[n].seq, n);
    EXPECT_EQ(seen[n].priority, 2);
    EXPECT_EQ(seen[n].flags, 0) << "not ECN-capable, never sent again";
    EXPECT_EQ(seen[n].tuple_hash, TupleHash(0, 1, 5'000, 9));
  }
  const UdpRecord record = lab.network().CollectBackground()[0];
  EXPECT_EQ(record.sent, 244);
  EXPECT_EQ(record.unsent, 0);
  EXPECT_EQ(record.received, 244);
  EXPECT_EQ(record.lost, 0);
  EXPECT_EQ(record.reordered, 0);
  // Each has the network for itself: 1230.4 + 1000 + 307.6 + 3000 ns.
  EXPECT_EQ(record.delay_ps.max(), 5'538'000);
  EXPECT_EQ(record.delay_ps.mean(), 5'538'000);
  EXPECT_EQ(lab.Packets().datagrams_sent, 244);
  EXPECT_EQ(lab.Packets().datagrams_received, 244);
  EXPECT_EQ(lab.Packets().marked, 0);
  // Datagrams are not payload of flows.
  EXPECT_EQ(lab.PortTo(0, 2).Committed().packets, 245);
  EXPECT_EQ(lab.PortTo(0, 2).Committed().payload_bytes, 0);
}

TEST(UdpTest, WaitsForThePacketThatTheNicIsSending) {
  // Two sources that are due together: the second waits for the first, every time.
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .background = {Source(0, 0, 1, 1_Gbps, Time{} + 100_us),
                          Source(1, 0, 1, 1_Gbps, Time{} + 100_us)}});
  RunUntil(lab, 1, 0, Time{} + 1_ms);
  const std::vector<UdpRecord> records = lab.network().CollectBackground();
  for (const UdpRecord& record : records) {
    EXPECT_EQ(record.received, 9);
    EXPECT_EQ(record.delay_ps.max(), (2 * kTx + 2_us).ps) << "counted from the first bit";
  }
}

// Returns the order of packets on a NIC's wire: true for datagrams.
std::vector<bool> OrderAtNic(BitRate rate, Time until) {
  std::vector<bool> order;
  const auto note = [&](const SwitchView& view, const Packet& packet) {
    if (view.now() < until) order.push_back(packet.kind == PacketKind::kDatagram);
  };
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .transport = "{kind: tcp, iw: 1000}",
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kData), note),
                                      WatchAt(0, Anything(PacketKind::kDatagram), note)}),
           .background = {Source(0, 0, 1, rate, until)}});
  lab.AddFlow(0, 1, 1'460'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return order;
}

TEST(UdpTest, TakesTurnsWithFlowsPacketByPacket) {
  // More than its half is ready: every second packet is a datagram, from the start.
  const std::vector<bool> order = OrderAtNic(9_Gbps, Time{} + 500_us);
  ASSERT_GT(order.size(), 300u);
  // Before datagrams have begun to wait, the link is free for two packets of the flow.
  for (size_t i = 20; i < order.size(); ++i) ASSERT_NE(order[i], order[i - 1]) << i;
}

TEST(UdpTest, LeavesToFlowsWhatItDoesNotNeed) {
  const std::vector<bool> order = OrderAtNic(2_Gbps, Time{} + 500_us);
  ASSERT_GT(order.size(), 300u);
  // One in five, and none of them waits for more than a packet.
  EXPECT_NEAR(static_cast<double>(std::ranges::count(order, true)),
              static_cast<double>(order.size()) / 5, 2);
}

TEST(UdpTest, CountsWhatStillWaitsForTheNic) {
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}), .background = {Source(0, 0, 1, 20_Gbps)}});
  RunUntil(lab, 1, 0, Time{} + 1_ms);
  const UdpRecord record = lab.network().CollectBackground()[0];
  const int64_t due = record.sent + record.unsent;
  EXPECT_NEAR(static_cast<double>(record.unsent), static_cast<double>(due) / 2, 1);
  EXPECT_NEAR(static_cast<double>(due), static_cast<double>(lab.end().ps) / 615'200, 2);
}

// Two sources of 60 % of a link each lose a sixth between them.
TEST(UdpTest, LosesWhatALinkCannotCarry) {
  std::vector<UdpSource> sources = {Source(0, 0, 2, 6_Gbps, Time{} + 5_ms),
                                    Source(1, 1, 2, 6_Gbps, Time{} + 6_ms)};
  for (UdpSource& source : sources) source.pattern.jitter = 0.1;
  Lab lab({.graph = Star(3, {10_Gbps, 1_us}),
           .port = "{buffer: 20pkts, ecn_above: unlimited}",
           .background = sources});
  RunUntil(lab, 2, 0, Time{} + 7_ms);
  const std::vector<UdpRecord> records = lab.network().CollectBackground();
  const int64_t missing =
      records[0].sent - records[0].received + records[1].sent - records[1].received;
  EXPECT_EQ(missing, lab.Drops(DropReason::kTail));
  // 2 Gbps for 5 ms is 812.7 datagrams; 20 are buffered in the end.
  EXPECT_NEAR(static_cast<double>(missing), 812.7 - 20, 10);
  // The second goes on alone, so all its gaps show; of the first, those before its last arrival.
  EXPECT_EQ(records[1].lost, records[1].sent - records[1].received);
  EXPECT_GT(records[1].lost, 300);
  EXPECT_LE(records[0].lost, records[0].sent - records[0].received);
  EXPECT_GT(records[0].lost, 300);
}

TEST(UdpTest, CountsThoseThatAreOvertaken) {
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .switch_policy =
               Scripted({LetPassAt(0, Anything(PacketKind::kDatagram), 3).Skip(10).Times(1),
                         DropAt(0, Anything(PacketKind::kDatagram)).Skip(20).Times(2)}),
           .background = {Source(0, 0, 1, 1_Gbps, Time{} + 1_ms)}});
  RunUntil(lab, 1, 0, Time{} + 2_ms);
  const UdpRecord record = lab.network().CollectBackground()[0];
  EXPECT_EQ(record.sent, 82);
  EXPECT_EQ(record.reordered, 1);
  EXPECT_EQ(record.lost, 2);
  EXPECT_EQ(record.received, 80);
}

TEST(UdpTest, IsLostWithTheLinkOfItsHost) {
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .background = {Source(0, 0, 1, 1_Gbps, Time{} + 1_ms)},
           .events = {{Time{} + 100_us, 0, false, {}, {}}, {Time{} + 500_us, 0, true, {}, {}}}});
  RunUntil(lab, 1, 0, Time{} + 2_ms);
  const UdpRecord record = lab.network().CollectBackground()[0];
  // Due at k * 12.304 us: by the failure 0 .. 7 have arrived, and 8 is on its way; 41 .. 81 follow
  // the repair.
  EXPECT_EQ(record.sent, 82);
  EXPECT_EQ(record.received, 8 + 41);
  EXPECT_EQ(record.lost, 33);
  EXPECT_EQ(lab.Drops(DropReason::kLinkDown), 33);
}

}  // namespace heddle::udp_test
