// SPDX-License-Identifier: Apache-2.0
// Tests groups with a hub: nodes that are apart have the same events as in finer windows. Racks of
// a hub and four nodes send each other packets. Hubs queue packets at their ports. Some packets
// cross a third rack on their way.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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
constexpr Duration kTransmission{100};  // So much happens at the same instant.
constexpr Time kEnd{3'000'000};

size_t RackOf(uint32_t node) { return node / kPerRack; }

// When a node stops to exchange packets with its rack. In rack 0 no node ever exchanges packets
// with its rack. In the others, two stop early and two late.
Time ApartFrom(uint32_t node) {
  if (RackOf(node) == 0) return Time{};
  return Time{} + kInside * (node % 4 < 2 ? 1'000 : 15'000);
}

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

// Sends packets at random times, and some when packets arrive. Until `apart_from` it also sends to
// those nodes of its own rack that are not apart either.
class Sender final : public Node {
 public:
  Sender(uint32_t id, Time apart_from, bool tells)
      : port(kInside * (1 + id % 3)),
        id_(id),
        apart_from_(apart_from),
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
        timers_.Set(now + kInside * (1 + rng_.Below(20)), 0);
      }
    }
  }
  Time Due() const override { return std::min(arrivals_.Next(), timers_.Next()); }
  bool IsApart(Time start) const override { return lies || (tells_ && start >= apart_from_); }

  Port port;
  bool lies = false;  // Sends to its own rack, yet IsApart() returns true.
  std::vector<std::tuple<Time, uint32_t>> log;  // Arrivals and their senders.

 private:
  void Send(Time now, const Window& window) {
    uint32_t to = rng_.Below(kNodes);
    const bool is_near = RackOf(to) == RackOf(id_);
    const bool may_be_near = lies || now < std::min(apart_from_, ApartFrom(to));
    if (to == id_ || (is_near && !may_be_near)) to = (id_ + kPerRack) % kNodes;
    port.Send(to, now, window).tuple_hash = id_;
  }

  const uint32_t id_;
  const Time apart_from_;
  const bool tells_;
  Rng rng_;
  Timers timers_;
};

// Its ports lead to the nodes of its rack, then to the next hub, the one behind it, and once more
// to the next one.
class Hub final : public Node {
 public:
  explicit Hub(size_t rack) : rack_(rack) {
    for (size_t i = 0; i < kPerRack; ++i) ports.emplace_back(kInside * (1 + i % 2));
    for (const int64_t times : {1, 2, 1}) ports.emplace_back(kOutside * times);
  }

  void Run(const Window& window) override {
    while (!kept_.empty() && kept_.front().arrival < window.end) {
      const Packet packet = kept_.front();
      kept_.pop_front();
      RunWhile({packet.arrival + 1_ps, window.inner, window.outer},
               [](const Packet&, PortIndex port, Time) { return port < kPerRack; });
      Pass(packet, packet.arrival, window);
    }
    RunWhile(window, [](const Packet&, PortIndex, Time) { return true; });
  }
  Time Due() const override {
    return std::min(arrivals_.Next(), kept_.empty() ? kNever : kept_.front().arrival);
  }
  Time RunInward(const Window& window) override {
    start_ = window.inner;
    Time end = window.inner;
    if (!HasNearPackets()) {
      for (PortIndex port = 0; port < kPerRack; ++port) arrivals_.Hide(port);
      end = TakeInward(window);
      for (PortIndex port = 0; port < kPerRack; ++port) arrivals_.Show(port);
    }
    ++(end == window.end ? whole : end == window.inner ? refused : partial);
    return end;
  }

  std::deque<Port> ports;
  int whole = 0;    // Windows in which all packets from outside led inside,
  int partial = 0;  // those in which the first packets did,
  int refused =
      0;  // and those in which not even the first packet did, or one was under way inside.
  int64_t kept = 0;

