// SPDX-License-Identifier: Apache-2.0
// Tests one host whose transport and background are scripted: when flows may send, their turns,
// packets that go before data, pauses, and the order within one instant. The host's link has 10
// Gbps and 1 us, so a data packet of 1250 bytes takes 1 us and an ACK of 125 takes 100 ns; the
// times below follow from these.

#include "fabric/host.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "fabric/flow.h"

namespace heddle::host_test {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kLink = 1_us;
constexpr uint8_t kDataClass = 3;
constexpr uint8_t kBackgroundClass = 5;
constexpr uint8_t kControlClass = 1;
constexpr HostId kOther = 1;

Time At(Duration since_start) { return Time{} + since_start; }
std::string Microsecond(Time at) { return fmt::format("{:.12g}", Microseconds(at - Time{})); }

// The other end of a link: sends what it is told to, and notes what arrives.
class Peer final : public Node {
 public:
  void Run(const Window& window) override {
    for (; next_ < offers.size() && offers[next_].first - kLink < window.end; ++next_) {
      Packet& slot = wire.Slot();
      slot = offers[next_].second;
      slot.arrival = offers[next_].first;
      wire.Commit(slot.arrival, std::exchange(last_, slot.arrival), window.Horizon(wire));
    }
    for (; arrivals_.Next() < window.end; arrivals_.Pop()) received.push_back(arrivals_.Front());
  }
  Time Due() const override {
    return std::min(arrivals_.Next(), next_ < offers.size() ? offers[next_].first - kLink : kNever);
  }

  WireTail wire;
  std::vector<std::pair<Time, Packet>> offers;  // By arrival at the host.
  std::vector<Packet> received;

 private:
  size_t next_ = 0;
  Time last_{-kNever.ps};
};

// The transport of the host, or its background: flows with so many packets left to send, by slot.
class Actor final : public Transport {
 public:
  Actor(Host& host, Lane lane) : host_(host), lane_(lane) {}

  // Lets the flow send this number of packets more.
  void Offer(uint32_t slot, int packets) {
    Flow& flow = flows_[slot];
    flow.left += packets;
    if (!std::exchange(flow.in_round, true)) host_.Ready(slot, lane_);
  }
  // It may not send after all; the NIC will learn so when its turn comes.
  void Withdraw(uint32_t slot) { flows_[slot].left = 0; }
  // Calls `action` at `at`, among the timers of that instant by `key`.
  void Schedule(Time at, uint64_t key, std::function<void()> action) {
    actions_[key] = std::move(action);
    host_.SetTimer(at, key, lane_);
    host_.Wake(at);
  }
  void SendAck() {
    Packet& ack = host_.ControlSlot({kOther, 0});
    ack.kind = PacketKind::kAck;
    ack.bytes = 125;
    ack.dst = kOther;
    host_.SendControl();
  }

