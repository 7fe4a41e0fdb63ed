// SPDX-License-Identifier: Apache-2.0
// PDLB's cells and samples at one host: numbers of cells, flows within a leaf, what is forgotten,
// and echoes of probes.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_control.h"

namespace heddle::pdlb_host_details_test {

// The header of probes and echoes: see lb/pdlb/pdlb.cc.
struct ProbeHeader {
  uint32_t one_way_ns;
  bool is_echo;
};

PathTable EightPaths() { return PathsOfWeights({1, 1, 1, 1, 1, 1, 1, 1}); }

// 24 delays of 100 us and 8 of 300: with eight paths of 1 Gbps cells of 27 packets are best.
const std::string kOneGigabit = "kind: pdlb, model_rate: 1Gbps";
constexpr int64_t kBest = 27;

void Acks(LbHost& host, HostFlow& flow, int count, Duration delay, Time at) {
  host.At(at, [&](HostView& view, HostPolicy& policy) {
    Packet ack;
    ack.kind = PacketKind::kAck;
    ack.sent = at - delay;
    for (int i = 0; i < count; ++i) policy.OnAck(view, flow, ack, {});
  });
}
int64_t GranularityAt(LbHost& host, Time at) {
  host.At(at, [](HostView&, HostPolicy&) {});
  return host.Count("granularity");
}

// A cell's number has 16 bits. None comes twice before all have been used.
TEST(PdlbHostDetailsTest, AFlowUsesAllNumbersBeforeOneComesAgain) {
  const PathTable paths = EightPaths();
  LbHost host("{kind: pdlb, granularity: 1}", paths);
  for (FlowId id = 0; id < 6; ++id) {
    HostFlow flow = host.Start(1, id);
    std::vector<bool> is_used(65'536);
    int again = 0;
    host.At({}, [&](HostView& view, HostPolicy& policy) {
      for (int i = 0; i < 65'536; ++i) {
        Packet packet = LbPacket(flow.tuple_hash);
        policy.OnSend(view, flow, packet);
        again += is_used[packet.entropy] ? 1 : 0;
        is_used[packet.entropy] = true;
      }
    });
    EXPECT_EQ(again, 0) << id;
  }
}

// Host 2 is on the leaf of host 0: there is only one path.
TEST(PdlbHostDetailsTest, AFlowWithinALeafIsNotCut) {
  const PathTable paths = EightPaths();
  LbHost host("{kind: pdlb, granularity: 1}", paths);
  HostFlow near = host.Start(2, 1);
  for (int i = 0; i < 10; ++i) {
    const Packet packet = host.Send(near);
    EXPECT_EQ(packet.entropy, Packet().entropy);
    EXPECT_EQ(packet.path, kNoPath);
  }
  EXPECT_EQ(host.Count("cells"), 0);
  Acks(host, near, 10, 100_us, Time{} + 1_ms);
  EXPECT_EQ(host.Count("samples"), 0);
}

// While no flow is being sent, nobody looks at the delays.
TEST(PdlbHostDetailsTest, AFlowThatStartsLongAfterTheLastFindsTheInitialSize) {
  const PathTable paths = EightPaths();
  for (const bool is_late : {false, true}) {
    LbHost host("{" + kOneGigabit + ", stale: 2ms}", paths);
    HostFlow first = host.Start(1, 0);
    Acks(host, first, 24, 100_us, Time{} + 500_us);
    Acks(host, first, 8, 300_us, Time{} + 500_us);
    ASSERT_EQ(GranularityAt(host, Time{} + 700_us), kBest);
    host.At(Time{} + 700_us,
            [&](HostView& view, HostPolicy& policy) { policy.OnFlowEnd(view, first); });
    const Time next = Time{} + 500_us + 2_ms + (is_late ? 1_ps : 0_ps);
    EXPECT_EQ(GranularityAt(host, next), kBest);
    host.Start(1, 1, next);
    EXPECT_EQ(host.Count("granularity"), is_late ? 1 : kBest);
  }
}

// Seven samples are too few. When they are stale they do not count with the next.
TEST(PdlbHostDetailsTest, TooFewSamplesAreForgottenWhenTheyAreStale) {
  const PathTable paths = EightPaths();
  for (const bool pauses : {false, true}) {
    LbHost host("{" + kOneGigabit + ", stale: 2ms}", paths);
    HostFlow flow = host.Start(1, 0);
    Acks(host, flow, 7, 300_us, Time{} + 500_us);
    const Time next = Time{} + (pauses ? 5_ms : 1_ms);
    Acks(host, flow, 21, 100_us, next);
    EXPECT_EQ(GranularityAt(host, next + 200_us) > 1, !pauses);
    EXPECT_EQ(host.Count("evaluations"), 1);
  }
}

// 1,234,567,999 ps are so many whole nanoseconds. Without the delay an ACK has the data's path.
TEST(PdlbHostDetailsTest, AnAckHasTheOneWayDelayOrThePathOfItsData) {
  const PathTable paths = EightPaths();
  for (const bool one_way : {false, true}) {
    LbHost host(std::string("{kind: pdlb, signal: ") + (one_way ? "owd" : "rtt") + "}", paths);
    host.At(Time{} + 10_ms, [&](HostView& view, HostPolicy& policy) {
      Packet data = LbPacket(1);
      data.sent = view.now() - Duration{1'234'567'999};
      data.taken = 5;
      Packet ack;
      policy.OnSendAck(view, data, ack);
      EXPECT_EQ(ack.path, one_way ? kNoPath : 5);
      if (one_way) {
        EXPECT_EQ(ack.Scheme<uint32_t>(), 1'234'567u);
      }
    });
  }
}

// Looks are 100 us apart, so there are ten in a millisecond.
TEST(PdlbHostDetailsTest, AllFlowsToALeafShareTheProbesOfAPeriod) {
  const PathTable paths = EightPaths();
  LbHost host("{kind: pdlb, collect: probes}", paths);
  for (FlowId id = 0; id < 3; ++id) host.Start(1, id);
  host.At(Time{} + 1_ms, [](HostView&, HostPolicy&) {});
  EXPECT_EQ(host.Count("probes"), 10 * 8);
  EXPECT_EQ(host.Count("probe_bytes"), 10 * 8 * 64);
}

void Echo(LbHost& host, const ProbeHeader& header, Duration ago, int count, Time at) {
  host.At(at, [&](HostView& view, HostPolicy& policy) {
    Packet echo = ControlPacket(header);
    echo.sent = at - ago;
    for (int i = 0; i < count; ++i) policy.OnControl(view, echo);
  });
}

// An echo brings the one-way delay, which counts double, or its own age is the round trip.
TEST(PdlbHostDetailsTest, EchoesTellEitherDelay) {
  const PathTable paths = EightPaths();
  for (const bool one_way : {false, true}) {
    LbHost host("{" + kOneGigabit + ", collect: probes, signal: " + (one_way ? "owd" : "rtt") + "}",
                paths);
    host.Start(1, 0);
    const Time at = Time{} + 500_us;
    Echo(host, {50'000, true}, one_way ? 0_us : 100_us, 24, at);
    Echo(host, {150'000, true}, one_way ? 0_us : 300_us, 8, at);
    EXPECT_EQ(host.Count("samples"), 32);
    EXPECT_EQ(GranularityAt(host, Time{} + 700_us), kBest) << one_way;
  }
}

TEST(PdlbHostDetailsTest, AnEchoFromALeafWithoutFlowsTellsNothing) {
  const PathTable paths = EightPaths();
  LbHost host("{kind: pdlb, collect: probes}", paths);
  Echo(host, {50'000, true}, 100_us, 3, Time{} + 500_us);
  EXPECT_EQ(host.Count("samples"), 0);
  EXPECT_EQ(host.policy().StateBytes(), 0u);
}

// Each host hears the echoes of its own probes.
TEST(PdlbHostDetailsTest, AnEchoGoesBackToItsProbe) {
  Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 4, hosts_per_leaf: 3}"),
           .balancer = "{kind: pdlb, collect: probes}"});
  for (HostId src = 1; src < 3; ++src) lab.AddFlow(src, static_cast<HostId>(src + 3), 2'000'000);
  lab.Run();
  int found = 0;
  for (HostId src = 0; src < 3; ++src) {
    for (const auto& [name, value] : lab.network().host(src).policy().Counters()) {
      if (name == "samples") {
        ++found;
        EXPECT_EQ(value > 0, src > 0) << src;
      }
    }
  }
  EXPECT_EQ(found, 3);
}

}  // namespace heddle::pdlb_host_details_test
