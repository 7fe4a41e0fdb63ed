// SPDX-License-Identifier: Apache-2.0
// A switch shows its policy packets, and tells hosts of those that it drops. These tests expect the
// same calls at every kind of port, and whatever other hooks the policy has.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check.h"
#include "fabric/ecmp_hash.h"
#include "tests/support/noting_policy.h"
#include "tests/support/printers.h"
#include "tests/support/switch_bench.h"
#include "tests/support/traces.h"

namespace heddle::switch_hooks_test {

constexpr Duration kDelay = 1_us;
constexpr size_t kPorts = 3;

struct Outcome {
  std::vector<Seen> seen;
  std::vector<std::tuple<PortIndex, Time, uint32_t, Form, uint16_t, uint8_t>>
      received;  // Size, flags.
  std::vector<std::tuple<PortIndex, Time, uint32_t>> notices;
  std::array<int64_t, kDropReasons> drops = {};
  TrimTotals trims;

  bool operator==(const Outcome& other) const {
    return received == other.received && notices == other.notices && drops == other.drops;
  }
  int64_t dropped() const {
    int64_t sum = 0;
    for (const int64_t count : drops) sum += count;
    return sum;
  }
};

Outcome OutcomeOf(const SwitchPlan& plan, uint32_t hooks, const std::vector<Offer>& offers,
                  const std::vector<SwitchBench::Action>& actions = {}, bool says_so = false) {
  Outcome outcome;
  SwitchBench bench(plan, 1_us, std::make_unique<Noting>(outcome.seen, hooks, says_so));
  bench.Run(offers, actions);
  for (PortIndex port = 0; port < kPorts; ++port) {
    for (const Packet& packet : bench.received(port)) {
      if (packet.kind == PacketKind::kPause) continue;
      outcome.received.emplace_back(port, packet.arrival, SeqOf(packet), FormOf(packet),
                                    packet.bytes, packet.flags);
      EXPECT_EQ(packet.entropy, (hooks & SwitchPolicy::kEnqueue) != 0 ? 77 : 0);
      EXPECT_EQ(packet.path, (hooks & SwitchPolicy::kTransmit) != 0 ? 33 : kNoPath);
    }
    for (const DropNotice& notice : bench.notices(port)) {
      outcome.notices.emplace_back(port, notice.at, notice.tx_id);
    }
    if (bench.node().queued() == nullptr || !bench.node().queued()->trims()) continue;
    const TrimTotals& totals = bench.node().queued()->trimming().totals(port);
    outcome.trims.trimmed += totals.trimmed;
    outcome.trims.trimmed_newest += totals.trimmed_newest;
    outcome.trims.header_full += totals.header_full;
    outcome.trims.returned += totals.returned;
  }
  std::ranges::sort(outcome.notices);
  for (size_t r = 0; r < kDropReasons; ++r) {
    outcome.drops[r] = bench.node().drops(static_cast<DropReason>(r));
  }
  return outcome;
}

std::vector<Offer> TraceOf(const TraceRule& rule, Rng& rng) {
  std::vector<Offer> offers = RandomTrace(rule, rng);
  for (Offer& offer : offers) {
    if (offer.packet.kind == PacketKind::kData) offer.packet.data.tx_id = offer.packet.seq;
  }
  return offers;
}

std::vector<Seen> Only(uint32_t hooks, const std::vector<Seen>& all) {
  std::vector<Seen> some;
  for (const Seen& seen : all) {
    if (seen.hook == kAsked || (hooks & seen.hook) != 0) some.push_back(seen);
  }
  return some;
}

// Expects the same of a switch whose policy has all hooks, which is returned, and one that lacks
// some or all of them, whether it says that it only stamps packets or not.
Outcome ExpectAlikeWithAnyHooks(const SwitchPlan& plan, const std::vector<Offer>& offers,
                                const std::vector<SwitchBench::Action>& actions = {}) {
  const Outcome all = OutcomeOf(plan, kAllHooks, offers, actions);
  for (const uint32_t hooks : {0u, 2u, 4u, 8u, 12u, kAllHooks}) {
    for (const bool says_so : {false, true}) {
      const Outcome some = OutcomeOf(plan, hooks, offers, actions, says_so);
      EXPECT_EQ(some.seen, Only(hooks, all.seen)) << hooks;
      EXPECT_TRUE(some == all) << hooks;
    }
  }
  return all;
}

// --- FIFO ports, and queued ones of one class ---

// Links fail, come up, and get other rates, often at instants at which transmissions start.
std::vector<SwitchBench::Action> LinkChanges(Rng& rng) {
  std::vector<SwitchBench::Action> actions;
  Time at = Time{} + 1_us;
  for (int i = 0; i < 30; ++i) {
    at += 100_ns * static_cast<int64_t>(1 + rng.Below(60));
    const PortIndex port = static_cast<PortIndex>(rng.Below(kPorts));
    const BitRate rate = rng.Below(2) == 0 ? 10_Gbps : 5_Gbps;
    const uint32_t what = rng.Below(3);
    actions.emplace_back(at, [port, rate, what](Switch& node, Time now) {
      const bool is_down = node.ports()[port].is_down();
      if (what == 0 && !is_down) return Fail(node, port, now);
      if (what == 1 && is_down) return node.BringUp(port, now);
      node.SetChannel(port, now, rate, kDelay);
    });
  }
  return actions;
}

TEST(SwitchHooksTest, AreCalledAlikeAtFifoAndQueuedPorts) {
  int64_t full = 0;
  int64_t down = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "test", 0);
    SwitchPlan plan = EqualPorts(kPorts,
                                 {.rate = 10_Gbps,
                                  .delay = kDelay,
                                  .wire_overhead = 0_B,
                                  .buffer = 6'000,
                                  .mark_above = 4'000},
                                 {.classes = 0b10, .marking = {.above = 4'000, .all = 4'000}});
    const std::vector<Offer> offers =
        TraceOf({.ports = kPorts, .classes = 0b10, .on_grid = seed % 2 == 0, .packets = 300}, rng);
    const auto actions = seed < 6 ? std::vector<SwitchBench::Action>() : LinkChanges(rng);
    const Outcome late = ExpectAlikeWithAnyHooks(plan, offers, actions);
    plan.queueing.eager = true;
    const Outcome eager = ExpectAlikeWithAnyHooks(plan, offers, actions);
    plan.fifo = true;
    const Outcome fifo = ExpectAlikeWithAnyHooks(plan, offers, actions);
    EXPECT_TRUE(fifo == late && fifo == eager);
    EXPECT_EQ(fifo.seen, late.seen);
    EXPECT_EQ(fifo.seen, eager.seen);
    full += fifo.drops[static_cast<size_t>(DropReason::kTail)];
    down += fifo.drops[static_cast<size_t>(DropReason::kLinkDown)];
  }
  EXPECT_GT(full, 50);
  EXPECT_GT(down, 100);
}

