// SPDX-License-Identifier: Apache-2.0
// Tests which flows a port counts in its queue.

#include "lb/parts/queue_flows.h"

#include <gtest/gtest.h>

#include "tests/support/lb_bench.h"

namespace heddle::queue_flows_test {

Packet Of(FlowId flow) {
  Packet packet = LbPacket(flow);
  packet.flow = flow;
  return packet;
}
void Enter(QueueFlows& queue, FlowId from, FlowId to) {
  for (FlowId flow = from; flow < to; ++flow) {
    queue.Enter(Of(flow), Time{}, [](uint64_t, const QueueFlows::Flow&) {});
  }
}

// A crowd in a short queue has nothing to do with what is congested later.
TEST(QueueFlowsTest, TheMostFlowsAreThoseOfTheEpisode) {
  QueueFlows queue(64);
  Enter(queue, 0, 9);
  for (FlowId flow = 0; flow < 9; ++flow) queue.Leave(Of(flow));
  Enter(queue, 10, 12);
  queue.BeginEpisode();
  EXPECT_EQ(queue.most(), 2);
  Enter(queue, 12, 15);
  queue.Leave(Of(10));
  EXPECT_EQ(queue.distinct(), 4);
  EXPECT_EQ(queue.most(), 5);
}

TEST(QueueFlowsTest, TellsWhatHasToMakeRoom) {
  QueueFlows queue(4);
  Enter(queue, 0, 4);
  FlowId gone = 99;
  queue.Enter(Of(7), Time{} + 1_us, [&](uint64_t key, const QueueFlows::Flow& flow) {
    gone = QueueFlows::FlowOf(key);
    EXPECT_EQ(flow.packets, 1);
  });
  EXPECT_EQ(gone, 0u);
  EXPECT_EQ(queue.evictions(), 1);
  EXPECT_EQ(queue.distinct(), 4);
}

}  // namespace heddle::queue_flows_test
