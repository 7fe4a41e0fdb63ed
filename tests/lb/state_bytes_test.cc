// SPDX-License-Identifier: Apache-2.0
// How much state the schemes report, against sums over the tables that the papers or their
// descriptions name: entries times the bytes of an entry. The tables of flows have tests of their
// own (tests/lb/parts).

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/ring.h"
#include "lb/best_nexthop/int_fields.h"
#include "lb/parts/dre.h"
#include "lb/parts/expiring_table.h"
#include "lb/parts/flow_table.h"
#include "lb/parts/queue_flows.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"

namespace heddle::state_bytes_test {

// A leaf with four uplinks and one host, among three leaves.
constexpr size_t kUplinks = 4;
constexpr size_t kPorts = 5;
constexpr size_t kLeaves = 3;
constexpr size_t kFlows = 64;

// An entry of a table of flows whose state has so many bytes.
template <size_t kBytes>
using StateOf = std::array<uint64_t, kBytes / 8>;

template <size_t kBytes>
size_t FlowTableOf() {
  return AgedFlowTable<StateOf<kBytes>>({.entries = kFlows, .age = 1_ms}).memory_bytes();
}
template <class State>
size_t ExpiringTableOf(size_t entries) {
  return ExpiringTable<State>(entries).memory_bytes();
}

size_t LeafState(const std::string& settings) {
  LbSwitch leaf(settings, {.remote_leaves = kLeaves - 1,
                           .fabric = {.leaves = kLeaves, .leaf_uplinks = kUplinks}});
  return leaf.policy().StateBytes();
}

// The state of a spine with a link to each of three leaves.
size_t SpineState(const std::string& settings) {
  Lab lab(
      {.graph = LeafSpineFrom("{leaves: 3, spines: 2, hosts_per_leaf: 2}"), .balancer = settings});
  return lab.network().switches()[4]->policy().StateBytes();
}

struct ThreePaths {
  uint16_t flows_there, scope, path;
};

// For each leaf and path: a delay, the least delay and the time of the next stamp; for each path of
// another leaf a result of 4 bytes and its time, and a bit in words of 8 bytes. For each port: the
// flows in its queue, the end of its last pause, and a flag. For each path: when it was last given.
TEST(StateBytesTest, OfFlb) {
  const auto expected = [](size_t scopes) {
    const size_t delays = kLeaves * kUplinks * (8 + 16) + kLeaves * kUplinks * 16 + kLeaves * 8;
    const size_t queues = kPorts * QueueFlows(10).memory_bytes();
    // In each scope: the isolated path of each uplink, and a bit for each path.
    const size_t isolation =
        ExpiringTableOf<ThreePaths>(kFlows) + scopes * (kUplinks * 2 + 1) + kUplinks * sizeof(int);
    return FlowTableOf<16>() + isolation + delays + queues + kUplinks * 8 + kPorts * (8 + 1);
  };
  const std::string settings = "{kind: flb, table_entries: 64, queue_flows: 10";
  EXPECT_EQ(LeafState(settings + "}"), expected(1));
  EXPECT_EQ(LeafState(settings + ", scope: path}"), expected(kLeaves));
  EXPECT_EQ(SpineState("flb"), 8u);  // It only hashes, with a salt.
}

struct NoState {};

// For each port and leaf: propagation delay, time of a byte, buffer, queue, wait, and the times of
// the last report and of the end of the last own packet. The short flows of each port; and for each
// leaf the version of its routes.
TEST(StateBytesTest, OfTr) {
  EXPECT_EQ(LeafState("{kind: tr, table_entries: 64}"),
            FlowTableOf<24>() + ExpiringTableOf<NoState>(kFlows) + kPorts * kLeaves * 7 * 8 +
                kPorts * 4 + kLeaves * 4);
  EXPECT_EQ(SpineState("tr"), 3u * kLeaves * 7 * 8);
}

struct LeafAndPath {
  uint16_t leaf, path;
};

// For each leaf and path: its delay, idle and least delay, and the time of the last measurement;
// and the number of marks. For each port: the flows in its queue.
TEST(StateBytesTest, OfTdlb) {
  EXPECT_EQ(LeafState("{kind: tdlb, table_entries: 64, queue_flows: 10}"),
            FlowTableOf<16>() + ExpiringTableOf<LeafAndPath>(kFlows) + kLeaves * kUplinks * 4 +
                kUplinks * 8 + kLeaves * kUplinks * 4 * 8 + kPorts * QueueFlows(10).memory_bytes());
  EXPECT_EQ(SpineState("tdlb"), 8u);
}

struct PortState {
  Dre rate;
  std::array<Ring<Time>, kClasses> waiting;
  Duration latency;
  IntRange range;
};

// For each port and host: the congestion and its time; for each host the best port and its times.
// The leaf of the bench knows three hosts, the spine six.
TEST(StateBytesTest, OfBestNexthop) {
  EXPECT_EQ(LeafState("{kind: best_nexthop, table_entries: 64}"),
            FlowTableOf<16>() + kPorts * 3 * 16 + kPorts * sizeof(PortState) + 3 * 24);
  // Only leaves choose, and know flows.
  EXPECT_EQ(SpineState("{kind: best_nexthop, table_entries: 64}"),
            3u * 6 * 16 + 3 * sizeof(PortState) + 6 * 24);
}

// For each leaf with flows: up to 512 delays of 4 bytes, the window's ends and length, the
// granularity, the last estimate of three numbers, the numbers of paths and flows, a destination, a
// flag and a time.
TEST(StateBytesTest, OfPdlb) {
  const PathTable paths = PathsOfWeights({1, 1});
  LbHost host("pdlb", paths);
  EXPECT_EQ(host.policy().StateBytes(), 0u);
  host.Start(1);
  EXPECT_EQ(host.policy().StateBytes(), 512u * 4 + 32 + 8 + 8 + 24 + 8 + 8 + 8 + 8);
  // A flow has its estimate, the version of its path, the packets of its cell, and three numbers.
  EXPECT_EQ(host.policy().FlowBytes(), 24u);
}

// A flow that is limited has the largest number of flows in its queue.
TEST(StateBytesTest, OfFlbsHosts) {
  const PathTable paths = PathsOfWeights({1, 1});
  LbHost host("{kind: flb, rate_control: true, queue_flows: 64}", paths);
  ASSERT_TRUE(host.has_policy());
  EXPECT_EQ(host.policy().StateBytes(), ExpiringTableOf<uint16_t>(kFlows));
}

}  // namespace heddle::state_bytes_test