  void OnPacket(const Packet& packet) override {
    if (on_packet) on_packet(packet);
  }
  Pulled Pull(uint32_t slot, Packet& packet) override {
    Flow& flow = flows_[slot];
    pulls.push_back(Microsecond(host_.now()) + " " + Name(slot));
    if (flow.left == 0) {
      flow.in_round = false;
      return {.sent = false, .more = false};
    }
    packet.kind = lane_ == Lane::kTransport ? PacketKind::kData : PacketKind::kDatagram;
    packet.flow = slot;
    packet.dst = kOther;
    packet.bytes = 1'250;
    packet.data.tx_id = flow.sent++;
    packet.data.payload = 1'000;
    if (on_build) on_build();
    flow.in_round = --flow.left > 0;
    return {.sent = true, .more = flow.in_round};
  }
  void OnTimer(uint64_t key) override { actions_.at(key)(); }
  Tuple TupleOf(uint32_t slot) const override {
    const auto asked = nics.find(slot);
    return {kOther, HashOf(slot), asked == nics.end() ? kAnyNic : asked->second};
  }
  static uint32_t HashOf(uint32_t slot) { return 7'919 * slot; }
  void AddBlocked(uint32_t slot, Duration blocked) override { blocked_[slot] += blocked; }
  void StartFlow(const FlowSpec& spec) override {
    started.push_back(spec.id);
    Offer(spec.id, 1);
  }
  void ExpectFlow(const FlowSpec&) override {}
  void OnDropNotice(const DropNotice& notice) override { drops.push_back(notice); }
  void OnFlowEnded(const FlowEnded&) override {}
  size_t most_flows() const override { return flows_.size(); }
  void CollectUnfinishedSenders(std::vector<FlowRecord>&) override {}
  void CollectUnfinishedReceivers(std::vector<FlowRecord>&) override {}
  size_t memory_bytes() const override { return 0; }

  // Flows of the transport are A, B, ..., those of the background a, b, ...
  std::string Name(uint32_t slot) const {
    return std::string(1, static_cast<char>((lane_ == Lane::kTransport ? 'A' : 'a') + slot));
  }
  Duration blocked(uint32_t slot) const {
    const auto found = blocked_.find(slot);
    return found == blocked_.end() ? Duration{0} : found->second;
  }

  std::map<uint32_t, uint8_t> nics;  // The links that flows ask for, by slot.
  std::vector<std::string> pulls;    // "1.5 A": at 1.5 us flow A was asked for a packet.
  std::vector<FlowId> started;
  std::vector<DropNotice> drops;
  std::function<void(const Packet&)> on_packet;
  std::function<void()> on_build;  // While the packet lies in the NIC, incomplete.

 private:
  struct Flow {
    int left = 0;
    uint32_t sent = 0;
    bool in_round = false;
  };

  Host& host_;
  const Lane lane_;
  std::map<uint32_t, Flow> flows_;
  std::map<uint32_t, Duration> blocked_;
  std::map<uint64_t, std::function<void()>> actions_;
};

// Notes what it is told of, and does nothing by itself. With a policy the host has a view for its
// part to look through.
struct Policy final : HostPolicy {
  explicit Policy(std::vector<std::string>* its) : calls(its) {}
  void OnData(HostView&, const Packet&) override { calls->push_back("data"); }
  void OnControl(HostView&, const Packet&) override { calls->push_back("control"); }
  void OnTimer(HostView& view, uint32_t id) override {
    calls->push_back(fmt::format("{} policy {}", Microsecond(view.now()), id));
  }
  size_t StateBytes() const override { return 0; }

  std::vector<std::string>* const calls;
};

class Bench {
 public:
  // Every link but the first has `others`.
  explicit Bench(size_t links = 1, BitRate others = 10_Gbps, uint8_t background = kBackgroundClass)
      : host_(0, links, std::make_unique<Policy>(&policy_calls)) {
    engine_.Add(host_, engine_.AddGroup());
    for (size_t link = 0; link < links; ++link) {
      FifoPort& nic = host_.AddNic(
          {.rate = link == 0 ? 10_Gbps : others, .delay = kLink, .wire_overhead = 0_B});
      peers_.push_back(std::make_unique<Peer>());
      engine_.Add(*peers_.back(), engine_.AddGroup());
      engine_.Connect(host_, nic.wire(), *peers_.back(), kLink);
      engine_.Connect(*peers_.back(), peers_.back()->wire, host_, kLink);
    }
    auto actor = std::make_unique<Actor>(host_, Lane::kTransport);
    transport_ = actor.get();
    host_.SetTransport(std::move(actor));
    host_.SetBackground(&background_, background);
    host_.SetClasses(kDataClass, kControlClass);
    host_.Attach();
    engine_.Place(1);
  }

  std::vector<std::string> policy_calls;

  Host& host() { return host_; }
  Actor& transport() { return *transport_; }
  Actor& background() { return background_; }

