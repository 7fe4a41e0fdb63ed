// SPDX-License-Identifier: Apache-2.0
// The congestion control that docs/writing-a-congestion-control.md shows, which this program
// contains, does what the page says.

#include <gtest/gtest.h>

#include <string>

#include "tests/support/controls_from.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/window_kit.h"

namespace heddle::shown_control_test {

TEST(ShownControlTest, GrowsByItsIncreaseInARoundTrip) {
  for (const double increase : {1.0, 3.0}) {
    const auto aimd = WindowControlFrom("{kind: aimd, increase: " + std::to_string(increase) + "}");
    CongestionWindow window = WindowOf(100);
    window.ssthresh = window.cwnd;
    aimd->Start(window, 10);
    for (uint32_t una = 1; una <= 100; ++una) aimd->OnAck(window, Acked(una, 100));
    EXPECT_NEAR(window.cwnd / kTestMss, 100 + increase, 0.05 * increase);
  }
}

// All 40 segments are in the network when one of them is lost, as the NIC is the faster link.
TEST(ShownControlTest, KeepsItsShareOfTheWindowAtALoss) {
  Lab lab({.graph = Line({{100_Gbps, 5_us}, {10_Gbps, 5_us}}),
           .transport = "{kind: tcp, cc: {kind: aimd, keep: 0.8}, iw: 40, max_cwnd: 40}",
           .switch_policy = Scripted({DropAt(0, Data(0, 20)).Times(1)})});
  lab.AddFlow(0, 1, 2'000'000);
  double least = 1e9;
  lab.SampleEvery(5_us, [&](Time) {
    if (const TcpSender* sender = lab.Sender(0)) least = std::min(least, sender->cwnd());
  });
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_DOUBLE_EQ(least, 32 * 1'460);
}

}  // namespace heddle::shown_control_test
