// SPDX-License-Identifier: Apache-2.0
// The presets EQDS and NDP of Ultra Ethernet: lone flows against models that add up packet by
// packet, incasts, lost pulls, headers that switches send back, and what the presets set.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/rccc_kit.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/stress.h"
#include "transport/uet/uet_credit.h"

namespace heddle::eqds_ndp_test {

constexpr Channel kLink{100_Gbps, 1_us};
const std::string kEqds = "{kind: uet, framing: uet_htsim, preset: eqds}";
const std::string kNdp = "{kind: uet, framing: uet_htsim, preset: ndp}";
const std::string kTrims = "{buffer: unlimited, ecn_above: unlimited, trim: {when: port}}";
// NDP's switches: queues of 15 packets, and headers go back if there are too many of them.
const std::string kNdpPort =
    "{buffer: unlimited, ecn_above: unlimited, trim: {when: port, threshold: 62250B, overflow: "
    "back}}";

// At 100 Gbps: a full packet, and an ACK or a pull; both over one link with 1 us.
constexpr int64_t kPacketPs = 332'000;
constexpr int64_t kControlPs = 5'120;
constexpr int64_t kDelayPs = 1'000'000;
constexpr int64_t kPayload = 4'086;

std::string With(const std::string& transport, const std::string& more) {
  return transport.substr(0, transport.size() - 1) + ", " + more + "}";
}

// --- Credit that counts packets ---

UetCredit CreditOf(int64_t packets) {
  UetCredit credit;
  credit.Start({.is_needed = true,
                .counts_packets = true,
                .quantum = 4'150,
                .first = packets * 4'150,
                .most = packets * 4'150});
  return credit;
}

// Returns how many packets of `size` bytes may be sent.
int PacketsIn(UetCredit credit, int64_t size) {
  int packets = 0;
  for (; credit.Allows() && packets < 100; ++packets) credit.Spend(size);
  return packets;
}

TEST(NdpCreditTest, APacketCostsOneWhateverItsSize) {
  EXPECT_EQ(PacketsIn(CreditOf(15), 4'150), 15);
  EXPECT_EQ(PacketsIn(CreditOf(15), 65), 15);
}

TEST(NdpCreditTest, TheFirstWindowOutlivesTheFirstAnswer) {
  UetCredit credit = CreditOf(15);
  credit.Spend(4'150);
  credit.EndSpeculation();
  EXPECT_EQ(PacketsIn(credit, 4'150), 14);
  credit.OnPull(1);
  EXPECT_EQ(PacketsIn(credit, 4'150), 15);
}

TEST(NdpCreditTest, TheNextPullMakesUpForLostOnes) {
  UetCredit credit = CreditOf(15);
  for (int i = 0; i < 15; ++i) credit.Spend(4'150);
  EXPECT_FALSE(credit.Allows());
  credit.OnPull(3);
  EXPECT_EQ(PacketsIn(credit, 4'150), 3);
  credit.OnPull(2);  // Overtaken.
  EXPECT_EQ(PacketsIn(credit, 4'150), 3);
  EXPECT_EQ(credit.pulled(), 3u);
}

TEST(NdpCreditTest, ASenderMayTakeAPacketWithoutAPull) {
  UetCredit credit = CreditOf(1);
  credit.Spend(4'150);
  credit.TakePacket();
  EXPECT_EQ(PacketsIn(credit, 4'150), 1);
}

// EQDS: 512 bytes a quantum. A window of 20,000 bytes less 4150 spent leaves 15,850.
TEST(EqdsCreditTest, CountsQuantaOf512Bytes) {
  UetCredit credit;
  credit.Start({.is_needed = true, .quantum = 512, .first = 20'000, .most = 20'000});
  credit.Spend(4'150);
  const auto target = [&](int64_t wanted) {
    return credit.Target({.wanted = wanted, .has_backlog = true, .packet = 4'150, .sharing = 1});
  };
  EXPECT_EQ(target(100'000), 9u);        // ceil(4150 / 512)
  credit.OnPull(8);                      // Ends the speculation and grants 4096 bytes.
  EXPECT_EQ(target(100'000), 8u + 32u);  // ceil((20,000 - 4096) / 512) = ceil(31.06)
  credit.Spend(4'095);
  EXPECT_TRUE(credit.Allows());
  credit.Spend(1);
  EXPECT_FALSE(credit.Allows());
}

// --- Lone flows ---

struct Fct {
  int64_t rx;
  int64_t tx;
};

// A flow of `packets` full packets over `links` links as NDP sends it: 15 packets at line rate,
// then one for each pull. The receiver acknowledges each packet when it comes, and sends a pull for
// each, 8 * 4150 / 0.99 bits apart; both leave through its NIC in the order of time, ACKs first.
Fct NdpByHand(int64_t links, int64_t packets) {
  constexpr int64_t kFirstWindow = 15;
  constexpr int64_t kInterval = 335'353;
  const auto over = [&](int64_t size) { return links * (size + kDelayPs); };
  std::vector<int64_t> sent;
  for (int64_t i = 0; i < std::min(packets, kFirstWindow); ++i) sent.push_back(i * kPacketPs);
  int64_t nic_free = 0;
  int64_t acks = 0;
  int64_t pulls = 0;
  int64_t next_pull = 0;  // The earliest.
  for (;;) {
    const auto arrival = [&](int64_t i) { return sent[static_cast<size_t>(i)] + over(kPacketPs); };
    const bool has_pull = pulls < acks;
    const int64_t pull_at = has_pull ? std::max(next_pull, arrival(pulls)) : INT64_MAX;
    const bool has_ack = acks < static_cast<int64_t>(sent.size());
    if (has_ack && arrival(acks) <= pull_at) {
      const int64_t done = arrival(acks);
      nic_free = std::max(nic_free, done) + kControlPs;
      if (++acks == packets) return {done, nic_free - kControlPs + over(kControlPs)};
      continue;
    }
    const int64_t start = std::max(nic_free, pull_at);
    nic_free = start + kControlPs;
    next_pull = pull_at + kInterval;
    ++pulls;
    if (static_cast<int64_t>(sent.size()) == packets) continue;
    sent.push_back(std::max(sent.back() + kPacketPs, start + over(kControlPs)));
  }
}

FlowRecord Lone(const std::string& transport, size_t links, int64_t size, const std::string& port) {
  Lab lab({.graph = Line(links, kLink), .transport = transport, .port = port});
  lab.AddFlow(0, 1, size);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_EQ(lab.Packets().trimmed, 0);
  return lab.Record(0);
}

// Over two links the first pull reaches the sender after 4.679 us, before the first window is sent,
// and pulls fall behind by 3.4 ns a packet, so 100 packets go at line rate: 2.664 + 99 * 0.332 us.
TEST(NdpTest, ALoneFlowTakesTheTimeComputedByHand) {
  EXPECT_EQ(NdpByHand(2, 100).rx, 35'532'000);
  for (const size_t links : {2u, 4u, 6u}) {
    for (const int64_t packets : {1, 2, 15, 16, 100, 490}) {
      SCOPED_TRACE(fmt::format("{} links, {} packets", links, packets));
      const FlowRecord record = Lone(kNdp, links, packets * kPayload, kNdpPort);
      const Fct expected = NdpByHand(static_cast<int64_t>(links), packets);
      EXPECT_EQ(FctRx(record).ps, expected.rx);
      EXPECT_EQ(FctTx(record).ps, expected.tx);
      EXPECT_EQ(record.sender.packets_sent, packets);
      EXPECT_EQ(record.sender.timeouts, 0);
    }
  }
}

// The last packet of a flow of `packets` full packets as EQDS sends it: at line rate until the
// first ACK takes the credit away, then on pulls of 4096 bytes, 0.99 * 8 * 4188 bits apart, on any
// credit. A pull may wait for an ACK of 5.12 ns in the receiver's NIC, which this model leaves out.
int64_t EqdsByHand(int64_t links, int64_t packets) {
  constexpr int64_t kInterval = 331'689;
  const auto over = [&](int64_t size) { return links * (size + kDelayPs); };
  const int64_t first_ack = over(kPacketPs) + over(kControlPs);
  int64_t sent = 0;
  int64_t nic_free = 0;
  for (; sent < packets && nic_free < first_ack; ++sent) nic_free += kPacketPs;
  int64_t credit = 0;
  for (int64_t pull = first_ack; sent < packets; pull += kInterval) {
    credit += 4'096;
    if (credit <= 0) continue;
    credit -= 4'150;
    nic_free = std::max(nic_free, pull) + kPacketPs;
    ++sent;
  }
  return nic_free - kPacketPs + over(kPacketPs);
}

TEST(EqdsTest, ALoneFlowTakesTheTimeComputedByHand) {
  EXPECT_EQ(EqdsByHand(6, 40), 6 * 1'332'000 + 39 * 332'000);  // All before the first ACK.
  for (const size_t links : {2u, 4u, 6u}) {
    for (const int64_t packets : {1, 2, 10, 100, 490}) {
      SCOPED_TRACE(fmt::format("{} links, {} packets", links, packets));
      const FlowRecord record = Lone(kEqds, links, packets * kPayload, kTrims);
      const int64_t expected = EqdsByHand(static_cast<int64_t>(links), packets);
      EXPECT_GE(FctRx(record).ps, expected);
      EXPECT_LE(FctRx(record).ps, expected + kControlPs);
      EXPECT_EQ(record.sender.packets_sent, packets);
      EXPECT_EQ(record.sender.timeouts, 0);
    }
  }
}

// --- Pulls ---

struct Pull {
  Time at;
  uint32_t granted;
};

Rule Pulls(std::vector<Pull>& pulls) {
  return WatchAt(0, Anything(PacketKind::kCnp), [&](const SwitchView& view, const Packet& packet) {
    pulls.push_back({view.now(), packet.pull.granted});
  });
}

// EQDS grants 8 quanta each 0.99 * 8 * (4150 + 38) / 100 Gbps = 331.689 ns, 98.79 Gbps; NDP one
// packet each 8 * 4150 / 99 Gbps = 335.353 ns. A pull may wait for an ACK of 5.12 ns.
TEST(PresetsTest, PullsAreOnePacketApart) {
  struct Pace {
    std::string transport;
    uint32_t quanta;
    Duration interval;
  };
  for (const Pace& pace : {Pace{kEqds, 8, 331'689_ps}, Pace{kNdp, 1, 335'353_ps},
                           Pace{With(kEqds, "rccc: {interval: 400ns}"), 8, 400_ns},
                           Pace{With(kEqds, "rccc: {pull: 16}"), 16, 663'379_ps}}) {
    SCOPED_TRACE(pace.transport);
    std::vector<Pull> pulls;
    Lab lab({.graph = Star(2, kLink),
             .transport = pace.transport,
             .port = kNdpPort,
             .switch_policy = Scripted({Pulls(pulls)})});
    lab.AddFlow(0, 1, 4'000'000);
    lab.Run();
    ASSERT_TRUE(lab.finished());
    ASSERT_GT(pulls.size(), 300u);
    for (size_t i = 21; i < 300; ++i) {
      EXPECT_EQ(pulls[i].granted - pulls[i - 1].granted, pace.quanta) << i;
      EXPECT_GE(pulls[i].at - pulls[i - 1].at, pace.interval - 6_ns) << i;
      EXPECT_LE(pulls[i].at - pulls[i - 1].at, pace.interval + 6_ns) << i;
    }
    EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
  }
}

// NDP's receiver sends no more pulls than packets and headers have come.
TEST(NdpTest, EachArrivalBringsAtMostOnePull) {
  std::map<FlowId, int64_t> arrived;
  std::map<FlowId, uint32_t> granted;
  const auto data = [&](const SwitchView&, const Packet& packet) { ++arrived[packet.flow]; };
  const auto pull = [&](const SwitchView&, const Packet& packet) {
    granted[packet.flow] = std::max(granted[packet.flow], packet.pull.granted);
    EXPECT_LE(granted[packet.flow], arrived[packet.flow]);
  };
  Lab lab({.graph = Star(9, kLink),
           .transport = kNdp,
           .port = kNdpPort,
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kData), data),
                                      WatchAt(0, Anything(PacketKind::kCnp), pull)})});
  for (HostId h = 0; h < 8; ++h) lab.AddFlow(h, 8, 500'000);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  EXPECT_EQ(granted.size(), 8u);
}

struct LateFlow {
  int64_t lost;
  int64_t pulls_in_a_row;
};

// Seven flows share a receiver. An eighth begins when they fill the queue, which trims what
// arrives.
LateFlow FlowAtAFullQueue(const std::string& transport) {
  std::vector<FlowId> order;
  const auto note = [&](const SwitchView&, const Packet& pull) { order.push_back(pull.flow); };
  Lab lab(
      {.graph = Star(9, kLink),
       .transport = transport,
       .port = "{buffer: unlimited, ecn_above: unlimited, trim: {when: port, victim: arriving}}",
       .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kCnp), note)})});
  for (HostId h = 0; h < 7; ++h) lab.AddFlow(h, 8, 1'000'000);
  lab.AddFlow(7, 8, 100'000, Time{} + 100_us);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  LateFlow late{.lost = lab.Record(7).receiver.trimmed, .pulls_in_a_row = 0};
  int64_t in_a_row = 0;
  for (const FlowId flow : order) {
    in_a_row = flow == 7 ? in_a_row + 1 : 0;
    late.pulls_in_a_row = std::max(late.pulls_in_a_row, in_a_row);
  }
  return late;
}

// A lost packet is worth 9 quanta, and a pull 8. Without that rule flows take turns.
TEST(EqdsTest, FlowsThatHaveLostPacketsArePulledFirst) {
  const LateFlow first = FlowAtAFullQueue(kEqds);
  EXPECT_GE(first.lost, 5);
  EXPECT_GE(first.pulls_in_a_row, first.lost * 9 / 8);
  EXPECT_LE(FlowAtAFullQueue(With(kEqds, "rccc: {grants: wished}")).pulls_in_a_row, 2);
}

// --- Incasts ---

struct Incast {
  std::vector<FlowRecord> records;
  std::map<Time, int64_t> trimmed;  // At multiples of 10 us,
  std::map<Time, int64_t> arrived;  // and the payload at the receiver.
  int64_t trimmed_in_all = 0;
  int64_t returned = 0;
  int64_t longest_queue = 0;  // In packets, from `kSettled` on.

  static constexpr Duration kSettled = 1'000_us;

  Incast(const std::string& transport, HostId senders, int64_t size, const std::string& port) {
    const auto watch = [&](const SwitchView& view, const Packet&) {
      if (view.now() < Time{} + kSettled) return;
      longest_queue = std::max(longest_queue, view.QueuedPackets(senders));
    };
    const auto back = [&](const SwitchView&, const Packet& nack) {
      returned += nack.nack.returned ? 1 : 0;
    };
    Lab lab({.graph = Star(static_cast<size_t>(senders) + 1, kLink),
             .transport = transport,
             .port = port,
             .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kData), watch),
                                        WatchAt(0, Anything(PacketKind::kNack), back)})});
    for (HostId h = 0; h < senders; ++h) lab.AddFlow(h, senders, size);
    lab.SampleEvery(10_us, [&](Time now) {
      trimmed[now] = lab.Packets().trimmed;
      arrived[now] = lab.network().host(senders).payload_received();
    });
    lab.Run(Time{} + 1_s);
    EXPECT_TRUE(lab.finished());
    trimmed_in_all = lab.Packets().trimmed;
    records = lab.records();
  }

  Duration Longest() const {
    Duration longest{0};
    for (const FlowRecord& record : records) longest = std::max(longest, FctRx(record));
    return longest;
  }
  int64_t Timeouts() const {
    int64_t timeouts = 0;
    for (const FlowRecord& record : records) timeouts += record.sender.timeouts;
    return timeouts;
  }
  // The share of the line that data with headers has between two instants.
  double Share(Duration from, Duration to) const {
    const int64_t payload = arrived.at(Time{} + to) - arrived.at(Time{} + from);
    const double bytes = static_cast<double>(payload) * 4'150 / 4'086;
    return bytes * 8 / Seconds(to - from) / 100e9;
  }
};

// All trimmed packets belong to the windows that senders begin with, but for those that meet the
// queue these leave. Then data has the share of the line that is granted: EQDS 4096 bytes each
// 331.689 ns, 98.79 %; NDP 99 %. A packet of EQDS exceeds its credit by 54 bytes, so flows send on
// 76 pulls in a row and leave one out; 77 rounds of 32 pulls take 817 us.
TEST(PresetsTest, AnIncastFillsTheLastLink) {
  struct Case {
    std::string transport;
    std::string port;
    double share;
  };
  for (const Case& c : {Case{kEqds, kTrims, 0.9879}, Case{kNdp, kNdpPort, 0.99}}) {
    SCOPED_TRACE(c.transport);
    const Incast incast(c.transport, 32, 1'000'000, c.port);
    const int64_t early = incast.trimmed.at(Time{} + 100_us);
    EXPECT_GT(early, 300);
    EXPECT_LE(early, 480);
    EXPECT_LE(incast.trimmed_in_all, early + 20);
    EXPECT_EQ(incast.Timeouts(), 0);
    for (const FlowRecord& record : incast.records) {
      EXPECT_EQ(record.sender.nacks, record.receiver.trimmed);
      EXPECT_EQ(record.sender.retransmissions, record.receiver.trimmed);
      EXPECT_EQ(record.sender.retransmissions_spurious, 0);
    }
    EXPECT_NEAR(incast.Share(1'000_us, 1'820_us), c.share, 0.001);
    EXPECT_LT(incast.longest_queue, 10);
    const double line = 32.0 * (244 * 4'150 + 3'080) * 8 / 100e9;
    EXPECT_GE(Seconds(incast.Longest()), line);
    EXPECT_LE(Seconds(incast.Longest()), line / c.share * 1.02);
    EXPECT_EQ(incast.returned, 0);
  }
}

// --- Headers that switches send back ---

// 64 flows of one packet meet ten headers' room. Most headers come back; their senders expect no
// pull, so they send again at once. Where headers are dropped instead, the timeout of 50 ms must
// do.
TEST(NdpTest, ReturnedHeadersNeedNoTimeout) {
  const auto port = [](const std::string& overflow) {
    return "{buffer: unlimited, ecn_above: unlimited, trim: {when: port, threshold: 62250B, "
           "header_limit: 640B, overflow: " +
           overflow + "}}";
  };
  const Incast back(kNdp, 64, kPayload, port("back"));
  EXPECT_GT(back.returned, 20);
  EXPECT_EQ(back.Timeouts(), 0);
  EXPECT_LT(back.Longest(), 100_us);
  const Incast dropped(kNdp, 64, kPayload, port("drop"));
  EXPECT_EQ(dropped.returned, 0);
  EXPECT_GT(dropped.Timeouts(), 20);
  EXPECT_GT(dropped.Longest(), 50_ms);
}

// The first packet spends the first window, and no pull will come: the sender takes the credit for
// its returned packet itself.
TEST(NdpTest, AReturnedPacketNeedsNoCreditIfNoPullWillCome) {
  const Incast incast("{kind: uet, framing: uet_htsim, preset: ndp, rccc: {first_window: 1}}", 64,
                      kPayload,
                      "{buffer: unlimited, ecn_above: unlimited, trim: {when: port, threshold: "
                      "62250B, header_limit: 640B, overflow: back}}");
  EXPECT_GT(incast.returned, 20);
  EXPECT_EQ(incast.Timeouts(), 0);
  EXPECT_LT(incast.Longest(), 100_us);
}

// A sender that still expects pulls keeps a returned packet for one of them, so the incast is not
// repeated: each repair is answered, and no flow waits for a timeout.
TEST(NdpTest, AnIncastWithReturnedHeadersEnds) {
  const Incast incast(kNdp, 32, 300'000,
                      "{buffer: unlimited, ecn_above: unlimited, trim: {when: port, threshold: "
                      "62250B, header_limit: 2KB, overflow: back}}");
  EXPECT_GT(incast.returned, 50);
  EXPECT_EQ(incast.Timeouts(), 0);
  int64_t repairs = 0;
  for (const FlowRecord& record : incast.records) {
    EXPECT_EQ(record.sender.nacks, record.sender.retransmissions);
    repairs += record.sender.retransmissions;
  }
  EXPECT_EQ(repairs, incast.trimmed_in_all);
  const double line = 32.0 * 300'000 / 4'086 * 4'150 * 8 / 100e9;
  EXPECT_LE(Seconds(incast.Longest()), 1.1 * line);
}

// --- Losses ---

// Every fifth pull is lost: the next one makes up for it, an interval later. NDP's window of 15
// packets hardly exceeds the bandwidth-delay product of 14.1, so that costs it a little.
TEST(PresetsTest, LostPullsAreMadeUpForByTheNext) {
  for (const std::string& transport : {kEqds, kNdp}) {
    SCOPED_TRACE(transport);
    const auto fct = [&](double loss) {
      return rccc::TimeWithLostPulls(transport, kNdpPort, loss);
    };
    EXPECT_LE(fct(0.2), 1.05 * fct(0));
  }
}

// All pulls are lost for a while. When nothing is in flight the sender asks for them, a timeout
// later, and no data is sent twice.
TEST(PresetsTest, ASenderWhosePullsAreAllLostAsksForThem) {
  for (const std::string& transport : {kEqds, kNdp}) {
    SCOPED_TRACE(transport);
    int64_t requests = 0;
    Lab lab(
        {.graph = Star(2, kLink),
         .transport = With(transport, "rto: 200us"),
         .port = kNdpPort,
         .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kSyn),
                                            [&](const SwitchView&, const Packet&) { ++requests; }),
                                    DropAt(0, Anything(PacketKind::kCnp)).Skip(5).Times(60)})});
    lab.AddFlow(0, 1, 4'000'000);
    lab.Run(Time{} + 1_s);
    ASSERT_TRUE(lab.finished());
    EXPECT_GT(requests, 0);
    EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
    EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
  }
}

// A lost packet is sent again after the timeout, in NDP without a pull: 50 ms and what follows.
TEST(NdpTest, ALostPacketGoesAgainAfterTheTimeout) {
  Lab lab({.graph = Star(2, kLink),
           .transport = kNdp,
           .port = kNdpPort,
           .switch_policy = Scripted({DropAt(0, Data(0, 9)).Times(1)})});
  lab.AddFlow(0, 1, 10 * kPayload);
  lab.Run(Time{} + 1_s);
  ASSERT_TRUE(lab.finished());
  EXPECT_EQ(lab.Record(0).sender.timeouts, 1);
  // The packet was sent at 9 * 332 ns, and takes two links.
  EXPECT_EQ(FctRx(lab.Record(0)).ps, 9 * kPacketPs + 50'000'000'000 + 2 * (kPacketPs + kDelayPs));
}

TEST(PresetsTest, FlowsSurviveADeadLink) {
  const LinkEvent down{.at = Time{} + 30_us, .link = 1, .up = false, .rate = {}, .delay = {}};
  const LinkEvent up{.at = Time{} + 700_us, .link = 1, .up = true, .rate = {}, .delay = {}};
  for (const std::string& transport : {kEqds, kNdp}) {
    Lab lab(
        {.graph = Line(4, kLink), .transport = transport, .port = kNdpPort, .events = {down, up}});
    lab.AddFlow(0, 1, 2'000'000);
    lab.Run(Time{} + 10_s);
    ASSERT_TRUE(lab.finished());
    EXPECT_GT(lab.Record(0).sender.timeouts, 0);
  }
}

std::string RandomTransport(Rng& rng) {
  std::string yaml = "{kind: uet, rto: 200us, preset: ";
  yaml += OneOf(rng, {"eqds", "ndp"});
  yaml += OneOf(rng, {"", ", cc: nscc", ", cc: dctcp_ack"});
  yaml += OneOf(rng, {"", ", framing: uet_htsim", ", ack_bytes: 16384B"});
  yaml += OneOf(rng, {"", ", loss: sleek"});
  yaml += OneOf(rng, {"", ", base_rtt: pair", ", rccc: {fabric: on}", ", rccc: {first_window: 3}"});
  return yaml + "}";
}

TEST(PresetsStressTest, EndsEveryFlowWithItsCountsInAgreement) {
  Stress(60, RandomTransport, [](const Packet& packet) {
    return packet.kind == PacketKind::kData && packet.Has(Packet::kEct);
  });
}

TEST(PresetsTest, ResultsDoNotDependOnThreads) {
  for (const std::string& transport : {kEqds, kNdp}) {
    const auto text = [&](int threads) {
      return RecordsOfSixteenHosts({.graph = {},
                                    .transport = transport,
                                    .balancer = "{kind: bitmap, most_points: 1, forgives: all}",
                                    .port = kNdpPort,
                                    .threads = threads});
    };
    const std::string one = text(1);
    EXPECT_EQ(one, text(2));
    EXPECT_EQ(one, text(3));
  }
}

// A packet trimmed within the fabric gives its entropy four points, if it may have them.
TEST(EqdsTest, TheMostPointsOfAnEntropyMatter) {
  const auto records = [](const std::string& most) {
    return RecordsOfSixteenHosts(
        {.graph = {},
         .transport = kEqds,
         .balancer = "{kind: bitmap, paths: 8, forgives: all" + most + "}",
         .port = "{buffer: unlimited, trim: {when: port, threshold: 20KB}}"});
  };
  EXPECT_NE(records(""), records(", most_points: 1"));
  EXPECT_EQ(records(""), records(", most_points: 15"));
}

// --- Settings ---

std::string Yaml(const std::string& transport,
                 const std::string& trim = "{when: port, threshold: 62250B, overflow: back}") {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2, port: {trim: " +
         trim + "}}\ntransport: " + transport +
         "\nlb: ecmp\nworkload: [{kind: permutation, size: 100KB}]\n";
}

// The parts of a preset are the same experiment as the preset, but for its name.
TEST(PresetsTest, APresetIsTheSumOfItsParts) {
  const std::string parts_of_eqds =
      "{kind: uet, framing: uet_htsim, cc: none, receiver: rccc, loss: timeout, rto: 1ms, rccc: "
      "{fabric: off, grants: whole, quantum: 512B, pull: 8}}";
  const std::string parts_of_ndp =
      "{kind: uet, framing: uet_htsim, cc: none, receiver: rccc, loss: timeout, ack_bytes: 1B, "
      "rto: "
      "50ms, rccc: {fabric: off, grants: arrivals, first_window: 15}}";
  for (const auto& [preset, parts] :
       {std::pair(With(kEqds, "rto: 1ms"), parts_of_eqds), std::pair(kNdp, parts_of_ndp)}) {
    const Experiment one = ExperimentFrom(Yaml(preset));
    const Experiment other = ExperimentFrom(Yaml(parts));
    std::string resolved = one.Resolved();
    const std::string name = preset.find("eqds") != std::string::npos ? "eqds" : "ndp";
    const size_t at = resolved.find("preset: " + name);
    ASSERT_NE(at, std::string::npos) << resolved;
    EXPECT_EQ(resolved.replace(at, 8 + name.size(), "preset: none"), other.Resolved());
    EXPECT_EQ(RunExperiment(one).files.flows, RunExperiment(other).files.flows);
  }
}

// run.yaml is the same experiment, also if a setting overrides one of the preset.
TEST(PresetsTest, SingleSettingsOverrideAPreset) {
  const std::string yaml = Yaml("{kind: uet, preset: eqds, cc: nscc, rccc: {pull: 16}}");
  const Experiment experiment = ExperimentFrom(yaml);
  const std::string resolved = experiment.Resolved();
  for (const std::string part : {"preset: eqds", "cc: nscc", "receiver: rccc", "grants: whole",
                                 "quantum: 512B", "pull: 16"}) {
    EXPECT_NE(resolved.find(part), std::string::npos) << part << " in " << resolved;
  }
  EXPECT_EQ(ExperimentFrom(resolved).Resolved(), resolved);
}

// EQDS waits for at least 150 us and six queues before it takes a packet for lost.
TEST(PresetsTest, EqdsHasATimeoutOf150MicrosecondsAndSixQueues) {
  Lab lab(
      {.graph = Star(2, kLink),
       .transport = kEqds,
       .port = "{buffer: unlimited, ecn_above: unlimited, trim: {when: port, threshold: 100KB}}",
       .switch_policy = Scripted({DropAt(0, Data(0, 0)).Times(1)})});
  lab.AddFlow(0, 1, kPayload);
  lab.Run();
  const int64_t rto = 150'000'000 + 6 * 8'000'000;  // 100 KB take 8 us.
  EXPECT_EQ(lab.Record(0).sender.timeouts, 1);
  EXPECT_EQ(FctRx(lab.Record(0)).ps, rto + 2 * (kPacketPs + kDelayPs));
}

std::vector<std::string> Warnings(const std::string& yaml) {
  std::vector<std::string> of_preset;
  for (const std::string& warning : ExperimentFrom(yaml).warnings) {
    if (warning.find("transport.preset") != std::string::npos) of_preset.push_back(warning);
  }
  return of_preset;
}

TEST(PresetsTest, WarnsOfOtherSwitches) {
  const std::string full = "when: port, threshold: 62250B";
  EXPECT_TRUE(Warnings(Yaml(kNdp)).empty());
  EXPECT_TRUE(Warnings(Yaml(kEqds)).empty());
  EXPECT_TRUE(Warnings(Yaml("{kind: uet}", "{when: never}")).empty());
  struct Case {
    std::string transport;
    std::string trim;
    std::string word;
  };
  for (const Case& c : {Case{kEqds, "{when: never}", "trim no packets"},
                        Case{kNdp, "{when: never}", "trim no packets"},
                        Case{kNdp, "{" + full + "}", "overflow: back"},
                        Case{kNdp, "{when: port, overflow: back}", "threshold: 62250B"}}) {
    const std::vector<std::string> warnings = Warnings(Yaml(c.transport, c.trim));
    ASSERT_EQ(warnings.size(), 1u) << c.transport << c.trim;
    EXPECT_NE(warnings[0].find(c.word), std::string::npos) << warnings[0];
  }
}

TEST(PresetsTest, WarnsOfSettingsWithoutEffect) {
  const Experiment experiment =
      ExperimentFrom(Yaml("{kind: uet, preset: ndp, framing: uet_htsim, rccc: {pull: 3}}"));
  EXPECT_TRUE(std::ranges::any_of(experiment.warnings, [](const std::string& warning) {
    return warning.find("transport.rccc.pull") != std::string::npos;
  }));
}

// NDP's packets carry no wish, so how long they wait can be measured.
TEST(PresetsTest, NdpLetsQueueingBeMeasured) {
  const std::string measure = "measure: {queueing: true}\n";
  EXPECT_EQ(ErrorsOf(Yaml(kNdp) + measure), "");
  EXPECT_NE(ErrorsOf(Yaml(kEqds) + measure).find("measure.queueing"), std::string::npos);
}

}  // namespace heddle::eqds_ndp_test