  // Makes a packet arrive at the host. Packets of one link must be in the order of time.
  void Arrive(Time at, const Packet& packet, size_t link = 0) {
    peers_[link]->offers.push_back({at, packet});
    peers_[link]->Wake(peers_[link]->Due());
  }
  void ArriveData(Time at) {
    Packet data;
    data.dst = 0;
    data.bytes = 1'250;
    Arrive(at, data);
  }
  void ArrivePause(Time at, unsigned classes, bool stop, size_t link = 0) {
    Packet frame;
    frame.kind = PacketKind::kPause;
    frame.bytes = 64;
    frame.pause.classes = static_cast<uint8_t>(classes);
    frame.pause.stop = stop;
    Arrive(at, frame, link);
  }

  // Calls `action` between windows, before anything else of its instant. Calls must be in the order
  // of time.
  void Do(Time at, std::function<void()> action) { actions_.push_back({at, std::move(action)}); }

  void Run() {
    Script script(actions_);
    engine_.Run(script);
  }

  const std::vector<Packet>& received(size_t link = 0) const { return peers_[link]->received; }

  // "2 A": at 2 us the last bit of a packet of flow A had left.
  std::vector<std::string> Left(size_t link = 0) const {
    std::vector<std::string> left;
    for (const Packet& packet : peers_[link]->received) {
      left.push_back(Microsecond(packet.arrival - kLink) + " " + NameOf(packet));
    }
    return left;
  }

 private:
  class Script final : public Conductor {
   public:
    explicit Script(const std::vector<std::pair<Time, std::function<void()>>>& actions)
        : actions_(actions) {}
    Time Next() override { return next_ < actions_.size() ? actions_[next_].first : kNever; }
    Time Open(Time start, Time latest) override {
      while (Next() <= start) actions_[next_++].second();
      return std::min(latest, Next());
    }
    void Close(Time /*end*/) override {}
    Time End() const override { return kNever; }

   private:
    const std::vector<std::pair<Time, std::function<void()>>>& actions_;
    size_t next_ = 0;
  };

  std::string NameOf(const Packet& packet) const {
    if (packet.kind == PacketKind::kAck) return "ack";
    if (packet.kind == PacketKind::kControl) return "control";
    const bool data = packet.kind == PacketKind::kData;
    return (data ? *transport_ : background_).Name(packet.flow);
  }

  Engine engine_;
  Host host_;
  std::vector<std::unique_ptr<Peer>> peers_;
  Actor* transport_ = nullptr;
  Actor background_{host_, Lane::kBackground};
  std::vector<std::pair<Time, std::function<void()>>> actions_;
};

constexpr unsigned Bit(uint8_t cls) { return 1u << cls; }

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
  bench.Do(At(2_us) + 500_ns, [&] { bench.host().TakeDown(0, At(2_us) + 500_ns); });
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
  bench.Do(At(5_us), [&] { bench.host().TakeDown(0, At(5_us)); });
  bench.Do(At(6_us), [&] { bench.host().nic().GoUp(); });
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

// --- All of it, against a model ---

// What happens in a run. All of one instant happens in the order of the phases.
struct Step {
  enum class Kind { kRoutes, kDown, kUp, kCount, kFrame, kOffer, kWithdraw, kAck };
  Time at;
  Kind kind;
  size_t link = 0;                   // kDown, kUp, kFrame
  std::vector<PortIndex> hops = {};  // kRoutes: the links that begin a shortest path.
  unsigned classes = 0;              // kFrame
  bool stop = false;                 // kFrame
  Lane lane = Lane::kTransport;      // kOffer, kWithdraw
  uint32_t slot = 0;                 // Likewise.
  int packets = 0;                   // kOffer

  // Between windows; arrivals; timers.
  int phase() const { return kind < Kind::kFrame ? 0 : kind == Kind::kFrame ? 1 : 2; }
};

struct Scenario {
  size_t links = 1;
  BitRate others = 10_Gbps;
  uint8_t background = kBackgroundClass;
  bool at_end = false;
  Duration response{0};
  uint16_t quanta = 0;
  std::map<uint32_t, uint8_t> nics;
  std::vector<Step> steps;  // By time, then phase, then link.
};

// The host as host.h describes it. Everything is an event, handled at its time; who waits is sorted
// by when it began to, and the times in pauses are added up step by step.
class Model {
 public:
  using Kind = Step::Kind;

