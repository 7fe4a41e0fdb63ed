// SPDX-License-Identifier: Apache-2.0
// Tests when receivers send CNPs, and how flows with DCQCN share links.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "transport/rdma/roce_sender.h"

namespace heddle::dcqcn_network_test {

// --- CNPs ---

// Returns when switch 0 saw each CNP of a flow. The last switch marks the flow's packets with
// probability `p`.
std::vector<Time> CnpTimes(const std::string& cc, double p, std::vector<Rule> more = {},
                           int64_t size = 3'000'000) {
  std::vector<Time> times;
  const auto note = [&](const SwitchView& at, const Packet&) { times.push_back(at.now()); };
  std::vector<Rule> rules = std::move(more);
  rules.push_back(MarkAt(2, WithProbability(p, 1, AllData(0))));
  rules.push_back(WatchAt(0, Anything(PacketKind::kCnp), note));
  Lab lab({.graph = Line(4, {100_Gbps, 1_us}),
           .transport = "{kind: rocev2, framing: ns3_rdma, cc: {kind: dcqcn, " + cc + "}}",
           .switch_policy = Scripted(rules)});
  lab.AddFlow(0, 1, size);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_GE(lab.Record(0).sender.cnps, static_cast<int32_t>(times.size()) - 1);
  return times;
}

// One CNP halves the rate at the start, and only sent bytes raise it again: 10 MB take 0.8 ms at
// 100 Gbps and 1.6 ms at 50.
TEST(DcqcnNetworkTest, SentBytesRaiseTheRate) {
  const auto fct = [](const std::string& byte_counter) {
    Lab lab({.graph = Line(4, {100_Gbps, 1_us}),
             .transport = "{kind: rocev2, cc: {kind: dcqcn, rp: paper, increase_interval: 10s, "
                          "byte_counter: " +
                          byte_counter + "}}",
             .switch_policy = Scripted({MarkAt(2, Data(0, 0)).Times(1)})});
    lab.AddFlow(0, 1, 10'000'000);
    lab.Run();
    EXPECT_EQ(lab.Record(0).sender.cnps, 1);
    return FctRx(lab.Record(0));
  };
  EXPECT_LT(fct("100KB"), 1_ms);
  EXPECT_GT(fct("1GB"), 1'550_us);
}

TEST(CnpTest, IsSentAtMostOnceInAnInterval) {
  for (const auto& [cc, interval] : {std::pair{"rp: paper", 50_us}, std::pair{"rp: nic", 4_us},
                                     std::pair{"cnp_interval: 20us", 20_us}}) {
    SCOPED_TRACE(cc);
    const std::vector<Time> times = CnpTimes(cc, 1);
    ASSERT_GT(times.size(), 3u);
    for (size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i] - times[i - 1], interval);
  }
}

TEST(CnpTest, OfOneMarkComesOnce) {
  EXPECT_EQ(CnpTimes("rp: paper", 0, {MarkAt(2, Data(0, 100))}).size(), 1u);
  EXPECT_EQ(CnpTimes("rp: paper", 0).size(), 0u);
}

// Packets 100 and 110 are 838.4 ns apart, before the first CNP has slowed the flow down.
TEST(CnpTest, MayComeAgainExactlyAfterTheInterval) {
  const std::vector<Rule> marks = {MarkAt(2, Data(0, 100)), MarkAt(2, Data(0, 110))};
  EXPECT_EQ(CnpTimes("cnp_interval: 838400ps", 0, marks).size(), 2u);
  EXPECT_EQ(CnpTimes("cnp_interval: 838401ps", 0, marks).size(), 1u);
}

// Two marks, 0.8 us apart.
TEST(CnpTest, CanTrailTheInterval) {
  const std::vector<Rule> marks = {MarkAt(2, Data(0, 100)), MarkAt(2, Data(0, 110))};
  EXPECT_EQ(CnpTimes("rp: paper", 0, marks).size(), 1u);
  const std::vector<Time> both = CnpTimes("rp: paper, cnp_trailing: true", 0, marks);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1] - both[0], 50_us);
}

TEST(CnpTest, MayStandForReordering) {
  const std::vector<Rule> overtaken = {LetPassAt(1, Data(0, 100), 3).Times(1)};
  EXPECT_EQ(CnpTimes("rp: paper", 0, overtaken).size(), 0u);
  EXPECT_EQ(CnpTimes("rp: paper, cnp_on_ooo: true", 0, overtaken).size(), 1u);
}

