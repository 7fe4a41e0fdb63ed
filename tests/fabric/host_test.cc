// SPDX-License-Identifier: Apache-2.0
// Tests one host whose transport and background are scripted: when flows may send, their turns,
// packets that go before data, pauses, and the order within one instant. The host's link has 10
// Gbps and 1 us, so a data packet of 1250 bytes takes 1 us and an ACK of 125 takes 100 ns; the
// times below follow from these.

#include "fabric/host.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "fabric/flow.h"
#include "tests/support/host_bench.h"

namespace heddle::host_test {

using namespace host_bench;
using testing::ElementsAre;
using testing::IsEmpty;

// --- Pull ---

TEST(HostPullTest, AsksForAPacketWhenItsFirstBitCanLeave) {
  Bench bench;
  Actor& flows = bench.transport();
  flows.Schedule(At(5_us), 0, [&] { flows.Offer(0, 3); });
  bench.Run();
  EXPECT_THAT(flows.pulls, ElementsAre("5 A", "6 A", "7 A"));
  EXPECT_THAT(bench.Left(), ElementsAre("6 A", "7 A", "8 A"));
  EXPECT_EQ(bench.host().data_sent(), 3);
}

// The turn of a flow that may not send after all costs no time.
TEST(HostPullTest, GoesToTheNextFlowAtOnceIfOneHasNothing) {
  Bench bench;
  Actor& flows = bench.transport();
  flows.Schedule(At(1_us), 0, [&] {
    flows.Offer(0, 1);
    flows.Offer(1, 5);
    flows.Offer(2, 1);
  });
  flows.Schedule(At(1_us), 1, [&] { flows.Withdraw(1); });
  bench.Run();
  EXPECT_THAT(flows.pulls, ElementsAre("1 A", "2 B", "2 C"));
  EXPECT_THAT(bench.Left(), ElementsAre("2 A", "3 C"));
  EXPECT_EQ(bench.host().data_sent(), 2);
}

// A packet that is built when its turn comes, and not when the flow could send, knows what has
// arrived until then.
TEST(HostPullTest, BuildsAPacketAfterWhatHasArrivedByThatInstant) {
  Bench bench;
  Actor& flows = bench.transport();
  std::vector<std::string> order;
  flows.on_packet = [&](const Packet&) { order.push_back("arrival"); };
  flows.on_build = [&] { order.push_back("build"); };
  flows.Schedule(At(3_us), 0, [&] { flows.Offer(0, 2); });
  bench.ArriveData(At(4_us));  // The NIC is free at this instant.
  bench.Run();
  EXPECT_THAT(order, ElementsAre("build", "arrival", "build"));
}

// --- Turns ---

TEST(HostTurnsTest, AreOnePacketEachInTheOrderInWhichFlowsBecameReady) {
  Bench bench;
  Actor& flows = bench.transport();
  flows.Schedule(At(1_us), 0, [&] {
    flows.Offer(2, 3);
    flows.Offer(0, 2);
    flows.Offer(1, 1);
  });
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("2 C", "3 A", "4 B", "5 C", "6 A", "7 C"));
}

TEST(HostTurnsTest, BeginAtTheEndOfTheRoundForAFlowThatComesBack) {
  Bench bench;
  Actor& flows = bench.transport();
  flows.Schedule(At(1_us), 0, [&] {
    flows.Offer(0, 1);
    flows.Offer(1, 3);
    flows.Offer(2, 3);
  });
  flows.Schedule(At(1_us) + 500_ns, 1, [&] { flows.Offer(0, 1); });  // While its packet leaves.
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("2 A", "3 B", "4 C", "5 A", "6 B", "7 C", "8 B", "9 C"));
}

// By default a flow with more to send joins when its packet begins to leave, before a flow that
// becomes ready meanwhile. With LetFlowsJoinAtEnd it joins when the packet has left, behind all
// flows that are ready by then.
TEST(HostTurnsTest, MayBeginWhenThePacketBeforeHasLeft) {
  for (const bool at_end : {false, true}) {
    for (const Duration ready : {1'500_ns, 2'000_ns}) {
      SCOPED_TRACE(testing::Message() << at_end << ", " << ready.ps);
      Bench bench;
      Actor& flows = bench.transport();
      if (at_end) bench.host().LetFlowsJoinAtEnd();
      flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 2); });
      flows.Schedule(At(ready), 1, [&] { flows.Offer(1, 1); });
      bench.Run();
      if (at_end) {
        EXPECT_THAT(bench.Left(), ElementsAre("2 A", "3 B", "4 A"));
      } else {
        EXPECT_THAT(bench.Left(), ElementsAre("2 A", "3 A", "4 B"));
      }
    }
  }
}