  explicit Model(const Scenario& scenario) : its_(scenario), nics_(scenario.links) {
    for (PortIndex link = 0; link < scenario.links; ++link) hops_.push_back(link);
  }

  struct Sent {
    Time left;
    std::string name;
    std::optional<DropNotice> notice;  // If it is data.
  };
  struct Flow {
    int left = 0;
    uint32_t sent = 0;
    bool in_round = false;
    Time since;  // Since when it waits; later if that has been counted.
    Duration blocked{0};
  };
  std::vector<Sent> sent(size_t link) const { return nics_[link].sent; }
  PauseTotals pauses(size_t link) const { return nics_[link].pauses; }
  Duration blocked(Lane of, uint32_t slot) { return FlowOf(of, slot).blocked; }
  std::vector<DropNotice> drops;
  std::vector<PauseInterval> log;

  void Run() {
    for (Time next = Next(); next != kNever; next = Next()) {
      AddUp(next - now_);
      now_ = next;
      for (int phase = 0; phase < 3; ++phase) {
        if (phase == 2) EndPauses();
        while (next_ < its_.steps.size() && Due(its_.steps[next_]) == now_ &&
               its_.steps[next_].phase() == phase) {
          Handle(its_.steps[next_++]);
          Log();
        }
      }
      for (size_t link = 0; link < nics_.size();) link = Serve(link) ? 0 : link + 1;
    }
  }

 private:
  // A flow's place in the round: since when, before or after what happened at that instant.
  struct Turn {
    Time at;
    bool behind;
    int number;
    uint32_t slot;
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };
  struct LaneState {
    std::set<Turn> round;
    bool paused = false;
    Time paused_since;
    Time until = kNever;
    bool MaySend() const { return !paused && !round.empty(); }
  };
  struct Open {
    Time start = kNever;
    Time blocked = kNever;
  };
  struct Nic {
    std::array<LaneState, kLanes> lanes;
    size_t served = 0;
    Time free;
    bool down = false;
    std::vector<Sent> sent;
    PauseTotals pauses;
    std::array<Open, kClasses> open;
  };

  Time Due(const Step& step) const {
    return step.kind == Kind::kFrame ? step.at + its_.response : step.at;
  }
  uint8_t ClassOf(size_t lane) const { return lane == 0 ? kDataClass : its_.background; }
  Flow& FlowOf(Lane of, uint32_t slot) { return flows_[{of, slot}]; }
  BitRate RateOf(size_t link) const { return link == 0 ? 10_Gbps : its_.others; }

  Time Next() const {
    Time next = next_ < its_.steps.size() ? Due(its_.steps[next_]) : kNever;
    for (const Nic& nic : nics_) {
      for (const LaneState& lane : nic.lanes) {
        if (lane.paused) next = std::min(next, lane.until);
        if (lane.MaySend()) next = std::min(next, std::max(now_, nic.free));
      }
    }
    return next;
  }

  void AddUp(Duration time) {
    for (Nic& nic : nics_) {
      const auto& [first, second] = nic.lanes;
      const auto is_blocked = [](const LaneState& l) { return l.paused && !l.round.empty(); };
      if (first.paused || second.paused) nic.pauses.paused += time;
      if (is_blocked(first) || is_blocked(second)) nic.pauses.blocked += time;
    }
  }

