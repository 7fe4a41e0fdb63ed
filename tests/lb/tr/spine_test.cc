// SPDX-License-Identifier: Apache-2.0
// TR's spines tell each leaf of the queues towards it, the first leaf as well as the others.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>

#include "lb/tr/code.h"
#include "tests/support/lab.h"
#include "tests/support/watched_policy.h"

namespace heddle::tr_spine_test {

// Two leaves send to leaf 0 over two spines, so that these queue. An ACK of leaf 0 brings the code
// of the queue that data to leaf 0 meets when the ACK passes.
TEST(TrSpineTest, AcksOfTheFirstLeafTellOfTheQueueTowardsIt) {
  std::map<std::pair<FlowId, int64_t>, uint8_t> noted;
  int64_t read = 0;
  int64_t of_queues = 0;
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex in_port) {
    if (packet.kind != PacketKind::kAck) return;
    const std::pair<FlowId, int64_t> id = {packet.flow, packet.sent.ps};
    if (view.tier() > 0) {
      noted[id] = EncodeQueue(view.Unsent(in_port), 375_KB, 5);
    } else if (!view.FacesHost(in_port)) {
      const TrHeader header = packet.Scheme<TrHeader>();
      ASSERT_TRUE(header.is_set);
      ASSERT_EQ(header.code, noted.at(id));
      ++read;
      of_queues += header.code > 0 ? 1 : 0;
    }
  };
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 3, spines: 2, hosts_per_leaf: 6, host_link: {rate: 1Gbps, delay: 5us}, "
               "fabric_link: {rate: 1Gbps, delay: 25us}}"),
           .transport = "{kind: tcp, iw: 50}",
           .port = "{buffer: 375KB, ecn_above: unlimited}",
           .switch_policy = Watched("tr", look)});
  for (HostId src = 6; src < 18; ++src) lab.AddFlow(src, static_cast<HostId>(src % 6), 100'000);
  lab.Run(Time{} + 1_s);
  EXPECT_TRUE(lab.finished());
  EXPECT_GT(read, 500);
  EXPECT_GT(of_queues, 50);
}

}  // namespace heddle::tr_spine_test