// B, C and A itself wait while the packet of A leaves; the flow that is pulled does not.
TEST(HostTurnsTest, WaitingFlowsIncludeTheOneThatComesBack) {
  for (const bool at_end : {false, true}) {
    Bench bench;
    Actor& flows = bench.transport();
    if (at_end) bench.host().LetFlowsJoinAtEnd();
    std::vector<size_t> waiting;
    const auto note = [&] { waiting.push_back(bench.host().Waiting({kOther, 0})); };
    flows.on_build = note;
    flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 2); });
    flows.Schedule(At(1_us) + 500_ns, 1, [&] {
      note();
      flows.Offer(1, 1);
      flows.Offer(2, 1);
      note();
    });
    bench.Run();
    // As A leaves, before and after the others come, and at their turns.
    EXPECT_THAT(waiting, ElementsAre(0u, 1u, 3u, 2u, 1u, 0u));
    EXPECT_EQ(bench.host().Waiting({kOther, 0}), 0u);
  }
}

TEST(HostTurnsTest, AtTheEndOfAPacketComeBeforeThoseOfLaterFlows) {
  Bench bench;
  Actor& flows = bench.transport();
  bench.host().LetFlowsJoinAtEnd();
  flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 2); });
  flows.Schedule(At(1_us), 1, [&] { flows.SendAck(); });  // Leaves from 1 us on; A from 1.1 us.
  flows.Schedule(At(2_us) + 200_ns, 2, [&] { flows.Offer(1, 1); });
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("1.1 ack", "2.1 A", "3.1 A", "4.1 B"));
}

// --- Lanes ---

TEST(HostLanesTest, TakeTurnsWhileBothMaySend) {
  Bench bench;
  Actor& flows = bench.transport();
  Actor& background = bench.background();
  flows.Schedule(At(1_us), 0, [&] {
    flows.Offer(0, 2);
    flows.Offer(1, 2);
  });
  background.Schedule(At(1_us) + 500_ns, 0, [&] { background.Offer(0, 2); });
  bench.Run();
  // Each of the transport's two flows gets a quarter, as long as datagrams wait.
  EXPECT_THAT(bench.Left(), ElementsAre("2 A", "3 a", "4 B", "5 a", "6 A", "7 B"));
  EXPECT_EQ(bench.host().data_sent(), 4);
  EXPECT_EQ(bench.host().datagrams_sent(), 2);
}

TEST(HostLanesTest, HaveTheNicToThemselvesWhileTheOtherIsEmpty) {
  Bench bench;
  Actor& background = bench.background();
  background.Schedule(At(1_us), 0, [&] { background.Offer(0, 3); });
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("2 a", "3 a", "4 a"));
}

TEST(HostLanesTest, HaveAClassEachAndControlPacketsTheirOwn) {
  Bench bench;
  bench.transport().Schedule(At(1_us), 0, [&] {
    bench.transport().Offer(0, 1);
    bench.transport().SendAck();
  });
  bench.background().Schedule(At(3_us), 0, [&] { bench.background().Offer(0, 1); });
  bench.Run();
  std::map<PacketKind, int> classes;
  for (const Packet& packet : bench.received()) classes[packet.kind] = packet.priority;
  EXPECT_EQ(classes, (std::map<PacketKind, int>{{PacketKind::kData, kDataClass},
                                                {PacketKind::kAck, kControlClass},
                                                {PacketKind::kDatagram, kBackgroundClass}}));
}

// --- ACKs first ---

