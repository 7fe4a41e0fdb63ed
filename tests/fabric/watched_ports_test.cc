// SPDX-License-Identifier: Apache-2.0
// A policy that watches transmissions at queued ports is shown the same, late or eager, and at each
// port the same whether or not it needs an order over all ports.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/queued_ports.h"
#include "tests/support/printers.h"
#include "tests/support/switch_bench.h"
#include "tests/support/traces.h"

namespace heddle::watched_ports_test {

constexpr Duration kDelay = 1_us;

SwitchPlan PlanOf(uint8_t classes) {
  return EqualPorts(3, {.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 0_B},
                    {.classes = classes, .scheduler = Scheduler::kRoundRobin, .marking = {}});
}

class Watching final : public SwitchPolicy {
 public:
  static constexpr PortIndex kTimer = 0xffff;  // In place of a port.
  enum class Does : uint8_t { kLook, kSetTimers, kSend, kSendWhenEnqueued };
  struct Start {
    Time at;
    PortIndex port;
    Time arrival;
    uint16_t bytes;
    bool operator==(const Start&) const = default;
  };
  Watching(std::vector<Start>& seen, Does does) : seen_(seen), does_(does) {}
  Decision OnPacket(SwitchView&, const Packet&, PortIndex, const Candidates& c) override {
    return Decision::Forward(c.ports.front());
  }
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex) override {
    if (does_ == Does::kSendWhenEnqueued && packet.kind == PacketKind::kData) Send(view, packet);
  }
  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    seen_.push_back({view.now(), port, packet.arrival, packet.bytes});
    if (does_ == Does::kSetTimers) view.SetTimer(view.now(), packet.bytes);
    if (does_ == Does::kSend && packet.kind == PacketKind::kData) Send(view, packet);
  }
  void OnTimer(SwitchView& view, uint32_t id) override {
    seen_.push_back({view.now(), kTimer, view.now(), static_cast<uint16_t>(id)});
  }
  size_t StateBytes() const override { return 0; }

 private:
  // One packet through each port, of the class of control packets for those that leave port 0.
  static void Send(SwitchView& view, const Packet& packet) {
    Packet own;
    own.kind = PacketKind::kControl;
    own.bytes = 700;
    own.dst = packet.dst;
    for (PortIndex port = 0; port < 3; ++port) {
      port == 0 ? view.SendControl(own, port) : view.SendAsData(own, port);
    }
  }

  std::vector<Start>& seen_;
  const Does does_;
};

