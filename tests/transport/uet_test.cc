// SPDX-License-Identifier: Apache-2.0
// Flows of the Ultra Ethernet transport: lone ones to the picosecond, and what losses, trimming and
// reordering do to them.

#include "transport/uet.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/lab.h"

namespace heddle {
namespace {

const std::string kUet = "{kind: uet, framing: uet_htsim}";
const std::string kTrims =
    "{buffer: unlimited, ecn_above: unlimited, marking: red, red: {min: 37350B, max: 145250B, "
    "probability: 1}, trim: {when: port}}";
constexpr Channel kLink{100_Gbps, 1_us};

// The packets of class 0 that reached the sender: its ACKs.
int64_t AcksOf(const Lab& lab) { return lab.Packets().control_sent; }

struct LoneFlow {
  size_t links;
  std::string ack_bytes;
  Duration rx;
  Duration tx;
  int64_t acks;
};

TEST(UetTest, ALoneFlowTakesTheTimeComputedByHand) {
  const std::vector<LoneFlow> flows = {
      {6, "16384B", 170'168'800_ps, 176'199'520_ps, 124},
      {6, "4000B", 170'168'800_ps, 176'199'520_ps, 490},
      {4, "16384B", 167'504'800_ps, 171'525'280_ps, 124},
  };
  for (const LoneFlow& flow : flows) {
    for (const std::string& port : {kTrims, std::string("{buffer: unlimited}")}) {
      SCOPED_TRACE(fmt::format("{} links, {} per ACK, {}", flow.links, flow.ack_bytes, port));
      Lab lab({.graph = Line(flow.links, kLink),
               .transport =
                   fmt::format("{{kind: uet, framing: uet_htsim, ack_bytes: {}}}", flow.ack_bytes),
               .port = port});
      lab.AddFlow(0, 1, 2'000'000);
      lab.Run();
      const FlowRecord& record = lab.Record(0);
      EXPECT_EQ(FctRx(record), flow.rx);
      EXPECT_EQ(FctTx(record), flow.tx);
      EXPECT_EQ(record.sender.packets, 490);
      EXPECT_EQ(record.sender.packets_sent, 490);
      EXPECT_EQ(record.sender.timeouts, 0);
      EXPECT_EQ(AcksOf(lab), flow.acks);
    }
  }
}

// All senders begin with 1.5 bandwidth-delay products, which the receiver's link cannot take. Every
// packet is acknowledged: a sender whose window has shrunk would wait in vain for a coalesced ACK.
TEST(UetTest, AnIncastIsTrimmedAndRepairedWithoutTimeouts) {
  Lab lab({.graph = Star(9, kLink),
           .transport = "{kind: uet, framing: uet_htsim, ack_bytes: 1B}",
           .port = kTrims});
  for (HostId src = 0; src < 8; ++src) lab.AddFlow(src, 8, 500'000);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  int64_t trimmed = 0;
  int64_t repairs = 0;
  for (const FlowRecord& record : lab.records()) {
    EXPECT_EQ(record.sender.timeouts, 0) << Describe(record);
    EXPECT_EQ(record.sender.nacks, record.receiver.trimmed);
    EXPECT_EQ(record.receiver.trimmed_last_hop, record.receiver.trimmed);
    EXPECT_EQ(record.sender.retransmissions, record.receiver.trimmed);
    EXPECT_EQ(record.sender.retransmissions_spurious, 0);
    trimmed += record.receiver.trimmed;
    repairs += record.sender.retransmissions;
  }
  EXPECT_GT(trimmed, 0);
  EXPECT_EQ(repairs, trimmed);
  EXPECT_EQ(lab.Packets().trimmed, trimmed);
}

// Packets of one flow on paths of different length: nothing is sent again.
TEST(UetTest, ReorderingCausesNoRepair) {
  Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 4, hosts_per_leaf: 1, host_link: {rate: 100Gbps, delay: 1us}, "
      "fabric_link: {rate: 100Gbps, delay: 1us}, asymmetry: [{spines: [3], delay: 6us}]}");
  for (const std::string balancer : {"oblivious", "bitmap", "mixed", "reps", "rps", "drill"}) {
    SCOPED_TRACE(balancer);
    Lab lab({.graph = graph,
             .transport = kUet,
             .balancer = fmt::format("{{kind: {}}}", balancer),
             .port = kTrims});
    lab.AddFlow(0, 1, 2'000'000);
    lab.Run();
    const FlowRecord& record = lab.Record(0);
    ASSERT_TRUE(lab.finished());
    EXPECT_GT(record.receiver.paths_used, 1);
    EXPECT_GT(record.receiver.reordered_net, 0);
    EXPECT_EQ(record.sender.retransmissions, 0);
  }
}

// A link damages one packet in a hundred. The flow ends all the same, and repairs are needed ones
// but for a few that a probe or the timeout sends too early.
TEST(UetTest, LossesAreRepairedWithAndWithoutTrimming) {
  for (const std::string& port : {kTrims, std::string("{buffer: unlimited}")}) {
    SCOPED_TRACE(port);
    const LinkEvent lossy{.at = Time{}, .link = 1, .up = {}, .rate = {}, .delay = {}, .loss = 0.01};
    Lab lab({.graph = Line(6, kLink), .transport = kUet, .port = port, .events = {lossy}});
    lab.AddFlow(0, 1, 2'000'000);
    lab.AddFlow(0, 1, 1);
    lab.Run(Time{} + 100_ms);
    ASSERT_TRUE(lab.finished());
    const SenderRecord& sender = lab.Record(0).sender;
    EXPECT_GT(sender.retransmissions, 0);
    EXPECT_GT(sender.retransmissions, sender.retransmissions_spurious);
  }
}

// The link is dead for a while: timeouts and probes go on until it is back.
TEST(UetTest, AFlowSurvivesADeadLink) {
  for (const std::string& port : {kTrims, std::string("{buffer: unlimited}")}) {
    const LinkEvent down{.at = Time{} + 20_us, .link = 1, .up = false, .rate = {}, .delay = {}};
    const LinkEvent up{.at = Time{} + 700_us, .link = 1, .up = true, .rate = {}, .delay = {}};
    Lab lab({.graph = Line(4, kLink), .transport = kUet, .port = port, .events = {down, up}});
    lab.AddFlow(0, 1, 2'000'000);
    lab.Run(Time{} + 100_ms);
    ASSERT_TRUE(lab.finished());
    EXPECT_GT(lab.Record(0).sender.timeouts, 0);
  }
}

std::string AllRecords(const std::string& balancer, int threads) {
  Graph graph = LeafSpineFrom(
      "{leaves: 4, spines: 4, hosts_per_leaf: 4, host_link: {rate: 100Gbps, delay: 1us}, "
      "fabric_link: {rate: 100Gbps, delay: 1us}}");
  Lab lab({.graph = graph,
           .transport = kUet,
           .balancer = fmt::format("{{kind: {}}}", balancer),
           .port = kTrims,
           .threads = threads});
  for (HostId h = 0; h < 16; ++h) lab.AddFlow(h, static_cast<HostId>((h + 5) % 16), 300'000);
  for (HostId h = 1; h < 16; ++h) lab.AddFlow(h, 0, 100'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  std::string all;
  for (const FlowRecord& record : lab.records()) all += Describe(record) + "\n";
  return all;
}

TEST(UetTest, ResultsDoNotDependOnThreads) {
  for (const std::string balancer : {"oblivious", "bitmap", "mixed", "reps"}) {
    const std::string one = AllRecords(balancer, 1);
    EXPECT_EQ(one, AllRecords(balancer, 2)) << balancer;
    EXPECT_EQ(one, AllRecords(balancer, 3)) << balancer;
  }
}

TEST(UetAckTest, SurvivesThePacket) {
  for (const UetAck& ack :
       {UetAck{.expected = 7, .acked = 6, .first = 8},
        UetAck{.expected = 7, .acked = 100, .first = 37, .map = 0x8000'0000'0000'0001, .held = 9},
        UetAck{.expected = 7,
        .acked = 16'390,
        .first = 16'390,
        .map = 1,
        .held = 16'383,
        .holds_last = true}}) {
    Packet packet;
    ack.WriteTo(packet);
    const UetAck read = UetAck::From(packet);
    EXPECT_EQ(read.expected, ack.expected);
    EXPECT_EQ(read.acked, ack.acked);
    EXPECT_EQ(read.first, ack.first);
    EXPECT_EQ(read.map, ack.map);
    EXPECT_EQ(read.held, ack.held);
    EXPECT_EQ(read.holds_last, ack.holds_last);
  }
}

}  // namespace
}  // namespace heddle