  void Handle(const Step& step) {
    Nic& nic = nics_[step.link];
    switch (step.kind) {
      case Kind::kRoutes:
        return Move(step.hops);
      case Kind::kDown:
        nic.down = true;
        nic.free = std::min(nic.free, now_);
        for (const Sent& packet : nic.sent) {
          if (packet.left + kLink >= now_ && packet.notice) {
            drops.push_back({packet.notice->flow, packet.notice->tx_id, now_});
          }
        }
        std::erase_if(nic.sent, [&](const Sent& packet) { return packet.left + kLink >= now_; });
        for (size_t lane = 0; lane < kLanes; ++lane) Resume(nic, lane);
        return;
      case Kind::kUp:
        nic.down = false;
        return;
      case Kind::kCount:
        for (Nic& each : nics_) {
          for (size_t lane = 0; lane < kLanes; ++lane) CountBlocked(each, lane);
        }
        return;
      case Kind::kFrame:
        ++(step.stop ? nic.pauses.pauses : nic.pauses.resumes);
        for (size_t lane = 0; lane < kLanes; ++lane) {
          if ((step.classes >> ClassOf(lane) & 1) != 0) Pause(nic, step, lane);
        }
        return;
      case Kind::kOffer: {
        Flow& flow = FlowOf(step.lane, step.slot);
        flow.left += step.packets;
        if (!std::exchange(flow.in_round, true)) Join(step.lane, step.slot, false);
        return;
      }
      case Kind::kWithdraw:
        FlowOf(step.lane, step.slot).left = 0;
        return;
      case Kind::kAck:
        Send(nics_[HashedLink(0)], 125, {.left = {}, .name = "ack", .notice = {}});
    }
  }

