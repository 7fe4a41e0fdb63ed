// SPDX-License-Identifier: Apache-2.0
// A policy is called for the hooks that it overrides; it need not declare them otherwise.

#include "fabric/policy_ptr.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "core/check.h"
#include "fabric/around_policy.h"
#include "tests/support/lab.h"

namespace heddle::policy_ptr_test {

using Calls = std::map<std::string, int>;

// Overrides nothing that it need not.
class PlainSwitch : public SwitchPolicy {
 public:
  Decision OnPacket(SwitchView&, const Packet&, PortIndex, const Candidates& c) override {
    return Decision::Forward(c.ports.front());
  }
  size_t StateBytes() const override { return 0; }
};
class PlainHost : public HostPolicy {
 public:
  size_t StateBytes() const override { return 0; }
};

// --- Policies that override everything, and count the calls ---

class EverySwitchHook final : public PlainSwitch {
 public:
  explicit EverySwitchHook(Calls& calls) : calls_(calls) {}
  void Prefetch(const Packet&) const override { ++calls_["prefetch"]; }
  void OnEnqueue(SwitchView&, Packet&, PortIndex) override { ++calls_["enqueue"]; }
  void OnDropped(SwitchView&, const Packet&, PortIndex) override { ++calls_["dropped"]; }
  void OnTransmit(SwitchView&, Packet&, PortIndex) override { ++calls_["transmit"]; }

 private:
  Calls& calls_;
};

class EveryHostHook final : public PlainHost {
 public:
  explicit EveryHostHook(Calls& calls) : calls_(calls) {}
  void OnFlowStart(HostView&, HostFlow&) override { ++calls_["start"]; }
  void OnFlowEnd(HostView&, HostFlow&) override { ++calls_["end"]; }
  void OnSend(HostView&, HostFlow&, Packet&) override { ++calls_["send"]; }
  void OnSendAck(HostView&, const Packet&, Packet&) override { ++calls_["ack leaves"]; }
  void OnSendCnp(HostView&, uint16_t, Packet&) override { ++calls_["cnp leaves"]; }
  void OnData(HostView&, const Packet&) override { ++calls_["data"]; }
  void OnAck(HostView&, HostFlow&, const Packet&, const AckNews&) override { ++calls_["ack"]; }
  void OnLoss(HostView&, HostFlow&, LossSign) override { ++calls_["loss"]; }
  bool HidesEcho(HostView&, HostFlow&) override {
    ++calls_["echo"];
    return false;
  }