TEST(CnpTest, MayTravelInAcks) {
  Lab lab({.graph = Line(4, {100_Gbps, 1_us}),
           .transport = "{kind: rocev2, cc: {kind: dcqcn, rp: nic, cnp_mode: ack_flag}}",
           .switch_policy =
               Scripted({MarkAt(2, Data(0, 100)), MarkAt(2, Data(0, 101)), MarkAt(2, Data(0, 150)),
                         DropAt(0, Anything(PacketKind::kCnp))})});
  lab.AddFlow(0, 1, 1'000'000);
  lab.Run();
  EXPECT_EQ(lab.Record(0).sender.cnps, 3);
  EXPECT_EQ(lab.Drops(DropReason::kPolicy), 0);
}

int64_t CnpsInAcks(std::vector<Rule> rules, const std::string& cc, const std::string& more = "") {
  Lab lab({.graph = Line(4, {100_Gbps, 1_us}),
           .transport = "{kind: rocev2, cc: {kind: dcqcn, rp: nic, cnp_mode: ack_flag" + cc + "}" +
                        more + "}",
           .switch_policy = Scripted(std::move(rules))});
  lab.AddFlow(0, 1, 500'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return lab.Record(0).sender.cnps;
}

// A hundred packets come behind the gap; one of them is answered, by a NACK.
TEST(CnpTest, InAcksIsOnlyOfThePacketThatIsAnswered) {
  const std::vector<Rule> lost = {DropAt(0, Data(0, 100)).Times(1)};
  EXPECT_EQ(CnpsInAcks(lost, ", cnp_on_ooo: true"), 1);
  EXPECT_EQ(CnpsInAcks(lost, ""), 0);
  for (const auto& [seq, cnps] : {std::pair{101u, 1}, std::pair{110u, 0}}) {
    std::vector<Rule> marked = lost;
    marked.push_back(MarkAt(2, Data(0, seq)).Times(1));
    EXPECT_EQ(CnpsInAcks(marked, ""), cnps) << seq;
  }
}

// An ACK of several packets is that of each of them.
TEST(CnpTest, InAcksIsOfAllPacketsThatAnAckIsFor) {
  const std::vector<Rule> marks = {MarkAt(2, Data(0, 8)), MarkAt(2, Data(0, 9)),
                                   MarkAt(2, Data(0, 13))};
  EXPECT_EQ(CnpsInAcks(marks, "", ", ack_interval: 4"), 2);
}

// --- In a network ---

TEST(DcqcnTest, HalvesTheRateOfAFlowWhenItsFirstCnpArrives) {
  Time sent;
  Lab lab({.graph = Line(4, {100_Gbps, 1_us}),
           .transport = "{kind: rocev2, framing: ns3_rdma}",
           .switch_policy =
               Scripted({MarkAt(2, Data(0, 100)),
                         WatchAt(2, Data(0, 100),
                                 [&](const SwitchView&, const Packet& p) { sent = p.sent; })})});
  lab.AddFlow(0, 1, 3'000'000);
  std::vector<std::pair<Time, double>> rates;
  lab.SampleEvery(10_ns, [&](Time now) {
    const RoceSender* qp = lab.QueuePair(0);
    const double gbps = qp ? qp->rate().rate * 1e-9 : 100;
    if (rates.empty() || rates.back().second != gbps) rates.push_back({now, gbps});
  });
  lab.Run();
  ASSERT_GE(rates.size(), 4u);
  // There and back: 1048 bytes and 60 bytes over four links each. Samples are 10 ns apart.
  const Time cnp = sent + 4 * (83'840_ps + 1_us) + 4 * (4'800_ps + 1_us);
  const double expected[] = {50, 75, 87.5};
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(Microseconds(rates[1 + i].first - cnp), 55.0 * i, 0.011);
    EXPECT_DOUBLE_EQ(rates[1 + i].second, expected[i]);
  }
}

