// SPDX-License-Identifier: Apache-2.0
// A switch forwards packets, and lets its policy see and change them.

#include "fabric/switch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::switch_test {

// --- Hooks ---

struct Transmission {
  SwitchId at;
  Time now;
  PortIndex port;
  Time arrival;
  uint16_t bytes;
};

// Stamps each packet when its first bit leaves.
class StampingPolicy final : public SwitchPolicy {
 public:
  StampingPolicy(std::vector<Transmission>& seen, SwitchId id) : seen_(seen), id_(id) {}

  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet&, PortIndex, const Candidates& c) override {
    EXPECT_GE(view.now(), last_) << "transmissions before this instant have been seen";
    last_ = view.now();
    return Decision::Forward(c.ports.front());
  }
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    EXPECT_GE(packet.arrival, view.now() + view.QueueingDelay(port));
    packet.entropy = 77;
  }
  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    EXPECT_GE(view.now(), last_transmission_);
    last_transmission_ = view.now();
    seen_.push_back({id_, view.now(), port, packet.arrival, packet.bytes});
    packet.SetScheme(view.now());
  }
  size_t StateBytes() const override { return 0; }

 private:
  std::vector<Transmission>& seen_;
  SwitchId id_;
  Time last_;
  Time last_transmission_;
};

class ReadingHost final : public HostPolicy {
 public:
  explicit ReadingHost(std::map<Time, Time>& stamps) : stamps_(stamps) {}
  void OnData(HostView& view, const Packet& data) override {
    EXPECT_EQ(data.entropy, 77);
    stamps_[view.now()] = data.Scheme<Time>();
  }
  size_t StateBytes() const override { return 0; }

 private:
  std::map<Time, Time>& stamps_;
};