 private:
  Calls& calls_;
};

constexpr uint32_t kAllOfASwitch = SwitchPolicy::kTransmit | SwitchPolicy::kEnqueue |
                                   SwitchPolicy::kDropped | SwitchPolicy::kPrefetch;
constexpr uint32_t kAllOfAHost = HostPolicy::kFlows | HostPolicy::kSend | HostPolicy::kSendAck |
                                 HostPolicy::kData | HostPolicy::kAck | HostPolicy::kLoss |
                                 HostPolicy::kEcho;

// Eight hosts send to one at once through a switch, with buffers so small that packets are lost.
void RunIncast(const std::string& transport, const std::string& port, Lab::Plan plan) {
  plan.graph = Star(9, {10_Gbps, 5_us});
  plan.transport = transport;
  plan.port = port;
  Lab lab(std::move(plan));
  for (HostId h = 0; h < 8; ++h) lab.AddFlow(h, 8, 146'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
}

using MakeSwitch = std::function<SwitchPolicyPtr(SwitchId)>;
using MakeHost = std::function<HostPolicyPtr(HostId)>;

// Runs ECN-capable TCP, then RoCE, whose receivers send CNPs.
void ExpectEveryHookCalled(Calls& calls, const MakeSwitch& make_switch, const MakeHost& make_host) {
  const Lab::Plan plan{.graph = {}, .switch_policy = make_switch, .host_policy = make_host};
  RunIncast("{kind: tcp, ecn: rfc3168, iw: 20}", "{buffer: 60KB, ecn_above: 20KB}", plan);
  EXPECT_EQ(calls["start"], 8);
  EXPECT_EQ(calls["end"], 8);
  for (const char* hook : {"enqueue", "transmit", "send", "data", "ack leaves", "ack"}) {
    EXPECT_GE(calls[hook], 800) << hook;
  }
  for (const char* hook : {"prefetch", "dropped", "loss", "echo"})
    EXPECT_GT(calls[hook], 0) << hook;
  EXPECT_EQ(calls["cnp leaves"], 0);
  RunIncast("rocev2", "{buffer: unlimited, ecn_above: 20KB}", plan);
  EXPECT_GT(calls["cnp leaves"], 0);
}

TEST(HooksTest, AreCalledBecauseTheyAreOverridden) {
  Calls calls;
  ExpectEveryHookCalled(
      calls, [&](SwitchId) { return std::make_unique<EverySwitchHook>(calls); },
      [&](HostId) { return std::make_unique<EveryHostHook>(calls); });
}

// --- What follows from a class ---

template <class T>
uint32_t HooksOfA() {
  return PolicyPtr<
             std::conditional_t<std::is_base_of_v<SwitchPolicy, T>, SwitchPolicy, HostPolicy>>(
             std::make_unique<T>())
      .hooks();
}

TEST(HooksTest, OfAPolicyThatOverridesNothingAreNone) {
  struct Switch final : PlainSwitch {};
  struct Host final : PlainHost {
    void OnControl(HostView&, const Packet&) override {}  // These two need no hook.
    void OnTimer(HostView&, uint32_t) override {}
  };
  EXPECT_EQ(HooksOfA<Switch>(), 0u);
  EXPECT_EQ(HooksOfA<Host>(), 0u);
  EXPECT_EQ(SwitchPolicyPtr().hooks(), 0u);
  EXPECT_EQ(HostPolicyPtr(nullptr).hooks(), 0u);
  EXPECT_EQ(HostPolicyPtr(std::unique_ptr<EveryHostHook>()).hooks(), 0u);
}

TEST(HooksTest, AreThoseOfTheFunctionsOverridden) {
  struct Prefetches final : PlainSwitch {
    void Prefetch(const Packet&) const override {}
  };
  struct Enqueues final : PlainSwitch {
    void OnEnqueue(SwitchView&, Packet&, PortIndex) override {}
  };
  struct Drops final : PlainSwitch {
    void OnDropped(SwitchView&, const Packet&, PortIndex) override {}
  };
  struct Transmits final : PlainSwitch {
    void OnTransmit(SwitchView&, Packet&, PortIndex) override {}
  };
  EXPECT_EQ(HooksOfA<Prefetches>(), SwitchPolicy::kPrefetch);
  EXPECT_EQ(HooksOfA<Enqueues>(), SwitchPolicy::kEnqueue);
  EXPECT_EQ(HooksOfA<Drops>(), SwitchPolicy::kDropped);
  EXPECT_EQ(HooksOfA<Transmits>(), SwitchPolicy::kTransmit);
  struct Starts final : PlainHost {
    void OnFlowStart(HostView&, HostFlow&) override {}
  };
  struct Ends final : PlainHost {
    void OnFlowEnd(HostView&, HostFlow&) override {}
  };
  struct Sends final : PlainHost {
    void OnSend(HostView&, HostFlow&, Packet&) override {}
  };
  struct Answers final : PlainHost {
    void OnSendAck(HostView&, const Packet&, Packet&) override {}
  };
  struct Notifies final : PlainHost {
    void OnSendCnp(HostView&, uint16_t, Packet&) override {}
  };
  struct Receives final : PlainHost {
    void OnData(HostView&, const Packet&) override {}
  };
  struct Hears final : PlainHost {
    void OnAck(HostView&, HostFlow&, const Packet&, const AckNews&) override {}
  };
  struct Loses final : PlainHost {
    void OnLoss(HostView&, HostFlow&, LossSign) override {}
  };
  struct Hides final : PlainHost {
    bool HidesEcho(HostView&, HostFlow&) override { return true; }
  };
  EXPECT_EQ(HooksOfA<Starts>(), HostPolicy::kFlows);
  EXPECT_EQ(HooksOfA<Ends>(), HostPolicy::kFlows);
  EXPECT_EQ(HooksOfA<Sends>(), HostPolicy::kSend);
  EXPECT_EQ(HooksOfA<Answers>(), HostPolicy::kSendAck);
  EXPECT_EQ(HooksOfA<Notifies>(), HostPolicy::kSendAck);
  EXPECT_EQ(HooksOfA<Receives>(), HostPolicy::kData);
  EXPECT_EQ(HooksOfA<Hears>(), HostPolicy::kAck);
  EXPECT_EQ(HooksOfA<Loses>(), HostPolicy::kLoss);
  EXPECT_EQ(HooksOfA<Hides>(), HostPolicy::kEcho);
}

// Private and protected overrides, overloads beside one, noexcept, and an override in a class
// between.
TEST(HooksTest, AreFoundHoweverTheyAreOverridden) {
  class Private final : public PlainSwitch {
    void OnTransmit(SwitchView&, Packet&, PortIndex) override {}
  };
  class Protected final : public PlainHost {
   protected:
    void OnSend(HostView&, HostFlow&, Packet&) override {}
  };
  class Overloaded final : public PlainSwitch {
   public:
    void OnEnqueue(SwitchView&, Packet&, PortIndex) override { OnEnqueue(0); }
    void OnEnqueue(int) {}
  };
  class NeverThrows final : public PlainHost {
   public:
    void OnData(HostView&, const Packet&) noexcept override {}
  };
  class Between : public PlainSwitch {
    void OnDropped(SwitchView&, const Packet&, PortIndex) final {}
  };
  class Below final : public Between {
   public:
    void OnTransmit(SwitchView&, Packet&, PortIndex) override {}
  };
  class Indirect final : public Between {};
  EXPECT_EQ(HooksOfA<Private>(), SwitchPolicy::kTransmit);
  EXPECT_EQ(HooksOfA<Protected>(), HostPolicy::kSend);
  EXPECT_EQ(HooksOfA<Overloaded>(), SwitchPolicy::kEnqueue);
  EXPECT_EQ(HooksOfA<NeverThrows>(), HostPolicy::kData);
  EXPECT_EQ(HooksOfA<Below>(), SwitchPolicy::kTransmit | SwitchPolicy::kDropped);
  EXPECT_EQ(HooksOfA<Indirect>(), SwitchPolicy::kDropped);
}

TEST(HooksTest, IncludeWhatIsSaidOfPacketsAndNextHops) {
  struct Every final : PlainSwitch {
    Packets asked_about() const override { return Packets::kEvery; }
  };
  struct Last final : PlainSwitch {
    Packets asked_about() const override { return Packets::kWithLastUplink; }
    bool wants_next_hops() const override { return true; }
  };
  EXPECT_EQ(HooksOfA<Every>(), SwitchPolicy::kEveryPacket);
  EXPECT_EQ(HooksOfA<Last>(), SwitchPolicy::kLastUplink | SwitchPolicy::kNextHops);
}

// Nothing is known of next hops that nobody asked routing about.
TEST(HooksDeathTest, APolicyThatLooksAtNextHopsMustSaySo) {
  struct Looks final : PlainSwitch {
    explicit Looks(bool wants) : wants_(wants) {}
    bool wants_next_hops() const override { return wants_; }
    Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex,
                      const Candidates& c) override {
      EXPECT_EQ(view.NextHopsTo(packet.dst).size(), c.ports.size());
      return Decision::Forward(c.ports.front());
    }
    const bool wants_;
  };
  const auto run = [](bool wants) {
    Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 1}"),
             .switch_policy = [&](SwitchId) { return std::make_unique<Looks>(wants); }});
    lab.AddFlow(0, 1, 14'600);
    lab.Run();
    EXPECT_TRUE(lab.finished());
  };
  run(true);
  EXPECT_EXIT(run(false), testing::ExitedWithCode(kExitBrokenInvariant), "wants_next_hops");
}

