// SPDX-License-Identifier: Apache-2.0
// Flows of MPTCP: what its subflows carry, how they share links, and how data gets round a path
// that is dead, slow or lossy.

#include "transport/tcp/mptcp.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/subflow_id.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/lossy_fabric.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/thread_counts.h"
#include "transport/tcp/dss.h"

namespace heddle::mptcp_test {

constexpr Channel kLink{10_Gbps, 1_us};
constexpr int64_t kMss = 1'440;

// Packets of data that were bound to a second subflow, beyond those that a subflow sent again.
int64_t Reinjected(const SenderRecord& sender) {
  return sender.packets_sent - sender.retransmissions - sender.packets;
}

struct Seen {
  Time at;
  Packet packet;
};

// Flow 0 over 4 links of 10 Gbps and 1 us. Its packets are noted at switch 0, before it applies the
// rules.
class OneFlow {
 public:
  OneFlow(int64_t size, std::string transport, std::vector<Rule> rules = {}, Duration limit = 1_s) {
    const auto is_data = [](const Packet& p) { return p.kind == PacketKind::kData; };
    const auto is_ack = [](const Packet& p) { return p.kind == PacketKind::kAck; };
    const auto is_other = [](const Packet& p) { return p.kind == PacketKind::kSyn; };
    const auto note_in = [](std::vector<Seen>& seen) {
      return [&seen](const SwitchView& view, const Packet& p) { seen.push_back({view.now(), p}); };
    };
    rules.insert(rules.begin(),
                 {WatchAt(0, is_data, note_in(data)), WatchAt(0, is_ack, note_in(acks)),
                  WatchAt(0, is_other, note_in(syns))});
    lab_ = std::make_unique<Lab>(Lab::Plan{.graph = Line(4, kLink),
                                           .transport = std::move(transport),
                                           .switch_policy = Scripted(std::move(rules))});
    lab_->AddFlow({.src = 0, .dst = 1, .sport = 5'000, .dport = 80, .size = size, .start = {}});
    lab_->Run(Time{} + limit);
    EXPECT_TRUE(lab_->finished());
    EXPECT_EQ(lab_->network().host(1).payload_received(), size);
  }

  const FlowRecord& record() const { return lab_->Record(0); }
  Lab& lab() { return *lab_; }

  // The number of data packets of a subflow.
  int64_t CountOf(uint32_t subflow) const {
    return std::ranges::count_if(
        data, [&](const Seen& seen) { return SubflowOf(seen.packet.flow) == subflow; });
  }

  std::vector<Seen> data;
  std::vector<Seen> acks;
  std::vector<Seen> syns;

 private:
  std::unique_ptr<Lab> lab_;
};

// --- Packets ---

TEST(MptcpTest, SubflowsHavePortsOneApartAndCarryTheDataOnce) {
  OneFlow flow(100 * kMss - 5, "{kind: mptcp, subflows: 3}");
  std::set<uint32_t> numbers;
  std::set<FlowId> subflows;
  for (const Seen& seen : flow.data) {
    const uint32_t subflow = SubflowOf(seen.packet.flow);
    subflows.insert(subflow);
    EXPECT_EQ(ConnectionOf(seen.packet.flow), 0u);
    EXPECT_EQ(seen.packet.tuple_hash, TupleHash(0, 1, static_cast<uint16_t>(5'000 + subflow), 80));
    EXPECT_TRUE(numbers.insert(DataNumber(seen.packet)).second);
    const bool is_last = DataNumber(seen.packet) == 99;
    EXPECT_EQ(seen.packet.data.payload, is_last ? kMss - 5 : kMss);
    EXPECT_EQ(seen.packet.bytes, is_last ? 1'513 : 1'518);
  }
  EXPECT_EQ(numbers.size(), 100u);
  EXPECT_EQ(subflows, (std::set<FlowId>{0, 1, 2}));
  // 40 bytes of IP and TCP, 8 of the option, 18 of Ethernet.
  for (const Seen& seen : flow.acks) EXPECT_EQ(seen.packet.bytes, 66);
  EXPECT_EQ(flow.record().sender.packets, 100);
  EXPECT_EQ(flow.record().sender.packets_sent, 100);
  EXPECT_EQ(flow.record().receiver.packets, 100);
  EXPECT_EQ(flow.record().receiver.duplicates, 0);
  EXPECT_EQ(flow.record().receiver.hops, 4);
}

TEST(MptcpTest, OptionsTakePayloadUnlessSizesAreExact) {
  const std::map<std::string, std::pair<int, int>> sizes = {
      {"{kind: mptcp, timestamps: true}", {1'428, 78}},
      {"{kind: mptcp, framing: ip1500}", {1'440, 48}},
      {"{kind: mptcp, framing: {payload: 1000B, header: 40B, ack: 40B}}", {1'000, 40}}};
  for (const auto& [transport, expected] : sizes) {
    OneFlow flow(3'000, transport);
    EXPECT_EQ(flow.data.front().packet.data.payload, expected.first) << transport;
    EXPECT_EQ(flow.acks.front().packet.bytes, expected.second) << transport;
  }
}

// Flows of one byte, of exactly one segment, and of fewer segments than subflows.
TEST(MptcpTest, ShortFlowsUseAsManySubflowsAsTheyHaveSegments) {
  for (const int64_t size : {int64_t{1}, kMss, kMss + 1, 5 * kMss}) {
    OneFlow flow(size, "{kind: mptcp, subflows: 8, iw: 1}");
    EXPECT_EQ(static_cast<int64_t>(flow.data.size()), (size + kMss - 1) / kMss);
    EXPECT_EQ(flow.record().receiver.hops, 4);
    std::set<FlowId> subflows;
    for (const Seen& seen : flow.data) subflows.insert(seen.packet.flow);
    EXPECT_EQ(subflows.size(), flow.data.size());
  }
}

// --- One subflow ---

struct Path {
  std::string name;
  std::string port;
  std::vector<Rule> rules;
};

std::vector<Path> Paths() {
  const auto any_data = [](const Packet& p) { return p.kind == PacketKind::kData; };
  return {
      {"clean", "{buffer: unlimited}", {}},
      {"drop-tail", "{buffer: 20KB}", {}},
      {"marks", "{buffer: 40KB, ecn_above: 20KB}", {}},
      {"lossy", "{buffer: unlimited}", {DropAt(0, WithProbability(0.02, 3, any_data))}},
      {"reordered", "{buffer: unlimited}", {HoldAt(0, WithProbability(0.05, 4, any_data), 7_us)}}};
}

std::string RecordOver(size_t number, const std::string& transport, int64_t size) {
  const Path path = Paths()[number];  // Each run has random draws of its own.
  std::vector<Channel> links(4, kLink);
  links[2].rate = 5_Gbps;
  Lab lab({.graph = Line(links),
           .transport = transport,
           .port = path.port,
           .switch_policy = Scripted(path.rules)});
  lab.AddFlow(0, 1, size);
  lab.AddFlow(0, 1, size / 2, Time{} + 20_us);
  lab.Run(Time{} + 1_s);
  EXPECT_TRUE(lab.finished());
  return Describe(lab.Record(0)) + "\n" + Describe(lab.Record(1));
}

TEST(MptcpTest, OneSubflowIsATcpWithPacketsOfItsSizes) {
  constexpr const char* kSizes =
      "framing: {payload: 1440B, header: 78B, ack: 66B, minimum: 64B, wire: 20B}";
  for (const std::string rest :
       {"cc: reno", "cc: dctcp", "cc: cubic", "cc: reno, recovery: newreno", "cc: reno, loss: rack",
        "cc: reno, delack_count: 2", "cc: reno, ecn: rfc3168"}) {
    for (size_t path = 0; path < Paths().size(); ++path) {
      SCOPED_TRACE(Paths()[path].name + ", " + rest);
      const auto tcp = fmt::format("{{kind: tcp, {}, min_rto: 1ms, {}}}", kSizes, rest);
      const auto mptcp = fmt::format("{{kind: mptcp, subflows: 1, min_rto: 1ms, {}}}", rest);
      EXPECT_EQ(RecordOver(path, mptcp, 3'000'000), RecordOver(path, tcp, 3'000'000));
    }
  }
}

// --- Sharing ---

// The payload of each of two flows that has arrived over a link, from 0.5 s on. Flow 0 has two
// subflows; the second subflow of flow 1 is cut off, so that flow is a TCP.
std::pair<double, double> Shares(const std::string& cc, Duration offset) {
  const Match second = [](const Packet& p) {
    return p.kind == PacketKind::kData && p.flow == SubflowId(1, 1);
  };
  Lab lab(
      {.graph = Dumbbell(2, {10_Gbps, 20_us}, {500_Mbps, 100_us}),
       .transport = "{kind: mptcp, subflows: 2, ecn: rfc3168, cc: " + cc + "}",
       .port = "{buffer: unlimited, marking: red, red: {min: 5KB, max: 200KB, probability: 0.1}}",
       .switch_policy = Scripted({DropAt(0, second)})});
  lab.AddFlow(0, 2, 10'000'000'000);
  lab.AddFlow(1, 3, 10'000'000'000, Time{} + offset);
  std::vector<double> at_start;
  const auto acked = [&](HostId src) {
    return static_cast<double>(lab.network().host(src).transport().StateOf(src)->acked);
  };
  lab.SampleEvery(500_ms, [&](Time now) {
    if (now == Time{} + 500_ms) at_start = {acked(0), acked(1)};
  });
  lab.Run(Time{} + 4_s);
  return {acked(0) - at_start[0], acked(1) - at_start[1]};
}

// RFC 6356 section 2: on a shared link the subflows together take no more than one TCP. Uncoupled
// ones take two shares of three. All packets are marked with the same probability.
TEST(MptcpTest, TwoSubflowsShareALinkWithATcpInHalves) {
  const auto share_of = [](const std::string& cc) {
    double two = 0;
    double one = 0;
    for (int i = 1; i <= 3; ++i) {
      const auto [of_two, of_one] = Shares(cc, 37_us * i);
      two += of_two;
      one += of_one;
    }
    return two / (two + one);
  };
  EXPECT_NEAR(share_of("lia"), 0.5, 0.05);
  EXPECT_GT(share_of("reno"), 0.6);
}

// --- Dead and slow paths ---

Match AllOf(uint32_t subflow) {
  return [=](const Packet& p) { return SubflowOf(p.flow) == subflow; };
}

// All that the dead subflow has sent arrives by reinjection on the other, after one timeout.
TEST(MptcpTest, DataOfADeadSubflowGoesOnTheOthersAfterItsTimeout) {
  OneFlow flow(100 * kMss, "{kind: mptcp, subflows: 2}", {DropAt(0, AllOf(1))});
  const FlowRecord& record = flow.record();
  EXPECT_EQ(record.sender.timeouts, 1);
  EXPECT_EQ(Reinjected(record.sender), 10);  // The initial window.
  EXPECT_EQ(record.receiver.packets, 100);
  EXPECT_EQ(record.receiver.duplicates, 0);
  EXPECT_GT(FctRx(record), 10_ms);
  EXPECT_LT(FctRx(record), 10_ms + 50_us);
  std::set<uint32_t> lost;
  for (const Seen& seen : flow.data) {
    if (SubflowOf(seen.packet.flow) == 1) lost.insert(DataNumber(seen.packet));
    if (SubflowOf(seen.packet.flow) == 0 && seen.at > Time{} + 10_ms) {
      EXPECT_TRUE(lost.contains(DataNumber(seen.packet)));
    }
  }
  EXPECT_EQ(lost.size(), 10u);
}

// The only subflow that is left repairs its own losses.
TEST(MptcpTest, SevenOfEightSubflowsMayDie) {
  const auto dies = [](const Packet& p) {
    return p.kind == PacketKind::kData && SubflowOf(p.flow) != 5;
  };
  OneFlow flow(400 * kMss, "{kind: mptcp, min_rto: 1ms}",
               {DropAt(0, dies), DropAt(0, WithProbability(0.02, 5, AllOf(5)))});
  EXPECT_GE(Reinjected(flow.record().sender), 70);
}

// The path dies in the middle of the flow, and a copy of what it has lost is not sent again when it
// has arrived over the other path.
TEST(MptcpTest, APathThatDiesLaterCostsOneTimeoutToo) {
  OneFlow flow(5'000 * kMss, "{kind: mptcp, subflows: 2, min_rto: 1ms}",
               {DropAt(0, AllOf(1)).Skip(300)});
  EXPECT_GT(Reinjected(flow.record().sender), 0);
  EXPECT_EQ(flow.record().receiver.duplicates, 0);
  EXPECT_EQ(flow.record().receiver.packets, 5'000);
}

// ACKs of subflow 1 never arrive, but those of subflow 0 carry what the connection has received.
TEST(MptcpTest, AcksOfOneSubflowReportTheDataOfAll) {
  OneFlow flow(100 * kMss, "{kind: mptcp, subflows: 2}", {DropAt(0, [](const Packet& p) {
                 return p.kind == PacketKind::kAck && SubflowOf(p.flow) == 1;
               })});
  EXPECT_EQ(flow.record().sender.timeouts, 0);
  EXPECT_EQ(flow.record().sender.packets_sent, 100);
  EXPECT_LT(FctTx(flow.record()), 1_ms);
}

TEST(MptcpTest, SurvivesLossAndReorderingWithEveryScheduler) {
  for (const char* scheduler : {"pull", "min_rtt", "round_robin", "redundant"}) {
    for (const char* rest : {"", ", rwnd: 20", ", recovery: newreno", ", setup: join", ", cc: olia",
                             ", cc: dctcp, loss: rack, tlp: true"}) {
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(fmt::format("{}{}, seed {}", scheduler, rest, seed));
        OneFlow flow(700 * kMss + 1,
                     fmt::format("{{kind: mptcp, subflows: 4, min_rto: 500us, scheduler: {}{}}}",
                                 scheduler, rest),
                     {DropAt(0, WithProbability(0.03, seed, Anything())),
                      DropAt(2, WithProbability(0.03, seed + 100, Anything())),
                      HoldAt(1, WithProbability(0.1, seed + 200, Anything()), 30_us)},
                     10_s);
        EXPECT_EQ(flow.record().sender.packets, 701);
      }
    }
  }
}

// --- Schedulers ---

TEST(MptcpTest, RoundRobinGivesEqualPathsEqualShares) {
  OneFlow flow(3'000 * kMss, "{kind: mptcp, subflows: 3, scheduler: round_robin}");
  for (const uint32_t subflow : {0, 1, 2}) EXPECT_LE(std::abs(flow.CountOf(subflow) - 1'000), 15);
  for (size_t i = 0; i < 30; ++i) EXPECT_EQ(SubflowOf(flow.data[i].packet.flow), i % 3);
}

// The second path is 100 us longer. While the windows are larger than what the fast path needs, it
// gets all; `pull` uses both.
TEST(MptcpTest, MinRttPrefersTheFastPath) {
  const std::vector<Rule> slow = {HoldAt(0, AllOf(1), 100_us)};
  OneFlow fast(2'000 * kMss, "{kind: mptcp, subflows: 2, scheduler: min_rtt, iw: 40}", slow);
  OneFlow both(2'000 * kMss, "{kind: mptcp, subflows: 2, iw: 40}", slow);
  EXPECT_LT(fast.CountOf(1), 60);
  EXPECT_GT(both.CountOf(1), 2 * fast.CountOf(1));
}

// Every segment goes over both paths, so neither path alone can delay the flow.
TEST(MptcpTest, RedundantSendsAllDataOnEverySubflow) {
  const auto count = [](const OneFlow& flow) {
    std::map<uint32_t, int> copies;
    for (const Seen& seen : flow.data) ++copies[DataNumber(seen.packet)];
    return copies;
  };
  OneFlow flow(100 * kMss, "{kind: mptcp, subflows: 2, scheduler: redundant}");
  const auto copies = count(flow);
  EXPECT_EQ(copies.size(), 100u);
  EXPECT_GT(std::ranges::count_if(copies, [](const auto& c) { return c.second == 2; }), 80);
  EXPECT_EQ(flow.record().receiver.duplicates, flow.record().receiver.packets - 100);
  OneFlow half(100 * kMss, "{kind: mptcp, subflows: 2, scheduler: redundant}",
               {DropAt(0, AllOf(1))});
  EXPECT_LT(FctRx(half.record()), FctRx(flow.record()) + 100_us);
  EXPECT_EQ(half.record().sender.timeouts, 0);
}

// --- The receive buffer ---

// Subflow 1 is slow, so the buffer fills up behind its data.
TEST(MptcpTest, NeverSendsBeyondTheReceiveBuffer) {
  for (const char* scheduler : {"pull", "min_rtt", "round_robin", "redundant"}) {
    SCOPED_TRACE(scheduler);
    OneFlow flow(500 * kMss,
                 fmt::format("{{kind: mptcp, subflows: 2, rwnd: 16, scheduler: {}}}", scheduler),
                 {HoldAt(1, AllOf(1), 50_us)});
    // The ACK that switch 0 saw last before a packet is the latest that the sender may know.
    size_t ack = 0;
    uint32_t known = 0;
    for (const Seen& seen : flow.data) {
      for (; ack < flow.acks.size() && flow.acks[ack].at <= seen.at; ++ack) {
        known = std::max(known, DataAck(flow.acks[ack].packet));
      }
      EXPECT_LT(DataNumber(seen.packet), known + 16);
    }
    EXPECT_LE(flow.record().receiver.max_out_of_order_bytes, 15 * kMss);
  }
}

// The data that a full buffer waits for is sent again on the fast path, once, and the slow subflow
// halves its window, at most once in its RTT.
TEST(MptcpTest, AFullBufferIsUnblockedByTheFastSubflow) {
  const std::vector<Rule> slow = {HoldAt(1, AllOf(1), 2_ms)};
  OneFlow flow(2'000 * kMss, "{kind: mptcp, subflows: 2, rwnd: 40, min_rto: 20ms}", slow);
  const FlowRecord& record = flow.record();
  EXPECT_GT(Reinjected(record.sender), 5);
  std::map<std::pair<uint32_t, uint32_t>, int> copies;
  for (const Seen& seen : flow.data) {
    ++copies[{SubflowOf(seen.packet.flow), DataNumber(seen.packet)}];
  }
  for (const auto& [where, count] : copies) EXPECT_EQ(count, 1);
  // Held for 2 ms, ten segments of an initial window of the slow subflow would alone stop the flow
  // for 2 ms at each turn: 2000 segments in windows of 40 would take 100 ms.
  EXPECT_LT(FctRx(record), 20_ms);
}

// --- Opening ---

// Links and switches take no less than 8 us for one exchange. RFC 8684 section 3.2: the subflow
// that joins sends data after its second exchange.
TEST(MptcpTest, JoinOpensTheFirstSubflowAndThenTheOthers) {
  OneFlow flow(1'000 * kMss, "{kind: mptcp, subflows: 3, setup: join}");
  std::map<uint32_t, Time> first;
  for (const Seen& seen : flow.data) first.try_emplace(SubflowOf(seen.packet.flow), seen.at);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_GT(first[0], Time{} + 8_us);
  EXPECT_LT(first[0], Time{} + 15_us);
  for (const uint32_t other : {1, 2}) {
    EXPECT_GT(first[other], Time{} + 24_us);
    EXPECT_LT(first[other], Time{} + 80_us);
  }
  EXPECT_EQ(flow.syns.size(), 5u);
  EXPECT_EQ(flow.syns[0].packet.bytes, 70);
}

TEST(MptcpTest, LostSynsAreRepeated) {
  const auto syn_of = [](uint32_t subflow) {
    return
        [=](const Packet& p) { return p.kind == PacketKind::kSyn && SubflowOf(p.flow) == subflow; };
  };
  OneFlow first(300 * kMss, "{kind: mptcp, subflows: 2, setup: join, min_rto: 1ms}",
                {DropAt(0, syn_of(0)).Times(2)});
  EXPECT_GT(first.data.front().at, Time{} + 3_ms);
  EXPECT_LT(first.data.front().at, Time{} + 4_ms);
  // The third packet of the join is lost: the subflow opens later, and the first sends meanwhile.
  OneFlow join(20'000 * kMss, "{kind: mptcp, subflows: 2, setup: join, min_rto: 1ms}",
               {DropAt(0, syn_of(1)).Skip(1).Times(1)});
  const auto opened = std::ranges::find_if(
      join.data, [](const Seen& seen) { return SubflowOf(seen.packet.flow) == 1; });
  ASSERT_NE(opened, join.data.end());
  EXPECT_GT(opened->at, Time{} + 1_ms);
  EXPECT_LT(opened->at, Time{} + 2_ms);
}

// --- Networks ---

TEST(MptcpTest, IsTheSameForEveryNumberOfThreads) {
  for (const char* transport :
       {"{kind: mptcp, min_rto: 1ms}", "{kind: mptcp, min_rto: 1ms, scheduler: min_rtt, rwnd: 60}",
        "{kind: mptcp, min_rto: 1ms, cc: olia, setup: join}"}) {
    for (const char* balancer : {"ecmp", "rps"}) {
      SCOPED_TRACE(fmt::format("{} {}", transport, balancer));
      const LossyFabric fabric{.transport = transport,
                               .balancer = balancer,
                               .draws = "mptcp_test",
                               .flows = 60,
                               .every = 10_us};
      const std::string one = RecordsOf(fabric, 1);
      for (const int threads : ThreadCounts({2, 3})) EXPECT_EQ(RecordsOf(fabric, threads), one);
    }
  }
}

// ECMP places each subflow by its own ports.
TEST(MptcpTest, SubflowsTakeSeveralPaths) {
  Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 8, hosts_per_leaf: 1, host_link: {rate: 40Gbps, delay: 1us}, "
      "fabric_link: {rate: 10Gbps, delay: 1us}}");
  Lab lab({.graph = std::move(graph), .transport = "{kind: mptcp, cc: lia}"});
  lab.AddFlow(0, 1, 5'000'000);
  lab.Run();
  const FlowRecord& record = lab.Record(0);
  EXPECT_GT(record.receiver.paths_used, 3);
  EXPECT_LE(record.receiver.paths_used, 8);
  EXPECT_EQ(record.receiver.path_switches, 0);
  EXPECT_EQ(record.receiver.reordered_net, 0);
  // More than one link could carry.
  EXPECT_LT(FctRx(record), 5'000'000 * 8 * 1_ns / 15);
}

// --- Hosts with several links ---

const std::string kPlanes =
    "{kind: planes, planes: 2, leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: 10Gbps, "
    "delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}";

// A flow of 10 MB takes 8.5 ms on one link of 10 Gbps. Its subflows share two, four on each.
TEST(MptcpTest, SubflowsUseSeveralLinksOfTheirHosts) {
  std::map<SwitchId, std::set<uint32_t>> leaves;
  std::vector<Rule> rules;
  for (const SwitchId leaf : {SwitchId{0}, SwitchId{2}}) {  // Of host 0 in both planes.
    rules.push_back(WatchAt(leaf, Anything(PacketKind::kData),
                            [&, leaf](const SwitchView&, const Packet& packet) {
                              leaves[leaf].insert(SubflowOf(packet.flow));
                            }));
  }
  Lab lab({.graph = GraphFrom(kPlanes),
           .transport = "{kind: mptcp, subflows: 8}",
           .switch_policy = Scripted(std::move(rules))});
  lab.AddFlow(0, 2, 10'000'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  // Each subflow keeps to its link, and each link has some.
  EXPECT_EQ(leaves[0].size() + leaves[2].size(), 8u);
  EXPECT_GT(leaves[0].size(), 0u);
  EXPECT_GT(leaves[2].size(), 0u);
  EXPECT_LT(FctRx(lab.Record(0)), 5_ms);
  EXPECT_GT(FctRx(lab.Record(0)), 4'250_us);
}

// With a link that fails, subflows move to the other.
TEST(MptcpTest, OutlivesTheFailureOfALinkOfItsHost) {
  for (const char* transport : {"{kind: mptcp, min_rto: 1ms}", "{kind: mmptcp, min_rto: 1ms}",
                                "{kind: mptcp, min_rto: 1ms, setup: join, cc: olia}"}) {
    SCOPED_TRACE(transport);
    const auto run = [&](int threads) {
      const LinkEvent down{.at = Time{} + 100_us, .link = 0, .up = false, .rate = {}, .delay = {}};
      const LinkEvent up{.at = Time{} + 4_ms, .link = 0, .up = true, .rate = {}, .delay = {}};
      Lab lab({.graph = GraphFrom(kPlanes),
               .transport = transport,
               .events = {down, up},
               .threads = threads});
      for (const HostId dst : {HostId{1}, HostId{2}, HostId{3}}) {
        lab.AddFlow(0, dst, 3'000'000);
        lab.AddFlow(dst, 0, 3'000'000);
      }
      lab.Run(Time{} + 5_s);
      EXPECT_TRUE(lab.finished());
      return Describe(lab);
    };
    const std::string one = run(1);
    EXPECT_EQ(run(2), one);
    EXPECT_EQ(run(3), one);
  }
}

// No flow is faster than the bound over all links together, whatever the network. The slowdown is
// relative to that bound.
TEST(MptcpTest, SlowdownIsNeverBelow1OnHostsWithSeveralLinks) {
  const std::vector<std::string> topologies = {
      "{kind: planes, planes: 2, leaves: 2, spines: 2, hosts_per_leaf: 4}",
      "{kind: planes, planes: 3, leaves: 2, spines: 1, hosts_per_leaf: 2, host_link: {rate: "
      "25Gbps, delay: 500ns}, fabric_link: {rate: 100Gbps, delay: 1us}}",
      "{kind: custom, hosts: 4, link: {rate: 10Gbps, delay: 1us}, switches: [{name: a}, {name: b}, "
      "{name: p}], links: [{a: host0, b: a}, {a: host0, b: b}, {a: host1, b: a}, {a: host2, b: b}, "
      "{a: host2, b: b}, {a: host3, b: p}, {a: a, b: p}, {a: b, b: p}]}"};
  for (const std::string& topology : topologies) {
    for (const char* transport :
         {"{kind: mptcp, iw: 40}", "{kind: mptcp, subflows: 16, iw: 100, scheduler: round_robin}",
          "{kind: mptcp, subflows: 2, cc: olia, scheduler: redundant}", "{kind: mmptcp, iw: 64}"}) {
      for (int seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(fmt::format("{} {} {}", topology, transport, seed));
        const FinishedRun run = RunExperiment(
            ExperimentFrom(fmt::format("topology: {}\ntransport: {}\nlb: ecmp\nseed: {}\n",
                                       topology, transport, seed) +
                           "workload: [{kind: poisson, sizes: websearch, load: 0.02, flows: 40}]\n"
                           "measure: {warm_up: 0us}\n"));
        EXPECT_EQ(run.result.unfinished, 0);
        const CsvTable flows(run.files.flows);
        double least = 1e9;
        for (size_t row = 0; row < flows.rows.size(); ++row) {
          least = std::min(least, flows.Real(row, "slowdown"));
        }
        EXPECT_GE(least, 1);
        EXPECT_LT(least, 1.5);
      }
    }
  }
}

// --- Settings ---

std::string Errors(const std::string& transport, const std::string& rest = "") {
  return ErrorsOf(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
      "transport: " +
      transport + "\nlb: ecmp\nworkload: [{kind: permutation, size: 10KB}]\n" + rest);
}

TEST(MptcpSettingsTest, RefusesWhatDoesNotGoWithIt) {
  EXPECT_EQ(Errors("mptcp"), "");
  EXPECT_EQ(Errors("{kind: mptcp, cc: dctcp, scheduler: redundant, setup: join}"), "");
  const std::map<std::string, std::string> refused = {
      {"{kind: mptcp, subflows: 0}", "subflows"},
      {"{kind: mptcp, subflows: 17}", "subflows"},
      {"{kind: mptcp, cc: dcqcn}", "kind: rocev2"},
      {"{kind: tcp, cc: lia}", "kind: mptcp"},
      {"{kind: rocev2, cc: olia}", "kind: mptcp"},
      {"{kind: mptcp, setup: handshake}", "setup"},
      {"{kind: mptcp, setup: join, subflows: 1}", "setup: handshake"},
      {"{kind: mptcp, scheduler: min_rtt, subflows: 1}", "leave it out with subflows: 1"},
      {"{kind: mptcp, resequencing: juggler}", "use kind: tcp"},
      {"{kind: mptcp, cc: dctcp, ecn: rfc3168}", "brings its own ECN"},
  };
  for (const auto& [transport, expected] : refused) {
    EXPECT_NE(Errors(transport).find(expected), std::string::npos)
        << transport << ": " << Errors(transport);
  }
  const std::string queueing = Errors("mptcp", "measure: {queueing: true}\n");
  EXPECT_NE(queueing.find("measure.queueing"), std::string::npos) << queueing;
  EXPECT_NE(queueing.find("transport: tcp"), std::string::npos) << queueing;
  EXPECT_EQ(Errors("mptcp", "measure: {queueing: false}\n"), "");
}

// A policy that keeps state for each flow must be told of the end of each.
TEST(MptcpTest, PoliciesHearOfTheStartAndTheEndOfEachSubflow) {
  class Counting final : public HostPolicy {
   public:
    explicit Counting(std::map<FlowId, std::pair<int, int>>& seen) : seen_(seen) {}
    void OnFlowStart(HostView&, HostFlow& flow) override { ++seen_[flow.id].first; }
    void OnFlowEnd(HostView&, HostFlow& flow) override { ++seen_[flow.id].second; }
    size_t StateBytes() const override { return 0; }

   private:
    std::map<FlowId, std::pair<int, int>>& seen_;
  };
  std::map<FlowId, std::pair<int, int>> seen;
  Lab lab({.graph = Line(4, kLink),
           .transport = "{kind: mptcp, subflows: 4}",
           .host_policy = [&](HostId host) -> HostPolicyPtr {
             if (host == 1) return nullptr;
             return std::make_unique<Counting>(seen);
           }});
  lab.AddFlow(0, 1, 100'000);
  lab.Run();
  ASSERT_EQ(seen.size(), 4u);
  for (const auto& [flow, counts] : seen) EXPECT_EQ(counts, std::pair(1, 1)) << flow;
}

}  // namespace heddle::mptcp_test