TEST(HostAckTest, GoesBeforeDataThatHasNotBegun) {
  Bench bench;
  Actor& flows = bench.transport();
  flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 3); });
  flows.Schedule(At(1_us) + 500_ns, 1, [&] { flows.SendAck(); });
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("2 A", "2.1 ack", "3.1 A", "4.1 A"));
  EXPECT_THAT(flows.pulls, ElementsAre("1 A", "2.1 A", "3.1 A"));
  EXPECT_EQ(bench.host().control_sent(), 1);
}

// Also at the instant at which the NIC has become free: the choice of a flow comes last.
TEST(HostAckTest, GoesBeforeDataOfTheSameInstant) {
  Bench bench;
  Actor& flows = bench.transport();
  flows.on_packet = [&](const Packet&) { flows.SendAck(); };
  flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 2); });
  bench.ArriveData(At(2_us));
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("2 A", "2.1 ack", "3.1 A"));
}

TEST(HostAckTest, LeavesInOrderAndWithoutPausesOfData) {
  Bench bench;
  Actor& flows = bench.transport();
  bench.ArrivePause(At(1_us), Bit(kDataClass) | Bit(kBackgroundClass), true);
  flows.Schedule(At(2_us), 0, [&] {
    flows.Offer(0, 1);
    flows.SendAck();
    flows.SendAck();
  });
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("2.1 ack", "2.2 ack"));
  EXPECT_THAT(flows.pulls, IsEmpty());
}

// --- What a policy sends ---

Packet Probe() {
  Packet probe;
  probe.kind = PacketKind::kControl;
  probe.dst = kOther;
  probe.bytes = 125;
  return probe;
}

// While a packet is being built in the NIC's slot there is no room for another.
TEST(HostPolicyPacketTest, FollowsThePacketThatIsBeingBuilt) {
  Bench bench;
  Actor& flows = bench.transport();
  flows.on_build = [&] { bench.host().view().SendControl(Probe()); };
  flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 2); });
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("2 A", "2.1 control", "3.1 A", "3.2 control"));
}

TEST(HostPolicyPacketTest, AsAProbeIsOfTheClassOfDataAlsoIfItHasToWait) {
  Bench bench;
  Actor& flows = bench.transport();
  flows.on_build = [&] { EXPECT_TRUE(bench.host().view().SendProbe(Probe())); };
  flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 1); });
  flows.Schedule(At(5_us), 1, [&] { EXPECT_TRUE(bench.host().view().SendProbe(Probe())); });
  bench.Run();
  ASSERT_EQ(bench.received().size(), 3u);
  for (const Packet& packet : bench.received()) EXPECT_EQ(packet.priority, kDataClass);
}

TEST(HostPolicyPacketTest, IsRefusedAsAProbeWhileDataIsPaused) {
  Bench bench;
  Actor& flows = bench.transport();
  std::vector<bool> sent;
  const auto probe = [&] { sent.push_back(bench.host().view().SendProbe(Probe())); };
  bench.ArrivePause(At(2_us), Bit(kDataClass), true);
  bench.ArrivePause(At(4_us), Bit(kDataClass), false);
  flows.Schedule(At(1_us), 0, probe);
  flows.Schedule(At(3_us), 1, probe);
  flows.Schedule(At(5_us), 2, probe);
  bench.Run();
  EXPECT_THAT(sent, ElementsAre(true, false, true));
  EXPECT_THAT(bench.Left(), ElementsAre("1.1 control", "5.1 control"));
}

// --- Pauses ---

// A frame that comes while a packet leaves does not stop that packet.
TEST(HostPauseTest, HoldsBackAllPacketsThatHaveNotBegun) {
  Bench bench;
  Actor& flows = bench.transport();
  flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 2); });
  bench.ArrivePause(At(1_us) + 500_ns, Bit(kDataClass), true);
  bench.ArrivePause(At(7_us), Bit(kDataClass), false);
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("2 A", "8 A"));
  const PauseTotals totals = bench.host().PausesUntil(0, At(20_us));
  EXPECT_EQ(totals.pauses, 1);
  EXPECT_EQ(totals.resumes, 1);
  EXPECT_EQ(totals.paused, 5'500_ns);
  EXPECT_EQ(totals.blocked, 5'500_ns);
}

TEST(HostPauseTest, HoldsBackNoOtherClass) {
  Bench bench;
  Actor& flows = bench.transport();
  Actor& background = bench.background();
  flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 2); });
  background.Schedule(At(1_us), 0, [&] { background.Offer(0, 3); });
  bench.ArrivePause(At(1_us) - 1_ns, Bit(kBackgroundClass) | Bit(1), true);
  bench.ArrivePause(At(10_us), 0xff, false);
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("2 A", "3 A", "11 a", "12 a", "13 a"));
}

