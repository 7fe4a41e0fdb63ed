// SPDX-License-Identifier: Apache-2.0
// A policy that stands around another passes on exactly the calls that the other one asks for.

#include "fabric/around_policy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "fabric/host.h"
#include "fabric/switch.h"
#include "tests/support/lab.h"

namespace heddle::around_policy_test {

using Names = std::multiset<std::string>;

// Notes its calls; does without the hooks in `unused`.
class NotingHost final : public HostPolicy {
 public:
  NotingHost(Names& calls, uint32_t unused) : calls_(calls), unused_(unused) {}
  uint32_t unused_hooks() const override { return unused_; }

  void Attach(HostView&) override { calls_.insert("attach"); }
  void OnFlowStart(HostView&, HostFlow&) override { calls_.insert("start"); }
  void OnFlowEnd(HostView&, HostFlow&) override { calls_.insert("end"); }
  void OnSend(HostView&, HostFlow&, Packet&) override { calls_.insert("send"); }
  void OnSendAck(HostView&, const Packet&, Packet&) override { calls_.insert("ack leaves"); }
  void OnSendCnp(HostView&, uint16_t, Packet&) override { calls_.insert("cnp leaves"); }
  void OnData(HostView&, const Packet&) override { calls_.insert("data"); }
  void OnAck(HostView&, HostFlow&, const Packet&, const AckNews&) override { calls_.insert("ack"); }
  void OnLoss(HostView&, HostFlow&, LossSign) override { calls_.insert("loss"); }
  bool HidesEcho(HostView&, HostFlow&) override {
    calls_.insert("echo");
    return true;
  }
  void OnControl(HostView&, const Packet&) override { calls_.insert("control"); }
  void OnTimer(HostView&, uint32_t) override { calls_.insert("timer"); }
  size_t StateBytes() const override { return 11; }
  size_t FlowBytes() const override { return 7; }
  std::vector<Counter> Counters() const override { return {{"five", 5}}; }
  std::vector<Gauge> Gauges(Time) const override { return {{"half", 0.5}}; }

 private:
  Names& calls_;
  const uint32_t unused_;
};
class AroundHost final : public AroundHostPolicy {
 public:
  using AroundHostPolicy::AroundHostPolicy;
};

void CallAll(AroundHost& policy, HostView& view) {
  HostFlow flow{};
  Packet packet;
  policy.Attach(view);
  policy.OnFlowStart(view, flow);
  policy.OnFlowEnd(view, flow);
  policy.OnSend(view, flow, packet);
  policy.OnSendAck(view, packet, packet);
  policy.OnSendCnp(view, 0, packet);
  policy.OnData(view, packet);
  policy.OnAck(view, flow, packet, {});
  policy.OnLoss(view, flow, LossSign::kTimeout);
  policy.OnControl(view, packet);
}

TEST(AroundHostPolicyTest, PassesOnWhatTheSchemeAsksFor) {
  const std::vector<std::pair<uint32_t, Names>> hooks = {
      {0, {}},
      {HostPolicy::kFlows, {"start", "end"}},
      {HostPolicy::kSend, {"send"}},
      {HostPolicy::kSendAck, {"ack leaves", "cnp leaves"}},
      {HostPolicy::kData, {"data"}},
      {HostPolicy::kAck, {"ack"}},
      {HostPolicy::kLoss, {"loss"}},
      {HostPolicy::kEcho, {"echo"}}};
  Host host(0, 1, nullptr);
  HostView view(host);
  for (const auto& [used, named] : hooks) {
    SCOPED_TRACE(used);
    Names calls;
    AroundHost policy(std::make_unique<NotingHost>(calls, ~used));
    CallAll(policy, view);
    HostFlow flow{};
    EXPECT_EQ(policy.HidesEcho(view, flow), used == HostPolicy::kEcho);
    policy.OnTimer(view, 3);
    Names expected = named;
    expected.insert({"attach", "control", "timer"});
    EXPECT_EQ(calls, expected);
  }
}

TEST(AroundHostPolicyTest, ReportsWhatTheSchemeReports) {
  Names calls;
  const AroundHost policy(std::make_unique<NotingHost>(calls, 0));
  EXPECT_EQ(policy.StateBytes(), 11u);
  EXPECT_EQ(policy.FlowBytes(), 7u);
  ASSERT_EQ(policy.Counters().size(), 1u);
  EXPECT_EQ(policy.Counters()[0].value, 5);
  ASSERT_EQ(policy.Gauges(Time{}).size(), 1u);
  EXPECT_EQ(policy.Gauges(Time{})[0].value, 0.5);
}

// Around nothing it does nothing, and has no state.
TEST(AroundHostPolicyTest, MayStandAroundNothing) {
  Host host(0, 1, nullptr);
  HostView view(host);
  AroundHost policy(nullptr);
  CallAll(policy, view);
  HostFlow flow{};
  EXPECT_FALSE(policy.HidesEcho(view, flow));
  EXPECT_EQ(policy.StateBytes(), 0u);
  EXPECT_EQ(policy.FlowBytes(), 0u);
  EXPECT_TRUE(policy.Counters().empty());
  EXPECT_TRUE(policy.Gauges(Time{}).empty());
}

class NotingSwitch final : public SwitchPolicy {
 public:
  NotingSwitch(Names& calls, uint32_t unused) : calls_(calls), unused_(unused) {}
  uint32_t unused_hooks() const override { return unused_; }

