// SPDX-License-Identifier: Apache-2.0

#include "network/ideal_fct.h"

#include <absl/numeric/int128.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"

namespace heddle::ideal_fct_test {

struct Framing {
  int64_t payload;
  int64_t overhead;
  int64_t ack;
};
constexpr Framing kEth{1'460, 78, 84};
constexpr Framing kNs3Rdma{1'000, 48, 60};

Duration Time(int64_t size, const Framing& framing, int hops, BitRate rate) {
  const std::vector<Channel> path(static_cast<size_t>(hops), Channel{rate, 1_us});
  const int64_t packets = (size + framing.payload - 1) / framing.payload;
  const int64_t last = size - (packets - 1) * framing.payload;
  return PipelineTime(path, packets, framing.payload + framing.overhead, last + framing.overhead);
}

Duration AckTime(const Framing& framing, int hops, BitRate rate) {
  const std::vector<Channel> path(static_cast<size_t>(hops), Channel{rate, 1_us});
  return PipelineTime(path, 1, framing.ack, framing.ack);
}

// Worked numbers of a flow alone.
TEST(PipelineTimeTest, HasTheSpecifiedValues) {
  struct Case {
    int64_t size;
    Framing framing;
    int hops;
    BitRate rate;
    int64_t rx_ps;
    int64_t tx_ps;
  };
  for (const Case& c : {Case{1'460, kEth, 4, 10_Gbps, 8'921'600, 13'190'400},
                        Case{100'000, kEth, 4, 10_Gbps, 91'996'800, 96'265'600},
                        Case{1'000'000, kEth, 4, 10_Gbps, 850'435'200, 854'704'000},
                        Case{1'000, kNs3Rdma, 4, 100_Gbps, 4'335'360, 8'354'560},
                        Case{1'000'000, kNs3Rdma, 4, 100_Gbps, 88'091'520, 92'110'720},
                        Case{1'000'000, kNs3Rdma, 6, 100_Gbps, 90'259'200, 96'288'000}}) {
    const Duration rx = Time(c.size, c.framing, c.hops, c.rate);
    EXPECT_EQ(rx.ps, c.rx_ps);
    EXPECT_EQ((rx + AckTime(c.framing, c.hops, c.rate)).ps, c.tx_ps);
  }
}

// metrics.md, section 1.2: the table by size, rate and hops.
TEST(PipelineTimeTest, HasTheSpecifiedTable) {
  const std::array<BitRate, 5> rates = {10_Gbps, 25_Gbps, 100_Gbps, 100_Gbps, 400_Gbps};
  const std::array<int, 5> hops = {4, 4, 4, 6, 4};
  const std::vector<std::pair<int64_t, std::array<int64_t, 5>>> rows = {
      {1'000, {7'353'600, 5'341'440, 4'335'360, 6'503'040, 4'083'840}},
      {10'000, {14'899'200, 8'359'680, 5'089'920, 7'257'600, 4'272'480}},
      {100'000, {90'355'200, 38'542'080, 12'635'520, 14'803'200, 6'158'880}},
      {1'000'000, {844'915'200, 340'366'080, 88'091'520, 90'259'200, 25'022'880}},
      {10'000'000, {8'390'515'200, 3'358'606'080, 842'651'520, 844'819'200, 213'662'880}}};
  for (const auto& [size, times] : rows) {
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(Time(size, kNs3Rdma, hops[i], rates[i]).ps, times[i]) << size << " " << i;
    }
  }
}

// Sends every packet through every link in turn, in units of 1/scale ps.
int64_t Simulated(const std::vector<Channel>& path, int64_t packets, int64_t wire,
                  int64_t last_wire, int64_t scale) {
  std::vector<absl::int128> ready(static_cast<size_t>(packets), 0);
  for (const Channel& link : path) {
    absl::int128 free = 0;
    for (size_t p = 0; p < ready.size(); ++p) {
      const int64_t bytes = p + 1 == ready.size() ? last_wire : wire;
      const absl::int128 tx = absl::int128(bytes) * 8'000'000'000'000 * scale / link.rate.bps;
      free = std::max(free, ready[p]) + tx;
      ready[p] = free + absl::int128(link.delay.ps) * scale;
    }
  }
  return static_cast<int64_t>(ready.back() / scale);
}

TEST(PipelineTimeTest, AgreesWithASimulationOfRandomPathsToThePicosecond) {
  Rng rng = Rng::Stream(1, "test", 0);
  // 30 and 70 Gbps: a byte is no whole number of picoseconds.
  const std::array<int64_t, 10> rates = {1, 2, 10, 25, 30, 40, 70, 100, 200, 400};
  for (int i = 0; i < 300; ++i) {
    std::vector<Channel> path(1 + rng.Below(6));
    for (Channel& link : path) {
      link = {BitRate{rates[rng.Below(10)] * 1'000'000'000}, Duration{1 + rng.Below(3'000'000)}};
    }
    const int64_t packets = 1 + rng.Below(i % 2 == 0 ? 5 : 300);
    const int64_t wire = 84 + rng.Below(1'455);
    const int64_t last = 84 + rng.Below(static_cast<uint32_t>(wire - 83));
    ASSERT_EQ(PipelineTime(path, packets, wire, last).ps, Simulated(path, packets, wire, last, 21))
        << i;
  }
}

TEST(PipelineTimeTest, ManyOddRatesAreNeverRoundedUp) {
  const std::vector<Channel> path = {{BitRate{9'999'999'967}, 1_us},
                                     {BitRate{9'999'999'943}, 1_us},
                                     {BitRate{7'777'777'777}, 1_us}};
  const int64_t time = PipelineTime(path, 1'000, 1'538, 1'538).ps;
  double exact = 3e6 + 999 * 1538 * 8e12 / 7'777'777'777;
  for (const Channel& link : path) exact += 1538 * 8e12 / static_cast<double>(link.rate.bps);
  EXPECT_NEAR(static_cast<double>(time), exact, 1.0);
}

IdealFct::Times Ideal(const Experiment& experiment, HostId src, HostId dst, int64_t size) {
  const Routing routing(experiment.graph);
  return IdealFct(routing, experiment.settings.transport.settings->sizes()).Of(src, dst, size);
}

constexpr const char* kRest =
    "lb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n"
    "topology:\n  kind: leaf_spine\n  leaves: 2\n  spines: 2\n  hosts_per_leaf: 2\n";

TEST(IdealFctTest, CountsTwoLinksInARackAndFourBeyond) {
  const Experiment experiment = ExperimentFrom(kRest);
  EXPECT_EQ(Ideal(experiment, 0, 2, 1'460).rx.ps, 8'921'600);
  EXPECT_EQ(Ideal(experiment, 0, 2, 1'460).tx.ps, 13'190'400);
  EXPECT_EQ(Ideal(experiment, 0, 2, 100'000).rx.ps, 91'996'800);
  EXPECT_EQ(Ideal(experiment, 0, 1, 1'460).rx.ps, 2 * (1'000'000 + 1'230'400));
  // A frame is at least 64 bytes, 84 on the wire.
  EXPECT_EQ(Ideal(experiment, 0, 1, 1).rx.ps, 2 * (1'000'000 + 67'200));
}

TEST(IdealFctTest, TakesTheFastestPathOfAnAsymmetricFabric) {
  const Experiment slower = ExperimentFrom(
      std::string(kRest) + "  asymmetry: [{spines: [1], rate: 1Gbps, delay: 5us}]\n");
  const Experiment symmetric = ExperimentFrom(kRest);
  EXPECT_EQ(Ideal(slower, 0, 2, 100'000).rx, Ideal(symmetric, 0, 2, 100'000).rx);
  EXPECT_EQ(Ideal(slower, 0, 2, 100'000).tx, Ideal(symmetric, 0, 2, 100'000).tx);
  // There up over spine 0 and back over spine 1, as each is best.
  const Experiment ways =
      ExperimentFrom(std::string(kRest) +
                     "  asymmetry:\n    - {links: [leaf0-spine1], direction: up, rate: 1Gbps}\n"
                     "    - {links: [leaf0-spine0], direction: down, rate: 1Gbps}\n");
  EXPECT_EQ(Ideal(ways, 0, 2, 100'000).rx, Ideal(symmetric, 0, 2, 100'000).rx);
  EXPECT_EQ(Ideal(ways, 0, 2, 100'000).tx, Ideal(symmetric, 0, 2, 100'000).tx);
}

TEST(IdealFctTest, KnowsTheHostsOwnLinks) {
  const Experiment experiment =
      ExperimentFrom(std::string(kRest) + "  asymmetry: [{links: [host3-leaf1], rate: 1Gbps}]\n");
  const int64_t packet = 1'230'400;  // The time of a packet at 10 Gbps.
  EXPECT_EQ(Ideal(experiment, 0, 3, 14'600).rx.ps, 4'000'000 + 3 * packet + 10 * 10 * packet);
  EXPECT_EQ(Ideal(experiment, 3, 0, 14'600).rx.ps, 4'000'000 + 3 * packet + 10 * 10 * packet);
  EXPECT_EQ(Ideal(experiment, 0, 2, 14'600).rx.ps, 4'000'000 + 3 * packet + 10 * packet);
}

TEST(IdealFctTest, NoUseOfSeveralPathsIsFasterThanTheLeast) {
  const Experiment experiment =
      ExperimentFrom(std::string(kRest) + "  asymmetry: [{spines: [1], rate: 5Gbps}]\n");
  for (const int64_t size : {1, 1'460, 1'461, 50'000, 1'000'000}) {
    const IdealFct::Times times = Ideal(experiment, 0, 2, size);
    EXPECT_LE(times.least, times.rx) << size;
    EXPECT_GT(times.least.ps, size * 800) << size;
  }
}

// Three paths of 10 Gbps between hosts of 100 Gbps: evenly divided, a flow takes as long as its
// part on one of them, behind a packet for each of the others. The least time may leave out the
// packet's other times on these links.
TEST(IdealFctTest, PathsTogetherAreNoFasterThanTheirRates) {
  const Graph graph = GraphFrom(
      "{kind: leaf_spine, leaves: 2, spines: 3, hosts_per_leaf: 1, host_link: {rate: 100Gbps, "
      "delay: 1us}, fabric_link: {rate: 10Gbps, delay: 5us}}");
  const Routing routing(graph);
  const PacketSizes sizes = TransportFrom("tcp").settings->sizes();
  const std::vector<Channel> path = routing.PathsBetween(0, 1).front();
  IdealFct ideal(routing, sizes);
  for (const int64_t packets : {3, 30, 3'000}) {
    SCOPED_TRACE(packets);
    const IdealFct::Times times = ideal.Of(0, 1, packets * sizes.mss);
    const Duration part = PipelineTime(path, packets / 3, 1'538, 1'538);
    const Duration packet = SerializationDelay(Bytes{1'538}, 10_Gbps);
    const Duration behind = SerializationDelay(Bytes{1'538}, 100_Gbps) * 2;
    EXPECT_LE(times.least, part + behind);
    EXPECT_GE(times.least, part - packet - 2_ps);
    EXPECT_EQ(times.rx, PipelineTime(path, packets, 1'538, 1'538));
  }
}

// The direct link takes 20 us, the detour over s2 takes 2 us and one more transmission.
TEST(IdealFctTest, ADetourMayBeFasterThanTheShortestPath) {
  const Experiment experiment = ExperimentFrom(
      "topology: {kind: custom, hosts: 2, switches: [{name: s0}, {name: s1}, {name: s2}],\n"
      "  link: {rate: 10Gbps, delay: 1us}, links: [{a: host0, b: s0}, {a: host1, b: s1},\n"
      "  {a: s0, b: s1, delay: 20us}, {a: s0, b: s2}, {a: s2, b: s1}]}\n"
      "lb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n");
  const Routing routing(experiment.graph);
  const PacketSizes sizes = experiment.settings.transport.settings->sizes();
  for (const int64_t size : {1, 1'460, 1'461, 50'000, 1'000'000}) {
    SCOPED_TRACE(size);
    const int64_t packets = (size + 1'459) / 1'460;
    const int64_t full = 1'230'400;  // The time of a packet at 10 Gbps.
    const int64_t last = std::max<int64_t>(84, size - (packets - 1) * 1'460 + 78) * 800;
    const IdealFct::Times direct = IdealFct(routing, sizes).Of(0, 1, size);
    EXPECT_EQ(direct.least, direct.rx);
    EXPECT_GT(direct.least.ps, 22'000'000);
    const IdealFct::Times times = IdealFct(routing, sizes, /*may_detour=*/true).Of(0, 1, size);
    EXPECT_EQ(times.rx, direct.rx);
    // Host, s0, s2, s1: the detour's pipeline of four links of 1 us.
    const int64_t detour = packets == 1 ? 4 * last : (packets - 1) * full + 3 * full + last;
    EXPECT_LE(times.least.ps, 4'000'000 + detour);
    // No path has less than one link between the switches.
    EXPECT_GE(times.least.ps, 3'000'000 + (packets - 1) * full + 3 * last - 1);
  }
}

// Two hosts on one switch, by several links each.
struct TwoHosts {
  int64_t out_links;  // Of host 0, which sends.
  int64_t in_links;
  int64_t out_gbps;
  int64_t in_gbps;

  Graph graph() const {
    std::string yaml = "{kind: custom, hosts: 2, switches: [{name: s}], links: [";
    for (int64_t i = 0; i < out_links; ++i) {
      yaml += fmt::format("{{a: host0, b: s, rate: {}Gbps, delay: 1us}}, ", out_gbps);
    }
    for (int64_t i = 0; i < in_links; ++i) {
      yaml += fmt::format("{{a: host1, b: s, rate: {}Gbps, delay: 2us}}, ", in_gbps);
    }
    return GraphFrom(yaml + "]}");
  }
};

// Sends every packet through the link of host 0 that is free first, and then through that of host
// 1. Returns when the last one has arrived, in ps.
double Served(const TwoHosts& hosts, int64_t size, const PacketSizes& sizes) {
  const int64_t packets = (size + sizes.mss - 1) / sizes.mss;
  const auto time_of = [&](int64_t packet, int64_t gbps) {
    const int64_t payload = packet + 1 == packets ? size - packet * sizes.mss : sizes.mss;
    const int64_t wire = sizes.DataPacket(payload) + sizes.wire_overhead;
    return static_cast<double>(wire) * 8e3 / static_cast<double>(gbps);
  };
  std::vector<double> out(static_cast<size_t>(hosts.out_links));
  std::vector<double> in(static_cast<size_t>(hosts.in_links));
  std::vector<std::pair<double, int64_t>> arrivals;
  for (int64_t packet = 0; packet < packets; ++packet) {
    double& free = *std::ranges::min_element(out);
    free += time_of(packet, hosts.out_gbps);
    arrivals.emplace_back(free + 1e6, packet);
  }
  std::ranges::sort(arrivals);
  double last = 0;
  for (const auto& [at, packet] : arrivals) {
    double& free = *std::ranges::min_element(in);
    free = std::max(free, at) + time_of(packet, hosts.in_gbps);
    last = std::max(last, free);
  }
  return last + 2e6;
}

// A flow that uses all links of its hosts at once cannot beat the bound, and comes within one
// packet of it.
TEST(IdealFctTest, SeveralLinksAtOnceAreNoFasterThanTheLeast) {
  Rng rng = Rng::Stream(1, "links at once", 0);
  const PacketSizes sizes = TransportFrom("tcp").settings->sizes();
  for (int i = 0; i < 200; ++i) {
    const TwoHosts hosts{1 + rng.Below(4), 1 + rng.Below(4), 1 + rng.Below(40), 1 + rng.Below(40)};
    const Graph graph = hosts.graph();
    const Routing routing(graph);
    IdealFct ideal(routing, sizes, /*may_detour=*/false, /*spreads=*/true);
    // A flow that moves to another link at each packet, because links fail, is as fast.
    IdealFct moving(routing, sizes, /*may_detour=*/true);
    for (int j = 0; j < 10; ++j) {
      const int64_t size = 1 + rng.Below(j < 5 ? 10'000 : 200'000);
      SCOPED_TRACE(fmt::format("{} links of {} Gbps, {} of {}, {} bytes", hosts.out_links,
                               hosts.out_gbps, hosts.in_links, hosts.in_gbps, size));
      const IdealFct::Times times = ideal.Of(0, 1, size);
      const double served = Served(hosts, size, sizes);
      const double packet = 1'538 * 8e3 / static_cast<double>(hosts.in_gbps);
      ASSERT_LE(static_cast<double>(times.least.ps), served + 1);
      ASSERT_GE(static_cast<double>(times.least.ps), served - packet - 2);
      ASSERT_LE(static_cast<double>(moving.Of(0, 1, size).least.ps), served + 1);
      if (hosts.out_links > 1 || hosts.in_links > 1) {
        ASSERT_EQ(times.rx, times.least);
      } else {
        ASSERT_GE(times.rx, times.least);
      }
      if (size <= sizes.mss) {
        ASSERT_NEAR(static_cast<double>(times.least.ps), served, 2);
      }
    }
  }
}

// Planes of one path each: a flow that is divided evenly takes as long as its largest part.
TEST(IdealFctTest, PlanesDivideAFlow) {
  const Graph graph =
      GraphFrom("{kind: planes, planes: 4, leaves: 2, spines: 1, hosts_per_leaf: 1}");
  const Routing routing(graph);
  const PacketSizes sizes = TransportFrom("tcp").settings->sizes();
  const std::vector<Channel> path = routing.PathsBetween(0, 1).front();
  IdealFct ideal(routing, sizes, /*may_detour=*/false, /*spreads=*/true);
  IdealFct alone(routing, sizes);
  for (const int64_t packets : {1, 2, 3, 4, 5, 8, 9, 100, 1'000, 1'003}) {
    SCOPED_TRACE(packets);
    const IdealFct::Times times = ideal.Of(0, 1, packets * sizes.mss);
    const Duration part = PipelineTime(path, (packets + 3) / 4, 1'538, 1'538);
    EXPECT_LE(times.least, part);
    EXPECT_GE(times.least, part - 2_ps);
    // A flow that keeps to one link is as slow as before.
    EXPECT_EQ(alone.Of(0, 1, packets * sizes.mss).rx, PipelineTime(path, packets, 1'538, 1'538));
  }
}

}  // namespace heddle::ideal_fct_test