// Under such a policy, a leaf may send to its hosts packets that arrive after the policy's now().
TEST(HooksDeathTest, APolicyThatOnlyChoosesMustNotAct) {
  enum class Act { kSend, kSendAsData, kHold, kTime };
  struct Acting final : PlainSwitch {
    Acting(bool only_chooses, Act act) : only_chooses_(only_chooses), act_(act) {}
    bool only_chooses() const override { return only_chooses_; }
    Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                      const Candidates& c) override {
      Packet own;
      own.kind = PacketKind::kControl;
      own.bytes = kMinPacketBytes;
      own.dst = packet.src;
      const PortIndex port = c.ports.front();
      if (act_ == Act::kSend) view.SendControl(own, in_port);
      if (act_ == Act::kSendAsData) view.SendAsData(own, in_port);
      if (act_ == Act::kTime) view.SetTimer(view.now() + 1_us, 0);
      if (act_ == Act::kHold) {
        EXPECT_TRUE(view.Hold(packet, in_port, port));
        held_ = packet;
        view.SetTimer(view.now() + 1_us, port);
        return Decision::Hold();
      }
      return Decision::Forward(port);
    }
    void OnTimer(SwitchView& view, uint32_t id) override {
      if (act_ == Act::kHold) view.Release(held_, 0, static_cast<PortIndex>(id));
    }
    const bool only_chooses_;
    const Act act_;
    Packet held_;
  };
  for (const Act act : {Act::kSend, Act::kSendAsData, Act::kHold, Act::kTime}) {
    const auto run = [act](bool only_chooses) {
      Lab lab(
          {.graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 1}"),
           .switch_policy = [&](SwitchId) { return std::make_unique<Acting>(only_chooses, act); }});
      lab.AddFlow(0, 1, 1'460);
      lab.Run();
      EXPECT_TRUE(lab.finished());
    };
    run(false);
    EXPECT_EXIT(run(true), testing::ExitedWithCode(kExitBrokenInvariant),
                "its only_chooses\\(\\) is true");
  }
}

