// SPDX-License-Identifier: Apache-2.0
// FlbQueues against a plain list of flows, while random flows fill and drain the queue of one port.

#include "lb/flb/queues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <tuple>
#include <vector>

#include "core/random.h"
#include "tests/support/lb_bench.h"

namespace heddle::queues_test {

// A packet of 1226 bytes and 24 more on the wire takes 1 us at 10 Gbps, and everything happens at
// whole microseconds: so queues are often exactly as long as a threshold.
constexpr uint32_t kPayload = 1'186;
constexpr int64_t kWireBytes = 1'250;

struct Rules {
  int64_t above = 6 * kWireBytes;
  int64_t below = 3 * kWireBytes;
  int64_t again_us = 8;
  bool pauses = false;
  size_t entries = 1'000;
};

struct Notice {
  FlowId flow;
  FlbControl::Kind kind;
  uint16_t flows;
  int32_t most;

  friend bool operator==(const Notice&, const Notice&) = default;
};
void PrintTo(const Notice& notice, std::ostream* out) {
  *out << notice.flow << (notice.kind == FlbControl::kCongested ? " congests, " : " is released, ")
       << notice.flows << " flows, most " << notice.most;
}

// The rules of section 3.2, one by one. Its lists are in the order of the flows' latest packets.
class PlainQueue {
 public:
  explicit PlainQueue(const Rules& rules) : rules_(rules) {}

  std::vector<Notice> Enter(FlowId flow, int64_t now, int64_t unsent, int64_t queued) {
    told_.clear();
    if (Distinct() > 0 && queued <= 1) ForgetPackets();
    Flow& its = Latest(flow);
    ++its.packets;
    most_ = std::max(most_, Distinct());
    if (unsent < rules_.above) return told_;
    if (!congested_) {
      congested_ = true;
      ++episodes;
      most_ = Distinct();
      for (Flow& other : flows_) {
        if (other.packets > 0) Notify(other, now);
      }
      return told_;
    }
    const bool has_news = its.told != Distinct() && now - its.told_at >= rules_.again_us;
    if (!its.notified || has_news) Notify(its, now);
    TellPaused(now);
    return told_;
  }

  std::vector<Notice> Leave(FlowId flow, int64_t now, int64_t unsent) {
    told_.clear();
    const auto found = std::ranges::find(flows_, flow, &Flow::id);
    if (found != flows_.end() && found->packets > 0 && --found->packets == 0 && !found->notified) {
      flows_.erase(found);
    }
    if (!congested_) return told_;
    if (unsent >= rules_.below) {
      TellPaused(now);
      return told_;
    }
    congested_ = false;
    for (Flow& its : flows_) {
      Release(its);
      its.notified = false;
      its.most_told = 0;
    }
    std::erase_if(flows_, [](const Flow& f) { return f.packets == 0; });
    return told_;
  }

  int64_t episodes = 0;
  int64_t evictions = 0;

 private:
  struct Flow {
    FlowId id = 0;
    int64_t packets = 0;
    bool notified = false;
    int64_t told = 0;
    int64_t most_told = 0;
    int64_t told_at = 0;
  };

  int64_t Distinct() const {
    return std::ranges::count_if(flows_, [](const Flow& f) { return f.packets > 0; });
  }

  void ForgetPackets() {
    for (Flow& its : flows_) its.packets = 0;
    std::erase_if(flows_, [](const Flow& f) { return !f.notified; });
  }

  // Moves the flow behind all others. If it is new, the one in front makes room for it.
  Flow& Latest(FlowId flow) {
    Flow its{.id = flow};
    const auto found = std::ranges::find(flows_, flow, &Flow::id);
    if (found != flows_.end()) {
      its = *found;
      flows_.erase(found);
    } else if (flows_.size() == rules_.entries) {
      ++evictions;
      Release(flows_.front());
      flows_.pop_front();
    }
    flows_.push_back(its);
    return flows_.back();
  }

  void Notify(Flow& its, int64_t now) {
    its.notified = true;
    its.told = Distinct();
    its.most_told = most_;
    its.told_at = now;
    told_.push_back({its.id, FlbControl::kCongested, static_cast<uint16_t>(Distinct()),
                     static_cast<int32_t>(most_)});
  }
  void Release(const Flow& its) {
    if (its.notified) told_.push_back({its.id, FlbControl::kReleased, 0, 0});
  }

  // A quarter of the time between two notices to a flow passes between two of these reviews.
  void TellPaused(int64_t now) {
    if (!rules_.pauses || 4 * (now - reviewed_) < rules_.again_us) return;
    reviewed_ = now;
    for (Flow& its : flows_) {
      if (its.notified && its.most_told < most_ && now - its.told_at >= rules_.again_us) {
        Notify(its, now);
      }
    }
  }