TEST(SwitchTest, ShowsEachTransmissionAtTheTimeItsFirstBitLeaves) {
  std::vector<Transmission> seen;
  std::map<Time, Time> stamps;  // By arrival at host 3.
  constexpr Duration kDelay = 1_us;
  Lab lab({.graph = Star(4, {10_Gbps, kDelay}),
           .switch_policy = [&](SwitchId id) { return std::make_unique<StampingPolicy>(seen, id); },
           .host_policy = [&](HostId) { return std::make_unique<ReadingHost>(stamps); }});
  for (HostId h = 0; h < 3; ++h) lab.AddFlow(h, 3, 300'000);
  lab.AddFlow(3, 0, 100'000);
  lab.Run();
  int64_t through = 0;
  for (FifoPort& port : lab.network().switches()[0]->ports()) through += port.Committed().packets;
  ASSERT_EQ(static_cast<int64_t>(seen.size()), through);
  for (const Transmission& t : seen) {
    const Duration tx = SerializationDelay(Bytes{t.bytes + 20}, 10_Gbps);
    ASSERT_EQ(t.now + tx + kDelay, t.arrival);
  }
  for (size_t i = 1; i < seen.size(); ++i) {
    ASSERT_LT(std::tie(seen[i - 1].now, seen[i - 1].port), std::tie(seen[i].now, seen[i].port));
  }
  // A packet that has arrived at a host carries the stamp of its own transmission.
  for (const auto& [arrival, stamp] : stamps) {
    ASSERT_GT(arrival, stamp + kDelay);
    ASSERT_LE(arrival, stamp + kDelay + 1'230'400_ps);
  }
  EXPECT_GT(stamps.size(), 600u);
}

TEST(SwitchTest, AsksItsPolicyOnlyWhereThereIsAChoice) {
  struct Counting final : SwitchPolicy {
    Counting(std::map<SwitchId, int64_t>& all, SwitchId id) : asked(all), self(id) {}
    Decision OnPacket(SwitchView&, const Packet&, PortIndex, const Candidates& c) override {
      EXPECT_GT(c.ports.size(), 1u);
      ++asked[self];
      return Decision::Forward(c.ports.front());
    }
    size_t StateBytes() const override { return 0; }
    std::map<SwitchId, int64_t>& asked;
    SwitchId self;
  };
  std::map<SwitchId, int64_t> asked;
  Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 2}"),
           .switch_policy = [&](SwitchId id) { return std::make_unique<Counting>(asked, id); }});
  lab.AddFlow(0, 2, 14'600);
  lab.AddFlow(0, 1, 14'600);  // Within a leaf.
  lab.Run();
  EXPECT_EQ(asked, (std::map<SwitchId, int64_t>{{0, 10}, {1, 10}}));  // Data there, ACKs back.
}

// A leaf with one spine never has a choice. One with two spines has lost the other uplink, not the
// choice, when one of them is down.
TEST(SwitchTest, AsksAboutTheLastUplinkOnlyWhereThereWereMore) {
  struct Counting final : SwitchPolicy {
    Counting(int64_t& all, Packets about) : asked(all), asked_for(about) {}
    Packets asked_about() const override { return asked_for; }
    Decision OnPacket(SwitchView&, const Packet&, PortIndex, const Candidates& c) override {
      EXPECT_EQ(c.ports.size(), 1u);
      EXPECT_TRUE(c.is_last_uplink);
      ++asked;
      return Decision::Forward(c.ports.front());
    }
    size_t StateBytes() const override { return 0; }
    int64_t& asked;
    const Packets asked_for;
  };
  for (const int spines : {1, 2}) {
    int64_t asked = 0;
    int64_t asked_without = 0;
    Graph graph =
        LeafSpineFrom(fmt::format("{{leaves: 2, spines: {}, hosts_per_leaf: 1}}", spines));
    for (Graph::Link& link : graph.links) {
      if (link.name.ends_with("-spine1")) link.up = false;
    }
    using Packets = SwitchPolicy::Packets;
    for (const Packets about : {Packets::kWithChoice, Packets::kWithLastUplink}) {
      int64_t& its = about == Packets::kWithChoice ? asked_without : asked;
      Lab lab({.graph = graph,
               .switch_policy = [&](SwitchId) { return std::make_unique<Counting>(its, about); }});
      lab.AddFlow(0, 1, 14'600);
      lab.Run();
    }
    EXPECT_EQ(asked, spines == 1 ? 0 : 20);  // Data there, ACKs back.
    EXPECT_EQ(asked_without, 0);
  }
}

TEST(SwitchTest, ShowsItsPolicyThePacketBehindTheOneItAsksAbout) {
  using Key = std::tuple<FlowId, HostId, PacketKind, uint32_t>;
  struct Foreseeing final : SwitchPolicy {
    explicit Foreseeing(int64_t& count) : foreseen(count) {}
    Packets asked_about() const override { return Packets::kEvery; }
    static Key KeyOf(const Packet& packet) {
      return {packet.flow, packet.src, packet.kind, packet.seq};
    }
    void Prefetch(const Packet& packet) const override { behind = KeyOf(packet); }
    Decision OnPacket(SwitchView&, const Packet& packet, PortIndex, const Candidates& c) override {
      if (awaited) {
        EXPECT_EQ(*awaited, KeyOf(packet));
        ++foreseen;
      }
      awaited = std::exchange(behind, std::nullopt);
      return Decision::Forward(c.ports.front());
    }
    size_t StateBytes() const override { return 0; }
    int64_t& foreseen;
    mutable std::optional<Key> behind;
    std::optional<Key> awaited;
  };
  int64_t foreseen = 0;
  Lab lab({.graph = Star(4, {10_Gbps, 5_us}),
           .switch_policy = [&](SwitchId) { return std::make_unique<Foreseeing>(foreseen); }});
  for (HostId h = 0; h < 3; ++h) lab.AddFlow(h, 3, 300'000);
  lab.Run();
  EXPECT_GT(foreseen, 600);  // Some 1200 packets come; links of 5 us hold more than one.
}

// --- Switches whose policy has nothing to do ---

// Sends packets with a choice to the candidates in turn, and counts its calls by tier.
class InTurn final : public SwitchPolicy {
 public:
  struct Calls {
    std::map<int, int64_t> packets = {};
    std::map<int, int64_t> enqueued = {};
  };
  InTurn(Calls& calls, Packets asked_about, uint32_t unused, uint32_t idle)
      : calls_(calls), asked_about_(asked_about), unused_(unused), idle_(idle) {}
  Packets asked_about() const override { return asked_about_; }
  uint32_t unused_hooks() const override { return unused_; }
  uint32_t idle_hooks() const override { return tier_ == 0 ? 0 : idle_; }
  void Attach(SwitchView& view) override { tier_ = view.tier(); }
  Decision OnPacket(SwitchView&, const Packet&, PortIndex, const Candidates& c) override {
    ++calls_.packets[tier_];
    if (c.ports.size() == 1) return Decision::Forward(c.ports.front());
    return Decision::Forward(c.ports[turn_++ % c.ports.size()]);
  }
  void OnEnqueue(SwitchView&, Packet&, PortIndex) override { ++calls_.enqueued[tier_]; }
  size_t StateBytes() const override { return 0; }

 private:
  Calls& calls_;
  const Packets asked_about_;
  const uint32_t unused_;
  const uint32_t idle_;
  int tier_ = 0;
  size_t turn_ = 0;
};

// Runs flows between two leaves, over two spines, of which the first loses a link for a while.
std::vector<Duration> FctsInTurn(InTurn::Calls& calls, const std::string& port,
                                 SwitchPolicy::Packets asked_about, uint32_t unused,
                                 uint32_t idle) {
  Lab::Plan plan{.graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 4}"),
                 .transport = "{kind: rocev2, recovery: irn}",
                 .port = port,
                 .switch_policy = [&](SwitchId) {
                   return std::make_unique<InTurn>(calls, asked_about, unused, idle);
                 }};
  uint32_t link = 0;
  while (plan.graph.links[link].name != "leaf1-spine0") ++link;
  plan.events = {
      {.at = Time{} + 40_us, .link = link, .up = false, .rate = {}, .delay = {}},
      {.at = Time{} + 90_us, .link = link, .up = true, .rate = {}, .delay = {}},
  };
  Lab lab(std::move(plan));
  for (HostId h = 0; h < 4; ++h) lab.AddFlow(h, static_cast<HostId>(7 - h), 1'000'000);
  for (HostId h = 0; h < 4; ++h) lab.AddFlow(static_cast<HostId>(4 + h), h, 300'000, Time{} + 5_us);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  std::vector<Duration> fcts;
  for (const FlowRecord& record : lab.records()) fcts.push_back(FctRx(record));
  return fcts;
}

// A spine never has a choice. It forwards alike whether it asks its policy about each packet, or
// runs alone.
TEST(SwitchTest, RunsAloneWhereItsPolicyHasNothingToDo) {
  using Packets = SwitchPolicy::Packets;
  constexpr uint32_t kEnqueue = SwitchPolicy::kEnqueue;
  for (const std::string port :
       {"{buffer: 60KB}", "{pfc: {classes: [3]}, memory: {model: dt, size: 1MB}}"}) {
    SCOPED_TRACE(port);
    InTurn::Calls every;
    const std::vector<Duration> expected = FctsInTurn(every, port, Packets::kEvery, 0, 0);
    EXPECT_GT(every.packets[1], 2'000);
    EXPECT_GT(every.enqueued[1], 2'000);
    InTurn::Calls choices;
    EXPECT_EQ(FctsInTurn(choices, port, Packets::kWithChoice, kEnqueue, 0), expected);
    EXPECT_GT(choices.packets[0], 2'000);
    EXPECT_EQ(choices.packets[1], 0);
    EXPECT_EQ(choices.enqueued[0], 0);
    InTurn::Calls idle;
    EXPECT_EQ(FctsInTurn(idle, port, Packets::kEvery, 0, SwitchPolicy::kEveryPacket | kEnqueue),
              expected);
    EXPECT_EQ(idle.packets[0], every.packets[0]);
    EXPECT_EQ(idle.enqueued[0], every.enqueued[0]);
    EXPECT_EQ(idle.packets[1], 0);
    EXPECT_EQ(idle.enqueued[1], 0);
  }
}

TEST(SwitchTest, TellsItsPolicyWhatItsPortsDrop) {
  struct Dropping final : SwitchPolicy {
    explicit Dropping(int64_t& count) : drops(count) {}
    Decision OnPacket(SwitchView&, const Packet&, PortIndex, const Candidates& c) override {
      return Decision::Forward(c.ports.front());
    }
    void OnDropped(SwitchView&, const Packet& packet, PortIndex port) override {
      EXPECT_EQ(packet.dst, port);  // The port to a host of a star.
      ++drops;
    }
    size_t StateBytes() const override { return 0; }
    int64_t& drops;
  };
  int64_t drops = 0;
  Lab lab({.graph = Star(9, {10_Gbps, 1_us}),
           .port = "{buffer: 20pkts, ecn_above: unlimited}",
           .switch_policy = [&](SwitchId) { return std::make_unique<Dropping>(drops); }});
  for (HostId h = 0; h < 8; ++h) lab.AddFlow(h, 8, 14'600);
  lab.Run();
  EXPECT_GT(drops, 0);
  EXPECT_EQ(drops, lab.Drops(DropReason::kTail));
}

TEST(SwitchTest, RunsTimersOfOneInstantByTheirIds) {
  struct Timing final : SwitchPolicy {
    explicit Timing(std::vector<std::pair<Time, uint32_t>>& all) : fired(all) {}
    Packets asked_about() const override { return Packets::kEvery; }
    Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex,
                      const Candidates& c) override {
      if (packet.seq == 0 && packet.kind == PacketKind::kData) {
        for (const uint32_t id : {3u, 1u, 2u}) view.SetTimer(view.now() + 1_us, id);
        view.SetTimer(view.now(), 9);
      }
      return Decision::Forward(c.ports.front());
    }
    void OnTimer(SwitchView& view, uint32_t id) override { fired.emplace_back(view.now(), id); }
    size_t StateBytes() const override { return 0; }
    std::vector<std::pair<Time, uint32_t>>& fired;
  };
  std::vector<std::pair<Time, uint32_t>> fired;
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .switch_policy = [&](SwitchId) { return std::make_unique<Timing>(fired); }});
  lab.AddFlow(0, 1, 1'460);
  lab.Run();
  const Time in = Time{} + 2'230'400_ps;
  EXPECT_EQ(fired, (std::vector<std::pair<Time, uint32_t>>{
                       {in, 9}, {in + 1_us, 1}, {in + 1_us, 2}, {in + 1_us, 3}}));
}

// --- Drops ---

TEST(SwitchTest, CountsWhatItsPolicyDiscards) {
  Lab lab({.graph = Line(3, {10_Gbps, 1_us}),
           .switch_policy = Scripted({DropAt(0, Data(0, 1)).Times(1), DropAt(1, Ack(0, 1)).Times(1),
                                      HoldAt(1, Data(0, 3), 1_us).Times(1)})});
  lab.AddFlow(0, 1, 14'600);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_EQ(lab.Drops(DropReason::kPolicy), 2);
  EXPECT_EQ(lab.Packets().dropped_total(), 2);
  EXPECT_EQ(lab.Packets().consumed, 0);
  EXPECT_EQ(lab.Packets().in_flight, 0);
}

TEST(SwitchTest, KeepsTrackOfWhatItsPolicyHoldsBack) {
  // Data packet 3 is held at switch 1 from 7 us on, for 1 ms.
  const Lab::Plan plan{.graph = Line(3, {10_Gbps, 1_us}),
                       .transport = "{kind: tcp, dupthresh: inf}",
                       .switch_policy = Scripted({HoldAt(1, Data(0, 3), 1_ms).Times(1)})};
  Lab stopped(plan);
  stopped.AddFlow(0, 1, 14'600);
  stopped.Run(Time{} + 500_us);
  EXPECT_EQ(stopped.Packets().in_flight, 1);
  EXPECT_EQ(stopped.Record(0).receiver.packets, 9);
  Lab whole(plan);
  whole.AddFlow(0, 1, 14'600);
  whole.Run();
  EXPECT_TRUE(whole.finished());
  EXPECT_EQ(whole.Packets().in_flight, 0);
  EXPECT_EQ(whole.Packets().consumed, 0);
  EXPECT_EQ(whole.Record(0).receiver.packets, 10);
  EXPECT_GT(FctRx(whole.Record(0)), 1_ms);
}

TEST(SwitchTest, CountsThePacketsInItsQueues) {
  std::vector<std::pair<int64_t, int64_t>> seen;  // Packets and bytes queued.
  Lab lab({.graph = Line({{100_Gbps, 1_us}, {10_Gbps, 1_us}}),
           .transport = "{kind: tcp, iw: 20}",
           .switch_policy = Scripted({WatchAt(0, AllData(0), [&](const SwitchView& view, auto&) {
             seen.emplace_back(view.QueuedPackets(1), view.Unsent(1).count);
           })})});
  lab.AddFlow(0, 1, 20 * 1'460);
  lab.Run();
  // Ten packets come in while one leaves.
  ASSERT_EQ(seen.size(), 20u);
  for (size_t n = 0; n < seen.size(); ++n) {
    const int64_t left = static_cast<int64_t>(n) / 10;
    EXPECT_EQ(seen[n].first, static_cast<int64_t>(n) - left) << n;
    EXPECT_NEAR(static_cast<double>(seen[n].second), 1538 * 0.9 * static_cast<double>(n), 140) << n;
  }
}

TEST(SwitchTest, DropsWhatGoesInCircles) {
  // Each switch sends data to the other, whatever its destination.
  struct Bouncing final : SwitchPolicy {
    Packets asked_about() const override { return Packets::kEvery; }
    Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex,
                      const Candidates&) override {
      view.SendControl(packet, view.id() == 0 ? 1 : 0);
      return Decision::Consume();
    }
    size_t StateBytes() const override { return 0; }
  };
  Lab lab({.graph = Line(3, {10_Gbps, 1_us}),
           .switch_policy = [](SwitchId) { return std::make_unique<Bouncing>(); }});
  lab.AddFlow(0, 1, 3 * 1'460);
  lab.Run(Time{} + 1_ms);
  EXPECT_EQ(lab.Drops(DropReason::kLoop), 3);
  EXPECT_EQ(lab.Packets().consumed, 3 * 64);  // The 65th switch drops.
  EXPECT_EQ(lab.Record(0).receiver.packets, 0);
}

TEST(SwitchTest, DropsWhatHasNoRoute) {
  Graph islands{.hosts = 2, .switches = {{"s0", 0}, {"s1", 0}}, .links = {}};
  const Channel channel{10_Gbps, 1_us};
  for (size_t i = 0; i < 2; ++i) {
    islands.Connect(islands.VertexOfHost(i), islands.VertexOfSwitch(i), channel);
  }
  Lab lab({.graph = islands});
  lab.AddFlow(0, 1, 14'600);
  lab.Run(Time{} + 1_ms);
  EXPECT_EQ(lab.Drops(DropReason::kNoRoute), 10);
}

// --- Marking and conservation ---

TEST(SwitchTest, MarksOnlyWhatIsEcnCapable) {
  for (const auto& [transport, marks] :
       {std::pair("{kind: tcp}", false), std::pair("{kind: dctcp}", true),
        std::pair("{kind: tcp, ecn: rfc3168}", true)}) {
    Lab lab({.graph = Star(5, {10_Gbps, 1_us}),
             .transport = transport,
             .port = "{buffer: unlimited, ecn_above: 5pkts}"});
    for (HostId h = 0; h < 4; ++h) lab.AddFlow(h, 4, 100'000);
    lab.Run();
    EXPECT_EQ(lab.Packets().marked > 0, marks) << transport;
    int64_t received = 0;
    for (const FlowRecord& flow : lab.records()) received += flow.receiver.ce_marked;
    EXPECT_EQ(received, lab.Packets().marked) << transport;
  }
}

// Stopped at any time, every packet is somewhere: the lab checks it.
TEST(SwitchTest, LosesTrackOfNoPacket) {
  int64_t in_flight = 0;
  for (int64_t stop = 1; stop < 40; ++stop) {
    Lab lab({.graph = LeafSpineFrom("{leaves: 3, spines: 2, hosts_per_leaf: 3}"),
             .balancer = "{kind: rps}",
             .port = "{buffer: 8pkts, ecn_above: 4pkts}"});
    for (HostId h = 0; h < 9; ++h) lab.AddFlow(h, static_cast<HostId>((h + 4) % 9), 50'000);
    lab.Run(Time{} + stop * 3'333_ns);
    in_flight += lab.Packets().in_flight;
  }
  EXPECT_GT(in_flight, 0);
}

}  // namespace heddle::switch_test
