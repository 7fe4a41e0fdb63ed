// SPDX-License-Identifier: Apache-2.0
// Tests leaves with short links to their hosts. Only hosts with a flow or datagrams from or to
// another host of their leaf, a near flow, run in finer windows. The others are apart
// (core/shard.h).

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/lab.h"

namespace heddle::near_flows_test {

using Ports = NetworkPlan::Ports;

constexpr HostId kHosts = 16;
constexpr HostId kPerLeaf = 4;

Graph ShortLinks() {
  return LeafSpineFrom(
      "{leaves: 4, spines: 2, hosts_per_leaf: 4, host_link: {rate: 10Gbps, delay: 25ns}, "
      "fabric_link: {rate: 10Gbps, delay: 2us}}");
}

// Starts flows from each host to the host `step` further on, of `size` bytes.
void AddRing(Lab& lab, HostId step, int64_t size, Time start = {}) {
  for (HostId h = 0; h < kHosts; ++h) {
    lab.AddFlow(h, static_cast<HostId>((h + step) % kHosts), size, start);
  }
}

// The most visits if no group runs finer windows: each host and spine once a window, leaves twice.
double MostVisits(const Engine& engine) {
  return static_cast<double>(engine.windows()) * (kHosts + 2 + 2 * 4);
}

TEST(NearFlowsTest, WithoutThemNoGroupRunsFinerWindows) {
  for (const std::string balancer :
       {"{kind: ecmp}", "{kind: letflow, gap: 50us}", "{kind: drill}", "{kind: presto}"}) {
    Lab lab({.graph = ShortLinks(), .transport = "{kind: dctcp}", .balancer = balancer});
    AddRing(lab, kPerLeaf, 1'000'000);
    lab.Run();
    EXPECT_LE(lab.network().engine().node_visits(), MostVisits(lab.network().engine())) << balancer;
  }
}

TEST(NearFlowsTest, AfterTheLastOneItsHostsAreApartAgain) {
  Lab lab({.graph = ShortLinks(), .transport = "{kind: dctcp}"});
  AddRing(lab, kPerLeaf, 10'000'000);
  const FlowId near = lab.AddFlow(5, 6, 1'000'000, Time{} + 1_ms);
  std::vector<int64_t> visits;  // Up to each multiple of 200 us.
  std::vector<bool> apart;      // Of the near flow's ends, then.
  lab.SampleEvery(200_us, [&](Time now) {
    visits.push_back(lab.network().engine().node_visits());
    apart.push_back(lab.network().host(5).IsApart(now) && lab.network().host(6).IsApart(now));
    EXPECT_TRUE(lab.network().host(4).IsApart(now));
  });
  lab.Run();
  const size_t closed =
      static_cast<size_t>((lab.Record(near).sender.done + lab.network().close_delay() - Time{}) /
                          200_us) +
      1;
  ASSERT_LT(closed + 2, visits.size());
  const auto in_interval = [&](size_t i) { return visits[i] - visits[i - 1]; };
  EXPECT_GT(in_interval(6), 1.5 * static_cast<double>(in_interval(4)));
  EXPECT_LT(in_interval(closed + 1), 1.1 * static_cast<double>(in_interval(4)));
  for (size_t i = 0; i < visits.size(); ++i) {
    if (i <= 4 || i > closed) {
      EXPECT_TRUE(apart[i]) << i;
    } else if (i == 6) {
      EXPECT_FALSE(apart[i]);
    }
  }
}

// Datagrams count to the end of the run, even if they stop before. Hermes sends probes, to any
// host.
TEST(NearFlowsTest, AHostWithNearDatagramsOrProbesIsNeverApart) {
  Lab probes({.graph = ShortLinks(), .transport = "{kind: dctcp}", .balancer = "{kind: hermes}"});
  Lab no_probes(
      {.graph = ShortLinks(), .transport = "{kind: dctcp}", .balancer = "{kind: presto}"});
  Lab datagrams({.graph = ShortLinks(),
                 .transport = "{kind: dctcp}",
                 .background = {Datagrams(0, 2, 3, 1_Gbps), Datagrams(1, 6, 4, 1_Gbps),
                                Datagrams(2, 9, 13, 1_Gbps)}});
  for (HostId h = 0; h < kHosts; ++h) {
    EXPECT_FALSE(probes.network().host(h).IsApart(Time{}));
    EXPECT_TRUE(no_probes.network().host(h).IsApart(Time{}));
    EXPECT_EQ(datagrams.network().host(h).IsApart(Time{}), h != 2 && h != 3 && h != 4 && h != 6)
        << h;
  }
}

// A load balancer, a transport and ports, for a comparison with eager ports.
struct Setup {
  std::string balancer;
  std::string transport;
  std::string port;
  Ports ports;
};

struct Outcome {
  std::vector<FlowRecord> records;
  PacketCounts packets;
  int64_t visits;
};

// Flows of a few packets come and go, many of them inside a leaf, and datagrams go from one leaf to
// another, in a ring of leaves that also carry transit traffic.
Outcome RunInRing(const Setup& setup, Ports ports, uint64_t seed) {
  Lab lab({.graph = GraphFrom(
               "{kind: custom, hosts: 12, switches: [{name: s0}, {name: s1}, {name: s2}, {name: "
               "s3}], links: [{a: host0, b: s0}, {a: host1, b: s0}, {a: host2, b: s0}, {a: "
               "host3, b: s1}, {a: host4, b: s1}, {a: host5, b: s1}, {a: host6, b: s2}, {a: "
               "host7, b: s2}, {a: host8, b: s2}, {a: host9, b: s3}, {a: host10, b: s3}, {a: "
               "host11, b: s3}, {a: s0, b: s1, delay: 1us}, {a: s1, b: s2, delay: 1us}, {a: s2, "
               "b: s3, delay: 3us}, {a: s3, b: s0, delay: 1us}], link: {rate: 10Gbps, delay: "
               "25ns}}"),
           .transport = setup.transport,
           .balancer = setup.balancer,
           .port = setup.port,
           .background = {Datagrams(0, 1, 7, 1_Gbps, Time{} + 3_ms)},
           .ports = ports});
  Rng rng = Rng::Stream(seed, "near flows", 0);
  Time start;
  for (int i = 0; i < 150; ++i) {
    const HostId src = static_cast<HostId>(rng.Below(12));
    const HostId first = static_cast<HostId>(rng.Below(2) == 0 ? src / 3 * 3 : rng.Below(4) * 3);
    const HostId dst = static_cast<HostId>(first + rng.Below(3));
    if (dst != src) lab.AddFlow(src, dst, 1 + rng.Below(30'000), start);
    start += Duration{1'000} * rng.Below(40'000);
  }
  lab.Run();
  return {lab.records(), lab.Packets(), lab.network().engine().node_visits()};
}

// Returns how many packets were cut.
int64_t ExpectTheSameAsAtEagerPorts(const Setup& setup, uint64_t seed) {
  SCOPED_TRACE(setup.balancer + ", " + setup.port + ", seed " + std::to_string(seed));
  const Outcome outcome = RunInRing(setup, setup.ports, seed);
  const Outcome expected = RunInRing(setup, Ports::kEager, seed);
  EXPECT_LT(outcome.visits, expected.visits);  // So it is where leaves do not send ahead, too.
  EXPECT_TRUE(std::ranges::equal(outcome.packets.dropped, expected.packets.dropped));
  EXPECT_EQ(outcome.packets.marked, expected.packets.marked);
  EXPECT_EQ(outcome.packets.trimmed, expected.packets.trimmed);
  EXPECT_EQ(outcome.records.size(), expected.records.size());
  for (size_t i = 0; i < std::min(outcome.records.size(), expected.records.size()); ++i) {
    EXPECT_EQ(outcome.records[i].sender.done, expected.records[i].sender.done) << "flow " << i;
    EXPECT_EQ(outcome.records[i].sender.packets_sent, expected.records[i].sender.packets_sent);
  }
  return outcome.packets.trimmed;
}

const std::string kDctcp = "{kind: dctcp, min_rto: 200us}";
const std::string kShortQueues = "{buffer: 12pkts, ecn_above: 5pkts}";  // Packets are lost.

// At eager ports, leaves send nothing ahead.
TEST(NearFlowsTest, AreTheSameAsAtEagerPorts) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (const Ports ports : {Ports::kCheapest, Ports::kQueued}) {
      ExpectTheSameAsAtEagerPorts({"{kind: ecmp}", kDctcp, kShortQueues, ports}, seed);
    }
  }
  for (const std::string balancer : {"{kind: letflow, gap: 20us}", "{kind: drill}", "{kind: lq}"}) {
    for (const Ports ports : {Ports::kCheapest, Ports::kQueued}) {
      ExpectTheSameAsAtEagerPorts({balancer, kDctcp, kShortQueues, ports}, 1);
    }
  }
}

// A trimmed packet's header goes on to the receiver, or back to the sender (NDP). In the second
// case, leaves do not send ahead.
TEST(NearFlowsTest, AreTheSameWherePacketsAreTrimmed) {
  const std::string cuts = "{trim: {when: port, threshold: 10KB}}";
  const std::string returns =
      "{trim: {when: port, threshold: 10KB, header_limit: 1KB, overflow: back}}";
  const std::string uet = "{kind: uet, rto: 500us}";
  const std::string ndp = "{kind: uet, preset: ndp, rto: 500us}";
  for (const std::string balancer : {"{kind: ecmp}", "{kind: letflow, gap: 20us}", "{kind: plb}"}) {
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      EXPECT_GT(ExpectTheSameAsAtEagerPorts({balancer, uet, cuts, Ports::kCheapest}, seed), 0);
      EXPECT_GT(ExpectTheSameAsAtEagerPorts({balancer, ndp, returns, Ports::kCheapest}, seed), 0);
    }
  }
}