// Where no host's policy sends packets, hosts may run ahead of their leaf.
TEST(HooksDeathTest, AHostsPolicyThatSendsMustSaySo) {
  struct Probing final : HostPolicy {
    Probing(bool sends, bool is_probe) : sends_(sends), is_probe_(is_probe) {}
    bool sends_packets() const override { return sends_; }
    void OnFlowStart(HostView& view, HostFlow& flow) override {
      Packet own;
      own.kind = PacketKind::kControl;
      own.bytes = kMinPacketBytes;
      own.dst = flow.dst;
      if (is_probe_) {
        view.SendProbe(own);
      } else {
        view.SendControl(own);
      }
    }
    size_t StateBytes() const override { return 0; }
    const bool sends_;
    const bool is_probe_;
  };
  for (const bool is_probe : {false, true}) {
    const auto run = [is_probe](bool sends) {
      Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 1}"),
               .host_policy = [&](HostId) { return std::make_unique<Probing>(sends, is_probe); }});
      lab.AddFlow(0, 1, 1'460);
      lab.Run();
      EXPECT_TRUE(lab.finished());
    };
    run(true);
    EXPECT_EXIT(run(false), testing::ExitedWithCode(kExitBrokenInvariant),
                "its sends_packets\\(\\) is false");
  }
}

// --- Narrowed by settings ---

class NarrowSwitch final : public PlainSwitch {
 public:
  explicit NarrowSwitch(uint32_t unused) : unused_(unused) {}
  uint32_t unused_hooks() const override { return unused_; }
  Packets asked_about() const override { return Packets::kEvery; }
  void OnEnqueue(SwitchView&, Packet&, PortIndex) override {}
  void OnTransmit(SwitchView&, Packet&, PortIndex) override {}

 private:
  const uint32_t unused_;
};

TEST(HooksTest, AreFewerWhereSettingsNeedFewerAndNeverMore) {
  const auto hooks = [](uint32_t unused) {
    return SwitchPolicyPtr(std::make_unique<NarrowSwitch>(unused)).hooks();
  };
  constexpr uint32_t kEvery = SwitchPolicy::kEveryPacket;
  EXPECT_EQ(hooks(0), kEvery | SwitchPolicy::kEnqueue | SwitchPolicy::kTransmit);
  EXPECT_EQ(hooks(SwitchPolicy::kEnqueue), kEvery | SwitchPolicy::kTransmit);
  EXPECT_EQ(hooks(SwitchPolicy::kDropped), hooks(0));
  EXPECT_EQ(hooks(~0u), kEvery);
  struct Host final : PlainHost {
    uint32_t unused_hooks() const override { return kEcho | kLoss; }
    bool HidesEcho(HostView&, HostFlow&) override { return true; }
    void OnAck(HostView&, HostFlow&, const Packet&, const AckNews&) override {}
  };
  EXPECT_EQ(HooksOfA<Host>(), HostPolicy::kAck);
}

// --- Policies that stand around others ---

class PlainAroundSwitch final : public AroundSwitchPolicy {
 public:
  using AroundSwitchPolicy::AroundSwitchPolicy;
};
class PlainAroundHost final : public AroundHostPolicy {
 public:
  using AroundHostPolicy::AroundHostPolicy;
};

TEST(HooksTest, OfAPolicyAroundAnotherAreThoseOfTheOther) {
  Calls calls;
  const MakeSwitch around_switch = [&](SwitchId) {
    return std::make_unique<PlainAroundSwitch>(std::make_unique<EverySwitchHook>(calls));
  };
  const MakeHost around_host = [&](HostId) {
    return std::make_unique<PlainAroundHost>(std::make_unique<EveryHostHook>(calls));
  };
  EXPECT_EQ(around_switch(0).hooks(), kAllOfASwitch);
  EXPECT_EQ(around_host(0).hooks(), kAllOfAHost);
  ExpectEveryHookCalled(calls, around_switch, around_host);
  EXPECT_EQ(SwitchPolicyPtr(std::make_unique<PlainAroundSwitch>(
                                std::make_unique<NarrowSwitch>(SwitchPolicy::kEnqueue)))
                .hooks(),
            SwitchPolicy::kEveryPacket | SwitchPolicy::kTransmit);
  EXPECT_EQ(HostPolicyPtr(std::make_unique<PlainAroundHost>(nullptr)).hooks(), 0u);
}

