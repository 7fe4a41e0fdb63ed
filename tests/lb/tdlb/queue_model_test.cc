// SPDX-License-Identifier: Apache-2.0
// The queues at the uplinks of a TDLB leaf beside plain lists of flows (Hu et al., Computer
// Networks 255, 2024, section 3): which flows count as congested while random flows fill and drain
// them. All of them begin at this leaf, so it tells itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string>

#include "core/random.h"
#include "lb/tdlb/control.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_control.h"

namespace heddle::tdlb_queue_model_test {

// A packet of 1226 bytes and 24 more on the wire takes 100 us at 100 Mbps, and packets come at
// multiples of it. The ten looks at the queues from one to the next find the same packets.
constexpr uint32_t kPayload = 1'186;
constexpr int64_t kWireBytes = 1'250;
constexpr Duration kSlot = 100_us;
constexpr int64_t kLooks = 10;  // In a slot.

struct Rules {
  int64_t above = 6;  // Packets.
  int64_t clear = 3;
  int64_t again = 5;  // Looks in a base round trip,
  int64_t age = 15;   // and until a notice is too old.
  size_t entries = 512;
};

class PlainQueue {
 public:
  using Marks = std::map<FlowId, int64_t>;  // The look when each congested flow was last told.

  PlainQueue(const Rules& rules, Marks* marks) : rules_(rules), marks_(marks) {}

  int64_t episodes = 0;
  int64_t evictions = 0;
  int64_t silent = 0;  // Looks at a long queue which had no packets of a notified flow.

  // `queued`: the packets at the port with this one, unless it has been lost with its link.
  void Enter(FlowId id, int64_t queued) {
    if (HasPackets() && queued <= 1) {
      for (Flow& flow : flows_) flow.packets = 0;
      std::erase_if(flows_, [](const Flow& flow) { return !flow.is_notified; });
    }
    auto flow = std::ranges::find(flows_, id, &Flow::id);
    if (flow == flows_.end()) {
      if (flows_.size() == rules_.entries) {
        ++evictions;
        if (flows_.front().is_notified) marks_->erase(flows_.front().id);
        flows_.pop_front();
      }
      flow = flows_.insert(flows_.end(), {id, 0, false, 0});
    }
    flows_.splice(flows_.end(), flows_, flow);
    ++flow->packets;
  }
  void Leave(FlowId id) {
    const auto flow = std::ranges::find(flows_, id, &Flow::id);
    if (flow == flows_.end() || flow->packets == 0) return;
    --flow->packets;
    if (flow->packets == 0 && !flow->is_notified) flows_.erase(flow);
  }
  void Look(int64_t look, int64_t queued) {
    if (queued > rules_.above) {
      episodes += is_long_ ? 0 : 1;
      is_long_ = true;
      for (Flow& flow : flows_) Tell(flow, look);
    } else if (is_long_ && queued <= rules_.clear) {
      is_long_ = false;
      for (Flow& flow : flows_) {
        if (flow.is_notified) marks_->erase(flow.id);
        flow.is_notified = false;
      }
      std::erase_if(flows_, [](const Flow& flow) { return flow.packets == 0; });
    }
  }

 private:
  struct Flow {
    FlowId id = 0;
    int64_t packets = 0;
    bool is_notified = false;
    int64_t told = 0;
  };

  bool HasPackets() const {
    return std::ranges::any_of(flows_, [](const Flow& flow) { return flow.packets > 0; });
  }
  // Only flows with packets in the queue congest it.
  void Tell(Flow& flow, int64_t look) {
    silent += flow.packets == 0 ? 1 : 0;
    if (flow.packets == 0 || (flow.is_notified && look - flow.told < rules_.again)) return;
    flow.is_notified = true;
    flow.told = look;
    (*marks_)[flow.id] = look;
  }

