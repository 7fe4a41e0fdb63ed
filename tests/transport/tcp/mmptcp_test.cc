// SPDX-License-Identifier: Apache-2.0
// Flows of MMPTCP: how the first subflow sprays and what reordering it bears, when the others open,
// and what is left to the first one then.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/subflow_id.h"
#include "measure/trace/frames.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/lossy_fabric.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/thread_counts.h"
#include "topo/routing.h"
#include "transport/tcp/dss.h"
#include "transport/tcp/mptcp.h"

namespace heddle::mmptcp_test {

constexpr Channel kLink{10_Gbps, 1_us};
constexpr int64_t kMss = 1'440;
constexpr uint16_t kPort = 5'000;

struct Seen {
  Time at;
  Packet packet;

  uint32_t subflow() const { return SubflowOf(packet.flow); }
  bool is_again() const { return packet.Has(Packet::kRetransmission); }
  int port() const { return kPort ^ packet.entropy; }
};

Match DataOf(uint32_t subflow) {
  return
      [=](const Packet& p) { return p.kind == PacketKind::kData && SubflowOf(p.flow) == subflow; };
}

// Flow 0 over 4 links of 10 Gbps and 1 us. Its packets are noted at switch 0, before it applies the
// rules.
class OneFlow {
 public:
  OneFlow(int64_t size, std::string transport, std::vector<Rule> rules = {}) {
    const auto note_in = [](std::vector<Seen>& seen) {
      return [&seen](const SwitchView& view, const Packet& p) { seen.push_back({view.now(), p}); };
    };
    rules.insert(rules.begin(), {WatchAt(0, Anything(PacketKind::kData), note_in(data)),
                                 WatchAt(0, Anything(PacketKind::kSyn), note_in(syns))});
    lab_ = std::make_unique<Lab>(Lab::Plan{.graph = Line(4, kLink),
                                           .transport = std::move(transport),
                                           .switch_policy = Scripted(std::move(rules))});
    lab_->AddFlow({.src = 0, .dst = 1, .sport = kPort, .dport = 80, .size = size, .start = {}});
    lab_->Run(Time{} + 10_s);
    EXPECT_TRUE(lab_->finished());
    EXPECT_EQ(lab_->network().host(1).payload_received(), size);
  }

  const FlowRecord& record() const { return lab_->Record(0); }

  // The first packet of each subflow.
  std::map<uint32_t, size_t> Opened() const {
    std::map<uint32_t, size_t> first;
    for (size_t i = 0; i < data.size(); ++i) first.try_emplace(data[i].subflow(), i);
    return first;
  }
  // Segments that the first subflow has sent for the first time.
  int64_t Sprayed() const {
    return std::ranges::count_if(
        data, [](const Seen& seen) { return seen.subflow() == 0 && !seen.is_again(); });
  }

  std::vector<Seen> data;
  std::vector<Seen> syns;