// The blocked time of each flow begins with the pause, or when the flow becomes ready during it.
TEST(HostPauseTest, CountsForEachFlowTheTimeInWhichItCouldHaveSent) {
  Bench bench;
  Actor& flows = bench.transport();
  flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 5); });
  bench.ArrivePause(At(2_us) - 100_ns, Bit(kDataClass), true);
  flows.Schedule(At(4_us), 1, [&] { flows.Offer(1, 1); });
  bench.ArrivePause(At(9_us), Bit(kDataClass), false);
  bench.Run();
  EXPECT_EQ(flows.blocked(0), 7'100_ns);
  EXPECT_EQ(flows.blocked(1), 5_us);
  EXPECT_EQ(flows.blocked(2), Duration{0});
  EXPECT_EQ(bench.Left()[1], "10 A");
  EXPECT_EQ(bench.Left()[2], "11 B");
}

// The class is paused from 1 us on, and only from 4 us on it has something to send.
TEST(HostPauseTest, BlocksOnlyFromWhenThereIsSomethingToSend) {
  Bench bench;
  Actor& flows = bench.transport();
  PauseLog& log = bench.host().LogPauses();
  bench.ArrivePause(At(1_us), Bit(kDataClass), true);
  flows.Schedule(At(4_us), 0, [&] { flows.Offer(0, 1); });
  bench.ArrivePause(At(6_us), Bit(kDataClass), false);
  bench.Run();
  const PauseTotals totals = bench.host().PausesUntil(0, At(20_us));
  EXPECT_EQ(totals.paused, 5_us);
  EXPECT_EQ(totals.blocked, 2_us);
  ASSERT_EQ(log.ended().size(), 1u);
  EXPECT_EQ(log.ended()[0].start, At(1_us));
  EXPECT_EQ(log.ended()[0].end, At(6_us));
  EXPECT_EQ(log.ended()[0].blocked, 2_us);
  EXPECT_EQ(log.ended()[0].cls, kDataClass);
}

TEST(HostPauseTest, TakesEffectAfterTheResponse) {
  Bench bench;
  Actor& flows = bench.transport();
  bench.host().SetPauseResponse(1'200_ns);
  flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 4); });
  bench.ArrivePause(At(1_us), Bit(kDataClass), true);  // Effective at 2.2 us, when two have begun.
  bench.ArrivePause(At(5_us), Bit(kDataClass), false);
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("2 A", "3 A", "7.2 A", "8.2 A"));
}

// 100 quanta of 512 bits take 5.12 us at 10 Gbps. A second frame makes the pause longer.
TEST(HostPauseTest, ExpiresAfterItsQuanta) {
  for (const bool again : {false, true}) {
    SCOPED_TRACE(again);
    Bench bench;
    Actor& flows = bench.transport();
    bench.host().SetPauseResponse(Duration{0}, 100);
    bench.ArrivePause(At(1_us), Bit(kDataClass), true);
    if (again) bench.ArrivePause(At(4_us), Bit(kDataClass), true);
    flows.Schedule(At(2_us), 0, [&] { flows.Offer(0, 1); });
    bench.Run();
    EXPECT_THAT(flows.pulls, ElementsAre(again ? "9.12 A" : "6.12 A"));
    EXPECT_EQ(flows.blocked(0), again ? 7'120_ns : 4'120_ns);
  }
}

// A pause at the instant at which a packet could begin comes first, as all arrivals do.
TEST(HostPauseTest, ComesBeforeTheChoiceOfTheSameInstant) {
  Bench bench;
  Actor& flows = bench.transport();
  flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 2); });
  bench.ArrivePause(At(2_us), Bit(kDataClass), true);
  bench.ArrivePause(At(5_us), Bit(kDataClass), false);
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("2 A", "6 A"));
}

