// SPDX-License-Identifier: Apache-2.0
// A leaf of Best-nexthop beside a plain model of its rules, over random packets, telemetry and
// failures of uplinks. Where several uplinks are equally good the leaf may take any of them, and
// the model follows.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lb/best_nexthop/int_fields.h"
#include "tests/support/lb_bench.h"
#include "tests/support/leaf_play.h"

namespace heddle::best_nexthop_leaf_model_test {

constexpr Duration kTick = 10_us;  // Events are at multiples, so gaps often equal what counts.
constexpr Duration kGap = 50_us;
constexpr Duration kStale = 120_us;
constexpr Duration kFlowAge = 10 * kGap;  // No flow is forgotten sooner.
constexpr uint16_t kUplinks = LeafRules::kUplinks;

struct Telemetry {
  int64_t latency_us = 0;
  int64_t queue = 0;
  int64_t utilisation = 0;

  // The share of each range: 100 us, 50 packets, 64; up to 1.
  double congestion() const {
    return std::min(static_cast<double>(1'000 * latency_us) * 1e-9 / 1e-4, 1.0) +
           std::min(static_cast<double>(queue) / 50, 1.0) +
           std::min(static_cast<double>(utilisation) / 64, 1.0);
  }
};

class Model {
 public:
  using Ports = std::set<PortIndex>;

  int64_t flowlets = 0;
  int64_t reroutes = 0;
  int64_t unknowing = 0;

  void Learn(uint16_t leaf, PortIndex port, const Telemetry& told, Time now) {
    known_[{leaf, port}] = {told.congestion(), now};
  }

  // Expects that a packet of the flow may take `port`. `wait`: in that port's queue.
  void OnPacket(FlowId flow, uint16_t leaf, const LiveUplinks& live, Duration wait, Time now,
                PortIndex port) {
    Flow& its = flows_[flow];
    const bool is_known = its.port && now - its.seen <= kFlowAge;
    const bool stays = is_known && live.Has(*its.port) && now - its.left <= kGap;
    const Ports allowed = stays ? Ports{*its.port} : Best(leaf, live, now);
    ExpectAllowed(allowed, port);
    if (!stays) {
      ++flowlets;
      reroutes += is_known && *its.port != port ? 1 : 0;
      if (!is_unknowing_) best_[leaf] = port;
    }
    its = {port, now, now + wait};
  }

 private:
  struct Flow {
    std::optional<PortIndex> port;
    Time seen;
    Time left;  // When its last packet has left, or will leave.
  };
  struct Known {
    double congestion = 0;
    Time at;
  };

  // Values that are too old count as none; without any fresh one, the hash decides.
  Ports Best(uint16_t leaf, const LiveUplinks& live, Time now) {
    routes_.Note(leaf, live, kUplinks, [&](PortIndex port) { known_.erase({leaf, port}); });
    std::map<PortIndex, double> cost;
    bool any_fresh = false;
    for (const PortIndex port : live.ports) {
      const auto found = known_.find({leaf, port});
      const bool is_fresh = found != known_.end() && now - found->second.at <= kStale;
      any_fresh = any_fresh || is_fresh;
      cost[port] = is_fresh ? found->second.congestion : 0;
    }
    is_unknowing_ = !any_fresh;
    Ports ports(live.ports.begin(), live.ports.end());
    if (is_unknowing_) {
      ++unknowing;
      return ports;
    }
    const double least =
        std::ranges::min_element(cost, {}, [](const auto& its) { return its.second; })->second;
    std::erase_if(ports, [&](PortIndex port) { return cost[port] > least; });
    const auto before = best_.find(leaf);
    if (before != best_.end() && ports.contains(before->second)) return {before->second};
    return ports;
  }

  std::map<FlowId, Flow> flows_;
  std::map<std::pair<uint16_t, PortIndex>, Known> known_;
  std::map<uint16_t, PortIndex> best_;  // The port chosen last, by leaf.
  bool is_unknowing_ = false;
  PlainRoutes routes_;
};

class Play {
 public:
  Play(const std::string& settings, bool queues, uint64_t seed)
      : queues_(queues), play_(settings, {.remote_leaves = LeafRules::kLeaves - 1}, seed) {}

  void Step() {
    play_.now += kTick * play_.Below(3);
    if (play_.OneIn(100)) play_.now += kTick * play_.Below(60);
    SCOPED_TRACE(fmt::format("at {} us", play_.now.ps / 1'000'000));
    if (play_.OneIn(3)) {
      Learn();
    } else if (queues_ && play_.OneIn(8)) {
      play_.FillAnUplink(400);  // Up to 50 us.
    } else {
      if (play_.OneIn(30)) play_.ChangeRoutes();
      for (int i = 0; i < 3; ++i) Send();
    }
    EXPECT_EQ(play_.leaf.Count("flowlets"), model_.flowlets);
    EXPECT_EQ(play_.leaf.Count("reroutes"), model_.reroutes);
    EXPECT_EQ(play_.leaf.Count("stale"), model_.unknowing);
  }

  const Model& model() const { return model_; }

 private:
  // Few values, so that sums are often equal; one of each is beyond its range.
  void Learn() {
    constexpr int64_t kLatencies[] = {0, 30, 60, 125};
    constexpr int64_t kQueues[] = {0, 7, 21, 60};
    constexpr int64_t kUtilisations[] = {0, 5, 23, 80};
    const Telemetry told{kLatencies[play_.Below(4)], kQueues[play_.Below(4)],
                         kUtilisations[play_.Below(4)]};
    Packet packet = LbPacket(7);
    packet.src = play_.AnyOtherLeaf();
    packet.dst = 0;
    packet.SetScheme(
        IntFields(1_us * told.latency_us, told.queue, static_cast<double>(told.utilisation)));
    const PortIndex port = play_.AnyUplink();
    EXPECT_TRUE(play_.Deliver(packet, port));
    model_.Learn(packet.src, port, told, play_.now);
  }
  void Send() {
    const FlowId flow = 1 + play_.Below(8);
    const Packet packet = LeafPlay::PacketOf(flow);
    SCOPED_TRACE(fmt::format("flow {}", flow));
    const PortIndex port = play_.leaf.PortFor(packet, play_.now, play_.live.ports);
    Duration wait{0};
    play_.leaf.At(play_.now,
                  [&](SwitchView& view, SwitchPolicy&) { wait = view.QueueingDelay(port); });
    model_.OnPacket(flow, packet.dst, play_.live, wait, play_.now, port);
  }

  const bool queues_;
  LeafPlay play_;
  Model model_;
};

// Ranges are those of Telemetry.
const std::string kSettings =
    "kind: best_nexthop, probes: false, gap: 50us, stale: 120us, table_age: 100us, "
    "latency_range: 100us, queue_range: 50, utilisation_range: 64";

void Compare(const std::string& more, bool queues) {
  int64_t reroutes = 0;
  int64_t unknowing = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Play play(SettingsWith(kSettings, more), queues, seed);
    for (int step = 0; step < 2'000; ++step) {
      play.Step();
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
    reroutes += play.model().reroutes;
    unknowing += play.model().unknowing;
  }
  EXPECT_GT(reroutes, 1'000);
  EXPECT_GT(unknowing, 100);
}

TEST(BestNexthopLeafModelTest, ChoosesAsThePlainModelDoes) { Compare("key: host", false); }
TEST(BestNexthopLeafModelTest, AlsoWithValuesForEachLeaf) { Compare("key: leaf", false); }
// As published a leaf does not add values of its own, so its queues only delay packets.
TEST(BestNexthopLeafModelTest, AGapBeginsWhenThePacketBeforeLeavesItsQueue) {
  Compare("direction: forward", true);
}

}  // namespace heddle::best_nexthop_leaf_model_test
