// SPDX-License-Identifier: Apache-2.0
// Receiver-driven congestion control (RCCC): the arithmetic of credit, the pace of pulls, incasts
// whose only trimmed packets are those sent before the first answer, and lost pulls.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/stress.h"
#include "transport/uet.h"
#include "transport/uet_credit.h"
#include "transport/uet_fabric_rate.h"
#include "transport/uet_pacer.h"

namespace heddle::rccc_test {

constexpr Channel kLink{100_Gbps, 1_us};
const std::string kTrims =
    "{buffer: unlimited, ecn_above: unlimited, marking: red, red: {min: 11950B, max: 47800B, "
    "probability: 1}, trim: {when: port}}";
const std::string kDeep = "{buffer: unlimited}";
const std::string kCreditAlone = "{kind: uet, framing: uet_htsim, cc: none, receiver: rccc}";
const std::string kBoth = "{kind: uet, framing: uet_htsim, cc: nscc, receiver: rccc}";

// The transport with more settings.
std::string With(const std::string& transport, const std::string& more) {
  return transport.substr(0, transport.size() - 1) + ", " + more + "}";
}

// The time that `flows` flows of 1 MB take on the line: 244 packets of 4150 bytes and one of 3080.
double LineTime(int64_t flows, int64_t packets = 244, int64_t last = 3'080) {
  return static_cast<double>(flows * (packets * 4'150 + last)) * 8 / 100e9;
}

// --- The sender's credit ---

void Begin(UetCredit& credit, int64_t window) {
  credit.Start({.is_needed = true, .first = window, .most = window});
}

TEST(UetCreditTest, SpeculationEndsWithTheFirstAnswer) {
  UetCredit credit;
  Begin(credit, 262'926);
  EXPECT_TRUE(credit.Allows());
  credit.Spend(4'150);
  credit.EndSpeculation();
  EXPECT_FALSE(credit.Allows());
  credit.OnPull(64);
  EXPECT_TRUE(credit.Allows());
  credit.EndSpeculation();  // It has ended before.
  // 16,384 bytes are four packets of 4150 bytes, the last of which exceeds the credit.
  for (int packet = 0; packet < 4; ++packet) {
    EXPECT_TRUE(credit.Allows());
    credit.Spend(4'150);
  }
  EXPECT_FALSE(credit.Allows());
}

// A debt of the speculation stays.
TEST(UetCreditTest, TheEndOfSpeculationForgivesNoDebt) {
  UetCredit credit;
  Begin(credit, 4'000);
  credit.Spend(4'150);
  credit.OnPull(1);  // 256 bytes, of which 150 have been spent.
  EXPECT_TRUE(credit.Allows());
  credit.Spend(106);
  EXPECT_FALSE(credit.Allows());
}

TEST(UetCreditTest, TheNextPullMakesUpForALostOne) {
  UetCredit credit;
  Begin(credit, 262'926);
  credit.OnPull(128);  // The pull with 64 was lost,
  credit.OnPull(64);   // or comes late.
  credit.Spend(128 * 256 - 1);
  EXPECT_TRUE(credit.Allows());
  credit.Spend(1);
  EXPECT_FALSE(credit.Allows());
}

TEST(UetCreditTest, IsNeverMoreThanTheGreatestWindow) {
  UetCredit credit;
  Begin(credit, 262'926);
  credit.OnPull(10'000);
  credit.Spend(262'925);
  EXPECT_TRUE(credit.Allows());
  credit.Spend(1);
  EXPECT_FALSE(credit.Allows());
}

TEST(UetCreditTest, CountsWrap) {
  UetCredit credit;
  Begin(credit, 262'926);
  for (const uint32_t granted : {0x7000'0000u, 0xe000'0000u, 0xffff'fff0u}) credit.OnPull(granted);
  credit.Spend(262'926);
  EXPECT_FALSE(credit.Allows());
  credit.OnPull(0xffff'ffe0u);  // Overtaken by the one before.
  EXPECT_FALSE(credit.Allows());
  credit.OnPull(0x10u);  // 32 quanta.
  EXPECT_EQ(
      credit.Target({.wanted = 32 * 256 + 256, .has_backlog = true, .packet = 4'150, .sharing = 1}),
      0x11u);
  credit.Spend(32 * 256 - 1);
  EXPECT_TRUE(credit.Allows());
  credit.Spend(1);
  EXPECT_FALSE(credit.Allows());
}

// Relative to 0, as a signed number.
int32_t TargetOf(const UetCredit& credit, int64_t wanted, int64_t sharing = 1,
                 bool has_backlog = true) {
  return static_cast<int32_t>(credit.Target(
      {.wanted = wanted, .has_backlog = has_backlog, .packet = 4'150, .sharing = sharing}));
}

// ceil((min(wanted, greatest window) - credit) / (256 k)) beyond the last pull.
TEST(UetCreditTest, TheTargetIsWhatWaitsLessWhatIsThere) {
  UetCredit credit;
  Begin(credit, 262'926);
  EXPECT_EQ(TargetOf(credit, 100'000), 17);    // Speculating: a packet, rounded up to quanta,
  EXPECT_EQ(TargetOf(credit, 100'000, 4), 5);  // shared.
  EXPECT_EQ(TargetOf(credit, 0, 1, false), -1'027);
  EXPECT_EQ(TargetOf(credit, 4'150, 1, false), -1'010);  // A repair has credit enough.
  credit.EndSpeculation();
  EXPECT_EQ(TargetOf(credit, 100'000), 391);
  EXPECT_EQ(TargetOf(credit, 100'000, 4), 98);
  EXPECT_EQ(TargetOf(credit, 100'000'000), 1'028);
  credit.OnPull(100);  // 25,600 bytes.
  EXPECT_EQ(TargetOf(credit, 100'000), 100 + 291);
  EXPECT_EQ(TargetOf(credit, 25'600), 100);
  EXPECT_EQ(TargetOf(credit, 1'000), 100 - 96);
  credit.Spend(25'700);  // 100 bytes too many.
  EXPECT_EQ(TargetOf(credit, 100'000), 100 + 392);
  EXPECT_EQ(TargetOf(credit, 0, 1, false), 101);
}

TEST(UetCreditTest, WithoutReceiversThatGrantItNoneIsNeeded) {
  UetCredit credit;
  credit.Start({.first = 262'926, .most = 262'926});
  credit.Spend(1'000'000);
  credit.EndSpeculation();
  EXPECT_TRUE(credit.Allows());
}

TEST(UetCreditTest, TheTargetSurvivesThePacket) {
  for (const uint32_t target : {0u, 1u, 65'536u, 0xffff'fff0u}) {
    Packet packet;
    SetPullTarget(packet, target);
    EXPECT_EQ(PullTarget(packet), target);
  }
}

// --- The receiver's part ---

TEST(UetDemandTest, WishesGrowModulo2To32) {
  UetDemand demand;
  EXPECT_TRUE(demand.Raise(0x7000'0000));
  EXPECT_FALSE(demand.Raise(0x6fff'ffff));  // An older packet,
  EXPECT_FALSE(demand.Raise(0x7000'0000));  // or the same wish.
  EXPECT_TRUE(demand.Raise(0xe000'0000));
  EXPECT_TRUE(demand.Raise(0xffff'fff0));
  EXPECT_TRUE(demand.Raise(0x10));
  demand.granted = 0xffff'fff0;
  EXPECT_EQ(demand.missing(), 32);
  demand.granted = 0x50;
  EXPECT_EQ(demand.missing(), -64);
}

Packet Arriving(uint8_t flags) {
  Packet packet;
  packet.flags = flags;
  return packet;
}

// By hand: of 10 packets one is trimmed within the fabric, so a tenth is taken off; the next steps
// are 1, 2, 4 and 8 hundredths while no packet is marked.
TEST(UetFabricRateTest, TrimmedPacketsTakeTheirShareAndStepsDouble) {
  UetFabricRate fabric;
  for (int i = 0; i < 9; ++i) fabric.OnArrival(Arriving(0));
  fabric.OnArrival(Arriving(Packet::kTrimmed));
  fabric.EndPeriod();
  EXPECT_NEAR(fabric.rate(), 0.9, 1e-12);
  for (const double expected : {0.91, 0.93, 0.97, 1.0}) {
    fabric.OnArrival(Arriving(0));
    fabric.EndPeriod();
    EXPECT_NEAR(fabric.rate(), expected, 1e-12);
  }
  EXPECT_TRUE(fabric.is_at_rest());
}

TEST(UetFabricRateTest, PacketsTrimmedAtTheLastHopCountAsNoCongestionOfTheFabric) {
  UetFabricRate fabric;
  for (int i = 0; i < 10; ++i) fabric.OnArrival(Arriving(Packet::kTrimmed | Packet::kCutAtLastHop));
  fabric.EndPeriod();
  EXPECT_EQ(fabric.rate(), 1);
}

// The average share of marks is half of the last one and half of the average before: 0.5, 0.75,
// 0.875. Beyond 0.3 the rate loses half of the excess; then, with a mark in each period, it grows
// by 0.01. Trimmed packets do not count among those that could be marked.
TEST(UetFabricRateTest, ManyMarksTakeHalfOfTheirExcess) {
  UetFabricRate fabric;
  double rate = 1;
  for (const double average : {0.5, 0.75, 0.875}) {
    for (int i = 0; i < 4; ++i) fabric.OnArrival(Arriving(Packet::kCe));
    fabric.OnArrival(Arriving(Packet::kTrimmed | Packet::kCutAtLastHop));
    fabric.EndPeriod();
    rate *= 1 - 0.5 * (average - 0.3);
    EXPECT_NEAR(fabric.rate(), rate, 1e-12);
  }
  // One mark in ten packets: averages 0.4875, 0.29375, 0.196875.
  for (const double average : {0.4875, 0.29375, 0.196875}) {
    for (int i = 0; i < 9; ++i) fabric.OnArrival(Arriving(0));
    fabric.OnArrival(Arriving(Packet::kCe));
    fabric.EndPeriod();
    rate = average > 0.3 ? rate * (1 - 0.5 * (average - 0.3)) : rate + 0.01;
    EXPECT_NEAR(fabric.rate(), rate, 1e-12);
  }
  EXPECT_FALSE(fabric.is_at_rest());
}

TEST(UetFabricRateTest, NeverLeavesOneHundredthToOne) {
  UetFabricRate fabric;
  fabric.OnArrival(Arriving(Packet::kTrimmed));
  fabric.EndPeriod();
  EXPECT_EQ(fabric.rate(), 0.01);
  for (int i = 0; i < 20; ++i) fabric.EndPeriod();
  EXPECT_EQ(fabric.rate(), 1);
}

// --- Pulls ---

struct Pull {
  Time at;
  FlowId flow;
  uint32_t granted;
  uint16_t entropy;
};

// Watches the pulls that pass switch 0.
Rule Pulls(std::vector<Pull>& pulls) {
  return WatchAt(0, Anything(PacketKind::kCnp), [&](const SwitchView& view, const Packet& packet) {
    pulls.push_back({view.now(), packet.flow, packet.pull.granted, packet.entropy});
  });
}

// A receiver with one sender grants 64 quanta of 256 bytes, four packets, each 131,072 bits at 99
// Gbps: 1.323959 us. An ACK of 64 bytes, 5.12 ns, may go first.
TEST(RcccTest, PullsArePacedAt99PercentOfTheLine) {
  std::vector<Pull> pulls;
  Lab lab({.graph = Star(2, kLink),
           .transport = kCreditAlone,
           .port = kTrims,
           .switch_policy = Scripted({Pulls(pulls)})});
  lab.AddFlow(0, 1, 4'000'000);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  ASSERT_GT(pulls.size(), 200u);
  const Duration interval = 1'323'959_ps;
  const size_t first = 20;
  const size_t last = 180;
  for (size_t i = first + 1; i <= last; ++i) {
    EXPECT_EQ(pulls[i].granted - pulls[i - 1].granted, 64u) << i;
    EXPECT_GE(pulls[i].at - pulls[i - 1].at, interval - 6_ns) << i;
    EXPECT_LE(pulls[i].at - pulls[i - 1].at, interval + 6_ns) << i;
    EXPECT_EQ(pulls[i].entropy, (pulls[i - 1].entropy + 1) % 128);
  }
  const double bits = 8.0 * 256 * (pulls[last].granted - pulls[first].granted);
  const double seconds = Seconds(pulls[last].at - pulls[first].at);
  EXPECT_NEAR(bits / seconds / 1e9, 99.0, 0.01);
  EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
  EXPECT_EQ(lab.Packets().trimmed, 0);
}

// A sender asks for an ACK with the packet that spends its last credit, and otherwise, without a
// window, with the last packet of all. A lone flow sends faster than pulls come, by 1 %, so it runs
// out of credit again and again.
TEST(RcccTest, ThePacketThatSpendsTheLastCreditAsksForAnAck) {
  int64_t asking = 0;
  const auto watch = [&](const SwitchView&, const Packet& packet) {
    asking += packet.Has(Packet::kCwr) ? 1 : 0;
  };
  Lab lab({.graph = Star(2, kLink),
           .transport = kCreditAlone,
           .port = kTrims,
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kData), watch)})});
  lab.AddFlow(0, 1, 4'000'000);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  EXPECT_GT(asking, 50);
  EXPECT_LT(asking, lab.Record(0).sender.packets / 2);
}

// A flow of one packet has no wish, so nobody pulls; one of two packets wants the second.
TEST(RcccTest, AFlowOfOnePacketNeedsNoPull) {
  for (const auto& [size, pulled] :
       {std::pair(1, false), std::pair(4'086, false), std::pair(4'087, true)}) {
    std::vector<Pull> pulls;
    Lab lab({.graph = Star(2, kLink),
             .transport = kCreditAlone,
             .port = kTrims,
             .switch_policy = Scripted({Pulls(pulls)})});
    lab.AddFlow(0, 1, size);
    lab.Run();
    ASSERT_TRUE(lab.finished());
    EXPECT_EQ(!pulls.empty(), pulled) << size;
  }
}

// A window of two packets keeps the sender's wish small: it never wishes for more than the window
// and a packet, 49 quanta. The receiver grants a greatest window in advance, 1.5 * 58,425 bytes or
// 342 quanta; the pull that reaches it is the last one. A wish of two packets, 33 quanta, may be on
// its way.
TEST(RcccTest, IdleFlowsGetAWindowOfCreditInAdvance) {
  uint32_t wish = 0;
  uint32_t granted = 0;
  int64_t most_ahead = 0;
  int64_t most_wanted = 0;
  Rule wishes =
      WatchAt(0, Anything(PacketKind::kData), [&](const SwitchView&, const Packet& packet) {
        wish = PullTarget(packet);
        most_wanted = std::max(most_wanted, int64_t{static_cast<int32_t>(wish - granted)});
      });
  Rule pulls = WatchAt(0, Anything(PacketKind::kCnp), [&](const SwitchView&, const Packet& packet) {
    granted = packet.pull.granted;
    most_ahead = std::max(most_ahead, int64_t{static_cast<int32_t>(granted - wish)});
  });
  Lab lab({.graph = Star(2, kLink),
           .transport = "{kind: uet, framing: uet_htsim, cc: constant, window: 8300B, receiver: "
                        "rccc}",
           .port = kTrims,
           .switch_policy = Scripted({wishes, pulls})});
  lab.AddFlow(0, 1, 1'000'000);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  EXPECT_GE(most_ahead, 342 - 33);
  EXPECT_LT(most_ahead, 342 + 64);
  EXPECT_GT(most_wanted, 0);
  EXPECT_LE(most_wanted, 49);
}

// Pulls are lost, and nothing is trimmed, so an ACK alone ends the speculation. It comes after a
// round trip of 4.67 us, in which 14 of the first 21 packets leave, and takes away the credit.
TEST(RcccTest, TheFirstAckEndsTheSpeculation) {
  int64_t sent = 0;
  const auto count = [&](const SwitchView&, const Packet&) { ++sent; };
  Lab lab({.graph = Star(2, kLink),
           .transport = kCreditAlone,
           .port = kDeep,
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kData), count),
                                      DropAt(0, Anything(PacketKind::kCnp))})});
  lab.AddFlow(0, 1, 1'000'000);
  lab.Run(Time{} + 30_us);
  EXPECT_GE(sent, 14);
  EXPECT_LE(sent, 16);
}

// Four flows of a host share its NIC, so each wishes for a quarter. With its second packet each has
// spent 8300 bytes of its credit: 2075 bytes, 9 quanta.
TEST(RcccTest, FlowsThatWaitForTheSameNicDivideTheirWish) {
  std::map<FlowId, uint32_t> wishes;
  const auto watch = [&](const SwitchView&, const Packet& packet) {
    if (packet.seq == 1) wishes[packet.flow] = PullTarget(packet);
  };
  Lab lab({.graph = Star(5, kLink),
           .transport = kCreditAlone,
           .port = kTrims,
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kData), watch)})});
  for (HostId dst = 1; dst < 5; ++dst) lab.AddFlow(0, dst, 1'000'000);
  lab.Run(Time{} + 10_us);
  ASSERT_EQ(wishes.size(), 4u);
  for (const auto& [flow, wish] : wishes) EXPECT_EQ(wish, 9u) << flow;
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

// --- Losses ---

// Every fifth pull is lost: the next one makes up for it, so the flow is hardly later.
TEST(RcccTest, LostPullsAreMadeUpForByTheNext) {
  const auto fct = [](double loss) {
    Lab lab({.graph = Star(2, kLink),
             .transport = kCreditAlone,
             .port = kTrims,
             .switch_policy =
                 Scripted({DropAt(0, WithProbability(loss, 1, Anything(PacketKind::kCnp)))})});
    lab.AddFlow(0, 1, 4'000'000);
    lab.Run(Time{} + 100_ms);
    EXPECT_TRUE(lab.finished());
    EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
    EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
    return Seconds(FctRx(lab.Record(0)));
  };
  EXPECT_LE(fct(0.2), 1.02 * fct(0));
}

// All pulls are lost for a while, but ACKs arrive: when nothing is in flight the sender asks again,
// a timeout later, and no data is sent twice.
TEST(RcccTest, ASenderWhosePullsAreAllLostAsksForThem) {
  for (const std::string& transport : {kCreditAlone, kBoth}) {
    int64_t requests = 0;
    Lab lab({.graph = Star(2, kLink),
             .transport = transport,
             .port = kTrims,
             .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kSyn),
                                                [&](const SwitchView&, const Packet& packet) {
                                                  EXPECT_TRUE(packet.Has(Packet::kCwr));
                                                  ++requests;
                                                }),
                                        DropAt(0, Anything(PacketKind::kCnp)).Skip(5).Times(60)})});
    lab.AddFlow(0, 1, 4'000'000);
    lab.Run(Time{} + 100_ms);
    ASSERT_TRUE(lab.finished());
    EXPECT_GT(requests, 0);
    EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
    EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
  }
}

// The link is dead for a while: timeouts and requests to send bring credit back.
TEST(RcccTest, AFlowSurvivesADeadLink) {
  const LinkEvent down{.at = Time{} + 30_us, .link = 1, .up = false, .rate = {}, .delay = {}};
  const LinkEvent up{.at = Time{} + 700_us, .link = 1, .up = true, .rate = {}, .delay = {}};
  for (const std::string& transport : {kCreditAlone, kBoth}) {
    for (const std::string& port : {kTrims, kDeep}) {
      Lab lab(
          {.graph = Line(4, kLink), .transport = transport, .port = port, .events = {down, up}});
      lab.AddFlow(0, 1, 2'000'000);
      lab.Run(Time{} + 100_ms);
      ASSERT_TRUE(lab.finished());
      EXPECT_GT(lab.Record(0).sender.timeouts, 0);
    }
  }
}

// A link damages packets of all kinds, pulls and requests among them. Lab counts every packet; all
// flows end.
TEST(RcccTest, RandomLossLeavesNoFlowBehind) {
  for (const std::string& transport :
       {kCreditAlone, kBoth, std::string("{kind: uet, receiver: rccc, rccc: {fabric: on}}")}) {
    for (const std::string& port : {kTrims, kDeep}) {
      for (const double loss : {0.01, 0.1}) {
        SCOPED_TRACE(fmt::format("{} {} {}", transport, port, loss));
        const LinkEvent lossy{
            .at = Time{}, .link = 1, .up = {}, .rate = {}, .delay = {}, .loss = loss};
        Lab lab({.graph = Line(4, kLink), .transport = transport, .port = port, .events = {lossy}});
        lab.AddFlow(0, 1, 1'000'000);
        lab.AddFlow(0, 1, 1);
        lab.AddFlow(1, 0, 300'000);
        lab.Run(Time{} + 1_s);
        ASSERT_TRUE(lab.finished());
        for (const FlowRecord& record : lab.records()) {
          const SenderRecord& sender = record.sender;
          EXPECT_EQ(sender.packets_sent, sender.packets + sender.retransmissions);
          EXPECT_EQ(sender.retransmissions,
                    sender.retransmissions_spurious + sender.retransmissions_loss);
          EXPECT_EQ(record.receiver.packets, sender.packets + record.receiver.duplicates);
        }
      }
    }
  }
}

std::string RandomTransport(Rng& rng) {
  std::string yaml = "{kind: uet, receiver: rccc, rto: 200us";
  yaml += OneOf(rng, {", cc: none", ", cc: nscc", ", cc: dctcp_ack", ", cc: smartt"});
  yaml += OneOf(rng, {"", ", framing: uet_htsim", ", ack_bytes: 1B"});
  yaml += OneOf(rng, {"", ", loss: timeout", ", loss: sleek"});
  yaml += OneOf(rng, {"", ", base_rtt: pair", ", rccc: {fabric: on}"});
  return yaml + "}";
}

TEST(RcccStressTest, EndsEveryFlowWithItsCountsInAgreement) {
  Stress(60, RandomTransport, [](const Packet& packet) {
    return packet.kind == PacketKind::kData && packet.Has(Packet::kEct);
  });
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

// --- Determinism, memory, settings ---

TEST(RcccTest, ResultsDoNotDependOnThreads) {
  for (const std::string& transport :
       {kCreditAlone, kBoth,
        std::string("{kind: uet, cc: none, receiver: rccc, rccc: {fabric: on}}")}) {
    const auto text = [&](int threads) {
      return RecordsOfSixteenHosts({.graph = {},
                                    .transport = transport,
                                    .balancer = "{kind: mixed}",
                                    .port = kTrims,
                                    .threads = threads});
    };
    const std::string one = text(1);
    EXPECT_EQ(one, text(2));
    EXPECT_EQ(one, text(3));
  }
}

// A flow takes 24 bytes more at its sender and 20 at its receiver, and two places of four bytes in
// the lists of its receiver's pacer.
TEST(RcccTest, TakesFewBytesPerFlow) {
  EXPECT_EQ(sizeof(UetCredit), 24u);
  EXPECT_LE(sizeof(UetDemand), 16u);
  const auto bytes = [](const std::string& more) {
    Lab lab({.graph = Star(33, kLink),
             .transport = "{kind: uet, cc: constant, window: 8300B, ack_bytes: 1B" + more + "}",
             .port = kDeep});
    for (HostId h = 0; h < 32; ++h) lab.AddFlow(h, 32, 1'000'000);
    lab.Run(Time{} + 200_us);
    return lab.network().host(32).transport().memory_bytes();
  };
  const size_t without = bytes("");
  const size_t with = bytes(", receiver: rccc");
  EXPECT_GT(with, without + sizeof(UetPacer));
  EXPECT_LE(with, without + sizeof(UetPacer) + 2 * 32 * sizeof(FlowId));
}

std::string Errors(const std::string& transport, const std::string& rest = "") {
  return ErrorsOf(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
      "transport: " +
      transport + "\nlb: ecmp\nworkload: [{kind: permutation, size: 10KB}]\n" + rest);
}

TEST(RcccSettingsTest, RefusesWhatDoesNotGoTogether) {
  EXPECT_EQ(Errors("{kind: uet, receiver: rccc}"), "");
  EXPECT_EQ(Errors("{kind: uet, receiver: none}"), "");
  EXPECT_EQ(Errors("{kind: uet, cc: none, receiver: rccc, rccc: {fabric: off}}"), "");
  const std::vector<std::vector<std::string>> refused = {
      {"{kind: uet, cc: none}", "transport.cc", "set receiver: rccc"},
      {"{kind: uet, cc: none, receiver: none}", "transport.cc", "set receiver: rccc"},
      {"{kind: uet, receiver: rccc, rccc: {fabric: maybe}}", "transport.rccc.fabric", "auto"},
      {"{kind: uet, receiver: eqds}", "transport.receiver", "rccc"},
      {"{kind: uet, preset: strack, receiver: rccc}", "transport.receiver", "receiver: none"},
      {"{kind: rocev2, receiver: rccc}", "transport.receiver", "kind: uet"},
      {"{kind: tcp, receiver: rccc}", "transport.receiver", "kind: uet"},
      {"{kind: dctcp, receiver: rccc}", "transport.receiver", "kind: uet"},
      {"{kind: mptcp, receiver: rccc}", "transport.receiver", "kind: uet"},
      {"{kind: mprdma, receiver: rccc}", "transport.receiver", "kind: uet"},
  };
  for (const std::vector<std::string>& words : refused) {
    const std::string errors = Errors(words[0]);
    EXPECT_NE(errors.find(words[1]), std::string::npos) << words[0] << ": " << errors;
    EXPECT_NE(errors.find(words[2]), std::string::npos) << words[0] << ": " << errors;
  }
  const std::string queueing = Errors("{kind: uet, receiver: rccc}", "measure: {queueing: true}\n");
  EXPECT_NE(queueing.find("measure.queueing"), std::string::npos) << queueing;
  EXPECT_NE(queueing.find("transport.receiver: none"), std::string::npos) << queueing;
  EXPECT_EQ(Errors("{kind: uet}", "measure: {queueing: true}\n"), "");
}

TEST(RcccSettingsTest, WarnsOfWhatHasNoEffect) {
  for (const auto& [transport, path] :
       {std::pair("{kind: uet, rccc: {fabric: on}}", "transport.rccc.fabric"),
        std::pair("{kind: uet, cc: none, receiver: rccc, window: 10KB}", "transport.window"),
        std::pair("{kind: uet, cc: none, receiver: rccc, rcv_pen: 3}", "transport.rcv_pen")}) {
    const Experiment experiment = ExperimentFrom(
        fmt::format("topology: {{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}}\n"
                    "transport: {}\nlb: ecmp\nworkload: [{{kind: permutation, size: 10KB}}]\n",
                    transport));
    const auto names_it = [&](const std::string& warning) {
      return warning.find(path) != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(experiment.warnings, names_it)) << path;
  }
}

}  // namespace heddle::rccc_test