  void Pause(Nic& nic, const Step& frame, size_t lane) {
    if (!frame.stop) return Resume(nic, lane);
    LaneState& its = nic.lanes[lane];
    if (!std::exchange(its.paused, true)) its.paused_since = now_;
    const size_t link = static_cast<size_t>(&nic - nics_.data());
    // A quantum is the time of 512 bits.
    if (its_.quanta != 0)
      its.until = now_ + 51'200_ps * its_.quanta * (10'000'000'000 / RateOf(link).bps);
  }
  void Resume(Nic& nic, size_t lane) {
    CountBlocked(nic, lane);
    nic.lanes[lane].paused = false;
    nic.lanes[lane].until = kNever;
  }
  void EndPauses() {
    for (Nic& nic : nics_) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        if (nic.lanes[lane].paused && nic.lanes[lane].until == now_) Resume(nic, lane);
      }
    }
    Log();
  }
  void CountBlocked(Nic& nic, size_t lane) {
    LaneState& its = nic.lanes[lane];
    if (!its.paused) return;
    for (const Turn& turn : its.round) {
      Flow& flow = FlowOf(static_cast<Lane>(lane), turn.slot);
      flow.blocked += now_ - std::max(flow.since, its.paused_since);
      flow.since = now_;
    }
  }

  PortIndex HashedLink(uint32_t hash) const { return hops_[Mix64(hash) % hops_.size()]; }
  PortIndex LinkFor(Lane of, uint32_t slot) const {
    const auto asked = its_.nics.find(slot);
    if (of == Lane::kBackground || asked == its_.nics.end()) {
      return HashedLink(Actor::HashOf(slot));
    }
    if (asked->second == kFreestNic) return FreestLink();
    const bool is_one = std::ranges::find(hops_, asked->second) != hops_.end();
    return is_one ? asked->second : HashedLink(Actor::HashOf(slot));
  }
  PortIndex FreestLink() const {
    std::optional<std::tuple<bool, size_t, Time, PortIndex>> best;
    for (size_t turn = 1; turn <= nics_.size(); ++turn) {
      const PortIndex link = static_cast<PortIndex>((last_ + turn) % nics_.size());
      if (std::ranges::find(hops_, link) == hops_.end()) continue;
      const LaneState& lane = nics_[link].lanes[0];
      const std::tuple rank(lane.paused, lane.round.size(), std::max(nics_[link].free, now_));
      if (best && rank >= std::tuple(std::get<0>(*best), std::get<1>(*best), std::get<2>(*best))) {
        continue;
      }
      best = std::tuple_cat(rank, std::tuple(link));
    }
    return std::get<3>(*best);
  }

  void Join(Lane of, uint32_t slot, bool behind) {
    Nic& nic = nics_[LinkFor(of, slot)];
    Flow& flow = FlowOf(of, slot);
    flow.since = now_;
    // With joins at the end, a transport flow whose packet is leaving waits for that first.
    const auto leaving = leaving_.find({of, slot});
    const bool waits = its_.at_end && of == Lane::kTransport && leaving != leaving_.end() &&
                       leaving->second > now_;
    nic.lanes[static_cast<size_t>(of)].round.insert(
        {waits ? leaving->second : now_, waits || behind, ++number_, slot});
  }

  void Move(const std::vector<PortIndex>& hops) {
    hops_ = hops;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      std::vector<uint32_t> moving;
      for (Nic& nic : nics_) {
        CountBlocked(nic, lane);
        for (const Turn& turn : nic.lanes[lane].round) moving.push_back(turn.slot);
        nic.lanes[lane].round.clear();
      }
      for (const uint32_t slot : moving) Join(static_cast<Lane>(lane), slot, false);
    }
  }

  // Returns true if the link had its turn.
  bool Serve(size_t link) {
    Nic& nic = nics_[link];
    const bool first = nic.lanes[0].MaySend();
    const bool second = nic.lanes[1].MaySend();
    if (nic.free > now_ || !(first || second)) return false;
    nic.served = first && second ? 1 - nic.served : second ? 1 : 0;
    const Lane of = static_cast<Lane>(nic.served);
    std::set<Turn>& round = nic.lanes[nic.served].round;
    const uint32_t slot = round.begin()->slot;
    round.erase(round.begin());
    Flow& flow = FlowOf(of, slot);
    if (flow.left == 0) {
      flow.in_round = false;
      return true;
    }
    const bool data = of == Lane::kTransport;
    const std::string name(1, static_cast<char>((data ? 'A' : 'a') + slot));
    const DropNotice notice{slot, flow.sent++, now_};
    Send(nic, 1'250,
         {.left = {}, .name = name, .notice = data ? std::optional(notice) : std::nullopt});
    last_ = link;
    leaving_[{of, slot}] = nic.free;
    flow.in_round = --flow.left > 0;
    if (flow.in_round) Join(of, slot, true);
    return true;
  }

  void Send(Nic& nic, int64_t bytes, Sent packet) {
    const size_t link = static_cast<size_t>(&nic - nics_.data());
    nic.free = std::max(nic.free, now_) + SerializationDelay(Bytes{bytes}, RateOf(link));
    packet.left = nic.free;
    if (!nic.down) return nic.sent.push_back(packet);
    if (packet.notice) drops.push_back(*packet.notice);
  }

  // Both lanes may have one class.
  void Log() {
    for (PortIndex link = 0; link < nics_.size(); ++link) {
      for (uint8_t cls = 0; cls < kClasses; ++cls) {
        bool paused = false;
        bool waits = false;
        for (size_t lane = 0; lane < kLanes; ++lane) {
          const LaneState& its = nics_[link].lanes[lane];
          if (ClassOf(lane) != cls || !its.paused) continue;
          paused = true;
          waits = waits || !its.round.empty();
        }
        Open& open = nics_[link].open[cls];
        if (paused && open.start == kNever) open.start = now_;
        if (waits) open.blocked = std::min(open.blocked, now_);
        if (paused || open.start == kNever) continue;
        log.push_back({open.start, now_, now_ - std::min(open.blocked, now_), link, cls});
        open = {};
      }
    }
  }

  const Scenario its_;
  std::vector<Nic> nics_;
  std::vector<PortIndex> hops_;
  std::map<std::pair<Lane, uint32_t>, Flow> flows_;
  std::map<std::pair<Lane, uint32_t>, Time> leaving_;  // When a flow's last packet leaves.
  size_t last_ = 0;  // The link that the last packet of a flow took.
  size_t next_ = 0;
  int number_ = 0;
  Time now_;
};

