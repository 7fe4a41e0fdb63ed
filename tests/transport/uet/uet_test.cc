// SPDX-License-Identifier: Apache-2.0
// Flows of the Ultra Ethernet transport: lone ones to the picosecond, and what losses, trimming and
// reordering do to them.

#include "transport/uet/uet.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/thread_counts.h"

namespace heddle::uet_test {

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

// Without marks, and with a control that shrinks by each trimmed packet, each NACK takes its packet
// from the window. Beside that a window loses less than a packet, when the shortest round trip seen
// lowers its bound.
TEST(UetTest, EachNackTakesItsPacketFromTheWindow) {
  Lab lab({.graph = Star(3, kLink),
           .transport = "{kind: uet, framing: uet_htsim, cc: mprdma_ack, ack_bytes: 1B}",
           .port = "{buffer: unlimited, ecn_above: unlimited, marking: step, trim: {when: "
                   "port}}"});
  for (HostId src = 0; src < 2; ++src) lab.AddFlow(src, 2, 1'000'000);
  std::vector<double> last(2, 0);
  std::vector<double> taken(2, 0);
  lab.SampleEvery(1_ns, [&](Time) {
    for (HostId src = 0; src < 2; ++src) {
      const std::optional<FlowState> state = lab.network().host(src).transport().StateOf(src);
      if (!state) continue;
      taken[src] += std::max(last[src] - state->cwnd.value(), 0.0);
      last[src] = state->cwnd.value();
    }
  });
  lab.Run();
  ASSERT_TRUE(lab.finished());
  for (HostId src = 0; src < 2; ++src) {
    const double nacks = static_cast<double>(lab.Record(src).sender.nacks);
    EXPECT_GT(nacks, 2);
    EXPECT_GT(taken[src], (nacks - 1) * 4'150);
    EXPECT_LT(taken[src], (nacks + 1) * 4'150);
  }
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

// --- Losses without trimming ---

TEST(SleekTest, ItsThresholdIsOneAndAHalfWindowsRoundedDown) {
  EXPECT_EQ(HeldAtLoss(124'500, 262'926, 4'086), 45u);
  EXPECT_EQ(HeldAtLoss(262'926, 262'926, 4'086), 64u);
  EXPECT_EQ(HeldAtLoss(4'150, 262'926, 4'086), 5u);
}

// What the policy of the sending host sees.
struct Seen {
  struct Sent {
    Time at;
    PacketKind kind;
    uint32_t number;
    uint16_t entropy;
    bool asks;
  };
  struct Loss {
    LossSign sign;
    std::optional<uint16_t> entropy;
  };
  std::vector<Sent> sent;
  std::vector<Loss> losses;
  std::vector<uint16_t> nacked;

  int64_t CountOf(PacketKind kind, bool asks) const {
    return std::ranges::count_if(sent,
                                 [&](const Sent& s) { return s.kind == kind && s.asks == asks; });
  }
};

// Gives each packet an entropy of its own.
class Looking final : public HostPolicy {
 public:
  explicit Looking(Seen& seen) : seen_(seen) {}
  void OnSend(HostView& view, HostFlow&, Packet& packet) override {
    packet.entropy = static_cast<uint16_t>(seen_.sent.size() + 1);
    seen_.sent.push_back(
        {view.now(), packet.kind, packet.seq, packet.entropy, packet.Has(Packet::kCwr)});
  }
  void OnAck(HostView&, HostFlow&, const Packet& ack, const AckNews&) override {
    if (ack.kind == PacketKind::kNack) seen_.nacked.push_back(ack.entropy);
  }
  void OnLoss(HostView&, HostFlow& flow, LossSign sign) override {
    seen_.losses.push_back({sign, flow.lost_entropy});
  }
  size_t StateBytes() const override { return 0; }

 private:
  Seen& seen_;
};

// A flow of 2,000,000 bytes over six links: 490 packets.
struct Transfer {
  Seen seen;
  FlowRecord record;

  Transfer(const std::string& transport, const std::string& port, std::vector<Rule> rules,
           std::vector<LinkEvent> events = {}) {
    Lab lab({.graph = Line(6, kLink),
             .transport = transport,
             .port = port,
             .switch_policy = Scripted(std::move(rules)),
             .host_policy = [this](HostId host) -> HostPolicyPtr {
               if (host == 1) return nullptr;
               return std::make_unique<Looking>(seen);
             },
             .events = std::move(events)});
    lab.AddFlow(0, 1, 2'000'000);
    lab.Run(Time{} + 100_ms);
    EXPECT_TRUE(lab.finished());
    record = lab.Record(0);
  }
};

const std::string kDeep = "{buffer: unlimited}";

// The lost packet costs its own time on the wire and nothing else: it is sent again while the
// window still lets others follow.
TEST(SleekTest, OneLossIsRepairedWithoutTimeout) {
  const Transfer transfer(kUet, kDeep, {DropAt(0, Data(0, 100)).Times(1)});
  const SenderRecord& sender = transfer.record.sender;
  EXPECT_EQ(sender.retransmissions, 1);
  EXPECT_EQ(sender.retransmissions_spurious, 0);
  EXPECT_EQ(sender.fast_retransmits, 1);
  EXPECT_EQ(sender.timeouts, 0);
  EXPECT_EQ(FctRx(transfer.record), 170'168'800_ps + SerializationDelay(4'150_B, 100_Gbps));
  ASSERT_EQ(transfer.seen.losses.size(), 1u);
  EXPECT_EQ(transfer.seen.losses[0].sign, LossSign::kDuplicateAcks);
  EXPECT_FALSE(transfer.seen.losses[0].entropy);
}

// Nothing comes after the last packets, so a probe must find out that they are lost. It takes a
// path as data does. The timeout would come after 443 us.
TEST(SleekTest, ALostTailIsFoundByAProbe) {
  std::vector<Rule> rules;
  for (uint32_t packet = 485; packet < 490; ++packet) {
    rules.push_back(DropAt(0, Data(0, packet)).Times(1));
  }
  const Transfer transfer("{kind: uet, framing: uet_htsim, ack_bytes: 1B}", kDeep,
                          std::move(rules));
  const SenderRecord& sender = transfer.record.sender;
  EXPECT_EQ(sender.retransmissions, 5);
  EXPECT_EQ(sender.fast_retransmits, 1);
  EXPECT_EQ(sender.timeouts, 0);
  EXPECT_LT(FctTx(transfer.record), 250_us);
  EXPECT_EQ(transfer.seen.CountOf(PacketKind::kSyn, false), 1);
  ASSERT_EQ(transfer.seen.losses.size(), 1u);
  EXPECT_EQ(transfer.seen.losses[0].sign, LossSign::kDuplicateAcks);
}

// --- Timeouts ---

// The policy is told the entropy of the packet that is lost, not of another one.
TEST(UetTest, ATimeoutNamesTheEntropyOfTheOldestPacket) {
  const Transfer transfer(kUet, kTrims, {DropAt(0, Data(0, 100)).Times(1)});
  const Seen& seen = transfer.seen;
  EXPECT_EQ(transfer.record.sender.timeouts, 1);
  ASSERT_EQ(seen.losses.size(), 1u);
  EXPECT_EQ(seen.losses[0].sign, LossSign::kTimeout);
  const auto lost = std::ranges::find_if(seen.sent, [](const Seen::Sent& sent) {
    return sent.kind == PacketKind::kData && sent.number == 100;
  });
  EXPECT_EQ(seen.losses[0].entropy, lost->entropy);
}

// After a timeout the window has no room for the lost packet. A request to send finds out whether
// the path works: at most one in a round trip. Each takes a number, so the numbers of the data
// behind it move up.
TEST(UetTest, ASenderThatMayNotRepairRequestsToSend) {
  const LinkEvent down{.at = Time{} + 20_us, .link = 1, .up = false, .rate = {}, .delay = {}};
  const LinkEvent up{.at = Time{} + 150_us, .link = 1, .up = true, .rate = {}, .delay = {}};
  for (const std::string ack_bytes : {"1B", "16384B"}) {
    SCOPED_TRACE(ack_bytes);
    const Transfer transfer(
        fmt::format("{{kind: uet, framing: uet_htsim, cc: mprdma_ack, ack_bytes: {}}}", ack_bytes),
        kTrims, {}, {down, up});
    const Seen& seen = transfer.seen;
    std::vector<Time> requests;
    std::map<uint32_t, PacketKind> kinds;
    for (const Seen::Sent& sent : seen.sent) {
      if (sent.kind == PacketKind::kSyn) {
        EXPECT_TRUE(sent.asks);  // No probes with trimming.
        requests.push_back(sent.at);
      }
      const auto [at, is_new] = kinds.emplace(sent.number, sent.kind);
      EXPECT_EQ(at->second, sent.kind);
    }
    ASSERT_FALSE(requests.empty());
    for (size_t i = 1; i < requests.size(); ++i) {
      EXPECT_GE(requests[i] - requests[i - 1], 14'022'720_ps);
    }
    const int64_t numbers = std::ranges::count(kinds | std::views::values, PacketKind::kSyn);
    EXPECT_EQ(static_cast<int64_t>(kinds.size()), 490 + numbers);
    EXPECT_EQ(kinds.rbegin()->first, 490 + numbers - 1);
    EXPECT_EQ(transfer.record.sender.packets_sent, 490 + transfer.record.sender.retransmissions);
  }
}

std::string AllRecords(const std::string& balancer, int threads) {
  return RecordsOfSixteenHosts({.graph = {},
                                .transport = kUet,
                                .balancer = fmt::format("{{kind: {}}}", balancer),
                                .port = kTrims,
                                .threads = threads});
}

TEST(UetTest, ResultsDoNotDependOnThreads) {
  for (const std::string balancer : {"oblivious", "bitmap", "mixed", "reps"}) {
    const std::string one = AllRecords(balancer, 1);
    for (const int threads : ThreadCounts({2, 3})) {
      EXPECT_EQ(one, AllRecords(balancer, threads)) << balancer;
    }
  }
}

// ACKs are hashed as packets from the receiver to the sender, whatever flow had the slot before.
TEST(UetTest, AcksHaveTheReversedTupleOfTheirFlow) {
  std::map<FlowId, std::set<uint32_t>> hashes;
  const auto note = [&](const SwitchView&, const Packet& ack) {
    hashes[ack.flow].insert(ack.tuple_hash);
  };
  Lab lab({.graph = Line(2, {100_Gbps, 1_us}),
           .transport = "{kind: uet}",
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kAck), note)})});
  for (int64_t flow = 0; flow < 3; ++flow) lab.AddFlow(0, 1, 50'000, Time{} + 1_ms * flow);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  for (FlowId flow = 0; flow < 3; ++flow) {
    const FlowSpec& spec = lab.Record(flow).spec;
    const uint32_t hash = TupleHash(spec.dst, spec.src, spec.dport, spec.sport);
    EXPECT_EQ(hashes[flow], std::set<uint32_t>{hash}) << flow;
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

// 60 flows of one packet at a time need 20 us for a round at their NIC, twice the timeout. What was
// sent is acknowledged after 5 us; waiting at the NIC is no sign of loss.
TEST(UetTest, AFlowThatWaitsAtItsNicSendsNoRequest) {
  int64_t requests = 0;
  Lab lab({.graph = Star(2, kLink),
           .transport = "{kind: uet, framing: uet_htsim, cc: constant, window: 4150B, loss: "
                        "timeout, ack_bytes: 1B, rto: 10us}",
           .port = "{buffer: unlimited}",
           .switch_policy =
               Scripted({WatchAt(0, Anything(PacketKind::kSyn),
                                 [&](const SwitchView&, const Packet&) { ++requests; })})});
  for (int flow = 0; flow < 60; ++flow) lab.AddFlow(0, 1, 40'860);
  lab.Run();
  EXPECT_EQ(requests, 0);
  for (const FlowRecord& record : lab.records()) {
    EXPECT_EQ(record.sender.timeouts, 0);
    EXPECT_GT(FctTx(record), 9 * 60 * 332_ns);
  }
}

}  // namespace heddle::uet_test
