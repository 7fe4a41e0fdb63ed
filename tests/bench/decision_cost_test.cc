// SPDX-License-Identifier: Apache-2.0
// The decision benchmark measures what it claims to measure. These tests don't check speed.

#include "bench/decision/cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fabric/switch.h"

namespace heddle::decision_cost_test {

const std::vector<RecordedPacket>& Recorded() {
  static const std::vector<RecordedPacket> recorded = RecordLeaf();
  return recorded;
}

TEST(DecisionCostTest, RecordsDataAndAcksInTheOrderOfTime) {
  EXPECT_GT(Recorded().size(), 5'000u);
  EXPECT_EQ(Recorded().front().at, Time{});
  EXPECT_TRUE(std::ranges::is_sorted(Recorded(), {}, &RecordedPacket::at));
  for (const PacketKind kind : {PacketKind::kData, PacketKind::kAck}) {
    EXPECT_GT(std::ranges::count(Recorded(), kind, [](const auto& r) { return r.packet.kind; }),
              1'000);
  }
}

TEST(DecisionCostTest, SpreadsARecordingOverLiveFlows) {
  const std::vector<RecordedPacket> packets = WithLiveFlows(Recorded(), 200'000, 10'000);
  EXPECT_EQ(packets.size(), 200'000u);
  EXPECT_TRUE(std::ranges::is_sorted(packets, {}, &RecordedPacket::at));
  std::set<FlowId> flows;
  std::set<uint32_t> hashes;
  for (const RecordedPacket& one : packets) {
    flows.insert(one.packet.flow);
    hashes.insert(one.packet.tuple_hash);
  }
  EXPECT_GT(flows.size(), 6'000u);  // Short ones come rarely.
  EXPECT_LT(flows.size(), 11'000u);
  EXPECT_GT(hashes.size(), flows.size() * 99 / 100);
  // Sizes and kinds are as recorded.
  for (size_t i = 0; i < packets.size(); ++i) {
    const Packet& from = Recorded()[i % Recorded().size()].packet;
    ASSERT_EQ(packets[i].packet.bytes, from.bytes);
    ASSERT_EQ(packets[i].packet.kind, from.kind);
  }
}

// Forwards by hash. Spines add one to what is written into a packet; leaf 0 adds up what it is
// told.
class Listener final : public SwitchPolicy {
 public:
  inline static int64_t from_host = 0;
  inline static int64_t from_spines = 0;
  inline static int64_t told = 0;

  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    if (view.id() == 0) {
      (view.FacesHost(in_port) ? from_host : from_spines) += 1;
      told += packet.Scheme<uint32_t>();
    }
    return Decision::Forward(candidates.ports[packet.tuple_hash % candidates.ports.size()]);
  }
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex /*port*/) override {
    if (view.tier() > 0) packet.SetScheme(packet.Scheme<uint32_t>() + 1);
  }
  size_t StateBytes() const override { return sizeof(told); }
};
class ListenerBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {}
  SwitchPolicyPtr ForSwitch(SwitchId /*id*/, uint64_t /*seed*/) const override {
    return std::make_unique<Listener>();
  }
};

// The policy is asked about each packet in two rounds, and forwards it in two more.
TEST(DecisionCostTest, AsMuchComesFromOtherSwitchesAndTellsWhatTheyWrote) {
  LoadBalancers().Add<ListenerBalancer>({"listener", "For this test.", "This test"});
  const std::vector<RecordedPacket> packets = WithLiveFlows(Recorded(), 3'000, 100);
  Listener::from_host = Listener::from_spines = Listener::told = 0;
  ASSERT_TRUE(MeasureDecisions({.balancer = "listener", .rounds = 1}, packets).ok());
  const int64_t asked = CountsCacheMisses() ? 4 : 2;
  EXPECT_EQ(Listener::from_host, (asked + 2) * 3'000);
  // The packets on their way at the end are missing.
  EXPECT_LE(Listener::from_spines, 2 * 3'000);
  EXPECT_GT(Listener::from_spines, 2 * 3'000 - 500);
  EXPECT_EQ(Listener::told, Listener::from_spines);
}

// Counts the calls at hosts, and those with wrong arguments. It is registered, so other tests run
// it too.
class HostListener final : public HostPolicy {
 public:
  inline static int64_t sent = 0;
  inline static int64_t received = 0;
  inline static int64_t answered = 0;
  inline static int64_t heard = 0;
  inline static int64_t wrong = 0;

  explicit HostListener(HostId id) : id_(id) {}
  void OnSend(HostView& /*view*/, HostFlow& /*flow*/, Packet& packet) override {
    ++sent;
    Count(id_ == 0);
    packet.SetScheme(NameOf(packet.flow, packet.seq));
  }
  void OnData(HostView& view, const Packet& data) override {
    ++received;
    Count(id_ == 1 && data.Scheme<uint64_t>() == NameOf(data.flow, data.seq) &&
          view.now() - data.sent >= 4_us);
  }
  void OnSendAck(HostView& /*view*/, const Packet& data, Packet& ack) override {
    ++answered;
    Count(id_ == 1);
    ack.SetScheme(data.Scheme<uint64_t>());
  }
  void OnAck(HostView& view, HostFlow& flow, const Packet& ack, const AckNews& news) override {
    ++heard;
    Count(id_ == 0 && flow.id == ack.flow &&
          ack.Scheme<uint64_t>() == NameOf(ack.flow, ack.seq - 1) &&
          news.rtt == view.now() - ack.sent && news.newly_acked > 0);
  }
  size_t StateBytes() const override { return sizeof(id_); }

 private:
  static uint64_t NameOf(FlowId flow, uint32_t seq) { return uint64_t{flow} << 32 | seq; }
  static void Count(bool is_right) { wrong += is_right ? 0 : 1; }

  const HostId id_;
};
class HostListenerBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {}
  SwitchPolicyPtr ForSwitch(SwitchId /*id*/, uint64_t /*seed*/) const override {
    return std::make_unique<Listener>();
  }
  HostPolicyPtr ForHost(HostId id, uint64_t /*seed*/) const override {
    return std::make_unique<HostListener>(id);
  }
};

TEST(DecisionCostTest, WhatHostsSendArrivesAndIsAcknowledged) {
  LoadBalancers().Add<HostListenerBalancer>({"host_listener", "For this test.", "This test"});
  const std::vector<RecordedPacket> packets = WithLiveFlows(Recorded(), 3'000, 100);
  const auto is_data = [](const RecordedPacket& r) { return r.packet.kind == PacketKind::kData; };
  const int64_t data = std::ranges::count_if(packets, is_data);
  HostListener::sent = HostListener::received = HostListener::answered = 0;
  HostListener::heard = HostListener::wrong = 0;
  ASSERT_TRUE(MeasureDecisions({.balancer = "host_listener", .rounds = 1}, packets).ok());
  EXPECT_EQ(HostListener::wrong, 0);
  EXPECT_EQ(HostListener::sent, 2 * 2 * data);  // Two pairs of hosts, two rounds.
  EXPECT_EQ(HostListener::received, HostListener::answered);
  EXPECT_EQ(HostListener::received, HostListener::heard);
  EXPECT_GT(HostListener::heard, 2 * 2 * data - 500);  // Those on their way are missing.
}

class EveryDecisionCostTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, EveryDecisionCostTest, testing::ValuesIn(LoadBalancers().Names()),
                         [](const auto& name) { return name.param; });

TEST_P(EveryDecisionCostTest, IsMeasuredAtSwitchAndHost) {
  const std::vector<RecordedPacket> packets = WithLiveFlows(Recorded(), 3'000, 100);
  for (const size_t candidates : {4, 64}) {
    const auto cost =
        MeasureDecisions({.balancer = GetParam(), .candidates = candidates, .rounds = 1}, packets);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_GT(cost->decide_ns, 0);
    EXPECT_GT(cost->switch_ns, 0);
    EXPECT_GT(cost->switch_bytes, 0u);
    EXPECT_EQ(cost->send_ns.has_value(), cost->host_bytes > 0);
    EXPECT_EQ(cost->host_ns.has_value(), cost->host_bytes > 0);
    EXPECT_GE(cost->misses.value_or(0), 0);
  }
}

}  // namespace heddle::decision_cost_test