// Everything that a host may meet, on a grid of 100 ns so that much happens at one instant. While
// flows join at the end of their packets, links and routes stay as they are.
Scenario RandomScenario(uint64_t seed) {
  Rng rng = Rng::Stream(seed, "host", 0);
  Scenario scenario;
  scenario.links = 1 + rng.Below(3);
  scenario.others = rng.Below(2) == 0 ? 10_Gbps : 5_Gbps;
  scenario.background = rng.Below(3) == 0 ? kDataClass : kBackgroundClass;
  scenario.at_end = rng.Below(3) == 0;
  const bool fails = !scenario.at_end && rng.Below(2) == 0;
  if (!fails && rng.Below(2) == 0) scenario.response = 700_ns;
  if (rng.Below(2) == 0) scenario.quanta = static_cast<uint16_t>(1 + rng.Below(120));
  for (uint32_t slot = 0; slot < 6; ++slot) {
    const uint32_t asks = rng.Below(6);
    if (asks < 3) scenario.nics[slot] = static_cast<uint8_t>(asks);
    if (asks == 3 && !scenario.at_end) scenario.nics[slot] = kFreestNic;
  }
  std::set<std::pair<Time, size_t>> frames;  // One at a time on a link.
  for (int i = 0; i < 80; ++i) {
    Step step{.at = At(1_us + 100_ns * int64_t{rng.Below(600)}), .kind = Step::Kind::kOffer};
    step.link = rng.Below(static_cast<uint32_t>(scenario.links));
    const uint32_t kind = rng.Below(fails ? 12 : 10);
    if (kind < 5) {
      step.lane = rng.Below(3) == 0 ? Lane::kBackground : Lane::kTransport;
      step.slot = rng.Below(step.lane == Lane::kTransport ? 6 : 2);
      step.packets = static_cast<int>(1 + rng.Below(4));
    } else if (kind < 8) {
      step.kind = Step::Kind::kFrame;
      step.classes =
          rng.Below(3) == 0 ? 0xff : Bit(rng.Below(2) == 0 ? kDataClass : kBackgroundClass);
      step.stop = rng.Below(2) == 0;
      if (!frames.emplace(step.at, step.link).second) continue;
    } else if (kind == 8) {
      step.kind = rng.Below(2) == 0 ? Step::Kind::kAck : Step::Kind::kCount;
    } else if (kind == 9) {
      step.kind = Step::Kind::kWithdraw;
      step.slot = rng.Below(6);
    } else if (kind == 10) {
      step.kind = rng.Below(2) == 0 ? Step::Kind::kDown : Step::Kind::kUp;
    } else {
      step.kind = Step::Kind::kRoutes;
      for (PortIndex link = 0; link < scenario.links; ++link) {
        if (rng.Below(2) == 0) step.hops.push_back(link);
      }
      if (step.hops.empty()) step.hops = {static_cast<PortIndex>(step.link)};
    }
    scenario.steps.push_back(step);
  }
  for (size_t link = 0; link < scenario.links; ++link) {
    scenario.steps.push_back(
        {.at = At(200_us), .kind = Step::Kind::kFrame, .link = link, .classes = 0xff});
  }
  std::ranges::stable_sort(scenario.steps, {}, [&](const Step& s) {
    const Duration later = s.kind == Step::Kind::kFrame ? scenario.response : Duration{0};
    return std::tuple(s.at + later, s.phase(), s.phase() == 1 ? s.link : 0);
  });
  return scenario;
}