// The link goes down and takes its pause with it; what it still carried is lost.
TEST(HostPauseTest, EndsWithTheLink) {
  Bench bench;
  Actor& flows = bench.transport();
  flows.Schedule(At(1_us), 0, [&] { flows.Offer(0, 2); });
  bench.ArrivePause(At(1_us) + 500_ns, Bit(kDataClass), true);
  bench.Do(At(2_us) + 500_ns, [&] {
    bench.host().TakeDown(0, At(2_us) + 500_ns);
    bench.host().VoidPauses(0, At(2_us) + 500_ns);
  });
  bench.Run();
  EXPECT_THAT(bench.Left(), IsEmpty());
  ASSERT_EQ(flows.drops.size(), 2u);  // One on the wire, and one sent into the dead link.
  EXPECT_EQ(flows.drops[0].tx_id, 0u);
  EXPECT_EQ(flows.drops[0].at, At(2_us) + 500_ns);
  EXPECT_EQ(flows.drops[1].tx_id, 1u);
  EXPECT_EQ(bench.host().PausesUntil(0, At(20_us)).paused, 1_us);
}

// --- Things of one instant ---

TEST(HostInstantTest, BeginsWithArrivalsThenStartsThenTimersByKeyThenTheChoice) {
  Bench bench;
  Actor& flows = bench.transport();
  std::vector<std::string> order;
  flows.on_packet = [&](const Packet&) { order.push_back("arrival"); };
  flows.on_build = [&] { order.push_back("build"); };
  const Time at = At(3_us);
  flows.Schedule(at, 9, [&] { order.push_back("timer 9"); });
  flows.Schedule(at, 4, [&] {
    order.push_back(fmt::format("timer 4 after {} starts", flows.started.size()));
  });
  bench.ArriveData(at);
  bench.Do(At(2_us), [&] {
    for (const FlowId id : {1u, 2u}) {
      FlowSpec spec;
      spec.id = id;
      spec.start = at;
      bench.host().StartFlow(spec);
    }
  });
  bench.Run();
  EXPECT_THAT(order, ElementsAre("arrival", "timer 4 after 2 starts", "timer 9", "build", "build"));
  EXPECT_THAT(flows.started, ElementsAre(1u, 2u));
  EXPECT_THAT(bench.Left(), ElementsAre("4 B", "5 C"));
}

// Flows that become ready at one instant, by an ACK, a start and timers, take their turns in the
// order of these, not in that in which they were set up.
TEST(HostInstantTest, OrdersTheFlowsThatBecomeReadyInIt) {
  Bench bench;
  Actor& flows = bench.transport();
  const Time at = At(3_us);
  flows.Schedule(at, 8, [&] { flows.Offer(0, 1); });
  flows.Schedule(at, 2, [&] { flows.Offer(1, 1); });
  flows.on_packet = [&](const Packet&) { flows.Offer(2, 1); };
  bench.ArriveData(at);
  bench.Do(At(2_us), [&] {
    FlowSpec spec;
    spec.id = 3;
    spec.start = at;
    bench.host().StartFlow(spec);
  });
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("4 C", "5 D", "6 B", "7 A"));
}

// --- Several links ---

// Six flows of two packets each, over two links that both begin a shortest path.
void OfferSix(Bench& bench) {
  Actor& flows = bench.transport();
  bench.host().SetFirstHops({{0, 0}, {{0, 1}}}, At(0_us));
  flows.Schedule(At(1_us), 0, [&flows] {
    for (uint32_t slot = 0; slot < 6; ++slot) flows.Offer(slot, 2);
  });
}
// The flows whose packets left through a link, in this order.
std::vector<std::string> FlowsOver(const Bench& bench, size_t link) {
  std::vector<std::string> flows;
  for (const std::string& packet : bench.Left(link)) {
    flows.push_back(packet.substr(packet.find(' ') + 1));
  }
  return flows;
}

