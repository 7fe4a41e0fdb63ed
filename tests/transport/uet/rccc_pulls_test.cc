// SPDX-License-Identifier: Apache-2.0
// The pulls of receiver-driven congestion control (RCCC): their pace, who asks for them, and what
// ends speculation.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/rccc_kit.h"
#include "tests/support/scripted_policy.h"
#include "transport/uet/uet_credit.h"

namespace heddle::rccc_pulls_test {

using rccc::kCreditAlone;
using rccc::kDeep;
using rccc::kLink;
using rccc::kTrims;

// --- Pulls ---

struct Pull {
  Time at;
  FlowId flow;
  uint32_t granted;
  uint16_t entropy;
};

// Watches the pulls that pass switch 0.
Rule Pulls(std::vector<Pull>& pulls) {
  return WatchAt(0, Anything(PacketKind::kCnp), [&](const SwitchView& view, const Packet& packet) {
    pulls.push_back({view.now(), packet.flow, packet.pull.granted, packet.entropy});
  });
}

// A receiver with one sender grants 64 quanta of 256 bytes, four packets, each 131,072 bits at 99
// Gbps: 1.323959 us. An ACK of 64 bytes, 5.12 ns, may go first.
TEST(RcccTest, PullsArePacedAt99PercentOfTheLine) {
  std::vector<Pull> pulls;
  Lab lab({.graph = Star(2, kLink),
           .transport = kCreditAlone,
           .port = kTrims,
           .switch_policy = Scripted({Pulls(pulls)})});
  lab.AddFlow(0, 1, 4'000'000);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  ASSERT_GT(pulls.size(), 200u);
  const Duration interval = 1'323'959_ps;
  const size_t first = 20;
  const size_t last = 180;
  for (size_t i = first + 1; i <= last; ++i) {
    EXPECT_EQ(pulls[i].granted - pulls[i - 1].granted, 64u) << i;
    EXPECT_GE(pulls[i].at - pulls[i - 1].at, interval - 6_ns) << i;
    EXPECT_LE(pulls[i].at - pulls[i - 1].at, interval + 6_ns) << i;
    EXPECT_EQ(pulls[i].entropy, (pulls[i - 1].entropy + 1) % 128);
  }
  const double bits = 8.0 * 256 * (pulls[last].granted - pulls[first].granted);
  const double seconds = Seconds(pulls[last].at - pulls[first].at);
  EXPECT_NEAR(bits / seconds / 1e9, 99.0, 0.01);
  EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
  EXPECT_EQ(lab.Packets().trimmed, 0);
}

// A sender asks for an ACK with the packet that spends its last credit, and otherwise, without a
// window, with the last packet of all. A lone flow sends faster than pulls come, by 1 %, so it runs
// out of credit again and again.
TEST(RcccTest, ThePacketThatSpendsTheLastCreditAsksForAnAck) {
  int64_t asking = 0;
  const auto watch = [&](const SwitchView&, const Packet& packet) {
    asking += packet.Has(Packet::kCwr) ? 1 : 0;
  };
  Lab lab({.graph = Star(2, kLink),
           .transport = kCreditAlone,
           .port = kTrims,
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kData), watch)})});
  lab.AddFlow(0, 1, 4'000'000);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  EXPECT_GT(asking, 50);
  EXPECT_LT(asking, lab.Record(0).sender.packets / 2);
}

// A flow of one packet has no wish, so nobody pulls; one of two packets wants the second.
TEST(RcccTest, AFlowOfOnePacketNeedsNoPull) {
  for (const auto& [size, pulled] :
       {std::pair(1, false), std::pair(4'086, false), std::pair(4'087, true)}) {
    std::vector<Pull> pulls;
    Lab lab({.graph = Star(2, kLink),
             .transport = kCreditAlone,
             .port = kTrims,
             .switch_policy = Scripted({Pulls(pulls)})});
    lab.AddFlow(0, 1, size);
    lab.Run();
    ASSERT_TRUE(lab.finished());
    EXPECT_EQ(!pulls.empty(), pulled) << size;
  }
}

// A window of two packets keeps the sender's wish small: it never wishes for more than the window
// and a packet, 49 quanta. The receiver grants a greatest window in advance, 1.5 * 58,425 bytes or
// 342 quanta; the pull that reaches it is the last one. A wish of two packets, 33 quanta, may be on
// its way.
TEST(RcccTest, IdleFlowsGetAWindowOfCreditInAdvance) {
  uint32_t wish = 0;
  uint32_t granted = 0;
  int64_t most_ahead = 0;
  int64_t most_wanted = 0;
  Rule wishes =
      WatchAt(0, Anything(PacketKind::kData), [&](const SwitchView&, const Packet& packet) {
        wish = PullTarget(packet);
        most_wanted = std::max(most_wanted, int64_t{static_cast<int32_t>(wish - granted)});
      });
  Rule pulls = WatchAt(0, Anything(PacketKind::kCnp), [&](const SwitchView&, const Packet& packet) {
    granted = packet.pull.granted;
    most_ahead = std::max(most_ahead, int64_t{static_cast<int32_t>(granted - wish)});
  });
  Lab lab({.graph = Star(2, kLink),
           .transport = "{kind: uet, framing: uet_htsim, cc: constant, window: 8300B, receiver: "
                        "rccc}",
           .port = kTrims,
           .switch_policy = Scripted({wishes, pulls})});
  lab.AddFlow(0, 1, 1'000'000);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  EXPECT_GE(most_ahead, 342 - 33);
  EXPECT_LT(most_ahead, 342 + 64);
  EXPECT_GT(most_wanted, 0);
  EXPECT_LE(most_wanted, 49);
}

// Pulls are lost, and nothing is trimmed, so an ACK alone ends the speculation. It comes after a
// round trip of 4.67 us, in which 14 of the first 21 packets leave, and takes away the credit.
TEST(RcccTest, TheFirstAckEndsTheSpeculation) {
  int64_t sent = 0;
  const auto count = [&](const SwitchView&, const Packet&) { ++sent; };
  Lab lab({.graph = Star(2, kLink),
           .transport = kCreditAlone,
           .port = kDeep,
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kData), count),
                                      DropAt(0, Anything(PacketKind::kCnp))})});
  lab.AddFlow(0, 1, 1'000'000);
  lab.Run(Time{} + 30_us);
  EXPECT_GE(sent, 14);
  EXPECT_LE(sent, 16);
}

// Four flows of a host share its NIC, so each wishes for a quarter. With its second packet each has
// spent 8300 bytes of its credit: 2075 bytes, 9 quanta.
TEST(RcccTest, FlowsThatWaitForTheSameNicDivideTheirWish) {
  std::map<FlowId, uint32_t> wishes;
  const auto watch = [&](const SwitchView&, const Packet& packet) {
    if (packet.seq == 1) wishes[packet.flow] = PullTarget(packet);
  };
  Lab lab({.graph = Star(5, kLink),
           .transport = kCreditAlone,
           .port = kTrims,
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kData), watch)})});
  for (HostId dst = 1; dst < 5; ++dst) lab.AddFlow(0, dst, 1'000'000);
  lab.Run(Time{} + 10_us);
  ASSERT_EQ(wishes.size(), 4u);
  for (const auto& [flow, wish] : wishes) EXPECT_EQ(wish, 9u) << flow;
}

}  // namespace heddle::rccc_pulls_test
