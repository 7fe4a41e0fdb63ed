// SPDX-License-Identifier: Apache-2.0
// Incasts with receiver-driven congestion control (RCCC): the only trimmed packets are those sent
// before the first answer. Also oversubscribed fabrics, and the NACKs of the last hop.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/rccc_kit.h"
#include "tests/support/scripted_policy.h"

namespace heddle::rccc_incast_test {

using rccc::kBoth;
using rccc::kCreditAlone;
using rccc::kLink;
using rccc::kTrims;
using rccc::LineTime;

// The transport with more settings.
std::string With(const std::string& transport, const std::string& more) {
  return transport.substr(0, transport.size() - 1) + ", " + more + "}";
}

// --- Incasts ---

struct Incast {
  std::vector<FlowRecord> records;
  std::map<Time, int64_t> trimmed;  // At multiples of 10 us,
  std::map<Time, int64_t> arrived;  // and the payload at the receiver.
  int64_t trimmed_in_all = 0;
  int64_t longest_queue = 0;  // In packets, from `settled` on.
  int64_t marked = 0;

  static constexpr Duration kSettled = 1'000_us;

  Incast(const std::string& transport, HostId senders, int64_t size, const std::string& port) {
    const auto watch = [&](const SwitchView& view, const Packet&) {
      if (view.now() < Time{} + kSettled) return;
      longest_queue = std::max(longest_queue, view.QueuedPackets(senders));
    };
    Lab lab({.graph = Star(static_cast<size_t>(senders) + 1, kLink),
             .transport = transport,
             .port = port,
             .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kData), watch)})});
    for (HostId h = 0; h < senders; ++h) lab.AddFlow(h, senders, size);
    lab.SampleEvery(10_us, [&](Time now) {
      trimmed[now] = lab.Packets().trimmed;
      arrived[now] = lab.network().host(senders).payload_received();
    });
    lab.Run(Time{} + 100_ms);
    EXPECT_TRUE(lab.finished());
    trimmed_in_all = lab.Packets().trimmed;
    records = lab.records();
    for (const FlowRecord& record : records) marked += record.receiver.ce_marked;
  }

  Duration Longest() const {
    Duration longest{0};
    for (const FlowRecord& record : records) longest = std::max(longest, FctRx(record));
    return longest;
  }
  Duration Shortest() const {
    Duration shortest = Longest();
    for (const FlowRecord& record : records) shortest = std::min(shortest, FctRx(record));
    return shortest;
  }
  // The share of the line that data with headers has between two instants.
  double Share(Duration from, Duration to) const {
    const int64_t payload = arrived.at(Time{} + to) - arrived.at(Time{} + from);
    const double bytes = static_cast<double>(payload) * 4'150 / 4'086;
    return bytes * 8 / Seconds(to - from) / 100e9;
  }
};

// Nearly all packets that are trimmed were sent before the first answer. Pulls come at 99 % of the
// line, but the last of four packets exceeds their credit: 19 rounds of pulls bring 16,600 bytes
// rather than 16,384 each, 100.3 % of the line, until the debts add up to a packet, and then a
// round brings three. In these 814 us the last queue grows by 50.5 bytes a pull, 7.4 packets, and
// drains after. At first it is full of what speculation has left, so up to 8 packets more are
// trimmed. The timeout exceeds a round of pulls of 42 us.
TEST(RcccTest, OnlySpeculationFillsTheLastQueueOfAnIncast) {
  for (const std::string& transport :
       {With(kCreditAlone, "rto: 1ms"), With(kBoth, "rto: 1ms, ack_bytes: 1B")}) {
    SCOPED_TRACE(transport);
    const Incast incast(transport, 32, 1'000'000, kTrims);
    const int64_t speculative = incast.trimmed.at(Time{} + 30_us);
    EXPECT_GT(speculative, 400);
    EXPECT_LE(incast.trimmed_in_all, speculative + 8);
    EXPECT_EQ(incast.trimmed_in_all, incast.trimmed.at(Time{} + 850_us));
    for (const FlowRecord& record : incast.records) {
      EXPECT_EQ(record.sender.timeouts, 0) << Describe(record);
      EXPECT_EQ(record.sender.nacks, record.receiver.trimmed);
      EXPECT_EQ(record.sender.retransmissions, record.receiver.trimmed);
      EXPECT_EQ(record.receiver.trimmed, record.receiver.trimmed_last_hop);
      EXPECT_EQ(record.sender.retransmissions_spurious, 0);
    }
    EXPECT_NEAR(incast.Share(850_us, 1'660_us), 0.99, 0.001);
    EXPECT_GT(incast.longest_queue, 4);
    EXPECT_LT(incast.longest_queue, 10);
    EXPECT_EQ(incast.marked, 0);  // Ports to hosts do not mark.
    EXPECT_GE(Seconds(incast.Longest()), LineTime(32));
    EXPECT_LE(Seconds(incast.Longest()), LineTime(32) / 0.99 * 1.01);
  }
}

// Credit goes around, so flows of one size that begin together end together.
TEST(RcccTest, FlowsOfOneReceiverShareItsLineFairly) {
  for (const std::string& transport : {kCreditAlone, kBoth}) {
    const Incast incast(transport, 8, 2'000'000, kTrims);
    EXPECT_GT(Seconds(incast.Shortest()), 0.97 * Seconds(incast.Longest()));
  }
}

// A flow that comes later has its share as well: after the first flow's part alone, both have half
// of the line.
TEST(RcccTest, ALaterFlowGetsHalfOfTheLine) {
  Lab lab({.graph = Star(3, kLink), .transport = kCreditAlone, .port = kTrims});
  lab.AddFlow(0, 2, 4'000'000);
  lab.AddFlow(1, 2, 1'000'000, Time{} + 100_us);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  EXPECT_NEAR(Seconds(FctRx(lab.Record(1))) / LineTime(1), 2 / 0.99, 0.15);
}

// Senders that wait for nothing but credit have nothing to probe for.
TEST(RcccTest, SendersThatWaitForCreditAloneSendNoProbes) {
  int64_t probes = 0;
  const auto count = [&](const SwitchView&, const Packet& packet) {
    probes += packet.Has(Packet::kCwr) ? 0 : 1;
  };
  Lab lab({.graph = Star(33, kLink),
           .transport = With(kCreditAlone, "rto: 1ms, ack_bytes: 1B, loss: sleek"),
           .port = kTrims,
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kSyn), count)})});
  for (HostId h = 0; h < 32; ++h) lab.AddFlow(h, 32, 300'000);
  lab.Run(Time{} + 100_ms);
  EXPECT_TRUE(lab.finished());
  EXPECT_LE(probes,
            2 * 32);  // They wait for 20 rounds of pulls, each longer than three round trips.
}