TEST(HostLinksTest, CarryAllPacketsOfAFlowOverOneOfThem) {
  Bench bench(2);
  OfferSix(bench);
  bench.Run();
  std::map<std::string, size_t> link_of;
  for (size_t link = 0; link < 2; ++link) {
    EXPECT_THAT(FlowsOver(bench, link), testing::Not(IsEmpty()));
    for (const std::string& flow : FlowsOver(bench, link)) {
      const auto [same, is_new] = link_of.emplace(flow, link);
      EXPECT_EQ(same->second, link) << flow;
    }
  }
  EXPECT_EQ(FlowsOver(bench, 0).size() + FlowsOver(bench, 1).size(), 12u);
}

// The first packet of each link is leaving when routes change so that only link 1 remains. Flows
// that wait move there: those of link 0 first, in their order, the one that has sent last of them.
TEST(HostLinksTest, HandOverTheFlowsThatWaitWhenRoutesChange) {
  Bench bench(2);
  OfferSix(bench);
  bench.Run();
  Bench moved(2);
  OfferSix(moved);
  const Time change = At(1_us) + 500_ns;
  moved.Do(change, [&] { moved.host().SetFirstHops({{0, 0}, {{1}}}, change); });
  moved.Run();
  std::vector<std::string> expected;
  std::vector<std::string> again;  // Flows that have another packet after that round.
  for (size_t link = 0; link < 2; ++link) {
    std::vector<std::string> waiting = FlowsOver(bench, link);
    waiting.resize(waiting.size() / 2);  // One round.
    again.insert(again.end(), waiting.begin() + 1, waiting.end());
    std::rotate(waiting.begin(), waiting.begin() + 1, waiting.end());
    expected.insert(expected.end(), waiting.begin(), waiting.end());
  }
  expected.insert(expected.begin(), FlowsOver(bench, 1).front());
  expected.insert(expected.end(), again.begin(), again.end());
  EXPECT_THAT(FlowsOver(moved, 0), ElementsAre(FlowsOver(bench, 0).front()));
  EXPECT_EQ(FlowsOver(moved, 1), expected);
}

TEST(HostLinksTest, ArePausedOneByOne) {
  Bench bench(2);
  Actor& flows = bench.transport();
  bench.host().SetFirstHops({{0, 0}, {{0, 1}}}, At(0_us));
  bench.ArrivePause(At(1_us), Bit(kDataClass), true, 1);
  flows.Schedule(At(2_us), 0, [&] {
    for (uint32_t slot = 0; slot < 6; ++slot) flows.Offer(slot, 1);
  });
  bench.Run();
  EXPECT_THAT(bench.Left(0), testing::Not(IsEmpty()));
  EXPECT_THAT(bench.Left(1), IsEmpty());
  EXPECT_EQ(bench.host().PausesUntil(0, At(9_us)).paused, Duration{0});
  EXPECT_EQ(bench.host().PausesUntil(1, At(9_us)).paused, 8_us);
}