// Plays the scenario to a host.
void Play(const Scenario& scenario, Bench& bench) {
  Host& host = bench.host();
  host.SetPauseResponse(scenario.response, scenario.quanta);
  if (scenario.at_end) host.LetFlowsJoinAtEnd();
  bench.transport().nics = scenario.nics;
  Host::FirstHops all{{0, 0}, {{}}};
  for (PortIndex link = 0; link < scenario.links; ++link) all.sets[0].push_back(link);
  host.SetFirstHops(all, At(0_us));
  uint64_t key = 0;
  std::map<PortIndex, bool> down;
  for (const Step& step : scenario.steps) {
    const PortIndex link = static_cast<PortIndex>(step.link);
    Actor& actor = step.lane == Lane::kTransport ? bench.transport() : bench.background();
    switch (step.kind) {
      case Step::Kind::kRoutes:
        bench.Do(step.at, [&] { host.SetFirstHops({{0, 0}, {step.hops}}, step.at); });
        break;
      case Step::Kind::kDown:
        bench.Do(step.at, [&, link] { host.TakeDown(link, step.at); });
        break;
      case Step::Kind::kUp:
        bench.Do(step.at, [&, link] { host.nic(link).GoUp(); });
        break;
      case Step::Kind::kCount:
        bench.Do(step.at, [&] { host.CountPausesUnderWay(step.at); });
        break;
      case Step::Kind::kFrame:
        bench.ArrivePause(step.at, step.classes, step.stop, step.link);
        break;
      case Step::Kind::kOffer:
        actor.Schedule(step.at, key++, [&] { actor.Offer(step.slot, step.packets); });
        break;
      case Step::Kind::kWithdraw:
        actor.Schedule(step.at, key++, [&] { actor.Withdraw(step.slot); });
        break;
      case Step::Kind::kAck:
        actor.Schedule(step.at, key++, [&] { actor.SendAck(); });
    }
  }
  bench.Run();
}

TEST(HostTest, DoesWhatItsModelDoes) {
  size_t losses = 0;
  Duration blocked{0};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Scenario scenario = RandomScenario(seed);
    Model model(scenario);
    model.Run();
    Bench bench(scenario.links, scenario.others, scenario.background);
    PauseLog& log = bench.host().LogPauses();
    Play(scenario, bench);
    const auto order = [](const PauseInterval& p) { return std::tuple(p.end, p.port, p.cls); };
    const auto text = [&](std::vector<PauseInterval> pauses) {
      std::ranges::stable_sort(pauses, {}, order);
      std::string all;
      for (const PauseInterval& p : pauses) {
        all += fmt::format("{} to {}, {} ps, {} {}\n", p.start.ps, p.end.ps, p.blocked.ps, p.port,
                           p.cls);
      }
      return all;
    };
    for (size_t link = 0; link < scenario.links; ++link) {
      std::vector<std::string> sent;
      for (const Model::Sent& packet : model.sent(link)) {
        sent.push_back(Microsecond(packet.left) + " " + packet.name);
      }
      ASSERT_EQ(bench.Left(link), sent) << "link " << link;
      const PauseTotals totals = bench.host().PausesUntil(static_cast<PortIndex>(link), At(300_us));
      const PauseTotals expected = model.pauses(link);
      ASSERT_EQ(totals.paused, expected.paused);
      ASSERT_EQ(totals.blocked, expected.blocked);
      ASSERT_EQ(totals.pauses, expected.pauses);
      ASSERT_EQ(totals.resumes, expected.resumes);
    }
    ASSERT_EQ(text(log.ended()), text(model.log));
    const std::vector<DropNotice>& drops = bench.transport().drops;
    ASSERT_EQ(drops.size(), model.drops.size());
    for (size_t i = 0; i < drops.size(); ++i) {
      ASSERT_EQ(std::tuple(drops[i].flow, drops[i].tx_id, drops[i].at),
                std::tuple(model.drops[i].flow, model.drops[i].tx_id, model.drops[i].at));
    }
    for (uint32_t slot = 0; slot < 6; ++slot) {
      ASSERT_EQ(bench.transport().blocked(slot), model.blocked(Lane::kTransport, slot)) << slot;
      ASSERT_EQ(bench.background().blocked(slot), model.blocked(Lane::kBackground, slot)) << slot;
      blocked += bench.transport().blocked(slot);
    }
    losses += drops.size();
  }
  EXPECT_GT(losses, 500u);
  EXPECT_GT(blocked, 1_ms);
}

}  // namespace heddle::host_test