  void Attach(SwitchView&) override { calls_.insert("attach"); }
  Decision OnPacket(SwitchView&, const Packet&, PortIndex in, const Candidates&) override {
    calls_.insert("packet");
    return Decision::Forward(in);
  }
  void Prefetch(const Packet&) const override { calls_.insert("prefetch"); }
  void OnEnqueue(SwitchView&, Packet&, PortIndex) override { calls_.insert("enqueue"); }
  void OnDropped(SwitchView&, const Packet&, PortIndex) override { calls_.insert("dropped"); }
  void OnTransmit(SwitchView&, Packet&, PortIndex) override { calls_.insert("transmit"); }
  void OnTimer(SwitchView&, uint32_t) override { calls_.insert("timer"); }
  size_t StateBytes() const override { return 13; }
  std::vector<Counter> Counters() const override { return {{"six", 6}}; }
  std::vector<Gauge> Gauges(Time) const override { return {{"third", 0.25}}; }

 private:
  Names& calls_;
  const uint32_t unused_;
};
class AroundSwitch final : public AroundSwitchPolicy {
 public:
  using AroundSwitchPolicy::AroundSwitchPolicy;
};

TEST(AroundSwitchPolicyTest, PassesOnWhatTheSchemeAsksFor) {
  Names unseen;
  Switch node(0, 0, 1, std::make_unique<NotingSwitch>(unseen, 0));
  SwitchView view(node);
  for (const auto& [used, name] :
       std::vector<std::pair<uint32_t, std::string>>{{0, ""},
                                                     {SwitchPolicy::kPrefetch, "prefetch"},
                                                     {SwitchPolicy::kEnqueue, "enqueue"},
                                                     {SwitchPolicy::kDropped, "dropped"},
                                                     {SwitchPolicy::kTransmit, "transmit"}}) {
    SCOPED_TRACE(name);
    Names calls;
    AroundSwitch policy(std::make_unique<NotingSwitch>(calls, ~used));
    Packet packet;
    policy.Attach(view);
    EXPECT_EQ(policy.OnPacket(view, packet, 9, {}).port, 9);
    policy.Prefetch(packet);
    policy.OnEnqueue(view, packet, 0);
    policy.OnDropped(view, packet, 0);
    policy.OnTransmit(view, packet, 0);
    policy.OnTimer(view, 3);
    Names expected = {"attach", "packet", "timer"};
    if (!name.empty()) expected.insert(name);
    EXPECT_EQ(calls, expected);
    EXPECT_EQ(policy.StateBytes(), 13u);
    EXPECT_EQ(policy.Counters()[0].value, 6);
    EXPECT_EQ(policy.Gauges(Time{})[0].value, 0.25);
  }
}

// --- Timers of a host's policy ---

// Sets timers with the least and the greatest id, and notes when they fire.
class Alarms final : public HostPolicy {
 public:
  explicit Alarms(std::vector<std::pair<Time, uint32_t>>& fired) : fired_(fired) {}
  void Attach(HostView& view) override {
    view.SetTimer(Time{} + 3_us, 0);
    view.SetTimer(Time{} + 5_us, 0xffff'ffff);
    view.SetTimer(Time{} + 5_us, 1);
    view.SetTimer(Time{} + 4_us, 7);
  }
  void OnTimer(HostView& view, uint32_t id) override { fired_.emplace_back(view.now(), id); }
  size_t StateBytes() const override { return 0; }

 private:
  std::vector<std::pair<Time, uint32_t>>& fired_;
};

// Neither the transport nor the background gets a timer of the policy, whatever its id.
TEST(HostPolicyTimerTest, OfAnyIdIsThePolicys) {
  std::vector<std::pair<Time, uint32_t>> fired;
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}), .host_policy = [&](HostId host) -> HostPolicyPtr {
             if (host == 1) return nullptr;
             return std::make_unique<Alarms>(fired);
           }});
  lab.AddFlow(0, 1, 14'600);
  lab.Run();
  EXPECT_EQ(fired, (std::vector<std::pair<Time, uint32_t>>{{Time{} + 3_us, 0},
                                                           {Time{} + 4_us, 7},
                                                           {Time{} + 5_us, 1},
                                                           {Time{} + 5_us, 0xffff'ffff}}));
}

}  // namespace heddle::around_policy_test
