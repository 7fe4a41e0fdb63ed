// SPDX-License-Identifier: Apache-2.0
// Tests groups with a hub: a window that takes three passes has the same events as finer windows.
// Racks of a hub and four nodes send each other packets. Hubs queue packets at their ports. Some
// packets cross a third rack on their way.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <tuple>
#include <vector>

#include "core/engine.h"
#include "core/random.h"
#include "core/timers.h"
#include "tests/support/until_conductor.h"

namespace heddle::hub_test {

constexpr size_t kRacks = 4;
constexpr size_t kPerRack = 4;
constexpr uint32_t kNodes = kRacks * kPerRack;
constexpr Duration kInside{100};  // The shortest link inside a rack.
constexpr Duration kOutside = 2_ns;
constexpr Duration kTransmission{70};
constexpr Time kEnd{300'000};

size_t RackOf(uint32_t node) { return node / kPerRack; }

// A port that sends one packet at a time.
struct Port {
  explicit Port(Duration delay) : least(kTransmission + delay) {}

  // `seq` of a packet is its destination.
  Packet& Send(uint32_t to, Time now, const Window& window) {
    const Time arrival = std::max(last + kTransmission, now + least);
    Packet& packet = wire.Slot();
    packet.Clear();
    packet.arrival = arrival;
    packet.seq = to;
    wire.Commit(arrival, last, window.Horizon(wire));
    last = arrival;
    return packet;
  }

  const Duration least;
  WireTail wire;
  Time last{-kNever.ps};
};

// Sends packets at random times, and answers those that it receives. Until `alone_from` it also
// sends to nodes of its own rack.
class Sender final : public Node {
 public:
  Sender(uint32_t id, Time alone_from, bool tells)
      : port(kInside * (1 + id % 3)),
        id_(id),
        alone_from_(alone_from),
        tells_(tells),
        rng_(Rng::Stream(7, "sender", id)) {
    timers_.Set(Time{} + kInside * rng_.Below(40), 0);
  }

  void Run(const Window& window) override {
    while (Due() < window.end) {
      const Time now = Due();
      if (arrivals_.Next() == now) {
        const uint32_t from = arrivals_.Front().tuple_hash;
        arrivals_.Pop();
        log.emplace_back(now, from);
        if (rng_.Below(4) == 0) Send(now, window);
      } else {
        timers_.Pop();
        Send(now, window);
        timers_.Set(now + kInside * (1 + rng_.Below(60)), 0);
      }
    }
  }
  Time Due() const override { return std::min(arrivals_.Next(), timers_.Next()); }
  bool SendsOnlyOut() const override {
    const bool has_arrived = port.wire.taken() >= near_sent_;
    return lies || (tells_ && Due() >= alone_from_ && has_arrived);
  }

  Port port;
  bool lies = false;  // Sends to its own rack all the time, and denies it.
  std::vector<std::tuple<Time, uint32_t>> log;  // Arrivals and their senders.

 private:
  void Send(Time now, const Window& window) {
    uint32_t to = rng_.Below(kNodes);
    const bool is_near = RackOf(to) == RackOf(id_);
    if (to == id_ || (is_near && now >= alone_from_ && !lies)) to = (id_ + kPerRack) % kNodes;
    port.Send(to, now, window).tuple_hash = id_;
    if (RackOf(to) == RackOf(id_)) near_sent_ = port.wire.pushed();
  }

  const uint32_t id_;
  const Time alone_from_;
  const bool tells_;
  Rng rng_;
  Timers timers_;
  uint64_t near_sent_ = 0;  // Packets up to the last one inside the rack.
};

// Its ports lead to the nodes of its rack, then to the next hub and the one behind it.
class Hub final : public Node {
 public:
  explicit Hub(size_t rack) : rack_(rack) {
    for (size_t i = 0; i < kPerRack; ++i) ports.emplace_back(kInside * (1 + i % 2));
    for (size_t i = 0; i < 2; ++i) ports.emplace_back(kOutside * (i + 1));
  }

  void Run(const Window& window) override { RunWhile(window, /*inward=*/false); }
  Time Due() const override { return arrivals_.Next(); }
  Time RunInward(const Window& window) override {
    for (PortIndex port = 0; port < kPerRack; ++port) arrivals_.Hide(port);
    const Time end = RunWhile(window, /*inward=*/true);
    for (PortIndex port = 0; port < kPerRack; ++port) arrivals_.Show(port);
    ++(end == window.end ? whole : end == window.inner ? refused : partial);
    return end;
  }

  std::deque<Port> ports;
  int whole = 0;    // Windows in which all packets from outside led inside,
  int partial = 0;  // those in which the first packets did,
  int refused = 0;  // and those in which not even the first packet did.

 private:
  Time RunWhile(const Window& window, bool inward) {
    Time end = window.end;
    arrivals_.TakeWhile(
        window.end,
        [&](const Packet& packet, Time now) {
          if (!inward || PortTo(packet.seq) < kPerRack) return true;
          end = now;
          return false;
        },
        [&](const Packet& packet, PortIndex, Time now) {
          ports[PortTo(packet.seq)].Send(packet.seq, now, window).tuple_hash = packet.tuple_hash;
          return true;
        });
    return end;
  }

  // A packet for the last rack before this one takes two steps forward and then one more.
  size_t PortTo(uint32_t node) const {
    const size_t steps = (RackOf(node) + kRacks - rack_) % kRacks;
    return steps == 0 ? node % kPerRack : kPerRack + (steps == 1 ? 0 : 1);
  }

  const size_t rack_;
};

struct World {
  // Nodes tell when they send only out, or never do so. A bypass leads from a node of rack 1 to hub
  // 2; it carries nothing.
  World(int threads, bool tells, bool with_bypass = false) {
    for (size_t rack = 0; rack < kRacks; ++rack) hubs.emplace_back(rack);
    for (uint32_t id = 0; id < kNodes; ++id) {
      const Time alone_from = Time{} + kInside * 200 * RackOf(id);
      senders.emplace_back(id, alone_from, tells);
    }
    for (Hub& hub : hubs) {
      const Engine::GroupId group = engine.AddGroup();
      const size_t rack = group;
      for (size_t i = 0; i < kPerRack; ++i) engine.Add(senders[rack * kPerRack + i], group);
      engine.Add(hub, group);
    }
    for (size_t rack = 0; rack < kRacks; ++rack) {
      Hub& hub = hubs[rack];
      for (size_t i = 0; i < kPerRack; ++i) {
        Sender& sender = senders[rack * kPerRack + i];
        engine.Connect(sender, sender.port.wire, hub, sender.port.least);
        engine.Connect(hub, hub.ports[i].wire, sender, hub.ports[i].least);
      }
    }
    for (size_t rack = 0; rack < kRacks; ++rack) {
      for (const size_t steps : {1, 2}) {
        Port& port = hubs[rack].ports[kPerRack + steps - 1];
        engine.Connect(hubs[rack], port.wire, hubs[(rack + steps) % kRacks], port.least);
      }
    }
    if (with_bypass) {
      engine.Connect(senders[kPerRack], bypass.wire, hubs[2], bypass.least);
    }
    engine.Place(threads);
  }

  void Run() {
    UntilConductor conductor(kEnd);
    engine.Run(conductor);
  }

  std::deque<Sender> senders;
  std::deque<Hub> hubs;
  Port bypass{kOutside};
  Engine engine;
};

TEST(HubTest, ThreePassesEqualFinerWindowsOnAnyNumberOfThreads) {
  World finer(1, /*tells=*/false);
  finer.Run();
  for (const int threads : {1, 2, 4}) {
    World passes(threads, /*tells=*/true);
    passes.Run();
    for (size_t i = 0; i < kNodes; ++i) {
      EXPECT_GT(finer.senders[i].log.size(), 50u);
      EXPECT_EQ(passes.senders[i].log, finer.senders[i].log) << "node " << i;
    }
    EXPECT_LT(passes.engine.node_visits(), finer.engine.node_visits());
    for (size_t rack = 0; rack < kRacks; ++rack) {
      EXPECT_GT(passes.hubs[rack].whole, 10) << "rack " << rack;
      EXPECT_GT(passes.hubs[rack].partial, 10) << "rack " << rack;
      EXPECT_EQ(finer.hubs[rack].whole + finer.hubs[rack].partial, 0);
    }
  }
}

// A node with a link to another rack may bring in packets past the hub.
TEST(HubTest, IsTheOnlyNodeOfItsGroupWithLinksToOthers) {
  World world(1, /*tells=*/true, /*with_bypass=*/true);
  world.Run();
  for (const size_t rack : {0, 2, 3}) EXPECT_GT(world.hubs[rack].whole, 10) << "rack " << rack;
  EXPECT_EQ(world.hubs[1].whole + world.hubs[1].partial + world.hubs[1].refused, 0);
}

// Otherwise the packet would arrive at a node that has run further.
TEST(HubDeathTest, RefusesAPacketInsideAfterANodeHasRuledItOut) {
  const auto run = [] {
    World world(1, /*tells=*/true);
    world.senders[5].lies = true;
    world.Run();
  };
  EXPECT_DEATH(run(), "but its receiver has run to");
}

}  // namespace heddle::hub_test