 private:
  bool IsNodeApart(uint32_t node) const {
    return ports[node % kPerRack].wire.consumer().IsApart(start_);
  }
  // A packet of the rack for a node that is apart now is on its way.
  bool HasNearPackets() {
    bool has = false;
    for (PortIndex port = 0; port < kPerRack; ++port) {
      arrivals_.head(port).ForEachBefore(kNever, [&](const Packet& packet) {
        has = has || (PortTo(packet) < kPerRack && IsNodeApart(packet.seq));
      });
    }
    return has;
  }
  void Pass(const Packet& packet, Time now, const Window& window) {
    ports[PortTo(packet)].Send(packet.seq, now, window).tuple_hash = packet.tuple_hash;
  }
  template <class Goes>
  void RunWhile(const Window& window, const Goes& goes) {
    arrivals_.TakeWhile(window.end, goes, [&](const Packet& packet, PortIndex, Time now) {
      Pass(packet, now, window);
      return true;
    });
  }
  Time TakeInward(const Window& window) {
    Time end = window.end;
    const auto leads_inward = [&](const Packet& packet, PortIndex, Time now) {
      if (PortTo(packet) < kPerRack) return true;
      end = now;
      return false;
    };
    arrivals_.TakeWhile(window.end, leads_inward, [&](const Packet& packet, PortIndex, Time now) {
      if (IsNodeApart(packet.seq)) {
        Pass(packet, now, window);
      } else {
        kept_.push_back(packet);
        ++kept;
      }
      return true;
    });
    return end;
  }

  // A packet for the last rack before this one takes two steps forward and then one more. The
  // sender decides which of two links a single step takes.
  size_t PortTo(const Packet& packet) const {
    const size_t steps = (RackOf(packet.seq) + kRacks - rack_) % kRacks;
    if (steps == 0) return packet.seq % kPerRack;
    return kPerRack + (steps != 1 ? 1 : packet.tuple_hash % 2 == 0 ? 0 : 2);
  }

  const size_t rack_;
  std::deque<Packet> kept_;
  Time start_;
};

struct World {
  // If `tells` is false, IsApart() never returns true. A bypass leads from a node of rack 1 to hub
  // 2; it carries nothing.
  World(int threads, bool tells, bool with_bypass = false) {
    for (size_t rack = 0; rack < kRacks; ++rack) hubs.emplace_back(rack);
    for (uint32_t id = 0; id < kNodes; ++id) {
      senders.emplace_back(id, ApartFrom(id), tells);
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
    const std::array<size_t, 3> steps = {1, 2, 1};
    for (size_t i = 0; i < steps.size(); ++i) {
      for (size_t rack = 0; rack < kRacks; ++rack) {
        Port& port = hubs[rack].ports[kPerRack + i];
        engine.Connect(hubs[rack], port.wire, hubs[(rack + steps[i]) % kRacks], port.least);
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

TEST(HubTest, NodesThatAreApartHaveTheSameEventsOnAnyNumberOfThreads) {
  World finer(1, /*tells=*/false);
  finer.Run();
  for (const int threads : {1, 2, 4}) {
    World apart(threads, /*tells=*/true);
    apart.Run();
    for (size_t i = 0; i < kNodes; ++i) {
      EXPECT_GT(finer.senders[i].log.size(), 50u);
      EXPECT_EQ(apart.senders[i].log, finer.senders[i].log) << "node " << i;
    }
    EXPECT_LT(apart.engine.node_visits(), finer.engine.node_visits());
    for (size_t rack = 0; rack < kRacks; ++rack) {
      EXPECT_GT(apart.hubs[rack].whole, 10) << "rack " << rack;
      EXPECT_GT(apart.hubs[rack].partial, 10) << "rack " << rack;
      EXPECT_EQ(apart.hubs[rack].kept > 10, rack != 0) << "rack " << rack;
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
TEST(HubDeathTest, RefusesAPacketInsideThatANodeHasRuledOut) {
  const auto run = [] {
    World world(1, /*tells=*/true);
    world.senders[5].lies = true;
    world.Run();
  };
  EXPECT_DEATH(run(), "but its receiver has run to");
}

}  // namespace heddle::hub_test