  const Rules rules_;
  std::deque<Flow> flows_;
  std::vector<Notice> told_;
  bool congested_ = false;
  int64_t most_ = 0;
  int64_t reviewed_ = -1'000'000;
};

class Comparison {
 public:
  Comparison(const Rules& rules, uint64_t seed)
      : rng_(Rng::Stream(seed, "queues", 0)),
        leaf_("ecmp", {.uplinks = std::vector<BitRate>(2, 10_Gbps)}),
        queues_(rules.above, rules.below, 1_us * rules.again_us, rules.pauses),
        plain_(rules) {
    queues_.Attach(2, rules.entries);
  }

  // Packets come faster than they leave, then more slowly, and so on.
  void Run(int64_t us) {
    for (int64_t now = 1; now < us; ++now) {
      const bool busy = now / 40 % 2 == 0;
      const uint32_t arrivals = busy ? rng_.Below(4) : rng_.Below(4) / 3;
      for (uint32_t n = arrivals; n-- > 0;) ASSERT_NO_FATAL_FAILURE(Enter(now));
      while (!waiting_.empty() && waiting_.front().second <= now) {
        ASSERT_NO_FATAL_FAILURE(Leave(now));
      }
    }
    EXPECT_EQ(queues_.episodes(), plain_.episodes);
    EXPECT_EQ(queues_.evictions(), plain_.evictions);
    EXPECT_GT(plain_.episodes, 5);
  }

  int64_t evictions() const { return plain_.evictions; }
  int64_t notices() const { return notices_; }

 private:
  static constexpr PortIndex kPort = 1;

  auto Noting(std::vector<Notice>& told) {
    return [&told](uint64_t key, const QueueFlows::Flow&, const FlbControl& control) {
      told.push_back({QueueFlows::FlowOf(key), control.kind, control.flows, control.number});
    };
  }

  void Enter(int64_t now) {
    const FlowId flow = rng_.Below(12);
    Packet packet = LbPacket(flow, kPayload);
    packet.flow = flow;
    leaf_.At(Time{} + 1_us * now, [&](SwitchView& view, SwitchPolicy&) {
      view.SendAsData(packet, kPort);
      std::vector<Notice> told;
      queues_.Enter(view, packet, kPort, Noting(told));
      ASSERT_EQ(told, plain_.Enter(flow, now, view.Unsent(kPort).count, view.QueuedPackets(kPort)))
          << "a packet of flow " << flow << " at " << now << " us";
      notices_ += static_cast<int64_t>(told.size());
      waiting_.emplace_back(packet, now + view.QueueingDelay(kPort) / 1_us);
    });
  }

  // Now and then a packet is lost with its link, and never leaves.
  void Leave(int64_t now) {
    const Packet packet = waiting_.front().first;
    waiting_.pop_front();
    if (rng_.Below(40) == 0) return;
    leaf_.At(Time{} + 1_us * now, [&](SwitchView& view, SwitchPolicy&) {
      std::vector<Notice> told;
      queues_.Leave(view, packet, kPort, Noting(told));
      ASSERT_EQ(told, plain_.Leave(packet.flow, now, view.Unsent(kPort).count))
          << "flow " << packet.flow << " at " << now << " us";
      notices_ += static_cast<int64_t>(told.size());
    });
  }

  Rng rng_;
  LbSwitch leaf_;
  FlbQueues queues_;
  PlainQueue plain_;
  std::deque<std::pair<Packet, int64_t>> waiting_;  // With the time when each has left.
  int64_t notices_ = 0;
};

TEST(FlbQueuesTest, TellFlowsWhatAPlainListTells) {
  for (const Rules& rules :
       {Rules{}, Rules{.pauses = true}, Rules{.again_us = 1}, Rules{.again_us = 40, .pauses = true},
        Rules{.above = kWireBytes, .below = kWireBytes, .pauses = true}}) {
    int64_t notices = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(testing::Message() << "again " << rules.again_us << " us, seed " << seed);
      Comparison comparison(rules, seed);
      ASSERT_NO_FATAL_FAILURE(comparison.Run(1'200));
      notices += comparison.notices();
    }
    EXPECT_GT(notices, 500);
  }
}

TEST(FlbQueuesTest, AFlowWhoseEntryIsEvictedIsReleased) {
  int64_t evictions = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    Comparison comparison({.pauses = seed % 2 == 0, .entries = 5}, seed);
    ASSERT_NO_FATAL_FAILURE(comparison.Run(1'200));
    evictions += comparison.evictions();
  }
  EXPECT_GT(evictions, 100);
}

// Ports have queues of their own, and each takes the memory of its table.
TEST(FlbQueuesTest, TakeTheMemoryOfATableForEachPort) {
  FlbQueues queues(1, 1, 1_us, false);
  EXPECT_EQ(queues.memory_bytes(), 0u);
  queues.Attach(3, 100);
  EXPECT_EQ(queues.memory_bytes(), 3 * QueueFlows(100).memory_bytes());
  EXPECT_GT(queues.memory_bytes(), 3u * 100 * sizeof(QueueFlows::Flow));
}

}  // namespace heddle::queues_test