  const Rules rules_;
  Marks* const marks_;
  std::list<Flow> flows_;  // The one whose latest packet came first is first.
  bool is_long_ = false;
};

class Play {
 public:
  Play(const Rules& rules, uint64_t seed)
      : rules_(rules),
        rng_(Rng::Stream(seed, "tdlb queues", 0)),
        leaf_("{kind: tdlb, probe_every: 1s, congested_above: " + BytesOf(rules.above) +
                  ", clear_below: " + BytesOf(rules.clear) +
                  ", notification_age: 150us, queue_flows: " + std::to_string(rules.entries) + "}",
              {.uplinks = std::vector<BitRate>(3, 100_Mbps), .fabric = {.base_rtt = 50_us}}) {
    for (const uint16_t path : {uint16_t{0}, uint16_t{2}}) {
      Learn(path, 10'000);
      Learn(path, 400'000);
    }
  }

  // Packets come faster than they leave, then more slowly, and so on.
  void Slot() {
    ++slot_;
    leaf_.At(now(), [&](SwitchView& view, SwitchPolicy& policy) {
      for (size_t i = 0; i < 2; ++i) {
        if (!waiting_[i].empty()) waiting_[i].pop_front();  // It has been sent.
        const uint32_t most = (slot_ / 12 + static_cast<int64_t>(i)) % 2 == 0 ? 4 : 2;
        for (uint32_t n = rng_.Below(most); n > 0; --n) Enter(view, i);
        if (rng_.Below(15) == 0) Lose(view, policy, i);
        // At one instant, packets begin to leave after timers.
        if (!waiting_[i].empty()) queues_[i].Leave(waiting_[i].front());
      }
    });
    for (int64_t look = kLooks * slot_; look < kLooks * (slot_ + 1); ++look) {
      std::erase_if(marks_, [&](const auto& mark) { return look - mark.second > rules_.age; });
      for (size_t i = 0; i < 2; ++i) {
        queues_[i].Look(look, static_cast<int64_t>(waiting_[i].size()));
      }
    }
    leaf_.At(now() + kSlot - 1_ps, [](SwitchView&, SwitchPolicy&) {});
    EXPECT_EQ(leaf_.Count("congested_flows"), static_cast<int64_t>(marks_.size()));
    EXPECT_EQ(leaf_.Count("episodes"), queues_[0].episodes + queues_[1].episodes);
    EXPECT_EQ(leaf_.Count("table_evictions"), queues_[0].evictions + queues_[1].evictions);
    ASSERT_EQ(leaf_.Count("probes"), 0);  // They would wait with the packets.
    most_ = std::max(most_, marks_.size());
  }

  int64_t episodes() const { return queues_[0].episodes + queues_[1].episodes; }
  int64_t evictions() const { return queues_[0].evictions + queues_[1].evictions; }
  int64_t silent() const { return queues_[0].silent + queues_[1].silent; }
  size_t most() const { return most_; }

 private:
  static constexpr PortIndex kPorts[] = {0, 2};

  static std::string BytesOf(int64_t packets) { return std::to_string(packets * kWireBytes) + "B"; }
  Time now() const { return Time{} + kSlot * slot_; }

  void Learn(uint16_t path, int32_t delay_ns) {
    leaf_.At(Time{} + 1_us, [&](SwitchView& view, SwitchPolicy& policy) {
      const PortIndex down = 3;
      policy.OnPacket(view, ControlPacket(TdlbControl{TdlbControl::kEcho, 0, path, delay_ns}), 0,
                      {1, 1, {&down, 1}});
    });
  }
  Packet AnyPacket(size_t i) {
    const FlowId flow = static_cast<FlowId>(100 * i) + rng_.Below(7);
    Packet packet = LbPacket(flow, kPayload);
    packet.flow = flow;
    return packet;
  }
  void Enter(SwitchView& view, size_t i) {
    const Packet packet = AnyPacket(i);
    view.SendAsData(packet, kPorts[i]);
    waiting_[i].push_back(packet.flow);
    queues_[i].Enter(packet.flow, static_cast<int64_t>(waiting_[i].size()));
  }
  // A packet is queued that will be lost with its link, so it never leaves.
  void Lose(SwitchView& view, SwitchPolicy& policy, size_t i) {
    Packet packet = AnyPacket(i);
    policy.OnEnqueue(view, packet, kPorts[i]);
    queues_[i].Enter(packet.flow, static_cast<int64_t>(waiting_[i].size()));
  }

  const Rules rules_;
  Rng rng_;
  LbSwitch leaf_;
  PlainQueue::Marks marks_;
  PlainQueue queues_[2] = {{rules_, &marks_}, {rules_, &marks_}};
  std::deque<FlowId> waiting_[2];  // The first is being sent.
  int64_t slot_ = 0;
  size_t most_ = 0;
};

TEST(TdlbQueueModelTest, FlowsAreCongestedWhenPlainListsSaySo) {
  for (const Rules& rules : {Rules{}, Rules{.above = 3, .clear = 3}, Rules{.entries = 3}}) {
    int64_t episodes = 0;
    int64_t evictions = 0;
    int64_t silent = 0;
    size_t most = 0;
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(testing::Message() << "above " << rules.above << ", seed " << seed);
      Play play(rules, seed);
      for (int slot = 0; slot < 300; ++slot) {
        play.Slot();
        ASSERT_FALSE(HasFailure()) << "slot " << slot;
      }
      episodes += play.episodes();
      evictions += play.evictions();
      silent += play.silent();
      most = std::max(most, play.most());
    }
    EXPECT_GT(episodes, 20);
    EXPECT_GT(silent, 100);
    EXPECT_GE(most, rules.entries < 7 ? 3u : 7u);
    EXPECT_EQ(evictions > 100, rules.entries < 7);
  }
}

// The leaf has room for as many congested flows as for flows, and counts those that it forgets.
TEST(TdlbQueueModelTest, TheFlowToldOfLongestAgoMakesRoomForAnother) {
  LbSwitch leaf("{kind: tdlb, table_entries: 8}");
  for (FlowId flow = 1; flow <= 11; ++flow) {
    leaf.At(Time{} + 1_us * flow, [&](SwitchView& view, SwitchPolicy& policy) {
      const PortIndex down = 4;
      policy.OnPacket(view, ControlPacket(TdlbControl{TdlbControl::kCongested, 0, 1, 0}, flow), 0,
                      {1, 1, {&down, 1}});
    });
  }
  EXPECT_EQ(leaf.Count("congested_flows"), 8);
  EXPECT_EQ(leaf.Count("table_evictions"), 3);
}

}  // namespace heddle::tdlb_queue_model_test
