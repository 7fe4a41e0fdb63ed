// SPDX-License-Identifier: Apache-2.0
// Tests what resequencers hand up, and when, for packets that arrive as a test says.

#include "transport/resequencing/resequencer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/printers.h"
#include "tests/support/resequencer_kit.h"
#include "tests/support/settings_from.h"
#include "transport/resequencing/resequencing.h"

namespace heddle::resequencer_test {

using testing::ElementsAre;
using testing::IsEmpty;

using namespace resequencer_kit;

// --- A fixed timeout ---

TEST(ResequencingTest, IsOffUnlessAskedFor) {
  Receiver sink("timeout");
  EXPECT_EQ(KindFrom("off", Resequencings()).settings->MakeFor(sink), nullptr);
}

TEST(TimeoutResequencerTest, HoldsWhatCameEarlyUntilTheHoleIsFilled) {
  Receiver receiver("{kind: timeout, timeout: 100us}");
  receiver.Arrive(0, 0);
  receiver.Arrive(1, 2);
  receiver.Arrive(2, 4);
  receiver.Arrive(3, 3);
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{0, 0}));
  receiver.Arrive(9, 1);
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{9'000, 1}, Up{9'000, 2}, Up{9'000, 3}, Up{9'000, 4}));
  const ResequencingStats stats = receiver.Stats();
  EXPECT_EQ(stats.packets, 5);
  EXPECT_EQ(stats.held, 3);
  EXPECT_EQ(stats.waiting, 0);
  EXPECT_EQ(stats.hold_ps.mean() * 3, 8e6 + 7e6 + 6e6);
  EXPECT_EQ(stats.hold_ps.max(), 8'000'000);
  EXPECT_EQ(stats.max_packets, 3);
  EXPECT_EQ(stats.max_bytes, 3 * kBytes);
  EXPECT_EQ(stats.byte_ps, 21e6 * kBytes);
  EXPECT_EQ(stats.timeouts, 0);
}

TEST(TimeoutResequencerTest, GivesUpAHoleAndAllFurtherOnes) {
  Receiver receiver("{kind: timeout, timeout: 100us}");
  receiver.Arrive(0, 0);
  receiver.Arrive(1, 2);
  receiver.Arrive(50, 5);
  receiver.Arrive(60, 4);
  receiver.Arrive(101, 7);  // The arrival at the instant of the timeout comes before the timeout.
  EXPECT_THAT(receiver.Segments(), ElementsAre(0));
  receiver.Finish();
  EXPECT_THAT(receiver.Take(),
              ElementsAre(Up{101'000, 2}, Up{101'000, 4}, Up{101'000, 5}, Up{101'000, 7}));
  EXPECT_EQ(receiver.Stats().timeouts, 1);
  // Late packets go up at once, and the next one expected is 8.
  receiver.Arrive(2'000'000, 3);
  receiver.Arrive(2'000'001, 8);
  receiver.Arrive(2'000'002, 1);
  EXPECT_THAT(receiver.Segments(), ElementsAre(3, 8, 1));
  EXPECT_EQ(receiver.Stats().late, 2);
}

// Each hole has its own clock: that of the first packet beyond it.
TEST(TimeoutResequencerTest, StartsTheClockOfAHoleWithTheFirstPacketBeyondIt) {
  Receiver receiver("{kind: timeout, timeout: 100us}");
  receiver.Arrive(0, 1);
  receiver.Arrive(40, 4);
  receiver.Arrive(70, 3);
  receiver.Arrive(90, 0);  // 0 and 1 go up; 2 is missing since 40 us, when 4 came.
  EXPECT_THAT(receiver.Segments(), ElementsAre(0, 1));
  receiver.Finish();
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{140'000, 3}, Up{140'000, 4}));
}

