// SPDX-License-Identifier: Apache-2.0
// A flow that nothing holds back: the simulation must agree with the store-and-forward pipeline to
// the picosecond.

#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/support/lab.h"

namespace heddle::ideal_test {

constexpr const char* kAllAtOnce = "{kind: tcp, iw: 65535}";

FlowRecord Transfer(const Graph& graph, const std::string& transport, int64_t size) {
  Lab lab({.graph = graph, .transport = transport});
  lab.AddFlow(0, 1, size);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
  EXPECT_EQ(lab.Record(0).receiver.reordered_net, 0);
  return lab.Record(0);
}

FlowRecord Transfer(BitRate rate, Duration delay, const std::string& transport, int64_t size) {
  return Transfer(Line(4, {rate, delay}), transport, size);
}

TEST(IdealTransferTest, FinishesWhenThePipelineDoes) {
  struct Case {
    int64_t size;
    Duration rx;
    Duration tx;
  };
  for (const Case& c :
       {Case{1'460, 8'921'600_ps, 13'190'400_ps}, Case{100'000, 91'996'800_ps, 96'265'600_ps},
        Case{1'000'000, 850'435'200_ps, 854'704'000_ps}}) {
    const FlowRecord record = Transfer(10_Gbps, 1_us, kAllAtOnce, c.size);
    EXPECT_EQ(FctRx(record), c.rx) << c.size;
    EXPECT_EQ(FctTx(record), c.tx) << c.size;
  }
}

TEST(IdealTransferTest, AgreesWithThePipelineOnRandomPaths) {
  constexpr int64_t kGbps[] = {1, 10, 25, 40, 50, 100, 200, 400};
  Rng rng = Rng::Stream(1, "paths", 0);
  const PacketSizes sizes = TransportFrom(kAllAtOnce).settings->sizes();
  for (int i = 0; i < 100; ++i) {
    std::vector<Channel> path(2 + rng.Below(5));
    for (Channel& link : path) {
      link = {{kGbps[rng.Below(8)] * 1'000'000'000}, Duration{1 + rng.Below(20'000'000)}};
    }
    const int64_t size = 1 + rng.Below(rng.Below(2) == 0 ? 3'000 : 150'000);
    const FlowRecord record = Transfer(Line(path), kAllAtOnce, size);
    EXPECT_EQ(FctRx(record), FctHopByHop(path, size, sizes))
        << "case " << i << ", " << size << " B";
    EXPECT_EQ(record.receiver.hops, static_cast<int32_t>(path.size()));
  }
}

// 12 bytes take 9.6 ns at 10 Gbps, on each of four links there and on none back.
TEST(LbHeaderTest, IsOnDataAndNotOnAcks) {
  const auto record = [](const std::string& transport) {
    Lab lab({.graph = Line(4, {10_Gbps, 1_us}), .transport = transport});
    lab.AddFlow(0, 1, 1'460);
    lab.Run();
    return lab.Record(0);
  };
  const FlowRecord plain = record("{kind: tcp}");
  const FlowRecord longer = record("{kind: tcp, lb_header: 12B}");
  EXPECT_EQ(FctRx(longer), FctRx(plain) + 4 * 9'600_ps);
  EXPECT_EQ(FctTx(longer) - FctRx(longer), FctTx(plain) - FctRx(plain));
  EXPECT_EQ(longer.sender.packets_sent, 1);
}

TEST(SlowStartTest, TakesTheTimeThatItsRoundTripsTake) {
  EXPECT_EQ(FctRx(Transfer(10_Gbps, 1_us, "{kind: tcp}", 14'600)), 19'995'200_ps);
  EXPECT_EQ(FctRx(Transfer(10_Gbps, 1_us, "{kind: tcp}", 100'000)), 92'883'200_ps);
  EXPECT_EQ(FctRx(Transfer(10_Gbps, 10_us, "{kind: tcp}", 100'000)), 261'465'600_ps);
  EXPECT_EQ(FctRx(Transfer(10_Gbps, 10_us, "{kind: tcp}", 1'000'000)), 1'055'878'400_ps);
}

TEST(SlowStartTest, ScalesWithTime) {
  EXPECT_EQ(FctRx(Transfer(100_Gbps, 1_us, "{kind: tcp}", 100'000)), 26'146'560_ps);
}

TEST(SlowStartTest, IsTheSameForDctcpWithoutMarks) {
  EXPECT_EQ(FctRx(Transfer(10_Gbps, 10_us, "{kind: dctcp}", 100'000)), 261'465'600_ps);
}

TEST(SlowStartTest, IsIdealWhenTheInitialWindowHoldsTheFlow) {
  const PacketSizes sizes = TransportFrom("{kind: tcp}").settings->sizes();
  const FlowRecord record = Transfer(10_Gbps, 1_us, "{kind: tcp}", 14'600);
  EXPECT_EQ(FctRx(record), FctHopByHop(std::vector<Channel>(4, {10_Gbps, 1_us}), 14'600, sizes));
}

TEST(HandshakeTest, AddsOneRoundTripOfSmallPackets) {
  const std::string handshake = "{kind: tcp, setup: handshake}";
  const Duration without = FctRx(Transfer(10_Gbps, 10_us, "{kind: tcp}", 100'000));
  EXPECT_EQ(FctRx(Transfer(10_Gbps, 10_us, handshake, 100'000)), without + 80'537'600_ps);
}

}  // namespace heddle::ideal_test