// Ten CNPs in a row leave 98 Mbps, and 86 us between packets; 55 us later the rate grows by a half,
// which helps the packet that waits only if it is retimed. A packet that waits when the last CNP
// comes is put off by it, or else leaves soon. No ACK comes meanwhile.
TEST(DcqcnTest, MayRetimeThePacketThatWaits) {
  // The tenth packet of 1048 bytes goes there over four links, and 60 bytes come back.
  const Time last_cnp = Time{} + 10 * 83'840_ps + 3 * 83'840_ps + 4 * 4'800_ps + 8_us;
  for (const bool retimes : {false, true}) {
    std::vector<Time> soon;
    std::vector<Time> late;
    const auto note = [&](const SwitchView&, const Packet& p) {
      if (p.sent > last_cnp) (p.sent > Time{} + 20_us ? late : soon).push_back(p.sent);
    };
    Lab lab({.graph = Line(4, {100_Gbps, 1_us}),
             .transport = std::string("{kind: rocev2, framing: ns3_rdma, ack_interval: 1000, ") +
                          "retime_on_rate_change: " + (retimes ? "true" : "false") +
                          ", cc: {kind: dcqcn, cnp_interval: 0us}}",
             .switch_policy =
                 Scripted({MarkAt(2, AllData(0)).Times(10), WatchAt(0, AllData(0), note)})});
    lab.AddFlow(0, 1, 130'000);
    lab.Run();
    EXPECT_EQ(soon.size(), retimes ? 0u : 1u);
    ASSERT_FALSE(late.empty());
    EXPECT_NEAR(Microseconds(late.front() - Time{}), retimes ? 66 : 95, 2);
  }
}

// The CNP of the first packet halves the rate. From then on each packet sent takes half of the way
// back, and the packet behind it waits by the new rate, although no ACK comes before the last.
TEST(DcqcnTest, BytesSentRetimeThePacketThatWaits) {
  std::vector<Time> sent;
  const auto note = [&](const SwitchView&, const Packet& p) { sent.push_back(p.sent); };
  Lab lab(
      {.graph = Line(2, {100_Gbps, 1_us}),
       .transport = "{kind: rocev2, framing: ns3_rdma, ack_interval: 1000, "
                    "retime_on_rate_change: true, cc: {kind: dcqcn, byte_counter: 1000B, "
                    "increase_interval: 10s, threshold: 1000}}",
       .switch_policy = Scripted({MarkAt(0, Data(0, 0)).Times(1), WatchAt(0, AllData(0), note)})});
  lab.AddFlow(0, 1, 100'000);
  lab.Run();
  ASSERT_EQ(sent.size(), 100u);
  const Time cnp = Time{} + 4_us + 2 * (83'840_ps + 4'800_ps);
  double rate = 50;
  size_t next = 0;
  while (sent[next] <= cnp) ++next;
  for (; next + 1 < sent.size() && rate < 99; ++next) {
    rate = (rate + 100) / 2;
    const double gap = Microseconds(sent[next + 1] - sent[next]) * 1'000;
    EXPECT_NEAR(gap, 8 * 1'048 / rate, 0.002) << rate;
  }
  EXPECT_GT(rate, 99);
}

struct Shares {
  double jain = 0;         // Jain's index of the bytes that flows sent in the second half.
  double utilisation = 0;  // The bottleneck's utilisation in the second half.
  int64_t drops = 0;
};

// `flows` long ones over one port of 10 Gbps, the second and later ones 200 us apart.
Shares Compete(const std::string& cc, int flows, Duration time, const std::string& port) {
  Lab lab({.graph = Dumbbell(static_cast<size_t>(flows), {10_Gbps, 1_us}, {10_Gbps, 1_us}),
           .transport = "{kind: rocev2, framing: ns3_rdma, cc: " + cc + "}",
           .port = port});
  for (int i = 0; i < flows; ++i) {
    lab.AddFlow(static_cast<HostId>(i), static_cast<HostId>(flows + i), 1'000'000'000,
                Time{} + 200_us * i);
  }
  const uint32_t left = static_cast<uint32_t>(2 * flows);
  std::vector<int64_t> sent(static_cast<size_t>(flows));
  int64_t carried = 0;
  lab.SampleEvery(time / 2, [&](Time now) {
    if (now != Time{} + time / 2) return;
    for (int i = 0; i < flows; ++i) {
      sent[static_cast<size_t>(i)] = lab.PortTo(static_cast<uint32_t>(i), left).Committed().packets;
    }
    carried = lab.PortTo(left, left + 1).Committed().busy_ps;
  });
  lab.Run(Time{} + time);
  Shares shares;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < flows; ++i) {
    const double packets =
        static_cast<double>(lab.PortTo(static_cast<uint32_t>(i), left).Committed().packets -
                            sent[static_cast<size_t>(i)]);
    sum += packets;
    squares += packets * packets;
  }
  shares.jain = sum * sum / (flows * squares);
  shares.utilisation =
      static_cast<double>(lab.PortTo(left, left + 1).Committed().busy_ps - carried) /
      static_cast<double>((time / 2).ps);
  shares.drops = lab.Packets().dropped_total();
  return shares;
}

TEST(DcqcnTest, SharesABottleneck) {
  for (const char* cc : {"{kind: dcqcn, rp: paper}", "{kind: dcqcn, rp: nic}"}) {
    const Shares shares = Compete(cc, 2, 40_ms, "{buffer: unlimited, ecn_above: 40KB}");
    SCOPED_TRACE(testing::Message()
                 << cc << ": Jain " << shares.jain << ", utilisation " << shares.utilisation);
    EXPECT_GT(shares.jain, 0.99);
    EXPECT_GT(shares.utilisation, 0.9);
  }
}

}  // namespace heddle::dcqcn_network_test