// Returns what a policy is shown of a random trace. With a shared buffer, ports become eager and
// late in turns.
std::vector<Watching::Start> SeenBy(uint8_t classes, bool shares_memory, bool eager,
                                    Watching::Does does = Watching::Does::kLook) {
  Rng rng = Rng::Stream(5, "test", 0);
  SwitchPlan plan = PlanOf(classes);
  plan.queueing.eager = eager;
  if (shares_memory) {
    plan.queueing.memory = {.model = MemorySettings::Model::kDynamic, .size = 8'000};
  }
  std::vector<Watching::Start> seen;
  SwitchBench bench(plan, 1_us, std::make_unique<Watching>(seen, does));
  bench.node().SetClasses(classes & 1 ? 0 : 1, 3);
  bench.Run(RandomTrace({.ports = 3, .classes = classes, .on_grid = true, .packets = 3'000}, rng));
  return seen;
}

TEST(QueuedPortsTest, ShowLateAndEagerTransmissionsAlike) {
  for (const uint8_t classes : {uint8_t{0b1010}, uint8_t{0b1011}}) {
    for (const bool shares_memory : {false, true}) {
      const std::vector<Watching::Start> late = SeenBy(classes, shares_memory, false);
      EXPECT_GT(late.size(), shares_memory ? 1'000u : 2'999u);
      EXPECT_LT(late.size(), shares_memory ? 2'900u : 3'001u);  // The shared buffer was full.
      EXPECT_EQ(late, SeenBy(classes, shares_memory, true));
    }
  }
}

// The timer that a policy sets when it is shown a transmission fires before anything later.
TEST(QueuedPortsTest, TimersOfTransmissionsFireAtTheirTime) {
  for (const uint8_t classes : {uint8_t{0b1010}, uint8_t{0b1011}}) {
    for (const bool shares_memory : {false, true}) {
      constexpr Watching::Does kSetTimers = Watching::Does::kSetTimers;
      const std::vector<Watching::Start> late = SeenBy(classes, shares_memory, false, kSetTimers);
      EXPECT_EQ(late, SeenBy(classes, shares_memory, true, kSetTimers));
      EXPECT_TRUE(std::ranges::is_sorted(late, {}, &Watching::Start::at));
      EXPECT_EQ(std::ranges::count(late, Watching::kTimer, &Watching::Start::port) * 2,
                std::ssize(late));
    }
  }
}

// The packets that a policy sends in a hook may fill the buffer, so that the ports become eager.
TEST(QueuedPortsTest, PacketsSentInHooksLeaveLateAndEagerPortsAlike) {
  for (const uint8_t classes : {uint8_t{0b1010}, uint8_t{0b1011}}) {
    for (const bool shares_memory : {false, true}) {
      for (const Watching::Does does : {Watching::Does::kSend, Watching::Does::kSendWhenEnqueued}) {
        const std::vector<Watching::Start> late = SeenBy(classes, shares_memory, false, does);
        EXPECT_GT(late.size(), 2'000u);
        EXPECT_EQ(late, SeenBy(classes, shares_memory, true, does));
      }
    }
  }
}

// The packet that arrives last is not shown before the one that came at the same instant.
TEST(QueuedPortsTest, ShowControlPacketsOfOneInstantByPort) {
  for (const bool eager : {false, true}) {
    SwitchPlan plan = PlanOf(0b1011);
    plan.queueing.eager = eager;
    std::vector<Watching::Start> seen;
    SwitchBench bench(plan, 1_us, std::make_unique<Watching>(seen, Watching::Does::kLook));
    bench.Run({{Time{} + 5_us, 0, PacketOf(500, 0, 1)}, {Time{} + 5_us, 1, PacketOf(500, 0, 2)}});
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].port, 1);
    EXPECT_EQ(seen[1].port, 2);
  }
}

TEST(QueuedPortsTest, ShowTransmissionsInTheOrderOfTimeAndPort) {
  for (const uint8_t classes : {uint8_t{0b1010}, uint8_t{0b1011}}) {
    const std::vector<Watching::Start> seen = SeenBy(classes, false, false);
    EXPECT_EQ(seen.size(), 3'000u);
    for (size_t i = 0; i < seen.size(); ++i) {
      const auto& [at, port, arrival, bytes] = seen[i];
      ASSERT_EQ(at + SerializationDelay(Bytes{bytes}, 10_Gbps) + kDelay, arrival);
      if (i == 0) continue;
      ASSERT_LE(seen[i - 1].at, at);
      // Class 0 goes at once; it is shown behind the other packets of its instant.
      if (classes == 0b1010 && seen[i - 1].at == at) {
        ASSERT_LT(seen[i - 1].port, port);
      }
    }
  }
}

// --- Port by port ---

// Notes transmissions by port and, for each arrival, how many the port of its output has shown.
class CountingByPort final : public SwitchPolicy {
 public:
  struct Notes {
    std::vector<std::vector<Watching::Start>> by_port =
        std::vector<std::vector<Watching::Start>>(3);
    std::vector<std::pair<Time, size_t>> shown;
    bool operator==(const Notes&) const = default;
  };
  // The policy passes packets that find their port free only if it has no OnEnqueue().
  CountingByPort(Notes& notes, bool by_port, bool passes)
      : notes_(notes), by_port_(by_port), passes_(passes) {}
  uint32_t unused_hooks() const override { return passes_ ? uint32_t{kEnqueue} : 0; }
  bool enqueue_only_stamps() const override { return passes_; }
  bool watches_by_port() const override { return by_port_; }
  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet&, PortIndex, const Candidates& c) override {
    const PortIndex port = c.ports.front();
    view.ShowTransmissions(port);
    notes_.shown.emplace_back(view.now(), notes_.by_port[port].size());
    return Decision::Forward(port);
  }
  void OnEnqueue(SwitchView&, Packet&, PortIndex) override {}
  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    notes_.by_port[port].push_back({view.now(), port, packet.arrival, packet.bytes});
  }
  size_t StateBytes() const override { return 0; }

 private:
  Notes& notes_;
  const bool by_port_;
  const bool passes_;
};

// Runs a random trace with pauses that take effect later. One link fails for a while, and another
// one gets another rate.
CountingByPort::Notes NotesOf(uint8_t classes, bool shares_memory, bool on_grid, bool passes,
                              bool by_port) {
  Rng rng = Rng::Stream(7, "test", 0);
  SwitchPlan plan = PlanOf(classes);
  plan.queueing.pause.response = 300_ns;
  if (shares_memory) {
    plan.queueing.memory = {.model = MemorySettings::Model::kDynamic, .size = 8'000};
  }
  CountingByPort::Notes notes;
  SwitchBench bench(plan, 1_us, std::make_unique<CountingByPort>(notes, by_port, passes));
  bench.node().SetClasses(classes & 1 ? 0 : 1, 3);
  const auto trace = RandomTrace(
      {.ports = 3, .classes = classes, .pausable = 0b1000, .on_grid = on_grid, .packets = 3'000},
      rng);
  bench.Run(trace, {{Time{} + 200_us, [](Switch& node, Time now) { Fail(node, 1, now); }},
                    {Time{} + 220_us, [](Switch& node, Time now) { node.BringUp(1, now); }},
                    {Time{} + 300_us,
                     [](Switch& node, Time now) { node.SetChannel(2, now, 4_Gbps, kDelay); }}});
  return notes;
}

TEST(QueuedPortsTest, ShowEachPortsTransmissionsAlikeWithAndWithoutAnOrderOfPorts) {
  for (const uint8_t classes : {uint8_t{0b1010}, uint8_t{0b1011}}) {
    for (const bool shares_memory : {false, true}) {
      for (const bool on_grid : {false, true}) {
        for (const bool passes : {false, true}) {
          const CountingByPort::Notes notes =
              NotesOf(classes, shares_memory, on_grid, passes, /*by_port=*/true);
          EXPECT_GT(notes.shown.size(), 2'000u);
          EXPECT_EQ(notes, NotesOf(classes, shares_memory, on_grid, passes, /*by_port=*/false));
          for (const std::vector<Watching::Start>& port : notes.by_port) {
            EXPECT_GT(port.size(), 300u);
            EXPECT_TRUE(std::ranges::is_sorted(port, {}, &Watching::Start::at));
          }
        }
      }
    }
  }
}

// A policy that sends from OnTransmit() needs the order that it has said it does not need.
TEST(QueuedPortsDeathTest, StopTheProgramIfAPolicyThatWatchesByPortSends) {
  class Sending final : public SwitchPolicy {
   public:
    bool watches_by_port() const override { return true; }
    Decision OnPacket(SwitchView&, const Packet&, PortIndex, const Candidates& c) override {
      return Decision::Forward(c.ports.front());
    }
    void OnTransmit(SwitchView& view, Packet&, PortIndex port) override {
      Packet own;
      own.kind = PacketKind::kControl;
      own.bytes = 700;
      view.SendControl(own, port);
    }
    size_t StateBytes() const override { return 0; }
  };
  SwitchBench bench(PlanOf(0b1010), 1_us, std::make_unique<Sending>());
  EXPECT_DEATH(
      bench.Run({{Time{} + 5_us, 0, PacketOf(500, 1, 1)}, {Time{} + 5_us, 2, PacketOf(500, 1, 1)}}),
      "its watches_by_port\\(\\) is true");
}

}  // namespace heddle::watched_ports_test
