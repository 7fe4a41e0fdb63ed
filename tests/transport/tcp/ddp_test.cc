// SPDX-License-Identifier: Apache-2.0
// RoCE with NICs that place packets out of order: reordering costs nothing, a loss costs a timeout.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::ddp_test {

const std::string kDdp = "{kind: rocev2, cc: none, recovery: ddp}";
constexpr Channel kLink{100_Gbps, 1_us};

// Spines of different delay: packets of the fast ones overtake many others.
Graph Uneven() {
  return LeafSpineFrom(
      "{leaves: 2, spines: 4, hosts_per_leaf: 1, host_link: {rate: 100Gbps, delay: 1us}, "
      "fabric_link: {rate: 100Gbps, delay: 1us}, asymmetry: [{spines: [3], delay: 6us}]}");
}

TEST(DdpTest, ALoneFlowTakesItsPipelineTime) {
  Lab lab({.graph = Line(4, kLink), .transport = kDdp});
  lab.AddFlow(0, 1, 1'024'000);
  lab.Run();
  // 1000 packets of 1024 + 78 + 20 bytes; the last one waits for 999 others at the first link.
  const Duration packet = SerializationDelay(1'122_B, 100_Gbps);
  EXPECT_EQ(FctRx(lab.Record(0)), packet * (1'000 + 3) + 4_us);
}

TEST(DdpTest, OvertakenPacketsAreNotSentAgain) {
  for (const std::string balancer : {"rps", "rr_pkt", "oblivious", "mixed"}) {
    SCOPED_TRACE(balancer);
    Lab lab(
        {.graph = Uneven(), .transport = kDdp, .balancer = fmt::format("{{kind: {}}}", balancer)});
    lab.AddFlow(0, 1, 1'024'000);
    lab.Run();
    const FlowRecord& record = lab.Record(0);
    ASSERT_TRUE(lab.finished());
    EXPECT_GT(record.receiver.reordered_net, 0);
    EXPECT_EQ(record.sender.retransmissions, 0);
    EXPECT_EQ(record.sender.nacks, 0);
    // All but the last packets arrive as fast as the host's link lets them.
    const Duration packet = SerializationDelay(1'122_B, 100_Gbps);
    EXPECT_LE(FctRx(record), packet * (1'000 + 3) + 4_us + 10_us);
  }
}

// 20 packets by four spines in turn change their path up to 19 times, those of a hash never.
TEST(DdpTest, PathsAndTheirChangesAreCounted) {
  for (const std::string balancer : {"rr_pkt", "ecmp"}) {
    Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 4, hosts_per_leaf: 1, host_link: {rate: "
                                    "100Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: "
                                    "1us}}"),
             .transport = kDdp,
             .balancer = fmt::format("{{kind: {}}}", balancer)});
    lab.AddFlow(0, 1, 20 * 1'024);
    lab.Run();
    const ReceiverRecord& receiver = lab.Record(0).receiver;
    EXPECT_EQ(receiver.paths_used, balancer == "ecmp" ? 1 : 4);
    if (balancer == "ecmp") {
      EXPECT_EQ(receiver.path_switches, 0);
    } else {
      EXPECT_GE(receiver.path_switches, 10);
      EXPECT_LE(receiver.path_switches, 19);
    }
    EXPECT_EQ(receiver.hops, 4);
  }
}

// However many paths there are.
TEST(DdpTest, EachOfManyPathsIsCountedOnce) {
  Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 130, hosts_per_leaf: 1, host_link: {rate: "
                                  "100Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: "
                                  "1us}}"),
           .transport = kDdp,
           .balancer = "{kind: rr_pkt}"});
  lab.AddFlow(0, 1, 600 * 1'024);
  lab.Run();
  EXPECT_EQ(lab.Record(0).receiver.paths_used, 130);
}

// Packet 5 comes behind packet 8: three sequence numbers late.
TEST(DdpTest, LateSequenceNumbersAreMeasuredFromTheHighest) {
  Lab lab({.graph = Line(2, kLink),
           .transport = kDdp,
           .switch_policy = Scripted({LetPassAt(0, Data(0, 5), 3).Times(1)})});
  lab.AddFlow(0, 1, 20 * 1'024);
  lab.Run();
  EXPECT_EQ(lab.Record(0).receiver.reordered_seq, 1);
  EXPECT_EQ(lab.Reordering().behind.count(), 1);
  EXPECT_EQ(lab.Reordering().behind.max(), 3);
}

// Each lost packet is sent again once, a timeout after it was sent. Nothing limits what is in
// flight, so the receiver's window must hold the rest of the flow.
TEST(DdpTest, ALossCostsOneTimeout) {
  const LinkEvent lossy{.at = Time{}, .link = 1, .up = {}, .rate = {}, .delay = {}, .loss = 0.02};
  const LinkEvent sound{
      .at = Time{} + 100_us, .link = 1, .up = {}, .rate = {}, .delay = {}, .loss = 0};
  Lab lab({.graph = Line(4, kLink),
           .transport = "{kind: rocev2, cc: none, recovery: ddp, ddp_window: 4MB}",
           .events = {lossy, sound}});
  lab.AddFlow(0, 1, 1'024'000);
  lab.Run(Time{} + 100_ms);
  ASSERT_TRUE(lab.finished());
  const FlowRecord& record = lab.Record(0);
  EXPECT_GT(record.sender.retransmissions, 0);
  EXPECT_EQ(record.sender.retransmissions_spurious, 0);
  EXPECT_EQ(record.receiver.duplicates, 0);
  EXPECT_LE(FctRx(record), 100_us + 320_us + 20_us);
}

TEST(DdpTest, AThresholdFindsLossesBeforeTheTimeout) {
  const LinkEvent lossy{.at = Time{}, .link = 1, .up = {}, .rate = {}, .delay = {}, .loss = 0.02};
  Lab lab({.graph = Line(4, kLink),
           .transport = "{kind: rocev2, cc: none, recovery: ddp, ddp_loss: threshold, "
                        "nack_threshold: 3}",
           .events = {lossy}});
  lab.AddFlow(0, 1, 1'024'000);
  lab.Run(Time{} + 100_ms);
  ASSERT_TRUE(lab.finished());
  EXPECT_GT(lab.Record(0).sender.fast_retransmits, 0);
}

// The receiver places packets only within its window, so the sender sends no further.
TEST(DdpTest, NoPacketIsSentBeyondTheWindow) {
  Lab lab({.graph = Uneven(),
           .transport = "{kind: rocev2, cc: none, recovery: ddp, ddp_window: 4KB}",
           .balancer = "{kind: rr_pkt}"});
  lab.AddFlow(0, 1, 200'000);
  lab.Run(Time{} + 100_ms);
  ASSERT_TRUE(lab.finished());
  EXPECT_EQ(lab.Record(0).receiver.discarded, 0);
  EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
}

// The first packet is lost. Until it times out, the sender sends those within the receiver's
// window, which begins with the missing one. Returns how many.
int64_t WindowOf(int64_t packets, const std::string& window) {
  Lab lab({.graph = Line(2, kLink),
           .transport = "{kind: rocev2, cc: none, recovery: ddp, ddp_rto: 10ms" + window + "}",
           .switch_policy = Scripted({DropAt(0, Data(0, 0)).Times(1)})});
  lab.AddFlow(0, 1, packets * 1'024);
  lab.Run(Time{} + 5_ms);
  return lab.network().host(0).data_sent();
}

TEST(DdpTest, TheWindowIsCountedInPacketsThatHaveBegun) {
  for (const auto& [bytes, packets] : std::vector<std::pair<int, int>>{
           {1, 1}, {1'023, 1}, {1'024, 1}, {1'025, 2}, {10'240, 10}, {10'241, 11}}) {
    EXPECT_EQ(WindowOf(200, fmt::format(", ddp_window: {}B", bytes)), packets) << bytes;
  }
}

// 4 us of propagation and 1024 bytes over each of two links are 52,048 bytes at 100 Gbps; twice
// that needs 102 packets.
TEST(DdpTest, TheUsualWindowIsTwoBandwidthDelayProducts) { EXPECT_EQ(WindowOf(200, ""), 102); }

// However large it is set: the number of held packets has 14 bits.
TEST(DdpTest, TheWindowHasAtMost16384Packets) {
  EXPECT_EQ(WindowOf(16'400, ", ddp_window: 1GB"), 16'384);
}

// Packet 0 is sent at time 0, and again when its timeout has passed. A round trip is 4 links of
// 40 us, a packet of 1122 bytes over two of them and an ACK of 84 bytes over the others.
TEST(DdpTest, TheTimeoutIsThreeRoundTripsUnlessSet) {
  const auto sent_again = [](Duration delay, const std::string& more) {
    std::vector<Time> sent;
    const auto note = [&](const SwitchView&, const Packet& packet) { sent.push_back(packet.sent); };
    Lab lab({.graph = Line(2, {100_Gbps, delay}),
             .transport = "{kind: rocev2, cc: none, recovery: ddp" + more + "}",
             .switch_policy =
                 Scripted({WatchAt(0, Data(0, 0), note), DropAt(0, Data(0, 0)).Times(1)})});
    lab.AddFlow(0, 1, 3'000);
    lab.Run();
    EXPECT_EQ(sent.size(), 2u);
    return sent.back() - Time{};
  };
  const Duration round_trip =
      160_us + 2 * (SerializationDelay(1'122_B, 100_Gbps) + SerializationDelay(84_B, 100_Gbps));
  EXPECT_EQ(sent_again(40_us, ""), 3 * round_trip);
  EXPECT_EQ(sent_again(1_us, ""), 320_us);  // At least.
  EXPECT_EQ(sent_again(40_us, ", ddp_rto: 1ms"), 1_ms);
}

// Headers of trimmed packets ask for their packets at once. With IRN other packets beyond the hole
// may begin a recovery as well, which sends some packets twice.
TEST(DdpTest, TrimmedPacketsAreRepairedWithoutTimeouts) {
  for (const std::string recovery : {"ddp, ddp_window: 1MB", "irn"}) {
    SCOPED_TRACE(recovery);
    Lab lab({.graph = Star(5, kLink),
             .transport = fmt::format("{{kind: rocev2, cc: none, recovery: {}}}", recovery),
             .port = "{buffer: unlimited, ecn_above: unlimited, trim: {when: port}}"});
    for (HostId src = 0; src < 4; ++src) lab.AddFlow(src, 4, 200'000);
    lab.Run(Time{} + 100_ms);
    ASSERT_TRUE(lab.finished());
    int64_t trimmed = 0;
    for (const FlowRecord& record : lab.records()) {
      trimmed += record.receiver.trimmed;
      EXPECT_EQ(record.sender.timeouts, 0) << Describe(record);
      if (recovery == "irn") continue;
      EXPECT_EQ(record.sender.retransmissions, record.receiver.trimmed);
      EXPECT_EQ(record.receiver.duplicates, 0);
    }
    EXPECT_GT(trimmed, 0);
  }
}

}  // namespace heddle::ddp_test
