// SPDX-License-Identifier: Apache-2.0

#include "network/bandwidth_delay.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "core/random.h"
#include "tests/support/lab.h"

namespace heddle::bandwidth_delay_test {

Bytes OfLine(size_t links, int64_t payload) {
  const Graph graph = Line(links, {100_Gbps, 1_us});
  const Routing routing(graph);
  const PairBandwidthDelay pairs(graph, routing, {payload, 0, 0, 0, 0});
  EXPECT_EQ(pairs.Between(0, 1), pairs.Largest());
  return pairs.Between(0, 1);
}

// The windows of HPCC's and ConWeave's simulators for two and three tiers: 8.32 and 12.48 us.
TEST(BandwidthDelayTest, IsThatOfOtherSimulators) {
  EXPECT_EQ(OfLine(4, 1'000), 104'000_B);
  EXPECT_EQ(OfLine(6, 1'000), 156'000_B);
}

TEST(BandwidthDelayTest, CountsShortestPaths) {
  const Graph graph = GraphFrom("{kind: fat_tree, k: 8}");
  const Routing routing(graph);
  PairBandwidthDelay pairs(graph, routing, {1'000, 0, 0, 0, 0});
  EXPECT_EQ(pairs.Paths(0, 127), 1u);  // Not counted yet.
  EXPECT_EQ(pairs.MostPaths(), 1u);
  pairs.CountPaths();
  EXPECT_EQ(pairs.Paths(0, 1), 1u);     // The rack.
  EXPECT_EQ(pairs.Paths(0, 4), 4u);     // The pod's aggregation switches.
  EXPECT_EQ(pairs.Paths(0, 127), 16u);  // The cores.
  EXPECT_EQ(pairs.MostPaths(), 16u);
}

// Host 1 has a link of 200 us, which its round trips cross once in each direction.
TEST(BandwidthDelayTest, TheLongestRoundTripIsThatOfTheFarthestHost) {
  for (const HostId far : {HostId{0}, HostId{1}}) {
    Graph graph = GraphFrom("{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}");
    for (Graph::Link& link : graph.links) {
      if (link.a == graph.VertexOfHost(far) || link.b == graph.VertexOfHost(far)) {
        link.a_to_b.delay = link.b_to_a.delay = 200_us;
      }
    }
    const Routing routing(graph);
    const PairBandwidthDelay pairs(graph, routing, {1'000, 0, 0, 0, 0});
    Duration longest{0};
    for (HostId src = 0; src < graph.hosts; ++src) {
      for (HostId dst = 0; dst < graph.hosts; ++dst) {
        if (src != dst) longest = std::max(longest, pairs.RoundTrip(src, dst));
      }
    }
    EXPECT_EQ(pairs.LongestRoundTrip(), longest) << far;
    EXPECT_GT(longest, 400_us);
    EXPECT_LT(longest, 450_us);
  }
}

// Path by path; parallel links are paths of their own.
TEST(BandwidthDelayTest, CountsAsManyPathsAsThereAre) {
  for (const char* topology :
       {"{kind: leaf_spine, leaves: 3, spines: 4, hosts_per_leaf: 2, links_per_pair: 3}",
        "{kind: fat_tree, k: 4}"}) {
    const Graph graph = GraphFrom(topology);
    const Routing routing(graph);
    PairBandwidthDelay pairs(graph, routing, {1'000, 0, 0, 0, 0});
    pairs.CountPaths();
    for (HostId src = 0; src < graph.hosts; ++src) {
      for (HostId dst = 0; dst < graph.hosts; ++dst) {
        if (src == dst) continue;
        EXPECT_EQ(pairs.Paths(src, dst), routing.PathsBetween(src, dst).size());
      }
    }
  }
}

// A flow leaves through one of the links, so the paths from the others are of no use to it.
TEST(BandwidthDelayTest, CountsThePathsFromOneLink) {
  const Graph graph =
      GraphFrom("{kind: planes, planes: 4, leaves: 2, spines: 3, hosts_per_leaf: 2}");
  const Routing routing(graph);
  PairBandwidthDelay pairs(graph, routing, {1'000, 0, 0, 0, 0});
  pairs.CountPaths();
  EXPECT_EQ(pairs.Paths(0, 1), 1u);
  EXPECT_EQ(pairs.Paths(0, 2), 3u);
}

// Path by path, on a network whose links are the same both ways.
TEST(BandwidthDelayTest, IsThatOfTheWidestAndOfTheSlowestPath) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Graph graph = LeafSpineFrom(
        "{leaves: 3, spines: 4, hosts_per_leaf: 2, links_per_pair: 2, host_link: {rate: 100Gbps, "
        "delay: 200ns}, fabric_link: {rate: 40Gbps, delay: 1us}, asymmetry: [{random_links: 5, "
        "rate: 10Gbps}, {random_links: 4, delay: 7us}]}",
        seed);
    const Routing routing(graph);
    const PairBandwidthDelay pairs(graph, routing, {1'000, 0, 0, 0, 0});
    Bytes largest;
    for (HostId src = 0; src < graph.hosts; ++src) {
      for (HostId dst = 0; dst < graph.hosts; ++dst) {
        if (src == dst) continue;
        Duration slowest{0};
        BitRate widest;
        for (const std::vector<Channel>& path : routing.PathsBetween(src, dst)) {
          Duration round_trip{0};
          BitRate least = path.front().rate;
          for (const Channel& link : path) {
            round_trip += 2 * link.delay + SerializationDelay(1'000_B, link.rate);
            least = std::min(least, link.rate);
          }
          slowest = std::max(slowest, round_trip);
          widest = std::max(widest, least);
        }
        const double bytes = Seconds(slowest) * static_cast<double>(widest.bps) / 8;
        EXPECT_NEAR(static_cast<double>(pairs.Between(src, dst).count), bytes, 1)
            << src << " to " << dst;
        largest = std::max(largest, pairs.Between(src, dst));
      }
    }
    EXPECT_EQ(pairs.Largest(), largest);
  }
}

// A full packet there and its ACK back over the slowest path, link by link: rates and delays differ
// by direction, and the ACK takes the other one.
TEST(BandwidthDelayTest, TheRoundTripIsThatOfAPacketAndItsAckOverTheSlowestPath) {
  const PacketSizes sizes{
      .mss = 1'000, .data_overhead = 58, .min_packet = 64, .ack = 64, .wire_overhead = 20};
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Rng rng = Rng::Stream(seed, "round trips", 0);
    Graph graph = LeafSpineFrom("{leaves: 3, spines: 3, hosts_per_leaf: 2}", seed);
    for (Graph::Link& link : graph.links) {
      for (Channel* channel : {&link.a_to_b, &link.b_to_a}) {
        // The links of hosts are short, so that a way over the spines is the longest.
        const uint32_t longest = graph.IsHost(link.a) || graph.IsHost(link.b) ? 9'000 : 3'000'000;
        *channel = {BitRate{int64_t{10 + rng.Below(40)} * 1'000'000'000},
                    Duration{int64_t{1 + rng.Below(longest)}}};
      }
    }
    const Routing routing(graph);
    const PairBandwidthDelay pairs(graph, routing, sizes);
    const auto cross = [&](VertexId a, VertexId b) {
      const auto joins = [&](const Graph::Link& l) {
        return (l.a == a && l.b == b) || (l.a == b && l.b == a);
      };
      const Graph::Link& link = *std::ranges::find_if(graph.links, joins);
      const auto& [there, back] =
          link.a == a ? std::pair(link.a_to_b, link.b_to_a) : std::pair(link.b_to_a, link.a_to_b);
      return there.delay + SerializationDelay(1'078_B, there.rate) + back.delay +
             SerializationDelay(84_B, back.rate);
    };
    Duration longest{0};
    for (HostId src = 0; src < graph.hosts; ++src) {
      for (HostId dst = 0; dst < graph.hosts; ++dst) {
        if (src == dst) continue;
        const VertexId from = graph.VertexOfSwitch(routing.LeafOf(src));
        const VertexId to = graph.VertexOfSwitch(routing.LeafOf(dst));
        Duration inner{0};
        for (SwitchId spine = 3; from != to && spine < 6; ++spine) {
          const VertexId middle = graph.VertexOfSwitch(spine);
          inner = std::max(inner, cross(from, middle) + cross(middle, to));
        }
        const Duration round =
            cross(graph.VertexOfHost(src), from) + inner + cross(to, graph.VertexOfHost(dst));
        EXPECT_EQ(pairs.RoundTrip(src, dst), round) << src << " to " << dst;
        longest = std::max(longest, round);
      }
    }
    EXPECT_EQ(pairs.LongestRoundTrip(), longest);
  }
}

}  // namespace heddle::bandwidth_delay_test