// A flow waits from 2 us on behind the pause of link 1, until it moves to link 0 at 4.5 us.
TEST(HostLinksTest, AFlowThatMovesIsBlockedUntilThen) {
  Bench bench(2);
  Actor& flows = bench.transport();
  bench.host().SetFirstHops({{0, 0}, {{1}}}, At(0_us));
  bench.ArrivePause(At(1_us), Bit(kDataClass), true, 1);
  flows.Schedule(At(2_us), 0, [&] { flows.Offer(0, 1); });
  const Time change = At(4_us) + 500_ns;
  bench.Do(change, [&] { bench.host().SetFirstHops({{0, 0}, {{0}}}, change); });
  bench.Run();
  EXPECT_THAT(bench.Left(0), ElementsAre("5.5 A"));
  EXPECT_EQ(flows.blocked(0), 2'500_ns);
}

// A flow that waits for the packet before it, not for a pause, is not blocked.
TEST(HostLinksTest, AFlowThatMovesWithoutAPauseIsNotBlocked) {
  Bench bench(2);
  Actor& flows = bench.transport();
  bench.host().SetFirstHops({{0, 0}, {{1}}}, At(0_us));
  flows.Schedule(At(2_us), 0, [&] {
    flows.Offer(0, 1);
    flows.Offer(1, 1);
  });
  const Time change = At(2_us) + 500_ns;
  bench.Do(change, [&] { bench.host().SetFirstHops({{0, 0}, {{0}}}, change); });
  bench.Run();
  EXPECT_THAT(bench.Left(0), ElementsAre("3.5 B"));
  EXPECT_EQ(flows.blocked(0), Duration{0});
  EXPECT_EQ(flows.blocked(1), Duration{0});
}

// --- What is told to whom ---

FlowSpec SpecOf(FlowId id) {
  FlowSpec spec;
  spec.id = id;
  return spec;
}

// Notes what it is told of, with the time.
class Notes final : public Application {
 public:
  Notes(Host& host, std::vector<std::string>& calls) : host_(host), calls_(calls) {}
  void OnReceived(FlowId message) override { Note("received", message); }
  void OnHanded(FlowId message) override {
    Note("handed", message);
    // The packet has begun to leave: it is on its way already.
    EXPECT_EQ(host_.nic().busy_until(), host_.now() + 1_us);
  }
  void OnAcked(FlowId message) override { Note("acked", message); }
  void OnTimer(uint64_t key) override { Note("timer", key); }
  void OnNews(const News& news) override { Note("news", news.number); }
  std::optional<FlowSpec> Expect(FlowId message) override {
    Note("expect", message);
    return SpecOf(message);
  }
  void OnClosed(FlowId message) override { Note("closed", message); }

 private:
  void Note(const char* what, uint64_t number) {
    calls_.push_back(fmt::format("{} {} {}", Microsecond(host_.now()), what, number));
  }
  Host& host_;
  std::vector<std::string>& calls_;
};

// Messages have the ids below 5.
TEST(HostNotesTest, TellTheApplicationOfItsMessagesOnly) {
  Bench bench;
  Host& host = bench.host();
  std::vector<std::string> calls;
  host.SetApplication(std::make_unique<Notes>(host, calls), 5);
  Actor& flows = bench.transport();
  FlowId built = 4;
  flows.on_build = [&] { host.NoteHanded(built++); };
  flows.Schedule(At(1_us), 0, [&] {
    for (const FlowId id : {0u, 4u, 5u}) {
      host.NoteReceived(id);
      host.NoteAcked(id);
      host.NoteClosed(id);
      EXPECT_EQ(host.Expected(id).has_value(), id != 5);
    }
    host.StartMessage(SpecOf(3));
  });
  flows.Schedule(At(3_us), 1, [&] { flows.Offer(0, 1); });
  bench.Run();
  std::vector<std::string> expected;
  for (const int id : {0, 4}) {
    for (const char* what : {"received", "acked", "closed", "expect"}) {
      expected.push_back(fmt::format("1 {} {}", what, id));
    }
  }
  expected.push_back("1 handed 4");
  EXPECT_EQ(calls, expected);
  EXPECT_THAT(flows.started, ElementsAre(3u));
  EXPECT_THAT(bench.Left(), ElementsAre("2 D", "4 A"));
}

// Timers of one instant, set in another order. The application's come last, the policy's by
// ascending id. Between windows the application can be woken for a later time.
TEST(HostNotesTest, TimersOfOneInstantFireByTheirUser) {
  Bench bench;
  Host& host = bench.host();
  host.SetApplication(std::make_unique<Notes>(host, bench.policy_calls), 5);
  const auto note = [&](const char* who) {
    return [&bench, who] { bench.policy_calls.push_back(who); };
  };
  host.SetApplicationTimer(At(2_us), 8);
  bench.background().Schedule(At(2_us), 0, note("background"));
  for (const uint32_t id : {7u, 3u, 0u}) host.view().SetTimer(At(2_us), id);
  bench.transport().Schedule(At(2_us), 9, note("transport"));
  bench.Do(At(5_us), [&] { host.WakeApplication(At(6_us), (uint64_t{1} << 56) - 1); });
  bench.Run();
  EXPECT_THAT(bench.policy_calls,
              ElementsAre("transport", "2 policy 0", "2 policy 3", "2 policy 7", "background",
                          "2 timer 8", "6 timer 72057594037927935"));
}

// A policy sees data before the transport does, and control packets instead of it; datagrams are
// for the background.
TEST(HostNotesTest, PacketsGoToThoseTheyAreFor) {
  Bench bench;
  std::vector<std::string>& calls = bench.policy_calls;
  bench.transport().on_packet = [&](const Packet&) { calls.push_back("transport"); };
  bench.background().on_packet = [&](const Packet&) { calls.push_back("background"); };
  Duration at = 1_us;
  for (const PacketKind kind : {PacketKind::kData, PacketKind::kAck, PacketKind::kControl,
                                PacketKind::kDatagram, PacketKind::kCnp, PacketKind::kNack}) {
    Packet packet;
    packet.kind = kind;
    packet.bytes = 100;
    bench.Arrive(At(at += 1_us), packet);
  }
  bench.ArrivePause(At(20_us), 0, true);
  bench.Run();
  EXPECT_THAT(calls, ElementsAre("data", "transport", "transport", "control", "background",
                                 "transport", "transport"));
  EXPECT_EQ(bench.host().received(), 7);
  EXPECT_EQ(bench.host().datagrams_received(), 1);
}

// A pause frame takes effect 10 us after it has come, unless the link fails before: the switch,
// too, forgets that it has asked for a pause.
TEST(HostPauseTest, ALinkThatFailsVoidsPausesOnTheirWay) {
  Bench bench;
  Actor& flows = bench.transport();
  bench.host().SetPauseResponse(10_us);
  bench.ArrivePause(At(2_us), Bit(kDataClass), true);
  bench.Do(At(5_us), [&] {
    bench.host().TakeDown(0, At(5_us));
    bench.host().VoidPauses(0, At(5_us));
  });
  bench.Do(At(6_us), [&] { bench.host().BringUp(0, At(6_us)); });
  flows.Schedule(At(50_us), 0, [&] { flows.Offer(0, 1); });
  bench.Run();
  EXPECT_THAT(bench.Left(), ElementsAre("51 A"));
}

// --- Damage ---

// A link that damages everything. The sender, here the host itself, learns of whole data packets.
TEST(HostLossTest, IsToldToTheSenderOfDataUnlessASwitchHasTrimmedIt) {
  Bench bench(2);
  Host& host = bench.host();
  Node* const hosts[] = {&host};
  host.SetHosts(hosts);
  auto loss = std::make_unique<RandomLoss>(Rng::Stream(1, "loss", 0));
  loss->Set(1);
  host.SetLoss(1, std::move(loss));
  int arrived = 0;
  bench.transport().on_packet = [&](const Packet&) { ++arrived; };
  for (const size_t link : {0u, 1u}) {
    Packet packet;
    packet.bytes = 1'250;
    packet.flow = 3;
    packet.data.tx_id = 17;
    bench.Arrive(At(1_us), packet, link);
    packet.Set(Packet::kTrimmed);
    bench.Arrive(At(2_us), packet, link);
    packet.kind = PacketKind::kAck;
    bench.Arrive(At(3_us), packet, link);
  }
  bench.Run();
  EXPECT_EQ(arrived, 3);
  EXPECT_EQ(host.damaged(), 3);
  EXPECT_EQ(host.received(), 3);
  ASSERT_EQ(bench.transport().drops.size(), 1u);
  EXPECT_EQ(bench.transport().drops[0].flow, 3u);
  EXPECT_EQ(bench.transport().drops[0].tx_id, 17u);
  EXPECT_EQ(bench.transport().drops[0].at, At(1_us));
}

TEST(HostLossTest, TakesPacketsAndSparesPauseFrames) {
  Bench bench;
  Actor& flows = bench.transport();
  auto loss = std::make_unique<RandomLoss>(Rng::Stream(1, "loss", 0));
  loss->Set(1);
  bench.host().SetLoss(0, std::move(loss));
  int arrived = 0;
  flows.on_packet = [&](const Packet&) { ++arrived; };
  Packet ack;
  ack.kind = PacketKind::kAck;
  ack.bytes = 125;
  bench.Arrive(At(1_us), ack);
  bench.ArrivePause(At(2_us), Bit(kDataClass), true);
  flows.Schedule(At(3_us), 0, [&] { flows.Offer(0, 1); });
  bench.Run();
  EXPECT_EQ(arrived, 0);
  EXPECT_EQ(bench.host().damaged(), 1);
  EXPECT_EQ(bench.host().received(), 1);  // The pause.
  EXPECT_THAT(bench.Left(), IsEmpty());
}

}  // namespace heddle::host_test
