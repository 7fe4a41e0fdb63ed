// SPDX-License-Identifier: Apache-2.0
// Tests adaptive routing by switches: which packets are spread, where, and what receivers must
// support.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::switch_ar_test {

TEST(SwitchArTest, DataAreSpreadAndAllElseIsHashed) {
  LbSwitch leaf("switch_ar");
  LbSwitch ecmp("ecmp");
  std::vector<int64_t> data(4);
  for (int i = 0; i < 4'000; ++i) ++data[leaf.PortFor(LbPacket(7))];
  EXPECT_LT(ChiSquare(data, {1, 1, 1, 1}), kChiSquare99[3]);
  for (const uint32_t tuple : RandomTuples(1, 100)) {
    Packet ack = LbPacket(tuple);
    ack.kind = PacketKind::kAck;
    EXPECT_EQ(leaf.PortFor(ack), ecmp.PortFor(ack));
  }
}

TEST(SwitchArTest, SmallPacketsMayBeHashedToo) {
  LbSwitch leaf("{kind: switch_ar, smallest: 500B}");
  std::set<PortIndex> small;
  for (int i = 0; i < 100; ++i) small.insert(leaf.PortFor(LbPacket(7, 100)));
  EXPECT_EQ(small.size(), 1u);
  std::set<PortIndex> large;
  for (int i = 0; i < 100; ++i) large.insert(leaf.PortFor(LbPacket(7, 460)));
  EXPECT_EQ(large.size(), 4u);
}

TEST(SwitchArTest, PortsInAHigherBandAreLeft) {
  LbSwitch leaf("{kind: switch_ar, full: 100KB, refresh: 0ps}");
  leaf.At(Time{}, [&](SwitchView& view, SwitchPolicy&) {
    for (int i = 0; i < 10; ++i) view.SendAsData(LbPacket(1), 2);  // 15 KB: a band of 10 to 20%.
  });
  for (int i = 0; i < 200; ++i) EXPECT_NE(leaf.PortFor(LbPacket(7), Time{} + 1_ns), 2);
}

// Each packet that overtakes another costs a window under go-back-N. Receivers that place data in
// any order lose nothing.
TEST(SwitchArTest, NeedsReceiversThatTakeAnyOrder) {
  const auto end = [](const std::string& recovery) {
    Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: "
                                    "25Gbps, delay: 1us}, fabric_link: {rate: 25Gbps, delay: 1us}, "
                                    "asymmetry: [{spines: [3], delay: 5us}]}"),
             .transport = "{kind: rocev2, cc: none, rto: 1ms, recovery: " + recovery + "}",
             .balancer = "switch_ar"});
    for (HostId h = 0; h < 4; ++h) lab.AddFlow(h, static_cast<HostId>(4 + h), 1'000'000);
    lab.Run();
    Duration last{0};
    for (const FlowRecord& record : lab.records()) last = std::max(last, FctRx(record));
    return last;
  };
  const Duration alone = SerializationDelay(Bytes{1'000'000}, 25_Gbps);
  EXPECT_LT(end("gbn, resequencing: timeout"), alone * 12 / 10);  // Headers and a round trip.
  EXPECT_GT(end("gbn"), 2 * end("irn"));
}

}  // namespace heddle::switch_ar_test
