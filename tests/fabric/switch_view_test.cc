// SPDX-License-Identifier: Apache-2.0
// These tests ask a switch, as a policy does, about ports, routes, hosts, leaves and the map of the
// fabric.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check.h"
#include "fabric/paths.h"
#include "fabric/switch.h"
#include "tests/support/switch_bench.h"
#include "tests/support/traces.h"

namespace heddle::switch_view_test {

using Look = std::function<void(SwitchView&, const Packet&, PortIndex, const Candidates&)>;

class Looking final : public SwitchPolicy {
 public:
  explicit Looking(Look look = nullptr, size_t state = 0, bool next_hops = false)
      : look_(std::move(look)), state_(state), next_hops_(next_hops) {}
  Packets asked_about() const override { return look_ ? Packets::kEvery : Packets::kWithChoice; }
  bool wants_next_hops() const override { return next_hops_; }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in,
                    const Candidates& c) override {
    if (look_) look_(view, packet, in, c);
    return Decision::Forward(c.ports.back());
  }
  size_t StateBytes() const override { return state_; }

 private:
  const Look look_;
  const size_t state_;
  const bool next_hops_;
};

// --- Ports ---

TEST(SwitchViewTest, TellsOfPortsAtRest) {
  Switch node(7, 2, 5, std::make_unique<Looking>());
  for (const bool faces_host : {true, false, true}) {
    const BitRate rate = faces_host ? 10_Gbps : 40_Gbps;
    node.AddPort({.rate = rate, .delay = 1_us, .wire_overhead = 20_B}, faces_host);
  }
  SwitchView view(node);
  EXPECT_EQ(view.id(), 7);
  EXPECT_EQ(view.tier(), 2);
  EXPECT_EQ(view.ports(), 3u);
  EXPECT_EQ(view.now(), Time{});
  EXPECT_EQ(view.WireBytes(PacketOf(1'500, 1)), 1'520_B);
  for (PortIndex port = 0; port < 3; ++port) {
    EXPECT_EQ(view.FacesHost(port), port != 1);
    EXPECT_EQ(view.Rate(port), port == 1 ? 40_Gbps : 10_Gbps);
    EXPECT_EQ(view.TimeToSend(port, 1'500_B), port == 1 ? 300_ns : 1'200_ns);
    EXPECT_EQ(view.QueueingDelay(port), Duration{0});
    EXPECT_EQ(view.Unsent(port), 0_B);
    EXPECT_EQ(view.UnsentBefore(port, 3), 0_B);
    EXPECT_EQ(view.QueuedPackets(port), 0);
    EXPECT_FALSE(view.IsPaused(port, 1));
    EXPECT_EQ(view.FillOf(port, 1), std::nullopt);
    // Without a map.
    EXPECT_EQ(view.PeerOf(port), std::nullopt);
    EXPECT_FALSE(view.WayTo(port, 0));
    EXPECT_EQ(view.BufferOf(port).count, kUnlimited);
  }
  EXPECT_TRUE(view.Hold(PacketOf(1'500, 1), 0, 1)) << "no shared buffer can be full";
}

TEST(SwitchViewTest, AsksTheMapAboutItsOwnPorts) {
  struct Map final : FabricMap {
    std::optional<Way> WayTo(SwitchId from, PortIndex port, uint16_t leaf) const override {
      return Way{.propagation = 1_ns * (100 * from + 10 * port + leaf),
                 .last_rate = 1_Gbps,
                 .least_rate = 1_Gbps,
                 .last_buffer = 1_B};
    }
    Bytes BufferOf(SwitchId at, PortIndex port) const override { return Bytes{10 * at + port}; }
    std::optional<SwitchId> PeerOf(SwitchId at, PortIndex port) const override {
      return static_cast<SwitchId>(10 * at + port);
    }
  };
  const Map map;
  Switch node(4, 0, 1, std::make_unique<Looking>());
  node.SetMap(&map);
  const SwitchView view(node);
  EXPECT_EQ(view.WayTo(3, 2)->propagation, 432_ns);
  EXPECT_EQ(view.WayTo(3, 2)->links, 2);  // A spine's link up and its link down.
  EXPECT_EQ(view.BufferOf(3), 43_B);
  EXPECT_EQ(view.PeerOf(3), 43);
}

// --- Routes ---

// Ports 0 to 2 face hosts, 3 to 6 switches. Returns a table with a set of routes for each host.
RoutingTable TableOf(const std::vector<std::vector<PortIndex>>& sets,
                     std::vector<PortIndex> uplinks, uint32_t divisor = 1) {
  RoutingTable routes;
  std::vector<uint16_t> sets_of_hosts;
  for (const std::vector<PortIndex>& set : sets) {
    sets_of_hosts.push_back(static_cast<uint16_t>(routes.sets.size()));
    routes.sets.push_back(
        {static_cast<uint32_t>(routes.ports.size()), static_cast<uint32_t>(set.size())});
    routes.ports.insert(routes.ports.end(), set.begin(), set.end());
  }
  routes.uplinks = std::move(uplinks);
  routes.path_divisor = divisor;
  routes.version = 9;
  routes.SetSetsOfHosts(sets_of_hosts);
  return routes;
}

std::unique_ptr<Switch> SwitchOf(RoutingTable routes, bool next_hops = false, size_t state = 0) {
  auto node =
      std::make_unique<Switch>(0, 0, 7, std::make_unique<Looking>(nullptr, state, next_hops));
  for (PortIndex port = 0; port < 7; ++port) {
    node->AddPort({.rate = 10_Gbps, .delay = 1_us, .wire_overhead = 20_B}, port < 3);
  }
  node->SetRoutes(std::move(routes));
  return node;
}

TEST(SwitchViewTest, TellsWhichCandidatesAreTheLastUplinkOrLinksOfAHost) {
  const std::vector<std::vector<PortIndex>> sets = {{},     {0},    {3},    {4},   {6},
                                                    {1, 2}, {3, 4}, {3, 5}, {5, 6}};
  for (const std::vector<PortIndex>& uplinks :
       std::vector<std::vector<PortIndex>>{{}, {3}, {3, 4}, {3, 5}, {3, 4, 5}, {4, 6}}) {
    const auto node = SwitchOf(TableOf(sets, uplinks));
    const SwitchView view(*node);
    EXPECT_TRUE(std::ranges::equal(view.Uplinks(), uplinks));
    for (HostId host = 0; host < sets.size(); ++host) {
      SCOPED_TRACE(fmt::format("{} uplinks, host {}", uplinks.size(), host));
      const std::vector<PortIndex>& ports = sets[host];
      const Candidates c = view.CandidatesTo(host);
      EXPECT_TRUE(std::ranges::equal(c.ports, ports));
      EXPECT_EQ(c.id, host);
      EXPECT_EQ(c.version, 9u);
      const bool is_uplink = ports.size() == 1 && std::ranges::count(uplinks, ports[0]) == 1;
      EXPECT_EQ(c.is_last_uplink, is_uplink && uplinks.size() > 1);
      EXPECT_EQ(c.are_links_of_host, host == 5);
      EXPECT_EQ(c.matters(), ports.size() > 1 || c.is_last_uplink);
      EXPECT_EQ(view.IsAttached(host), host == 1 || host == 5);
      for (PortIndex port = 0; port < 7; ++port) {
        EXPECT_EQ(c.Has(port), std::ranges::count(ports, port) == 1) << port;
      }
      for (const uint32_t hooks : {0u, 1u, 64u, 65u, 62u}) {
        const bool asks = ports.size() > 1 || (hooks & SwitchPolicy::kEveryPacket) != 0 ||
                          (c.is_last_uplink && (hooks & SwitchPolicy::kLastUplink) != 0);
        EXPECT_EQ(SwitchPolicy::AsksAbout(hooks, c), asks) << hooks;
      }
    }
  }
}

// Any set of the ports 0 to 7, with gaps or without.
TEST(SwitchViewTest, FindsAPortAmongAnyOthers) {
  for (unsigned mask = 0; mask < 256; ++mask) {
    std::vector<PortIndex> ports;
    for (PortIndex port = 0; port < 8; ++port) {
      if ((mask >> port & 1) != 0) ports.push_back(port);
    }
    for (PortIndex port = 0; port < 10; ++port) {
      EXPECT_EQ(IsAmong(ports, port), (mask >> port & 1) != 0) << mask << " " << port;
    }
  }
}

// A path id has a digit for each tier: here that of weight `divisor`, base 3.
TEST(SwitchViewTest, ReadsItsDigitOfAPathId) {
  for (const uint32_t divisor : {1u, 3u, 12u}) {
    const auto node = SwitchOf(TableOf({{3, 4, 6}}, {3, 4, 6}, divisor));
    const SwitchView view(*node);
    for (uint16_t path = 0; path < 100; ++path) {
      const uint32_t digit = path / divisor % 3;
      EXPECT_EQ(view.UplinkOf(path), digit == 2 ? 6 : 3 + digit);
    }
  }
}

// Hosts 0, 3 and 4 are attached, one set each. Hosts 1 and 2 are in a group that is elsewhere.
TEST(RoutingTableTest, MembersOfAnAttachedGroupHaveASetEach) {
  RoutingTable routes = TableOf({{3}, {0}, {1}, {2}}, {});
  routes.SetGroups(std::make_shared<const HostGroups>(
      std::vector<HostGroup>{{1, 0}, {0, 0}, {0, 1}, {1, 1}, {1, 2}}));
  routes.sets_of_group = {{.first = 0, .step = 0}, {.first = 1, .step = 1}};
  const std::vector<PortIndex> expected = {0, 3, 3, 1, 2};
  for (HostId host = 0; host < 5; ++host) {
    ASSERT_EQ(routes.Towards(host).size(), 1u);
    EXPECT_EQ(routes.Towards(host)[0], expected[host]) << host;
  }
  const auto node = SwitchOf(routes);
  EXPECT_EQ(SwitchView(*node).CandidatesTo(4).ports[0], 2);
}

TEST(SwitchViewTest, DescribesNextHopsByTheLeafOfTheHost) {
  const auto node = SwitchOf(TableOf({{3, 4}, {3, 4}, {4, 5}}, {3, 4, 5}), /*next_hops=*/true);
  const std::vector<uint16_t> leaf_of_host = {2, 0, 1};
  node->SetLeaves({.of_host = leaf_of_host, .leaves = 3});
  node->SetNextHops({.set_of_leaf = {1, 0, 1},
                     .sets = {{{.capacity = 5, .kind = 0}}, {{.capacity = 7, .kind = 1}}}});
  const SwitchView view(*node);
  EXPECT_EQ(view.leaves(), 3u);
  EXPECT_EQ(view.hosts(), 3u);
  EXPECT_EQ(view.LeafOf(0), 2);
  EXPECT_EQ(view.LeafOf(2), 1);
  EXPECT_EQ(view.NextHopsTo(0)[0], (NextHop{.capacity = 7, .kind = 1}));
  EXPECT_EQ(view.NextHopsTo(1)[0].capacity, 7);
  EXPECT_EQ(view.NextHopsTo(2)[0].capacity, 5);
  const auto without = SwitchOf(TableOf({{3, 4}}, {3, 4}));
  EXPECT_EXIT(SwitchView(*without).NextHopsTo(0), testing::ExitedWithCode(kExitBrokenInvariant),
              "wants_next_hops");
}

// --- Memory ---

TEST(SwitchMemoryTest, CountsPortsQueuesRoutesAndThePolicysState) {
  const auto bytes = [](size_t state, size_t hosts, bool queues) {
    auto node =
        SwitchOf(TableOf(std::vector<std::vector<PortIndex>>(hosts, {0}), {}), false, state);
    std::vector<QueuedPorts::Port> ports;
    for (FifoPort& port : node->ports())
      ports.push_back({.out = &port, .queues = {.classes = 0b10, .marking = {}}, .memory = {}});
    if (queues) node->UseQueues({}, ports);
    size_t sum = node->memory_bytes();
    for (FifoPort& port : node->ports()) sum -= port.memory_bytes();
    return queues ? sum - node->queued()->memory_bytes() : sum;
  };
  const size_t least = bytes(0, 1, false);
  EXPECT_EQ(least, sizeof(Switch) + sizeof(RoutingTable::GroupSets));
  EXPECT_EQ(bytes(1'000, 1, false), least + 1'000);
  EXPECT_EQ(bytes(0, 1, true), least);
  EXPECT_EQ(bytes(0, 64, false), sizeof(Switch) + 64 * sizeof(RoutingTable::GroupSets));
}

// --- A policy that is asked about packets on their way ---

SwitchPlan PlanOf(bool fifo) {
  SwitchPlan plan = EqualPorts(5, {.rate = 10_Gbps, .delay = 1_us, .wire_overhead = 0_B},
                               {.classes = 0b1010, .marking = {}});
  plan.fifo = fifo;
  return plan;
}

// A packet of each class arrives at 2 us through ports 1 and 2, and one more while they leave: 1250
// bytes take 1 us.
TEST(SwitchViewTest, TellsOfWhatIsToBeSentBeforeAClass) {
  for (const bool fifo : {false, true}) {
    int64_t asked = 0;
    SwitchBench bench(PlanOf(fifo), 1_us,
                      std::make_unique<Looking>([&](SwitchView& view, const Packet& packet,
                                                    PortIndex in, const Candidates&) {
                        ++asked;
                        if (packet.seq != 2) return;
                        EXPECT_EQ(in, 3);
                        EXPECT_EQ(view.now(), Time{} + 2'600_ns);
                        EXPECT_EQ(view.Unsent(0), 1'750_B);
                        EXPECT_EQ(view.QueueingDelay(0), 1'400_ns);
                        EXPECT_EQ(view.QueuedPackets(0), 2);
                        EXPECT_EQ(view.UnsentBefore(0, 1), fifo ? 1'750_B : 500_B);
                        EXPECT_EQ(view.UnsentBefore(0, 3), 1'750_B);
                        EXPECT_EQ(view.Unsent(1), 0_B);
                      }));
    std::vector<Offer> offers = {{Time{} + 2_us, 1, PacketOf(1'250, 1)},
                                 {Time{} + 2_us, 2, PacketOf(1'250, 3)},
                                 {Time{} + 2'600_ns, 3, PacketOf(1'250, 1)}};
    offers.back().packet.seq = 2;
    bench.Run(offers);
    EXPECT_EQ(asked, 3);
  }
}

// Three packets of 1000 bytes come through input 1 at 10, 10.4 and 10.8 us. Each takes 0.8 us, so
// the first one leaves as the third one comes; one of class 1 does not count.
TEST(SwitchViewTest, TellsHowFullAnInputIs) {
  for (const uint8_t lossless : {uint8_t{0}, uint8_t{0b1000}}) {
    SwitchPlan plan = PlanOf(false);
    plan.queueing.memory.lossless = lossless;
    for (SharedMemory::Port& share : plan.shares) share.headroom = share.xoff = 50'000;
    std::vector<int64_t> held;
    SwitchBench bench(plan, 1_us,
                      std::make_unique<Looking>(
                          [&](SwitchView& view, const Packet&, PortIndex in, const Candidates&) {
                            EXPECT_EQ(view.FillOf(in, 1), std::nullopt);
                            const std::optional<InputFill> fill = view.FillOf(1, 3);
                            ASSERT_EQ(fill.has_value(), lossless != 0);
                            if (!fill) return;
                            held.push_back(fill->held.count);
                            EXPECT_EQ(fill->pause_above, 50'000_B);
                            EXPECT_EQ(view.FillOf(2, 3)->held, 0_B);
                          }));
    bench.Run({{Time{} + 10_us, 1, PacketOf(1'000, 3)},
               {Time{} + 10'100_ns, 2, PacketOf(1'000, 1)},
               {Time{} + 10'400_ns, 1, PacketOf(1'000, 3)},
               {Time{} + 10'800_ns, 1, PacketOf(1'000, 3)}});
    EXPECT_EQ(held, lossless == 0 ? std::vector<int64_t>()
                                  : (std::vector<int64_t>{0, 1'000, 1'000, 1'000}));
  }
}

// Hosts 0 and 1 are behind ports 0 and 1, and host 2 behind the uplinks 2 to 4, so that packets to
// it have a choice. Only those count as decided.
TEST(SwitchTest, CountsThePacketsThatItsPolicyDecidesAndTheirPaths) {
  for (const bool fifo : {false, true}) {
    for (const bool asks_always : {false, true}) {
      Look look;
      if (asks_always) look = [](SwitchView&, const Packet&, PortIndex, const Candidates&) {};
      SwitchBench bench(PlanOf(fifo), 1_us, std::make_unique<Looking>(look));
      bench.node().SetRoutes(TableOf({{0}, {1}, {2, 3, 4}}, {2, 3, 4}, /*divisor=*/4));
      std::vector<Offer> offers;
      for (HostId dst = 0; dst < 3; ++dst) {
        offers.push_back({Time{} + 2_us, 0, PacketOf(100, 1, dst)});
        offers.back().packet.taken = 1;
      }
      bench.Run(offers);
      EXPECT_EQ(bench.node().asked(), 1);
      EXPECT_EQ(bench.node().consumed(), 0);
      for (const PortIndex port : {PortIndex{0}, PortIndex{1}, PortIndex{4}}) {
        ASSERT_EQ(bench.received(port).size(), 1u);
        // Only uplinks are digits of a path: the third one is 2 * 4.
        EXPECT_EQ(bench.received(port)[0].taken, port == 4 ? 9 : 1);
      }
    }
  }
}

// The links of one host are no choice for a policy, which sees one of them. It is the same for all
// packets of a flow, and each carries a third of 300 flows (sqrt(300 * 2 / 9) = 8.2).
TEST(SwitchTest, PicksOneOfTheLinksOfAHostByTheFlow) {
  for (const bool fifo : {false, true}) {
    SwitchPlan plan = PlanOf(fifo);
    plan.of_hosts = true;
    int64_t seen = 0;
    SwitchBench bench(
        plan, 1_us,
        std::make_unique<Looking>([&](SwitchView&, const Packet&, PortIndex, const Candidates& c) {
          ++seen;
          EXPECT_EQ(c.ports.size(), 1u);
          EXPECT_FALSE(c.are_links_of_host);
          EXPECT_EQ(c.id, 0u);
          EXPECT_EQ(c.version, 9u);
        }));
    bench.node().SetRoutes(TableOf({{1, 2, 3}}, {}));
    std::vector<Offer> offers;
    for (uint32_t i = 0; i < 600; ++i) {
      offers.push_back({Time{} + 1_us * (i + 1), 0, PacketOf(100, 1, 0)});
      offers.back().packet.tuple_hash = i % 300 / 20;
      offers.back().packet.entropy = static_cast<uint16_t>(i % 20);
    }
    bench.Run(offers);
    EXPECT_EQ(seen, 600);
    EXPECT_EQ(bench.node().asked(), 0);
    std::set<std::pair<uint32_t, uint16_t>> flows;
    size_t sum = 0;
    for (const PortIndex port : {PortIndex{1}, PortIndex{2}, PortIndex{3}}) {
      std::set<std::pair<uint32_t, uint16_t>> its;
      for (const Packet& p : bench.received(port)) its.emplace(p.tuple_hash, p.entropy);
      EXPECT_NEAR(static_cast<double>(its.size()), 100, 4 * 8.2);
      sum += its.size();
      flows.merge(its);
    }
    EXPECT_EQ(sum, 300u);
    EXPECT_EQ(flows.size(), 300u);
  }
}

// --- Transmissions of FIFO ports ---

// Against a sorted set.
TEST(TransmitReplayTest, GivesStartsByTimeAndPort) {
  Rng rng = Rng::Stream(1, "test", 0);
  for (int run = 0; run < 50; ++run) {
    TransmitReplay replay;
    std::set<std::tuple<Time, PortIndex, uint64_t>> expected;
    for (int step = 0; step < 200; ++step) {
      const Time at = Time{} + Duration{1'000 + step + rng.Below(20)};
      const PortIndex port = static_cast<PortIndex>(rng.Below(3));
      const uint32_t what = rng.Below(10);
      const auto is_same = [&](const auto& start) {
        return std::get<0>(start) == at && std::get<1>(start) == port;
      };
      if (what < 6 && std::ranges::none_of(expected, is_same)) {
        replay.Add({at, port, static_cast<uint64_t>(step)});
        expected.emplace(at, port, step);
      } else if (what == 6) {
        replay.Forget(port, at);
        std::erase_if(expected, [&](const auto& start) {
          return std::get<1>(start) == port && std::get<0>(start) >= at;
        });
      } else if (!expected.empty()) {
        const TransmitReplay::Start start = replay.Pop();
        EXPECT_EQ(std::tuple(start.at, start.port, start.number), *expected.begin());
        expected.erase(expected.begin());
      }
      ASSERT_EQ(replay.Next(), expected.empty() ? kNever : std::get<0>(*expected.begin()));
    }
  }
}

// --- The table of paths ---

TEST(PathTableTest, HoldsThePathsOfEachPairOfLeaves) {
  PathTable table({0, 2, 1, 2}, 3);
  EXPECT_EQ(table.version(), 0u);
  EXPECT_EQ(table.LeafOf(3), 2);
  EXPECT_TRUE(table.Between(0, 1).empty());
  // Pairs of leaves have the paths 10 * from + to.
  const auto paths = [](size_t from, size_t to, uint16_t first) {
    return std::vector<PathChoice>{
        {.id = static_cast<uint16_t>(first + 10 * from + to), .weight = 1}};
  };
  const auto fill = [&](PathTable& its, uint16_t first) {
    for (size_t from = 0; from < 3; ++from) {
      for (size_t to = 0; to < 3; ++to) its.Set(from, to, paths(from, to, first));
    }
  };
  const auto expect = [&](uint16_t first) {
    for (HostId src = 0; src < 4; ++src) {
      for (HostId dst = 0; dst < 4; ++dst) {
        const auto between = table.Between(src, dst);
        ASSERT_EQ(between.size(), 1u);
        EXPECT_EQ(between[0].id, paths(table.LeafOf(src), table.LeafOf(dst), first)[0].id);
      }
    }
  };
  fill(table, 0);
  EXPECT_EQ(table.version(), 9u);
  expect(0);
  PathTable other({0, 2, 1, 2}, 3);
  fill(other, 100);
  table.Replace(std::move(other));
  EXPECT_EQ(table.version(), 10u);
  expect(100);
}

// --- Records that nothing has been counted in yet ---

TEST(FlowRecordTest, BeginsWithNothing) {
  const FlowRecord record{};
  const SenderRecord& s = record.sender;
  const ReceiverRecord& r = record.receiver;
  EXPECT_EQ(s.done, kNever);
  EXPECT_EQ(r.done, kNever);
  EXPECT_EQ(s.pause_blocked, Duration{0});
  for (const int64_t count : {s.packets,
                              s.packets_sent,
                              s.retransmissions,
                              s.retransmissions_spurious,
                              s.retransmissions_loss,
                              int64_t{s.timeouts},
                              int64_t{s.fast_retransmits},
                              int64_t{s.fast_retransmits_reorder},
                              int64_t{s.nacks},
                              int64_t{s.cnps},
                              r.packets,
                              r.duplicates,
                              r.discarded,
                              r.ce_marked,
                              r.trimmed,
                              r.trimmed_last_hop,
                              r.max_out_of_order_bytes,
                              r.reordered_net,
                              r.reordered_seq,
                              int64_t{r.max_extent},
                              int64_t{r.max_degree},
                              int64_t{r.paths_used},
                              int64_t{r.path_switches},
                              int64_t{r.hops}}) {
    EXPECT_EQ(count, 0);
  }
  const FlowSpec& spec = record.spec;
  EXPECT_EQ(spec.src_nic, kAnyNic);
  EXPECT_EQ(spec.dst_nic, kAnyNic);
  EXPECT_EQ(spec.lane, kNoLane);
  EXPECT_EQ(spec.job, 0u);
  EXPECT_EQ(spec.iter, 0u);
  EXPECT_EQ(spec.step, 0u);
  EXPECT_TRUE(spec.measured);
  EXPECT_GE(spec.size, 1);
}

// Flows that differ in one bit of the 5-tuple have different hashes.
TEST(TupleHashTest, DependsOnEveryBitOfTheTuple) {
  std::set<uint32_t> hashes = {TupleHash(0, 0, 0, 0)};
  for (int bit = 0; bit < 16; ++bit) {
    const uint16_t one = static_cast<uint16_t>(1u << bit);
    hashes.insert(TupleHash(one, 0, 0, 0));
    hashes.insert(TupleHash(0, one, 0, 0));
    hashes.insert(TupleHash(0, 0, one, 0));
    hashes.insert(TupleHash(0, 0, 0, one));
  }
  EXPECT_EQ(hashes.size(), 65u);
}

}  // namespace heddle::switch_view_test
