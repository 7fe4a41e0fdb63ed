// SPDX-License-Identifier: Apache-2.0
// The telemetry of packets that a switch's policy has held back.

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "transport/rdma/roce_sender.h"

namespace heddle::held_telemetry_test {

// How many samples of a flow over two switches found a latest ACK with records of so many switches.
std::map<int, int> RecordsIn(std::vector<Rule> rules) {
  Lab lab({.graph = Line(3, {100_Gbps, 1_us}),
           .transport = "{kind: rocev2, cc: hpcc, recovery: irn}",
           .switch_policy = Scripted(std::move(rules))});
  lab.AddFlow(0, 1, 300'000);
  std::map<int, int> records;
  lab.SampleEvery(20_ns, [&](Time) {
    const RoceSender* sender = lab.QueuePair(0);
    if (sender != nullptr && sender->rate().told != nullptr) ++records[sender->rate().told->hops];
  });
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return records;
}

// A policy that holds a packet keeps the packet, not its telemetry: the switch that releases it
// adds the first record. The packets that arrive meanwhile have the record of the switch before.
TEST(HeldTelemetryTest, BeginsAtTheSwitchThatReleasesThePacket) {
  const auto plain = RecordsIn({});
  EXPECT_EQ(plain.count(1), 0u);
  EXPECT_GT(plain.at(2), 10);
  const auto held = RecordsIn({HoldAt(1, Data(0, 60), 500_ns)});
  ASSERT_EQ(held.count(1), 1u);
  EXPECT_GT(held.at(2), 10);
}

}  // namespace heddle::held_telemetry_test
