// SPDX-License-Identifier: Apache-2.0
// N hosts on one switch send n packets of 4150 bytes each, back to back and all at once, to one
// more host on it. All links have 100 Gbps and 1 us.

#include "fabric/trimming.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tests/support/printers.h"
#include "tests/support/switch_bench.h"

namespace heddle::trimming_test {

using Victim = TrimSettings::Victim;

constexpr int64_t kThreshold = 178'450;
constexpr uint16_t kPacket = 4'150;
constexpr uint8_t kClass = 3;

SwitchPlan PlanOf(size_t senders, const TrimSettings& trim, bool eager) {
  const size_t ports = senders + 1;
  SwitchPlan plan{
      .ports =
          std::vector<PortSettings>(ports, {.rate = 100_Gbps, .delay = 1_us, .wire_overhead = 0_B}),
      .queues = {.classes = 1 | 1 << kClass, .marking = {}},
      .queueing = {.memory = {}, .pause = {}, .watchdog = {}, .trim = trim, .eager = eager},
      .shares = std::vector<SharedMemory::Port>(ports, {.buffer = kUnlimited})};
  plan.trim = {.threshold = kThreshold, .headers = 2 * kThreshold, .marking = {}};
  return plan;
}

TrimSettings Settings(Victim victim) {
  return {.when = TrimSettings::When::kPort, .victim = victim, .classes = 1 << kClass};
}

std::vector<Offer> Incast(size_t senders, int64_t packets) {
  std::vector<Offer> offers;
  for (int64_t i = 0; i < packets; ++i) {
    for (size_t h = 0; h < senders; ++h) {
      Packet packet;
      packet.bytes = kPacket;
      packet.priority = kClass;
      packet.flow = static_cast<FlowId>(h);
      packet.src = static_cast<HostId>(h);
      packet.dst = static_cast<HostId>(senders);
      packet.seq = static_cast<uint32_t>(i);
      packet.data.payload = 4'086;
      offers.push_back({Time{} + 1_us + 332_ns * (i + 1), static_cast<PortIndex>(h), packet});
    }
  }
  return offers;
}

// Counts of the packets that the receiver of an incast sees.
struct Seen {
  int64_t whole = 0;
  int64_t headers = 0;
  Time last_whole;
  Time last_header;
};

Seen SeenAt(const SwitchBench& bench, PortIndex port) {
  Seen seen;
  for (const Packet& packet : bench.received(port)) {
    const bool is_header = packet.Has(Packet::kTrimmed);
    ++(is_header ? seen.headers : seen.whole);
    (is_header ? seen.last_header : seen.last_whole) = packet.arrival;
    EXPECT_EQ(packet.bytes, is_header ? 64 : kPacket);
    EXPECT_EQ(packet.priority, is_header ? 0 : kClass);
    EXPECT_EQ(packet.data.payload, is_header ? 0 : 4'086);
    EXPECT_EQ(packet.Has(Packet::kCutAtLastHop), is_header);
    EXPECT_EQ(packet.hops, 1);
  }
  return seen;
}

struct Row {
  size_t senders;
  int64_t packets;
  int64_t whole;
  int64_t trimmed;
  int64_t header_peak;
  Duration last_whole;
  Duration last_header;
};
constexpr Row kRows[] = {
    {2, 20, 40, 0, 0, 15'612'000_ps, 0_ps},
    {8, 6, 48, 0, 0, 18'268'000_ps, 0_ps},
    {8, 7, 49, 7, 448, 18'635'840_ps, 4'359'840_ps},
    {8, 20, 60, 100, 896, 22'764'000_ps, 8'820'000_ps},
    {8, 63, 98, 406, 896, 36'946'720_ps, 23'002'720_ps},
    {32, 63, 76, 1'940, 3'968, 37'496'800_ps, 23'220'800_ps},
};

void ExpectRow(const Row& row, Victim victim, bool eager) {
  SwitchBench bench(PlanOf(row.senders, Settings(victim), eager));
  bench.Run(Incast(row.senders, row.packets));
  const PortIndex out = static_cast<PortIndex>(row.senders);
  const Seen seen = SeenAt(bench, out);
  const TrimTotals& totals = bench.node().queued()->trimming().totals(out);
  EXPECT_EQ(seen.whole, row.whole);
  EXPECT_EQ(seen.headers, row.trimmed);
  EXPECT_EQ(seen.last_whole - Time{}, row.last_whole);
  EXPECT_EQ(seen.last_header - Time{}, row.last_header);
  EXPECT_EQ(totals.trimmed, row.trimmed);
  EXPECT_EQ(totals.header_peak, row.header_peak);
  EXPECT_EQ(totals.cut_bytes, row.trimmed * (kPacket - 64));
  EXPECT_EQ(totals.header_full, 0);
  if (victim == Victim::kNewest) {
    EXPECT_EQ(totals.trimmed_newest, row.trimmed);
  } else if (victim == Victim::kArriving) {
    EXPECT_EQ(totals.trimmed_newest, 0);
  } else {
    const double sigma = std::sqrt(static_cast<double>(row.trimmed)) / 2;
    EXPECT_NEAR(static_cast<double>(totals.trimmed_newest), static_cast<double>(row.trimmed) / 2,
                3 * sigma);
  }
}

// All packets have one size, so the victim changes no time.
TEST(TrimmingTest, AnIncastArrivesAsComputedByHand) {
  for (const Row& row : kRows) {
    for (const Victim victim : {Victim::kCoin, Victim::kArriving, Victim::kNewest}) {
      for (const bool eager : {false, true}) {
        SCOPED_TRACE(fmt::format("{} x {}, victim {}, eager {}", row.senders, row.packets,
                                 static_cast<int>(victim), eager));
        ExpectRow(row, victim, eager);
      }
    }
  }
}

// Every packet arrives whole or as a header, and the victim decides which: the newest packets in
// the queue come from early rounds, so cutting them hurts low numbers.
TEST(TrimmingTest, TheVictimDecidesWhichPacketsArriveWhole) {
  std::map<Victim, int64_t> first_lost;
  for (const Victim victim : {Victim::kArriving, Victim::kNewest}) {
    SwitchBench bench(PlanOf(8, Settings(victim), false));
    bench.Run(Incast(8, 20));
    std::map<std::pair<FlowId, uint32_t>, int> copies;
    int64_t sum = 0;
    for (const Packet& packet : bench.received(8)) {
      ++copies[{packet.flow, packet.seq}];
      if (packet.Has(Packet::kTrimmed)) sum += packet.seq;
    }
    EXPECT_EQ(copies.size(), 160u);
    first_lost[victim] = sum;
  }
  EXPECT_LT(first_lost[Victim::kNewest], first_lost[Victim::kArriving]);
}

// The newest packet that waits is cut, however many wait; without one, the packet that arrives. The
// threshold has room for the packet being sent and those that wait.
TEST(TrimmingTest, TheNewestIsTheOneThatWaits) {
  for (const int64_t waiting : {0, 1, 2}) {
    SwitchPlan plan = PlanOf(1, Settings(Victim::kNewest), false);
    plan.trim.threshold = kPacket * (waiting + 1);
    SwitchBench bench(plan);
    std::vector<Offer> offers = Incast(1, waiting + 2);
    for (Offer& offer : offers) offer.at = Time{} + 2_us + 1_ns * offer.packet.seq;
    bench.Run(offers);
    const TrimTotals& totals = bench.node().queued()->trimming().totals(1);
    EXPECT_EQ(totals.trimmed, 1);
    EXPECT_EQ(totals.trimmed_newest, waiting > 0 ? 1 : 0);
    for (const Packet& packet : bench.received(1)) {
      const uint32_t cut = static_cast<uint32_t>(waiting > 0 ? waiting : 1);
      EXPECT_EQ(packet.Has(Packet::kTrimmed), packet.seq == cut);
    }
  }
}

// Two packets come at once to an idle port with room for one. The first is cut, as the second takes
// its place, and its header of 64 bytes goes first.
TEST(TrimmingTest, TheHeaderGoesBeforeThePacketThatTakesItsPlace) {
  for (const bool eager : {false, true}) {
    SwitchPlan plan = PlanOf(2, Settings(Victim::kNewest), eager);
    plan.trim.threshold = kPacket;
    SwitchBench bench(plan);
    bench.Run(Incast(2, 1));
    ASSERT_EQ(bench.received(2).size(), 2u);
    const Packet& header = bench.received(2)[0];
    const Packet& whole = bench.received(2)[1];
    EXPECT_TRUE(header.Has(Packet::kTrimmed));
    EXPECT_EQ(header.flow, 0u);
    EXPECT_EQ(header.arrival, Time{} + 2'332_ns + 5'120_ps);
    EXPECT_EQ(whole.flow, 1u);
    EXPECT_EQ(whole.arrival, header.arrival + 332_ns);
  }
}

// Two packets fill the port. A third one comes when the first has left, after 332 ns, or before.
TEST(TrimmingTest, APacketThatHasLeftMakesRoom) {
  for (const bool eager : {false, true}) {
    for (const Duration later : {331_ns, 332_ns}) {
      SwitchPlan plan = PlanOf(1, Settings(Victim::kArriving), eager);
      plan.trim.threshold = 2 * kPacket;
      SwitchBench bench(plan);
      std::vector<Offer> offers = Incast(1, 3);
      offers[0].at = offers[1].at = Time{} + 2_us;
      offers[2].at = Time{} + 2_us + later;
      bench.Run(offers);
      EXPECT_EQ(SeenAt(bench, 1).whole, later < 332_ns ? 2 : 3);
    }
  }
}

TEST(TrimmingTest, HeadersBeyondTheLimitAreDropped) {
  for (const auto& [packets, some] : {std::pair(7, false), std::pair(20, true)}) {
    SwitchPlan plan = PlanOf(8, Settings(Victim::kArriving), false);
    plan.trim.headers = 448;
    SwitchBench bench(plan);
    bench.Run(Incast(8, packets));
    const TrimTotals& totals = bench.node().queued()->trimming().totals(8);
    EXPECT_EQ(totals.header_full > 0, some);
    EXPECT_EQ(bench.node().drops(DropReason::kTrimFull), totals.header_full);
    EXPECT_EQ(SeenAt(bench, 8).headers, totals.trimmed - totals.header_full);
    EXPECT_LE(totals.header_peak, 448);
  }
}

TEST(TrimmingTest, HeadersBeyondTheLimitReturnToTheirSenders) {
  TrimSettings settings = Settings(Victim::kArriving);
  settings.overflow = TrimSettings::Overflow::kBack;
  SwitchPlan plan = PlanOf(8, settings, false);
  plan.trim.headers = 448;
  SwitchBench bench(plan);
  bench.Run(Incast(8, 20));
  const TrimTotals& totals = bench.node().queued()->trimming().totals(8);
  EXPECT_GT(totals.returned, 0);
  EXPECT_EQ(bench.node().drops(DropReason::kTrimFull), 0);
  int64_t returned = 0;
  for (PortIndex h = 0; h < 8; ++h) {
    for (const Packet& packet : bench.received(h)) {
      ++returned;
      EXPECT_EQ(packet.kind, PacketKind::kNack);
      EXPECT_TRUE(packet.Has(Packet::kTrimmed));
      EXPECT_EQ(packet.flow, h);
      EXPECT_EQ(packet.dst, h);
      EXPECT_EQ(packet.src, 8);
      EXPECT_LT(packet.nack.trigger, 20u);
    }
  }
  EXPECT_EQ(returned, totals.returned);
  EXPECT_EQ(SeenAt(bench, 8).headers + returned, totals.trimmed);
}

// A shared buffer is charged for whole packets only: SwitchBench checks its books.
TEST(TrimmingTest, ACutFreesTheSharedBuffer) {
  for (const Victim victim : {Victim::kArriving, Victim::kNewest}) {
    TrimSettings settings = Settings(victim);
    settings.when = TrimSettings::When::kAdmission;
    SwitchPlan plan = PlanOf(8, settings, true);
    plan.trim.threshold = kUnlimited;
    plan.queueing.memory = {
        .model = MemorySettings::Model::kDynamic, .size = 400'000, .alpha = 0.5};
    SwitchBench bench(plan);
    bench.Run(Incast(8, 20));
    const Seen seen = SeenAt(bench, 8);
    EXPECT_GT(seen.headers, 0);
    EXPECT_EQ(seen.whole + seen.headers, 160);
    EXPECT_EQ(bench.node().queued()->BytesInMemory(kNever), 0);
  }
}

// Above the mark every packet is cut rather than marked.
TEST(TrimmingTest, CutsWhereItWouldMark) {
  TrimSettings settings = Settings(Victim::kArriving);
  settings.when = TrimSettings::When::kMark;
  SwitchPlan plan = PlanOf(8, settings, false);
  plan.trim.threshold = kUnlimited;
  plan.trim.marking = {.above = kThreshold, .all = kThreshold};
  SwitchBench bench(plan);
  bench.Run(Incast(8, 20));
  const Seen seen = SeenAt(bench, 8);
  EXPECT_EQ(seen.whole, 60);
  EXPECT_EQ(seen.headers, 100);
}

// Datagrams cannot be trimmed, so a full port drops them. The 100 headers of the table would have
// taken 512 ns of the link, in which one or two more packets fit.
TEST(TrimmingTest, OtherPacketsAreDropped) {
  std::vector<Offer> offers = Incast(8, 20);
  for (Offer& offer : offers) offer.packet.kind = PacketKind::kDatagram;
  SwitchPlan plan = PlanOf(8, Settings(Victim::kArriving), false);
  for (SharedMemory::Port& share : plan.shares) share.buffer = kThreshold;
  SwitchBench bench(plan);
  bench.Run(offers);
  EXPECT_EQ(bench.node().drops(DropReason::kTail), 98);
  EXPECT_EQ(SeenAt(bench, 8).whole, 62);
}

// --- One switch's books ---

TrimLimits Limits(int64_t threshold, Marking marking = {}) {
  return {.threshold = threshold, .headers = 500, .marking = marking};
}

TEST(TrimmingBooksTest, CutAboveTheThresholdOrTheMarkOrOnlyOnRefusal) {
  using When = TrimSettings::When;
  const std::vector<TrimLimits> ports = {Limits(1'000, {.above = 300, .all = 300}),
                                         Limits(2'000, {.above = 400, .all = 400})};
  const auto cuts = [&](When when, PortIndex port, int64_t length) {
    Trimming trimming({.when = when}, ports, 1, 0);
    EXPECT_EQ(trimming.limits(port).threshold, ports[port].threshold);
    EXPECT_EQ(trimming.limits(port).headers, 500);
    return trimming.Cuts(port, length);
  };
  for (const PortIndex port : {PortIndex{0}, PortIndex{1}}) {
    const int64_t threshold = port == 0 ? 1'000 : 2'000;
    const int64_t mark = port == 0 ? 300 : 400;
    EXPECT_FALSE(cuts(When::kPort, port, threshold));
    EXPECT_TRUE(cuts(When::kPort, port, threshold + 1));
    EXPECT_FALSE(cuts(When::kMark, port, mark));
    EXPECT_TRUE(cuts(When::kMark, port, mark + 1));
    for (const When when : {When::kAdmission, When::kOff}) EXPECT_FALSE(cuts(when, port, 9'000));
  }
}

// Each port of each switch tosses a coin of its own: 1000 tosses, within 4 deviations of 16.
TEST(TrimmingBooksTest, TheCoinIsFairAndOfThePort) {
  std::vector<std::vector<bool>> tosses;
  for (const uint64_t seed : {1u, 2u}) {
    for (const uint64_t id : {0u, 1u, 2u}) {
      Trimming trimming(Settings(Victim::kCoin), std::vector(3, Limits(0)), seed, id);
      for (PortIndex port = 0; port < 3; ++port) {
        std::vector<bool>& its = tosses.emplace_back();
        for (int i = 0; i < 1'000; ++i) its.push_back(trimming.CutsNewest(port));
        EXPECT_NEAR(static_cast<double>(std::ranges::count(its, true)), 500, 64);
      }
    }
  }
  for (size_t a = 0; a < tosses.size(); ++a) {
    for (size_t b = 0; b < a; ++b) EXPECT_NE(tosses[a], tosses[b]) << a << " and " << b;
  }
  Trimming newest(Settings(Victim::kNewest), {Limits(0)}, 1, 0);
  Trimming arriving(Settings(Victim::kArriving), {Limits(0)}, 1, 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(newest.CutsNewest(0));
    EXPECT_FALSE(arriving.CutsNewest(0));
  }
}

// A packet shorter than a header keeps its length.
TEST(TrimmingBooksTest, AHeaderKeepsAllButThePayloadAndIsCounted) {
  Trimming trimming(Settings(Victim::kCoin), std::vector(2, Limits(0)), 1, 0);
  Packet whole;
  whole.priority = kClass;
  whole.flow = 7;
  whole.seq = 9;
  whole.Set(Packet::kEct);
  int64_t cut = 0;
  for (const uint16_t bytes : std::vector<uint16_t>{60, 64, 65, 4'150}) {
    for (const bool queued : {false, true}) {
      whole.bytes = bytes;
      whole.data.payload = 10;
      const Packet header = trimming.HeaderOf(whole, 1, queued, queued);
      EXPECT_EQ(header.bytes, std::min<uint16_t>(bytes, 64));
      EXPECT_EQ(header.priority, 0);
      EXPECT_EQ(header.data.payload, 0);
      EXPECT_EQ(header.flow, 7u);
      EXPECT_EQ(header.seq, 9u);
      EXPECT_TRUE(header.Has(Packet::kTrimmed) && header.Has(Packet::kEct));
      EXPECT_EQ(header.Has(Packet::kCutAtLastHop), queued);
      cut += bytes - header.bytes;
    }
  }
  EXPECT_EQ(trimming.totals(1).trimmed, 8);
  EXPECT_EQ(trimming.totals(1).trimmed_newest, 4);
  EXPECT_EQ(trimming.totals(1).cut_bytes, cut);
  EXPECT_EQ(cut, 2 * (1 + 4'086));
  EXPECT_EQ(trimming.totals(0).trimmed, 0);
  EXPECT_FALSE(trimming.totals(0).was_down);
  EXPECT_TRUE(trimming.MayCut(whole));
  whole.priority = kClass - 1;
  EXPECT_FALSE(trimming.MayCut(whole));
  whole.priority = kClass;
  whole.kind = PacketKind::kDatagram;
  EXPECT_FALSE(trimming.MayCut(whole));
}

}  // namespace heddle::trimming_test