// --- Any queues ---

SwitchPlan RandomPlan(Rng& rng) {
  const auto one_in = [&](uint32_t n) { return rng.Below(n) == 0; };
  SwitchPlan plan =
      EqualPorts(kPorts, {.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 20_B, .buffer = 6'000},
                 {.classes = 0b1011,
                  .scheduler = Scheduler::kStrict,
                  .queues_control = one_in(2),
                  .marking = {}});
  plan.queueing.eager = one_in(3);
  if (one_in(2)) {
    plan.queueing.memory = {.model = MemorySettings::Model::kDynamic, .size = 12'000};
  }
  if (one_in(4)) return plan;
  using enum TrimSettings::When;
  constexpr TrimSettings::When kWhen[] = {kPort, kAdmission, kMark};
  plan.queueing.trim = {.when = kWhen[rng.Below(3)],
                        .victim = static_cast<TrimSettings::Victim>(rng.Below(3)),
                        .overflow = static_cast<TrimSettings::Overflow>(rng.Below(2)),
                        .classes = 0b1010,
                        .header = static_cast<uint16_t>(one_in(2) ? 64 : 200)};
  plan.trim = {.threshold = one_in(3) ? 1'000 : 3'000,
               .headers = one_in(3) ? kUnlimited : 700,
               .marking = {}};
  plan.trim.marking = {.above = 2'000, .all = 4'000, .at_all = 0.5};
  return plan;
}

// How often a hook has been called for a packet, or the packet has been received.
using Calls = std::map<std::tuple<uint32_t, uint32_t, Form>, int>;

// Every packet that comes is enqueued or dropped. Every packet or header that is enqueued leaves
// once, unless it is cut while it waits, and is received. A source is told once of each packet that
// does not go on whole.
void ExpectEveryPacketAccountedFor(const Outcome& outcome, const std::vector<Offer>& offers,
                                   uint16_t header) {
  constexpr uint32_t kReceived = 1;
  using enum Form;
  Calls calls;
  for (const Seen& seen : outcome.seen) ++calls[{seen.hook, seen.seq, seen.form}];
  std::map<uint32_t, uint16_t> sizes;
  for (const Offer& offer : offers) {
    if (offer.packet.kind == PacketKind::kData) sizes[offer.packet.seq] = offer.packet.bytes;
  }
  for (const auto& [port, at, seq, form, bytes, flags] : outcome.received) {
    ++calls[{kReceived, seq, form}];
    EXPECT_EQ(bytes, form == kWhole ? sizes[seq] : std::min(sizes[seq], header));
  }
  std::map<std::pair<PortIndex, uint32_t>, int> told;
  for (const auto& [source, at, tx_id] : outcome.notices) ++told[{source, tx_id}];
  int64_t offered = 0;
  int64_t cut_in_queue = 0;
  int64_t small = 0;  // Headers that arrived, or went back as far as to the port.
  int64_t returned = 0;
  int64_t full = 0;  // Packets of class 0 that a port dropped.
  for (const Offer& offer : offers) {
    if (offer.packet.kind == PacketKind::kPause) continue;
    ++offered;
    const uint32_t seq = offer.packet.seq;
    const auto count = [&](uint32_t hook, Form form) { return calls[{hook, seq, form}]; };
    ASSERT_EQ(count(SwitchPolicy::kEnqueue, kWhole) + count(SwitchPolicy::kDropped, kWhole), 1);
    ASSERT_EQ(count(SwitchPolicy::kTransmit, kWhole), count(kReceived, kWhole));
    const int enqueued_in_vain = count(SwitchPolicy::kEnqueue, kWhole) - count(kReceived, kWhole);
    ASSERT_GE(enqueued_in_vain, 0);
    cut_in_queue += enqueued_in_vain;
    for (const Form form : {kHeader, kReturned}) {
      ASSERT_EQ(count(SwitchPolicy::kEnqueue, form), count(kReceived, form));
      ASSERT_EQ(count(SwitchPolicy::kTransmit, form), count(kReceived, form));
      small += count(kReceived, form);
    }
    returned += count(kReceived, kReturned) + count(SwitchPolicy::kDropped, kReturned);
    small += count(SwitchPolicy::kDropped, kReturned);
    full += offer.packet.priority == 0 ? count(SwitchPolicy::kDropped, kWhole) : 0;
    full += count(SwitchPolicy::kDropped, kReturned);
    ASSERT_EQ((told[{offer.packet.src, seq}]), 1 - count(kReceived, kWhole));
  }
  EXPECT_EQ(outcome.dropped(), offered - std::ssize(outcome.received));
  const int64_t headers_lost = outcome.drops[static_cast<size_t>(DropReason::kTrimFull)] - full;
  EXPECT_EQ(outcome.trims.trimmed, small + headers_lost);
  EXPECT_EQ(outcome.trims.trimmed_newest, cut_in_queue);
  EXPECT_EQ(outcome.trims.returned, returned);
  EXPECT_EQ(outcome.trims.header_full, headers_lost + full);
}

TEST(SwitchHooksTest, AccountForEveryPacketAtQueuedPorts) {
  TrimTotals all;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "test", 1);
    const SwitchPlan plan = RandomPlan(rng);
    const std::vector<Offer> offers =
        TraceOf({.ports = kPorts,
                 .classes = 0b1011,
                 .pausable = static_cast<uint8_t>(rng.Below(2) == 0 ? 0 : 0b1010),
                 .on_grid = rng.Below(2) == 0,
                 .load = seed % 3 == 0 ? 0.6 : 3,
                 .packets = 200},
                rng);
    const Outcome outcome = ExpectAlikeWithAnyHooks(plan, offers);
    ExpectEveryPacketAccountedFor(outcome, offers, plan.queueing.trim.header);
    if (testing::Test::HasFailure()) return;
    all.trimmed += outcome.trims.trimmed;
    all.trimmed_newest += outcome.trims.trimmed_newest;
    all.header_full += outcome.trims.header_full;
    all.returned += outcome.trims.returned;
  }
  EXPECT_GT(all.trimmed, 100);
  EXPECT_GT(all.trimmed_newest, 100);
  EXPECT_GT(all.header_full, 100);
  EXPECT_GT(all.returned, 50);
}

