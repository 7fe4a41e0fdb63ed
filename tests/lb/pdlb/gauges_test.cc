// SPDX-License-Identifier: Apache-2.0
// Tests the gauges by which PDLB's hosts show their estimates.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/lb_bench.h"

namespace heddle::gauges_test {

std::map<std::string, double> GaugesOf(const LbHost& host) {
  std::map<std::string, double> gauges;
  for (const auto& gauge : host.policy().Gauges(Time{}))
    gauges[std::string(gauge.name)] = gauge.value;
  return gauges;
}

// 24 ACKs of 100 us and 8 of 300 us, over eight paths to leaf 1: a quarter is slow, two paths.
TEST(PdlbGaugesTest, ShowTheLastEstimateOfEachLeafOnceThereIsOne) {
  const PathTable paths = PathsOfWeights(std::vector<uint16_t>(8, 1));
  LbHost host("{kind: pdlb, model_rate: 1Gbps, stale: 1ms}", paths);
  EXPECT_TRUE(GaugesOf(host).empty());
  HostFlow flow = host.Start(1);
  EXPECT_EQ(GaugesOf(host), (std::map<std::string, double>{{"granularity[1]", 1}}));
  for (int i = 0; i < 32; ++i) {
    host.At(Time{} + 400_us, [&](HostView& view, HostPolicy& policy) {
      Packet ack;
      ack.kind = PacketKind::kAck;
      ack.sent = Time{} + (i < 24 ? 300_us : 100_us);
      policy.OnAck(view, flow, ack, {});
    });
  }
  host.At(Time{} + 520_us, [](HostView&, HostPolicy&) {});
  EXPECT_EQ(host.Count("samples"), 32);
  EXPECT_EQ(host.Count("evaluations"), 1);
  EXPECT_EQ(GaugesOf(host), (std::map<std::string, double>{{"granularity[1]", 27},
                                                           {"slow_share[1]", 0.25},
                                                           {"slow_paths[1]", 2},
                                                           {"slowness[1]", 3}}));
  // A millisecond without a sample: the estimate is forgotten.
  host.At(Time{} + 1'700_us, [](HostView&, HostPolicy&) {});
  EXPECT_EQ(GaugesOf(host), (std::map<std::string, double>{{"granularity[1]", 1}}));
}

// With a single path, or while routing has none, a quarter of the paths is a quarter of one.
TEST(PdlbGaugesTest, AtLeastOnePathCounts) {
  for (const size_t count : {0u, 1u}) {
    const PathTable paths = PathsOfWeights(std::vector<uint16_t>(count, 1));
    LbHost host("{kind: pdlb, stale: 1ms}", paths);
    HostFlow flow = host.Start(1);
    host.At(Time{} + 400_us, [&](HostView& view, HostPolicy& policy) {
      Packet ack;
      ack.kind = PacketKind::kAck;
      for (int i = 0; i < 32; ++i) {
        ack.sent = Time{} + (i < 24 ? 300_us : 100_us);
        policy.OnAck(view, flow, ack, {});
      }
    });
    host.At(Time{} + 520_us, [](HostView&, HostPolicy&) {});
    EXPECT_EQ(GaugesOf(host).at("slow_paths[1]"), 0.25) << count;
  }
}

}  // namespace heddle::gauges_test