// Overrides all hooks, passes all calls on, and counts those that it gets.
class EagerAroundSwitch final : public AroundSwitchPolicy {
 public:
  EagerAroundSwitch(SwitchPolicyPtr scheme, Calls& calls)
      : AroundSwitchPolicy(std::move(scheme)), calls_(calls) {}
  void Prefetch(const Packet& packet) const override {
    ++calls_["prefetch"];
    AroundSwitchPolicy::Prefetch(packet);
  }
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    ++calls_["enqueue"];
    AroundSwitchPolicy::OnEnqueue(view, packet, port);
  }
  void OnDropped(SwitchView& view, const Packet& packet, PortIndex port) override {
    ++calls_["dropped"];
    AroundSwitchPolicy::OnDropped(view, packet, port);
  }
  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    ++calls_["transmit"];
    AroundSwitchPolicy::OnTransmit(view, packet, port);
  }

 private:
  Calls& calls_;
};
class EagerAroundHost final : public AroundHostPolicy {
 public:
  EagerAroundHost(HostPolicyPtr scheme, Calls& calls)
      : AroundHostPolicy(std::move(scheme)), calls_(calls) {}
  void OnFlowStart(HostView& view, HostFlow& flow) override {
    ++calls_["start"];
    AroundHostPolicy::OnFlowStart(view, flow);
  }
  void OnFlowEnd(HostView& view, HostFlow& flow) override {
    ++calls_["end"];
    AroundHostPolicy::OnFlowEnd(view, flow);
  }
  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    ++calls_["send"];
    AroundHostPolicy::OnSend(view, flow, packet);
  }
  void OnSendAck(HostView& view, const Packet& data, Packet& ack) override {
    ++calls_["ack leaves"];
    AroundHostPolicy::OnSendAck(view, data, ack);
  }
  void OnSendCnp(HostView& view, uint16_t taken, Packet& cnp) override {
    ++calls_["cnp leaves"];
    AroundHostPolicy::OnSendCnp(view, taken, cnp);
  }
  void OnData(HostView& view, const Packet& data) override {
    ++calls_["data"];
    AroundHostPolicy::OnData(view, data);
  }
  void OnAck(HostView& view, HostFlow& flow, const Packet& ack, const AckNews& news) override {
    ++calls_["ack"];
    AroundHostPolicy::OnAck(view, flow, ack, news);
  }
  void OnLoss(HostView& view, HostFlow& flow, LossSign sign) override {
    ++calls_["loss"];
    AroundHostPolicy::OnLoss(view, flow, sign);
  }
  bool HidesEcho(HostView& view, HostFlow& flow) override {
    ++calls_["echo"];
    return AroundHostPolicy::HidesEcho(view, flow);
  }

 private:
  Calls& calls_;
};

// A policy whose settings have switched off its hooks; nobody may call them.
class SilentSwitch final : public PlainSwitch {
 public:
  uint32_t unused_hooks() const override { return kAllOfASwitch; }
  void Prefetch(const Packet&) const override { ADD_FAILURE() << "prefetch"; }
  void OnEnqueue(SwitchView&, Packet&, PortIndex) override { ADD_FAILURE() << "enqueue"; }
  void OnDropped(SwitchView&, const Packet&, PortIndex) override { ADD_FAILURE() << "dropped"; }
  void OnTransmit(SwitchView&, Packet&, PortIndex) override { ADD_FAILURE() << "transmit"; }
};

TEST(HooksTest, OfAPolicyAroundAnotherAreItsOwnTooAndTheOtherDoesNotSeeThem) {
  Calls calls;
  const MakeSwitch make_switch = [&](SwitchId) {
    return std::make_unique<EagerAroundSwitch>(std::make_unique<SilentSwitch>(), calls);
  };
  const MakeHost make_host = [&](HostId) {  // Around nothing.
    return std::make_unique<EagerAroundHost>(nullptr, calls);
  };
  EXPECT_EQ(make_switch(0).hooks(), kAllOfASwitch);
  EXPECT_EQ(make_host(0).hooks(), kAllOfAHost);
  ExpectEveryHookCalled(calls, make_switch, make_host);
}

}  // namespace heddle::policy_ptr_test