TEST(TimeoutResequencerTest, ARetransmissionFillsAHole) {
  Receiver receiver("{kind: timeout, timeout: 100us}");
  receiver.Arrive(0, 1);
  receiver.Arrive(50, 0);
  receiver.Arrive(51, 0);
  receiver.Arrive(52, 1);
  EXPECT_THAT(receiver.Segments(), ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(receiver.Stats().late, 2);
}

TEST(TimeoutResequencerTest, KeepsCopiesOfASegmentTogetherAsTheyCame) {
  Receiver receiver("{kind: timeout, timeout: 100us}");
  receiver.Arrive({Time{} + 1_us, 2, 0, 0, 10});
  receiver.Arrive({Time{} + 2_us, 1, 0, 0, 11});
  receiver.Arrive({Time{} + 3_us, 2, 0, 0, 12});
  receiver.Arrive({Time{} + 4_us, 0, 0, 0, 13});
  std::vector<uint32_t> numbers;
  for (const Up& up : receiver.Take()) numbers.push_back(up.number);
  EXPECT_THAT(numbers, ElementsAre(13, 11, 10, 12));
}

TEST(TimeoutResequencerTest, WaitsForEverIfToldSo) {
  Receiver receiver("{kind: timeout, timeout: never}");
  receiver.Arrive(0, 1);
  receiver.Finish();
  EXPECT_THAT(receiver.Take(), IsEmpty());
  EXPECT_EQ(receiver.Stats().waiting, 1);
  (*receiver).Close(0, receiver.now());
  EXPECT_THAT(receiver.Segments(), ElementsAre(1));
}

TEST(TimeoutResequencerTest, HandsUpAllOfAFlowThatHasNoRoom) {
  Receiver receiver("{kind: timeout, timeout: 100us, flow_packets: 2}");
  receiver.Arrive(0, 1);
  receiver.Arrive(0, 9, 0, /*slot=*/1);
  receiver.Arrive(1, 6);
  receiver.Arrive(2, 4);
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{2'000, 1}, Up{2'000, 4}, Up{2'000, 6}));
  receiver.Arrive(3, 7);
  EXPECT_THAT(receiver.Segments(), ElementsAre(7));
  EXPECT_EQ(receiver.Stats().overflows, 1);
  EXPECT_EQ(receiver.Stats().flow_max_packets, 2);
  EXPECT_EQ(receiver.Stats().max_packets, 3);
}

TEST(TimeoutResequencerTest, SharesTheRoomOfAHostAmongItsFlows) {
  Receiver receiver("{kind: timeout, timeout: 100us, host_bytes: 4000B}");
  receiver.Arrive(0, 1, 0, 0);
  receiver.Arrive(1, 1, 0, 1);
  receiver.Arrive(2, 3, 0, 2);  // Would be 4500 bytes.
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{2'000, 3, 2}));
  receiver.Arrive(3, 2, 0, 1);
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{3'000, 1, 1}, Up{3'000, 2, 1}));
  EXPECT_EQ(receiver.Stats().overflows, 2);
  EXPECT_EQ(receiver.Stats().max_bytes, 2 * kBytes);
}

TEST(TimeoutResequencerTest, HoldsNoSegmentsTooFarApart) {
  Receiver receiver("timeout");
  receiver.Arrive(0, 10);
  receiver.Arrive(1, 10 + HoldBuffer::kReach - 1);
  EXPECT_EQ(receiver.Stats().waiting, 2);
  receiver.Arrive(2, 10 + HoldBuffer::kReach);
  EXPECT_THAT(receiver.Segments(), ElementsAre(10, 10 + HoldBuffer::kReach - 1,  //
                                               10 + HoldBuffer::kReach));
}

// Go-back-N throws away what goes up beyond a hole, and its sender sends all of it again: over
// paths of different delays as before.
TEST(TimeoutResequencerTest, PutsInOrderWhatGoBackNSendsAgain) {
  using Numbers = std::vector<uint32_t>;
  for (const bool goes_back : {false, true}) {
    Receiver receiver("{kind: timeout, timeout: 100us}", goes_back);
    receiver.Arrive(0, 0);
    receiver.Arrive(1, 2);
    receiver.Arrive(2, 3);
    receiver.Arrive(102, 4);  // 2 and 3 have gone up at 101 us.
    EXPECT_EQ(receiver.Segments(), (goes_back ? Numbers{0, 2, 3} : Numbers{0, 2, 3, 4}));
    receiver.Arrive(110, 2);
    receiver.Arrive(111, 1);
    receiver.Arrive(112, 3);
    EXPECT_EQ(receiver.Segments(), (goes_back ? Numbers{1, 2, 3, 4} : Numbers{2, 1, 3}));
  }
}

// --- Presto ---

// Cells of ten segments.
void ArriveAsCell(Receiver& receiver, int64_t us, uint32_t segment) {
  receiver.Arrive(us, segment, segment / 10);
}

TEST(PrestoGroTest, HoldsACellThatCameBeforeTheEndOfTheLast) {
  Receiver receiver("presto_gro");
  for (uint32_t s = 0; s < 8; ++s) ArriveAsCell(receiver, s, s);
  ArriveAsCell(receiver, 8, 10);
  ArriveAsCell(receiver, 9, 11);
  EXPECT_EQ(receiver.Segments().size(), 8u);
  ArriveAsCell(receiver, 38, 8);
  EXPECT_THAT(receiver.Segments(), ElementsAre(8));
  ArriveAsCell(receiver, 39, 9);
  EXPECT_THAT(receiver.Segments(), ElementsAre(9, 10, 11));
}

TEST(PrestoGroTest, HandsUpAGapInsideACellAtOnce) {
  Receiver receiver("presto_gro");
  ArriveAsCell(receiver, 0, 0);
  ArriveAsCell(receiver, 1, 2);
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{0, 0}, Up{1'000, 2}));
  // Also in a cell that has waited.
  ArriveAsCell(receiver, 2, 10);
  ArriveAsCell(receiver, 3, 12);
  for (uint32_t s = 3; s < 9; ++s) ArriveAsCell(receiver, 4, s);
  EXPECT_THAT(receiver.Segments(), ElementsAre(3, 4, 5, 6, 7, 8));
  ArriveAsCell(receiver, 5, 9);
  EXPECT_THAT(receiver.Segments(), ElementsAre(9, 10, 12));
}

// alpha = beta = 2: a cell waits for 2 x 50 us at first, and until 25 us after it has grown.
TEST(PrestoGroTest, GivesUpABoundaryAfterATimeThatAdapts) {
  Receiver receiver("presto_gro");
  ArriveAsCell(receiver, 0, 8);  // Segments 0 to 7 are lost: cell 0 has a gap.
  ArriveAsCell(receiver, 10, 10);
  ArriveAsCell(receiver, 20, 20);
  receiver.Finish();
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{0, 8}, Up{110'000, 10}, Up{120'000, 20}));
  EXPECT_EQ(receiver.Stats().timeouts, 2);

  Receiver grows("presto_gro");
  ArriveAsCell(grows, 10, 10);
  ArriveAsCell(grows, 100, 11);
  ArriveAsCell(grows, 120, 12);
  ArriveAsCell(grows, 121, 14);  // Not merged.
  grows.Finish();
  EXPECT_THAT(grows.Take(), ElementsAre(Up{145'000, 10}, Up{145'000, 11}, Up{145'000, 12},  //
                                        Up{145'000, 14}));

  // It has waited for 10 us: (50 + 10) / 2 = 30 us, or with a gain of 1/8 45 us.
  for (const bool by_an_eighth : {false, true}) {
    Receiver learns(by_an_eighth ? "presto_gro" : "{kind: presto_gro, gain: 1/2}");
    ArriveAsCell(learns, 0, 10);
    for (uint32_t s = 0; s < 10; ++s) ArriveAsCell(learns, 10, s);
    learns.Take();
    ArriveAsCell(learns, 20, 20);
    learns.Finish();
    EXPECT_THAT(learns.Take(), ElementsAre(Up{by_an_eighth ? 110'000 : 80'000, 20}));
  }
}

// --- JUGGLER ---

TEST(JugglerTest, HoldsBehindAHoleForItsTimeout) {
  Receiver receiver("{kind: juggler, ofo_timeout: 50us}");
  receiver.Arrive(0, 0);
  receiver.Arrive(1, 2);
  receiver.Arrive(40, 1);
  receiver.Arrive(41, 4);
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{0, 0}, Up{40'000, 1}, Up{40'000, 2}));
  receiver.Finish();
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{91'000, 4}));
  EXPECT_EQ(receiver.Stats().timeouts, 1);
}

TEST(JugglerTest, HandsUpEverythingDuringLossRecovery) {
  Receiver receiver("{kind: juggler, ofo_timeout: 50us}");
  receiver.Arrive(0, 0);
  receiver.Arrive(1, 2);   // 1 is given up at 51 us.
  receiver.Arrive(60, 5);  // Goes up at once, and so does 4.
  receiver.Arrive(61, 4);
  receiver.Arrive(62, 1);  // Fills the hole.
  receiver.Arrive(63, 8);  // Waits again.
  receiver.Arrive(64, 6);
  EXPECT_THAT(receiver.Segments(), ElementsAre(0, 2, 5, 4, 1, 6));
  receiver.Arrive(65, 7);
  EXPECT_THAT(receiver.Segments(), ElementsAre(7, 8));
}

TEST(JugglerTest, TakesTheFirstSegmentItSeesForTheFirstOfAll) {
  Receiver at_once("juggler");
  at_once.Arrive(0, 1);
  at_once.Arrive(1, 0);
  EXPECT_THAT(at_once.Take(), ElementsAre(Up{0, 1}, Up{1'000, 0}));
  EXPECT_EQ(at_once.Stats().late, 1);
  // Unless it has some time to learn better.
  Receiver patient("{kind: juggler, inseq_timeout: 5us}");
  patient.Arrive(0, 1);
  patient.Arrive(1, 0);
  patient.Arrive(3, 2);
  patient.Finish();
  EXPECT_THAT(patient.Take(), ElementsAre(Up{5'000, 0}, Up{5'000, 1}, Up{5'000, 2}));
  EXPECT_EQ(patient.Stats().timeouts, 0);
}

TEST(JugglerTest, HandsUpARunOf64Kilobytes) {
  Receiver receiver("{kind: juggler, inseq_timeout: 100us}");
  for (uint32_t s = 0; s < 44; ++s) receiver.Arrive(s, s);
  EXPECT_THAT(receiver.Take(), IsEmpty());
  receiver.Arrive(44, 44);  // 45 x 1460 bytes are more than 65536.
  EXPECT_EQ(receiver.Take().size(), 45u);
  receiver.Arrive(45, 45);
  receiver.Finish();
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{145'000, 45}));
}

TEST(JugglerTest, EvictsWhoHasBeenQuietForLongestThenWhoHasWaitedForLongest) {
  Receiver receiver("{kind: juggler, flows: 2}");
  receiver.Arrive(0, 0, 0, /*slot=*/0);
  receiver.Arrive(1, 0, 0, 1);
  receiver.Arrive(2, 1, 0, 0);  // 1 has been quiet for longer now.
  receiver.Arrive(3, 0, 0, 2);  // Takes its place.
  receiver.Arrive(4, 3, 0, 0);
  receiver.Arrive(5, 2, 0, 2);
  EXPECT_EQ(receiver.Take().size(), 4u);
  EXPECT_EQ(receiver.Stats().evictions, 1);
  receiver.Arrive(6, 7, 0, 1);  // 0 has waited for longest; 1 is unknown and begins with 7.
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{6'000, 3, 0}, Up{6'000, 7, 1}));
  receiver.Arrive(7, 9, 0, 1);
  receiver.Arrive(8, 0, 0, 3);
  EXPECT_THAT(receiver.Take(), ElementsAre(Up{8'000, 2, 2}, Up{8'000, 0, 3}));
  EXPECT_EQ(receiver.Stats().evictions, 3);
}

TEST(JugglerTest, ForgetsAFlowThatHasEnded) {
  Receiver receiver("{kind: juggler, flows: 1}");
  receiver.Arrive(0, 5);
  receiver.Arrive(1, 7);
  (*receiver).Close(0, receiver.now());
  EXPECT_THAT(receiver.Segments(), ElementsAre(5, 7));
  (*receiver).Open(0);
  receiver.Arrive(2, 0);
  EXPECT_THAT(receiver.Segments(), ElementsAre(0));
  EXPECT_EQ(receiver.Stats().evictions, 0);
  EXPECT_EQ(receiver.Stats().late, 0);
}

}  // namespace heddle::resequencer_test
