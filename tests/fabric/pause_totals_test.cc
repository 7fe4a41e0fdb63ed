// SPDX-License-Identifier: Apache-2.0
// How long the links of a switch are paused (PFC), and how long packets wait because of it, against
// what the frames and the policy's hooks tell.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "fabric/pause_log.h"
#include "fabric/queued_ports.h"
#include "tests/support/noting_policy.h"
#include "tests/support/switch_bench.h"
#include "tests/support/traces.h"

namespace heddle::pause_totals_test {

constexpr Duration kDelay = 1_us;
constexpr size_t kPorts = 3;

using Spans = std::vector<std::pair<Time, Time>>;  // From, to.

// The time in which at least one of the spans is.
Duration LengthOf(Spans spans) {
  std::ranges::sort(spans);
  Duration length{0};
  Time counted;
  for (const auto& [from, to] : spans) {
    if (to <= counted) continue;
    length += to - std::max(from, counted);
    counted = to;
  }
  return length;
}

// When `port` has paused a class, as the frames tell it. `lasts` is 0 if pauses do not expire.
Spans PausesOf(const std::vector<Offer>& sorted, PortIndex port, size_t cls, Duration response,
               Duration lasts) {
  Spans pauses;
  Time from = kNever;
  Time until = kNever;
  for (const Offer& offer : sorted) {
    const auto& [classes, stop] = offer.packet.pause;
    const bool is_meant = offer.packet.kind == PacketKind::kPause && offer.in == port;
    if (!is_meant || (classes >> cls & 1) == 0) continue;
    const Time now = offer.at + response;
    if (from != kNever && until < now) pauses.emplace_back(std::exchange(from, kNever), until);
    if (!stop && from != kNever) pauses.emplace_back(std::exchange(from, kNever), now);
    if (!stop) continue;
    if (from == kNever) from = now;
    until = lasts > Duration{0} ? now + lasts : kNever;
  }
  EXPECT_EQ(from, kNever);
  return pauses;
}

// The parts of the pauses in which packets wait. Those that wait when a pause begins, or that come
// in the meantime, wait to its end.
Spans BlockedIn(const Spans& pauses, const std::map<Time, int>& changes) {
  Spans blocked;
  for (const auto& [from, to] : pauses) {
    int waiting = 0;
    Time since = kNever;
    for (const auto& [at, change] : changes) {
      waiting += change;
      if (at >= to || since != kNever) break;
      const auto next = changes.upper_bound(at);
      const bool lasts_into_it = next == changes.end() || next->first > from;
      if (waiting > 0 && lasts_into_it) since = std::max(at, from);
    }
    if (since != kNever) blocked.emplace_back(since, to);
  }
  return blocked;
}

// A policy is asked within a pause, unless that begins or ends at the same instant.
void ExpectPaused(const Seen& asked,
                  const std::map<std::pair<PortIndex, size_t>, Spans>& pauses_of) {
  for (const auto& [of, pauses] : pauses_of) {
    if (of.first != asked.out) continue;
    bool is_paused = false;
    bool is_sure = true;
    for (const auto& [from, to] : pauses) {
      is_paused |= from < asked.at && asked.at < to;
      is_sure &= asked.at != from && asked.at != to;
    }
    if (is_sure) {
      EXPECT_EQ((asked.paused >> of.second & 1) != 0, is_paused);
    }
  }
}

// Compares the sums of each port, and its log of pauses.
TEST(PauseTotalsTest, AreThoseOfFramesAndWaitingPackets) {
  Duration all_blocked{0};
  int64_t sent = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "test", 2);
    SwitchPlan plan =
        EqualPorts(kPorts, {.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 0_B},
                   {.classes = 0b1011, .queues_control = seed % 3 == 0, .marking = {}});
    plan.queueing.eager = seed % 5 == 0;
    plan.queueing.pause.response = seed % 4 < 2 ? Duration{0} : 300_ns;
    plan.queueing.pause.quanta = seed % 8 < 4 ? 0 : 20;  // Of 51.2 ns.
    if (seed % 2 == 0) {
      plan.queueing.memory = {.model = MemorySettings::Model::kDynamic,
                              .size = 6'000,
                              .alpha = 0.5,
                              .lossless = 0b1000};
    }
    const bool on_grid = rng.Below(2) == 0;
    std::vector<Offer> offers = RandomTrace(
        {.ports = kPorts, .classes = 0b1011, .pausable = 0b1010, .on_grid = on_grid, .load = 2},
        rng);
    std::vector<Seen> seen;
    SwitchBench bench(plan, 1_us, std::make_unique<Noting>(seen, kAllHooks));
    QueuedPorts& queued = *bench.node().queued();
    PauseLog& log = queued.LogPauses();
    bench.Run(offers);
    SortOffers(offers);
    std::map<uint32_t, uint8_t> class_of;
    for (const Offer& offer : offers) {
      if (offer.packet.kind != PacketKind::kData) continue;
      class_of[offer.packet.seq] = offer.packet.priority;
    }
    const Time end = offers.back().at + 100_us;
    std::multiset<std::tuple<PortIndex, size_t, Time, Time, Duration>> logged;
    for (const PauseInterval& its : log.ended()) {
      logged.emplace(its.port, its.cls, its.start, its.end, its.blocked);
    }
    std::multiset<std::tuple<PortIndex, size_t, Time, Time, Duration>> expected;
    std::map<std::pair<PortIndex, size_t>, Spans> pauses_of;
    int64_t frames = 0;
    for (PortIndex port = 0; port < kPorts; ++port) {
      Spans paused;
      Spans blocked;
      for (const size_t cls : {size_t{1}, size_t{3}}) {
        std::map<Time, int> changes;
        for (const Seen& s : seen) {
          if (s.port != port || s.hook == kAsked || class_of[s.seq] != cls) continue;
          if (s.hook == SwitchPolicy::kEnqueue) ++changes[s.at];
          if (s.hook == SwitchPolicy::kTransmit) --changes[s.at];
        }
        const Spans pauses = PausesOf(offers, port, cls, plan.queueing.pause.response,
                                      51'200_ps * plan.queueing.pause.quanta);
        pauses_of[{port, cls}] = pauses;
        for (const auto& span : pauses) {
          const Spans its = BlockedIn({span}, changes);
          expected.emplace(port, cls, span.first, span.second, LengthOf(its));
          paused.push_back(span);
          blocked.insert(blocked.end(), its.begin(), its.end());
        }
      }
      const PauseTotals totals = queued.PausesOf(port, end);
      EXPECT_EQ(totals.paused, LengthOf(paused));
      EXPECT_EQ(totals.blocked, LengthOf(blocked));
      all_blocked += totals.blocked;
      const auto is = [](bool stop) {
        return [stop](const Packet& packet) {
          return packet.kind == PacketKind::kPause && packet.pause.stop == stop;
        };
      };
      EXPECT_EQ(totals.pauses_sent, std::ranges::count_if(bench.received(port), is(true)));
      EXPECT_EQ(totals.resumes_sent, std::ranges::count_if(bench.received(port), is(false)));
      frames += totals.pauses_sent + totals.resumes_sent;
      const auto got = [&](bool stop) {
        return std::ranges::count_if(
            offers, [&](const Offer& offer) { return offer.in == port && is(stop)(offer.packet); });
      };
      EXPECT_EQ(totals.pauses, got(true));
      EXPECT_EQ(totals.resumes, got(false));
    }
    EXPECT_EQ(logged, expected);
    for (const Seen& s : seen) {
      if (s.hook == kAsked) ExpectPaused(s, pauses_of);
    }
    EXPECT_EQ(frames, queued.frames_sent());
    sent += frames;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(all_blocked, 100_us);
  EXPECT_GT(sent, 50);
}

// The pause of a link ends when the link fails, and nothing waits any more.
TEST(PauseTotalsTest, EndWithTheLink) {
  for (const bool eager : {false, true}) {
    SwitchPlan plan = EqualPorts(2, {.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 0_B},
                                 {.classes = 0b10, .marking = {}});
    plan.queueing.eager = eager;
    SwitchBench bench(plan);
    PauseLog& log = bench.node().queued()->LogPauses();
    bench.Run({{Time{} + 10_us, 0, PauseOf(0b10, true)}, {Time{} + 12_us, 1, PacketOf(125, 1, 0)}},
              {{Time{} + 15_us, [](Switch& node, Time now) { Fail(node, 0, now); }}});
    const PauseTotals totals = bench.node().queued()->PausesOf(0, Time{} + 60_us);
    EXPECT_EQ(totals.paused, 5_us);
    EXPECT_EQ(totals.blocked, 3_us);
    ASSERT_EQ(log.ended().size(), 1u);
    EXPECT_EQ(log.ended()[0].end, Time{} + 15_us);
    EXPECT_EQ(log.ended()[0].blocked, 3_us);
  }
}

}  // namespace heddle::pause_totals_test