// Breaks its own word: OnEnqueue() also sends a packet.
class Answering final : public SwitchPolicy {
 public:
  bool enqueue_only_stamps() const override { return true; }
  Decision OnPacket(SwitchView&, const Packet&, PortIndex, const Candidates& c) override {
    return Decision::Forward(c.ports.front());
  }
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    if (packet.kind != PacketKind::kData) return;
    Packet answer = PacketOf(64, 0, port);
    answer.kind = PacketKind::kControl;
    view.SendControl(answer, port);
  }
  size_t StateBytes() const override { return 0; }
};

TEST(SwitchHooksDeathTest, APolicyThatSaysItOnlyStampsMayNotSend) {
  const SwitchPlan plan =
      EqualPorts(kPorts, {.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 0_B},
                 {.classes = 0b11, .marking = {}});
  SwitchBench bench(plan, 1_us, std::make_unique<Answering>());
  EXPECT_EXIT(bench.Run({{Time{} + 2_us, 1, PacketOf(1'000, 1, 0)}}),
              testing::ExitedWithCode(kExitBrokenInvariant),
              "sends from OnEnqueue\\(\\), but its enqueue_only_stamps\\(\\) is true");
}

// --- ECMP, whose ports the switch chooses itself ---

class Hashing final : public SwitchPolicy {
 public:
  explicit Hashing(bool tells) : tells_(tells) {}
  std::optional<uint64_t> ecmp_salt() const override {
    return tells_ ? std::optional<uint64_t>(5) : std::nullopt;
  }
  Decision OnPacket(SwitchView&, const Packet& packet, PortIndex, const Candidates& c) override {
    return Decision::Forward(EcmpPort(packet, 5, c.ports));
  }
  size_t StateBytes() const override { return 0; }

 private:
  const bool tells_;
};

// Hosts 0 and 1 are behind all ports and behind two of them, host 2 behind the last one, and host 3
// behind none. Now and then a packet has gone in circles.
TEST(SwitchHooksTest, OfNoneAndASaltLeaveTheChoiceToTheSwitch) {
  std::array<int64_t, kDropReasons> drops = {};
  for (uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "test", 3);
    SwitchPlan plan = RandomPlan(rng);
    plan.fifo = seed % 4 == 0;
    plan.of_hosts = seed % 5 == 0;  // Then hosts 0 and 1 have several links, which are no choice.
    plan.queueing.eager = false;
    plan.queueing.pause.response = seed % 8 < 4 ? Duration{0} : 300_ns;
    std::vector<Offer> offers = TraceOf({.ports = kPorts,
                                         .classes = 0b1011,
                                         .pausable = static_cast<uint8_t>(plan.fifo ? 0 : 0b1010),
                                         .on_grid = seed % 2 == 0,
                                         .load = seed % 3 == 0 ? 0.8 : 2,
                                         .packets = 300},
                                        rng);
    for (Offer& offer : offers) {
      if (offer.packet.kind == PacketKind::kPause) continue;
      offer.packet.tuple_hash = rng.Below(1'000);
      offer.packet.hops = static_cast<uint8_t>(rng.Below(8) == 0 ? 62 + rng.Below(3) : 0);
      if (rng.Below(16) == 0) offer.packet.dst = 3;
    }
    RoutingTable routes;
    routes.sets = {{0, 3}, {1, 2}, {2, 1}, {0, 0}};
    routes.ports = {0, 1, 2};
    routes.SetSetsOfHosts(std::vector<uint16_t>{0, 1, 2, 3});
    const auto run = [&](bool tells) {
      SwitchBench bench(plan, 1_us, std::make_unique<Hashing>(tells));
      bench.node().SetRoutes(routes);
      bench.Run(offers);
      std::vector<std::tuple<PortIndex, Time, uint32_t, uint8_t>> received;
      for (PortIndex port = 0; port < kPorts; ++port) {
        for (const Packet& packet : bench.received(port)) {
          received.emplace_back(port, packet.arrival, packet.seq, packet.hops);
        }
      }
      std::array<int64_t, kDropReasons> lost = {};
      for (size_t r = 0; r < kDropReasons; ++r) {
        lost[r] = bench.node().drops(static_cast<DropReason>(r));
      }
      std::vector<std::tuple<Time, uint32_t, PortIndex>> notices;
      for (PortIndex port = 0; port < kPorts; ++port) {
        for (const DropNotice& n : bench.notices(port)) notices.emplace_back(n.at, n.tx_id, port);
      }
      std::ranges::sort(notices);
      return std::tuple(received, lost, notices, bench.node().asked(), bench.node().consumed());
    };
    const auto told = run(true);
    EXPECT_TRUE(told == run(false));
    int64_t asked = 0;
    for (const Offer& offer : offers) {
      const Packet& packet = offer.packet;
      const bool is_routed = packet.kind != PacketKind::kPause && packet.hops < kMaxHops;
      asked += is_routed && packet.dst < 2 && !plan.of_hosts ? 1 : 0;
    }
    if (plan.queueing.trim.overflow == TrimSettings::Overflow::kDrop) {
      EXPECT_EQ(std::get<3>(told), asked);
    }
    for (size_t r = 0; r < kDropReasons; ++r) drops[r] += std::get<1>(told)[r];
  }
  for (const DropReason reason : {DropReason::kTail, DropReason::kThreshold, DropReason::kLoop,
                                  DropReason::kNoRoute, DropReason::kTrimFull}) {
    EXPECT_GT(drops[static_cast<size_t>(reason)], 10) << static_cast<int>(reason);
  }
}

// A packet that comes while the link is down is dropped, of any class and at any port.
TEST(SwitchHooksTest, TellOfPacketsForALinkThatIsDown) {
  for (const bool fifo : {false, true}) {
    for (const bool trims : {false, true}) {
      for (const bool queues_control : {false, true}) {
        for (const uint8_t cls : {uint8_t{0}, uint8_t{1}}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", fifo, trims, queues_control, cls));
          SwitchPlan plan =
              EqualPorts(kPorts, {.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 0_B},
                         {.classes = 0b11, .queues_control = queues_control, .marking = {}});
          plan.fifo = fifo;
          if (trims) plan.queueing.trim = {.when = TrimSettings::When::kPort, .classes = 0b10};
          Packet packet = PacketOf(1'000, cls, 0);
          packet.src = 2;
          packet.data.tx_id = 5;
          const Time at = Time{} + 6_us;
          const Outcome outcome = ExpectAlikeWithAnyHooks(
              plan, {{at, 1, packet}},
              {{Time{} + 5_us, [](Switch& node, Time now) { Fail(node, 0, now); }}});
          EXPECT_TRUE(outcome.received.empty());
          EXPECT_EQ(outcome.dropped(), 1);
          EXPECT_EQ(outcome.drops[static_cast<size_t>(DropReason::kLinkDown)], 1);
          EXPECT_EQ(outcome.notices.size(), 1u);
          EXPECT_EQ(outcome.seen,
                    (std::vector<Seen>{{kAsked, at, 1, 0, Form::kWhole},
                                       {SwitchPolicy::kDropped, at, 0, 0, Form::kWhole}}));
        }
      }
    }
  }
}

}  // namespace heddle::switch_hooks_test