 private:
  std::unique_ptr<Lab> lab_;
};

// --- The first subflow ---

TEST(MmptcpTest, TheFirstSubflowGivesEachPacketAPortOfItsOwn) {
  OneFlow flow(60 * kMss, "mmptcp", {DropAt(0, Data(0, 50)).Times(1)});
  ASSERT_EQ(flow.data.size(), 61u);
  std::set<int> ports;
  for (const Seen& seen : flow.data) {
    EXPECT_EQ(seen.packet.flow, 0u);
    EXPECT_EQ(seen.packet.tuple_hash, TupleHash(0, 1, kPort, 80));
    EXPECT_GE(seen.port(), 49'152);  // RFC 6335.
    ports.insert(seen.port());
  }
  EXPECT_GE(ports.size(), 60u);  // Of 16384; two of 61 are alike in one flow of nine.
  EXPECT_EQ(flow.record().sender.packets, 60);
}

// Captures show the ports of the packets: the two bytes behind the headers of Ethernet and IP.
TEST(MmptcpTest, CapturesHaveTheRandomPorts) {
  OneFlow flow(200'000, "mmptcp");
  const FlowSpec& spec = flow.record().spec;
  FrameMaker maker(TransportFrom("mmptcp").settings->wire_format());
  for (const Seen& seen : flow.data) {
    const std::string& frame =
        maker.Make(seen.packet, &spec, {.is_host = true, .id = 0, .port = 0}, {});
    const int port = static_cast<uint8_t>(frame[34]) << 8 | static_cast<uint8_t>(frame[35]);
    const int own = kPort + static_cast<int>(seen.subflow());
    EXPECT_EQ(port, seen.subflow() == 0 ? seen.port() : own);
  }
}

TEST(MmptcpTest, EcmpSpreadsItOverAllPaths) {
  for (const auto& [dst, paths] : {std::pair(HostId{127}, 16), std::pair(HostId{4}, 4)}) {
    Lab lab({.graph = GraphFrom("{kind: fat_tree, k: 8}"), .transport = "mmptcp"});
    lab.AddFlow(0, dst, 69 * kMss);
    lab.Run();
    EXPECT_TRUE(lab.finished());
    EXPECT_EQ(lab.Record(0).receiver.paths_used, paths);
  }
}

// k = 8: the pod has 4 aggregation switches, and there are 16 cores. An overtaken packet causes a
// duplicate ACK for each that overtakes it; all arrive in the end, so a retransmission is spurious.
TEST(MmptcpTest, BearsAsManyDuplicateAcksMoreAsThereArePaths) {
  const Graph graph = GraphFrom("{kind: fat_tree, k: 8}");
  const SwitchId edge = Routing(graph).LeafOf(0);
  for (const auto& [dst, most] :
       {std::pair(HostId{127}, 18), std::pair(HostId{4}, 6), std::pair(HostId{1}, 2)}) {
    for (const int more : {0, 1}) {
      SCOPED_TRACE(fmt::format("host {}, overtaken by {}", dst, most + more));
      Lab lab({.graph = GraphFrom("{kind: fat_tree, k: 8}"),
               .transport = "{kind: mmptcp, iw: 20}",
               .switch_policy = Scripted({LetPassAt(edge, Data(0, 0), most + more)})});
      lab.AddFlow(0, dst, (1 + most + more) * kMss);
      lab.Run();
      EXPECT_TRUE(lab.finished());
      EXPECT_EQ(lab.Record(0).receiver.max_extent, most + more);
      EXPECT_EQ(lab.Record(0).sender.fast_retransmits, more);
      EXPECT_EQ(lab.Record(0).sender.retransmissions, more);
      EXPECT_EQ(lab.Record(0).sender.retransmissions_spurious, more);
    }
  }
}

// The same on a single path, with a number that is given. It adds to `dupthresh`.
TEST(MmptcpTest, TheExtraDuplicateAcksMayBeGiven) {
  for (const auto& [rest, most] :
       {std::pair("", 2), std::pair(", extra_dupacks: 16", 18),
        std::pair(", extra_dupacks: 7, dupthresh: 4", 10), std::pair(", dupthresh: inf", 50)}) {
    for (const int more : {0, 1}) {
      const int64_t size = (1 + most + more) * kMss;
      OneFlow flow(size, fmt::format("{{kind: mmptcp, iw: 60, min_rto: 5ms{}}}", rest),
                   {LetPassAt(0, Data(0, 0), most + more)});
      EXPECT_EQ(flow.record().sender.retransmissions, most < 50 ? more : 0) << rest;
    }
  }
}

// A packet of the first window is lost: too few follow it to reach the threshold.
TEST(MmptcpTest, ALossInAShortFlowWaitsForTheTimeout) {
  OneFlow flow(10 * kMss, "{kind: mmptcp, extra_dupacks: 16, min_rto: 1ms}",
               {DropAt(0, Data(0, 3)).Times(1)});
  EXPECT_EQ(flow.record().sender.timeouts, 1);
  EXPECT_EQ(flow.record().sender.fast_retransmits, 0);
  EXPECT_GT(FctRx(flow.record()), 1_ms);
}

// Marks halve the window of a subflow with NewReno, which tells the receiver with CWR (RFC 3168).
// DCTCP's subflows have no CWR.
TEST(MmptcpTest, TheFirstSubflowAnswersMarksAsRfc3168Says) {
  const auto marked = DataOf(0);
  for (const char* ecn : {"cc: dctcp", "ecn: rfc3168"}) {
    OneFlow flow(400 * kMss, fmt::format("{{kind: mmptcp, {}}}", ecn),
                 {MarkAt(1, marked).Skip(20).Times(1), MarkAt(1, DataOf(3)).Times(5)});
    const auto has_cwr = [](bool first) {
      return [=](const Seen& seen) {
        return seen.packet.Has(Packet::kCwr) && (seen.subflow() == 0) == first;
      };
    };
    EXPECT_EQ(std::ranges::count_if(flow.data, has_cwr(true)), 1) << ecn;
    const bool others = std::ranges::any_of(flow.data, has_cwr(false));
    EXPECT_EQ(others, std::string(ecn) == "ecn: rfc3168") << ecn;
    for (const Seen& seen : flow.data) {
      EXPECT_TRUE(seen.packet.Has(Packet::kEct) || seen.is_again());
    }
  }
}

// --- When the others open ---

TEST(MmptcpTest, FlowsOfMoreThan100KilobytesOpenEightSubflows) {
  for (const char* setup : {"instant", "join"}) {
    const auto transport = fmt::format("{{kind: mmptcp, setup: {}}}", setup);
    const bool joins = std::string(setup) == "join";
    const auto joined = [](const OneFlow& flow) {
      std::set<uint32_t> subflows;
      for (const Seen& seen : flow.syns) subflows.insert(seen.subflow());
      return subflows;
    };
    OneFlow small(100'000, transport);
    EXPECT_EQ(small.Opened().size(), 1u);
    EXPECT_EQ(small.Sprayed(), 70);
    EXPECT_EQ(joined(small).size(), joins ? 1u : 0u);
    OneFlow large(200'000, transport);
    EXPECT_EQ(joined(large).size(), joins ? 9u : 0u);
    if (joins) continue;
    EXPECT_EQ(large.Opened().size(), 9u);
    // The 70th segment is the first beyond 100 kB. ACKs come as often as packets leave.
    EXPECT_GE(large.Sprayed(), 70);
    EXPECT_LE(large.Sprayed(), 72);
  }
}

// The first subflow goes on until another one is connected: 69 segments, and those of two exchanges
// of 8 us and more.
TEST(MmptcpTest, TheFirstSubflowSendsNewDataUntilAnotherHasJoined) {
  OneFlow flow(3'000 * kMss, "{kind: mmptcp, setup: join}");
  EXPECT_EQ(flow.Opened().size(), 9u);
  EXPECT_GT(flow.Sprayed(), 69 + 12);
  EXPECT_LT(flow.Sprayed(), 69 + 80);
  // One exchange of the first, two of each other.
  EXPECT_EQ(flow.syns.size(), 1u + 2 * 8);
}

TEST(MmptcpTest, OtherEventsOpenSubflowsToo) {
  const auto sprayed = [](const std::string& rest, std::vector<Rule> rules = {}) {
    OneFlow flow(700 * kMss, "{kind: mmptcp, extra_dupacks: 4, " + rest + "}", std::move(rules));
    return flow.Sprayed();
  };
  EXPECT_EQ(sprayed("switch_bytes: never"), 700);
  EXPECT_LE(sprayed("switch_bytes: 0B"), 12);
  // From 10 segments on the window grows by one with each ACK; the eleventh makes it 21. By then
  // 20 packets have left, and at most one more with each ACK.
  const int64_t window = sprayed("switch_bytes: never, switch_window: 20");
  EXPECT_GE(window, 20);
  EXPECT_LE(window, 32);
  // The eighth ACK after segment 40 finds the loss: 7 packets overtake it. The packets that have
  // left by then are those of one round trip, or of the window at most.
  const std::vector<Rule> loss = {DropAt(0, Data(0, 40)).Times(1)};
  EXPECT_EQ(sprayed("switch_bytes: never, switch_on_loss: true"), 700);
  const int64_t after_loss = sprayed("switch_bytes: never, switch_on_loss: true", loss);
  EXPECT_GT(after_loss, 40 + 7);
  EXPECT_LT(after_loss, 100);
  // Without losses slow start never ends.
  EXPECT_EQ(sprayed("switch_when_calm: true"), 700);
  const int64_t calm = sprayed("switch_when_calm: true", loss);
  EXPECT_GE(calm, 70);
  EXPECT_LT(calm, 300);
  // In recovery the subflows do not open before it ends, when the repair has been acknowledged.
  EXPECT_GT(sprayed("switch_bytes: never, switch_on_loss: true, switch_when_calm: true", loss),
            after_loss - 1);
}

// --- The others ---

TEST(MmptcpTest, TheFirstSubflowOnlyRepairsThen) {
  const Match some = [](const Packet& p) {
    return DataOf(0)(p) && p.seq >= 60 && p.seq % 4 == 2 && !p.Has(Packet::kRetransmission);
  };
  for (const char* setup : {"instant", "join"}) {
    OneFlow flow(2'000 * kMss, fmt::format("{{kind: mmptcp, min_rto: 500us, setup: {}}}", setup),
                 {DropAt(0, some)});
    size_t opened = flow.data.size();
    for (const auto& [subflow, at] : flow.Opened()) {
      if (subflow > 0) opened = std::min(opened, at);
    }
    ASSERT_LT(opened, flow.data.size());
    int64_t repairs = 0;
    for (size_t i = opened; i < flow.data.size(); ++i) {
      if (flow.data[i].subflow() != 0) {
        EXPECT_EQ(flow.data[i].packet.entropy, 0);
        continue;
      }
      EXPECT_TRUE(flow.data[i].is_again()) << i;
      EXPECT_GE(flow.data[i].port(), 49'152);
      ++repairs;
    }
    EXPECT_GT(repairs, 0) << setup;
  }
}

TEST(MmptcpTest, TheOthersTakeTurns) {
  OneFlow flow(700 * kMss, "{kind: mmptcp, switch_bytes: 0B}");
  std::vector<uint32_t> order;
  for (const Seen& seen : flow.data) {
    if (seen.subflow() > 0) order.push_back(seen.subflow());
  }
  ASSERT_GT(order.size(), 600u);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(order[i], 1 + i % 8) << i;
}

// LIA counts the eight subflows that are open, not the first one.
TEST(MmptcpTest, TheFirstSubflowIsNotCoupled) {
  Lab lab({.graph = Line(4, kLink), .transport = "{kind: mmptcp, max_cwnd: 40}"});
  lab.AddFlow(0, 1, 20'000'000);
  size_t looked = 0;
  lab.SampleEvery(1_ms, [&](Time) {
    const auto& mptcp = dynamic_cast<const Mptcp&>(lab.network().host(0).transport());
    const MptcpSender* sender = mptcp.FindSender(0);
    if (sender == nullptr) return;
    const TcpSender& first = sender->subflow(0);
    EXPECT_EQ(first.window().coupling, nullptr);
    const Coupling* coupling = sender->subflow(1).window().coupling;
    ASSERT_NE(coupling, nullptr);
    EXPECT_EQ(coupling->windows.size(), 8u);
    EXPECT_EQ(std::ranges::count(coupling->windows, &first.window()), 0);
    ++looked;
  });
  lab.Run();
  EXPECT_GT(looked, 3u);
}

// Its path dies when the others have opened: they send again what it has not delivered, once.
TEST(MmptcpTest, TheOthersTakeOverItsDataAfterItsTimeout) {
  OneFlow flow(2'000 * kMss, "{kind: mmptcp, min_rto: 1ms}", {DropAt(0, DataOf(0)).Skip(60)});
  const SenderRecord& sender = flow.record().sender;
  EXPECT_GE(sender.timeouts, 1);
  const int64_t lost = flow.Sprayed() - 60;
  EXPECT_GT(lost, 5);
  EXPECT_EQ(sender.packets_sent - sender.packets - sender.retransmissions, lost);
  EXPECT_EQ(flow.record().receiver.duplicates, 0);
  std::map<uint32_t, int> arrived;
  int64_t dropped = 0;
  for (const Seen& seen : flow.data) {
    if (seen.subflow() == 0 && ++dropped > 60) continue;
    ++arrived[DataNumber(seen.packet)];
  }
  EXPECT_EQ(arrived.size(), 2'000u);
}

TEST(MmptcpTest, SurvivesLossAndReorderingWithEveryScheduler) {
  for (const char* scheduler : {"pull", "min_rtt", "round_robin"}) {
    for (const char* rest :
         {"", ", rwnd: 20", ", recovery: newreno", ", setup: join", ", cc: olia",
          ", cc: dctcp, loss: rack, tlp: true", ", switch_bytes: 0B, setup: join",
          ", switch_bytes: never, switch_on_loss: true", ", switch_when_calm: true"}) {
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(fmt::format("{}{}, seed {}", scheduler, rest, seed));
        OneFlow flow(700 * kMss + 1,
                     fmt::format("{{kind: mmptcp, subflows: 4, min_rto: 500us, scheduler: {}{}}}",
                                 scheduler, rest),
                     {DropAt(0, WithProbability(0.03, seed, Anything())),
                      DropAt(2, WithProbability(0.03, seed + 100, Anything())),
                      HoldAt(1, WithProbability(0.1, seed + 200, Anything()), 30_us)});
        EXPECT_EQ(flow.record().sender.packets, 701);
      }
    }
  }
}

// --- Networks ---

// Flows of one packet to 400 kB, so slots serve flows with one and with nine subflows in turn.
TEST(MmptcpTest, IsTheSameForEveryNumberOfThreads) {
  for (const char* transport :
       {"{kind: mmptcp, min_rto: 1ms}", "{kind: mmptcp, min_rto: 1ms, cc: olia, setup: join}"}) {
    for (const char* balancer : {"ecmp", "wcmp"}) {
      SCOPED_TRACE(fmt::format("{} {}", transport, balancer));
      const LossyFabric fabric{.transport = transport,
                               .balancer = balancer,
                               .draws = "mmptcp_test",
                               .flows = 80,
                               .every = 30_us};
      const std::string one = RecordsOf(fabric, 1);
      for (const int threads : ThreadCounts({2, 3})) EXPECT_EQ(RecordsOf(fabric, threads), one);
    }
  }
}

// Four hosts of a leaf send a flow each, over four spines. Hashed to paths, a flow shares its path
// with 3/4 of a flow in the mean; sprayed, all have their rate.
TEST(MmptcpTest, ShortFlowsDoNotCollideOnPaths) {
  const auto mean_fct = [](const std::string& transport) {
    Lab lab({.graph = LeafSpineFrom(
                 "{leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: 10Gbps, delay: 1us}, "
                 "fabric_link: {rate: 10Gbps, delay: 1us}}"),
             .transport = transport});
    constexpr FlowId kFlows = 40;
    for (FlowId i = 0; i < kFlows; ++i) {
      const HostId src = static_cast<HostId>(i % 4);
      lab.AddFlow(src, 4 + src, 60 * kMss, Time{} + 1_ms * (i / 4));
    }
    lab.Run(Time{} + 1_s);
    EXPECT_TRUE(lab.finished());
    Duration sum{0};
    for (FlowId flow = 0; flow < kFlows; ++flow) sum += FctRx(lab.Record(flow));
    return sum / kFlows;
  };
  const Duration hashed = mean_fct("{kind: mptcp, subflows: 1, recovery: newreno, iw: 60}");
  const Duration sprayed = mean_fct("{kind: mmptcp, iw: 60}");
  EXPECT_LT(sprayed, hashed * 3 / 4);
}

// --- Settings ---

std::string Errors(const std::string& transport, const std::string& lb = "ecmp") {
  return ErrorsOf("topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n" +
                  fmt::format("transport: {}\nlb: {}\n", transport, lb) +
                  "workload: [{kind: permutation, size: 10KB}]\n");
}

TEST(MmptcpSettingsTest, RefusesWhatDoesNotGoWithIt) {
  EXPECT_EQ(Errors("mmptcp"), "");
  EXPECT_EQ(Errors("{kind: mmptcp, cc: dctcp, setup: join, subflows: 1, switch_bytes: never}"), "");
  const std::map<std::string, std::string> refused = {
      {"{kind: mmptcp, subflows: 16}", "subflows"},
      {"{kind: mmptcp, scheduler: redundant}", "use kind: mptcp"},
      {"{kind: mmptcp, switch_window: 0}", "switch_window"},
      {"{kind: mmptcp, extra_dupacks: -1}", "extra_dupacks"},
      {"{kind: mmptcp, resequencing: juggler}", "use kind: tcp"},
      {"{kind: mptcp, switch_bytes: 1KB}", "switch_bytes"},
  };
  for (const auto& [transport, expected] : refused) {
    EXPECT_NE(Errors(transport).find(expected), std::string::npos)
        << transport << ": " << Errors(transport);
  }
  EXPECT_NE(Errors("mmptcp", "plb").find("chooses paths at hosts"), std::string::npos);
}

TEST(MmptcpSettingsTest, WarnsOfSwitchesThatDoNotHashPorts) {
  const auto warnings = [](const std::string& lb) {
    return ExperimentFrom(
               "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
               "transport: mmptcp\nworkload: [{kind: permutation, size: 10KB}]\nlb: " +
               lb + "\n")
        .warnings;
  };
  for (const char* lb : {"letflow", "drill"}) {
    const auto says_so = [](const std::string& warning) {
      return warning.find("set lb: ecmp") != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(warnings(lb), says_so)) << lb;
  }
  EXPECT_TRUE(warnings("ecmp").empty());
  EXPECT_TRUE(warnings("wcmp").empty());
}

}  // namespace heddle::mmptcp_test