// Without trimming, 60 packets of queue take what 32 first windows bring; the rest is lost and
// repaired, and then the queue is short too.
TEST(RcccTest, AnIncastWithoutTrimmingEnds) {
  const Incast incast(kCreditAlone, 32, 1'000'000, "{buffer: 250KB}");
  for (const FlowRecord& record : incast.records) {
    EXPECT_LE(record.sender.retransmissions_spurious, record.sender.retransmissions);
  }
}

// A host that sends to several receivers at once divides its wish among them, so they do not grant
// more than its line takes.
TEST(RcccTest, ASenderOfSeveralReceiversFillsItsLine) {
  Lab lab({.graph = Star(5, kLink), .transport = kCreditAlone, .port = kTrims});
  for (HostId dst = 1; dst < 5; ++dst) lab.AddFlow(0, dst, 1'000'000);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  for (const FlowRecord& record : lab.records()) {
    EXPECT_LE(Seconds(FctRx(record)), 1.03 * LineTime(4));
    EXPECT_EQ(record.sender.retransmissions, 0);
  }
}

// --- The last hop ---

// NACKs say whether the packet was cut at the last hop. Two senders share a link of the fabric in
// front of two receivers; then one receiver has both.
TEST(RcccTest, NacksTellWhichPortCutThePacket) {
  for (const bool is_last_hop : {false, true}) {
    int64_t nacks = 0;
    const auto watch = [&](const SwitchView&, const Packet& nack) {
      EXPECT_EQ(nack.Has(Packet::kCutAtLastHop), is_last_hop);
      ++nacks;
    };
    const std::string core = is_last_hop ? "400Gbps" : "100Gbps";
    Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 1, hosts_per_leaf: 4, host_link: {rate: "
                                    "100Gbps, delay: 1us}, fabric_link: {rate: " +
                                    core + ", delay: 1us}}"),
             .transport = "{kind: uet, framing: uet_htsim, receiver: rccc}",
             .port = kTrims,
             .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kNack), watch)})});
    for (HostId h = 0; h < 4; ++h) {
      lab.AddFlow(h, is_last_hop ? 4 : static_cast<HostId>(4 + h), 500'000);
    }
    lab.Run(Time{} + 100_ms);
    EXPECT_TRUE(lab.finished());
    EXPECT_GT(nacks, 0);
  }
}

// --- Oversubscribed fabrics ---

// Four hosts share an uplink of the rate of one. Receivers that adapt to the fabric grant less, so
// fewer packets are trimmed; in turn the link is not always full. With cc: none that is the
// default.
TEST(RcccTest, ReceiversAdaptToAnOversubscribedFabric) {
  struct Run {
    int64_t trimmed = 0;
    Duration longest{0};
  };
  const auto run = [](const std::string& fabric) {
    Lab lab({.graph = LeafSpineFrom(
                 "{leaves: 2, spines: 1, hosts_per_leaf: 4, host_link: {rate: 100Gbps, delay: "
                 "1us}, fabric_link: {rate: 100Gbps, delay: 1us}}"),
             .transport = fmt::format("{{kind: uet, framing: uet_htsim, cc: none, receiver: rccc, "
                                      "rccc: {{fabric: {}}}}}",
                                      fabric),
             .port = kTrims});
    for (HostId h = 0; h < 4; ++h) lab.AddFlow(h, static_cast<HostId>(4 + h), 4'000'000);
    lab.Run(Time{} + 100_ms);
    EXPECT_TRUE(lab.finished());
    Run result{.trimmed = lab.Packets().trimmed};
    for (const FlowRecord& record : lab.records()) {
      result.longest = std::max(result.longest, FctRx(record));
    }
    return result;
  };
  const Run off = run("off");
  const Run on = run("on");
  EXPECT_LT(on.trimmed, off.trimmed / 4);
  EXPECT_LT(Seconds(off.longest), 1.1 * LineTime(4, 978, 3'956));
  EXPECT_LT(Seconds(on.longest), 3 * LineTime(4, 978, 3'956));
  EXPECT_EQ(run("auto").trimmed, on.trimmed);
}

}  // namespace heddle::rccc_incast_test
