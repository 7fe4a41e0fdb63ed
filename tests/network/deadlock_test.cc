// SPDX-License-Identifier: Apache-2.0
// Which ports a deadlock consists of, and from when on they count as stuck.

#include "network/deadlock.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/lab.h"

namespace heddle::deadlock_test {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Channel kLink{100_Gbps, 1_us};
constexpr uint8_t kClass = 3;

Lab::Plan PlanOf(Graph graph) {
  return {.graph = std::move(graph),
          .transport = "{kind: rocev2, framing: ns3_rdma, cc: none, rto: 500us}",
          .port = "{buffer: unlimited, pfc: {classes: [3], xoff: 50KB}}"};
}

// s0 hangs on s1, and s1 to s5 are a ring. Each has a host, which sends to that of the switch
// after the next one; the host of s0 sends to that of s3.
Lab::Plan RingWithATail() {
  Graph graph{.hosts = 6, .switches = {}, .links = {}};
  for (int s = 0; s < 6; ++s) graph.switches.push_back({fmt::format("s{}", s), 0});
  const auto at = [&](size_t s) { return graph.VertexOfSwitch(s); };
  for (size_t s = 0; s < 6; ++s) graph.Connect(graph.VertexOfHost(s), at(s), kLink);
  graph.Connect(at(0), at(1), kLink);
  for (size_t s = 1; s < 6; ++s) graph.Connect(at(s), at(s % 5 + 1), kLink);
  return PlanOf(graph);
}

// Port 1 of s0 waits for the circle and is not part of it, though it is looked at first. Each of
// the others waits for the one after it.
TEST(DeadlockTest, IsTheCircleWithoutThosePortsThatWaitForIt) {
  Lab lab(RingWithATail());
  lab.AddFlow(0, 3, 50'000'000);
  for (HostId h = 1; h <= 5; ++h) {
    lab.AddFlow(h, static_cast<HostId>((h + 1) % 5 + 1), 50'000'000);
  }
  lab.Run(Time{} + 3_ms);
  const std::vector<std::string> circle = FindDeadlock(lab.network(), lab.end(), 1_ms);
  // Port 0 leads to the host, and port 1 of s1 to s0.
  EXPECT_THAT(circle, ElementsAre("s1 port 2", "s2 port 2", "s3 port 2", "s4 port 2", "s5 port 2"));
  Time last;  // When the last of them was paused.
  for (SwitchId s = 1; s <= 5; ++s) {
    const QueuedPort& port = (*lab.network().switches()[s]->queued())[2];
    ASSERT_TRUE((port.paused() >> kClass & 1) != 0);
    last = std::max(last, port.paused_since(kClass));
  }
  EXPECT_EQ(FindDeadlock(lab.network(), lab.end(), lab.end() - last), circle);
  EXPECT_THAT(FindDeadlock(lab.network(), lab.end(), lab.end() - last + 1_ps), IsEmpty());
  const QueuedPort& tail = (*lab.network().switches()[0]->queued())[1];
  EXPECT_TRUE((tail.paused() >> kClass & 1) != 0);
}

// Pauses spread up a tree whose root drains.
TEST(DeadlockTest, IsNotAnyTreeOfPauses) {
  Lab lab(PlanOf(GraphFrom("{kind: leaf_spine, leaves: 4, spines: 2, hosts_per_leaf: 3}")));
  for (HostId h = 1; h < 12; ++h) lab.AddFlow(h, 0, 10'000'000);
  int64_t paused = 0;
  lab.SampleEvery(50_us, [&](Time now) {
    EXPECT_THAT(FindDeadlock(lab.network(), now, 0_ps), IsEmpty());
    for (const auto& s : lab.network().switches()) {
      for (PortIndex p = 0; p < s->queued()->size(); ++p) {
        paused += (*s->queued())[p].paused() != 0 ? 1 : 0;
      }
    }
  });
  lab.Run(Time{} + 1_ms);
  EXPECT_GT(paused, 20);
}

}  // namespace heddle::deadlock_test