// With a shared buffer and PFC, a leaf sends ahead only as many bytes as the buffer has room for,
// in all and from each input, whatever the hosts send: in some of these, only a few packets or
// none.
TEST(NearFlowsTest, AreTheSameInASharedBuffer) {
  std::vector<std::string> ports;
  for (const int size_kb : {2'000, 700, 500, 480, 460, 450, 440, 430, 420}) {
    ports.push_back(
        fmt::format("{{pfc: {{classes: [3]}}, memory: {{model: dt, size: {}KB}}}}", size_kb));
  }
  for (const int xoff_kb : {200, 90, 80, 75, 72, 70, 69, 68, 5}) {
    ports.push_back(fmt::format(
        "{{pfc: {{classes: [3], xoff: {}KB}}, memory: {{model: dt, size: 4MB}}}}", xoff_kb));
  }
  for (const std::string model : {"hpcc_mmu", "broadcom_mmu"}) {
    for (const int size_mb : {2, 4, 8}) {
      ports.push_back(fmt::format("{{pfc: {{classes: [3]}}, memory: {{model: {}, size: {}MB}}}}",
                                  model, size_mb));
    }
  }
  uint64_t seed = 0;
  for (const std::string& port : ports) {
    for (const std::string balancer : {"{kind: ecmp}", "{kind: lq}"}) {
      ExpectTheSameAsAtEagerPorts({balancer, "{kind: rocev2, rto: 200us}", port, Ports::kCheapest},
                                  ++seed);
    }
  }
}

// The links of all hosts of a leaf become 50 us long, and short again after 100 us. Then all that
// is on them, 5 MB, arrives at one instant, and the shared buffer fills.
TEST(NearFlowsTest, AreTheSameWhenPacketsBunchOnAShorterLink) {
  const auto run = [](Ports ports) {
    const Graph graph = LeafSpineFrom(
        "{leaves: 2, spines: 8, hosts_per_leaf: 8, host_link: {rate: 100Gbps, delay: 25ns}, "
        "fabric_link: {rate: 100Gbps, delay: 1us}}");
    std::vector<LinkEvent> events;
    for (const auto& [at, delay] : {std::pair(50_us, 50_us), std::pair(150_us, 25_ns)}) {
      for (uint32_t link = 0; link < graph.links.size(); ++link) {
        const std::string& name = graph.links[link].name;
        if (!name.starts_with("host") || !name.ends_with("leaf0")) continue;
        events.push_back({.at = Time{} + at, .link = link, .up = {}, .rate = {}, .delay = delay});
      }
    }
    EXPECT_EQ(events.size(), 16u);
    Lab lab({.graph = graph,
             .transport = "{kind: rocev2, cc: none}",
             .balancer = "{kind: rps}",
             .port = "{pfc: {classes: [3]}, memory: {model: dt, size: 20MB}}",
             .events = events,
             .ports = ports});
    for (HostId h = 0; h < 8; ++h) {
      lab.AddFlow(h, static_cast<HostId>(h + 8), 8'000'000, Time{} + 37_ns * h);
    }
    lab.Run(Time{} + 300_us);
    std::vector<int64_t> sent;
    for (const FlowRecord& record : lab.records()) sent.push_back(record.sender.packets_sent);
    return std::pair(sent, lab.Packets().hops);
  };
  EXPECT_EQ(run(Ports::kCheapest), run(Ports::kEager));
}

}  // namespace heddle::near_flows_test
