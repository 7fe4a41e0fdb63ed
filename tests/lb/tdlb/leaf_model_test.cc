// SPDX-License-Identifier: Apache-2.0
// A leaf of TDLB beside a plain model of Algorithm 1 (Hu et al., Computer Networks 255, 2024), over
// random packets, echoes of probes, notices and failures of uplinks. Where several paths are
// equally good the leaf may take any of them, and the model follows.

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

#include "lb/tdlb/control.h"
#include "tests/support/lb_bench.h"
#include "tests/support/leaf_play.h"

namespace heddle::tdlb_leaf_model_test {

// All events are at multiples of this; so are most delays and all ages, so gaps often equal them.
constexpr Duration kTick = 50_us;
constexpr Duration kFlowAge = 600_us;
constexpr Duration kNoticeAge = 250_us;
constexpr Duration kStale = 400_us;
constexpr Duration kPacketTime = 300_ns;  // 1500 bytes at 40 Gbps, the slowest uplink.
constexpr uint16_t kUplinks = LeafRules::kUplinks;
constexpr uint16_t kLeaves = LeafRules::kLeaves;

struct Rules {
  LeafRules leaf;
  bool by_delay = true;  // Where a new flow begins.
  bool always = false;   // Flows leave paths that are not marked, too.

  uint16_t paths() const { return leaf.paths(); }
};
std::ostream& operator<<(std::ostream& os, const Rules& rules) { return os << rules.leaf; }

class Model {
 public:
  using Paths = std::set<uint16_t>;

  explicit Model(const Rules& rules) : rules_(rules) {
    for (uint16_t leaf = 1; leaf < kLeaves; ++leaf) {
      for (uint16_t path = 0; path < rules.paths(); ++path) Forget({leaf, path});
    }
  }

  static Duration Idle(uint16_t path) { return 10_us + 3_us * (path % kUplinks); }

  int64_t reroutes = 0;
  int64_t flowlets = 0;
  int64_t begun = 0;
  int64_t hashed = 0;

  void Learn(uint16_t leaf, uint16_t path, Duration delay, Time now) {
    if (path < rules_.paths()) delays_[{leaf, path}] = {delay, now};
  }
  void Congest(FlowId flow, uint16_t leaf, uint16_t path, Time now) {
    const auto found = flows_.find(flow);
    if (found != flows_.end() && now - found->second.last <= kFlowAge) path = found->second.path;
    if (path < rules_.paths()) marks_[flow] = {leaf, path, now};
  }
  void Clear(FlowId flow) { marks_.erase(flow); }

  size_t Congested(Time now) {
    Expire(now);
    return marks_.size();
  }

  Duration Timeout(uint16_t leaf, Time now) const {
    std::vector<Duration> fresh;
    std::vector<Duration> idle;
    for (uint16_t path = 0; path < rules_.paths(); ++path) {
      if (IsFresh(leaf, path, now)) fresh.push_back(delays_.at({leaf, path}).delay);
      idle.push_back(Idle(path));
    }
    const auto [least, most] = std::ranges::minmax(fresh.empty() ? idle : fresh);
    return std::max(most - least, kPacketTime);
  }

  // Expects that a packet of the flow may take `path`.
  void OnPacket(FlowId flow, uint16_t leaf, const LiveUplinks& live, Time now, uint16_t path) {
    Expire(now);
    routes_.Note(leaf, live, kUplinks, [&](PortIndex port) {
      for (uint16_t over = port; over < rules_.paths(); over += kUplinks) Forget({leaf, over});
    });
    const auto found = flows_.find(flow);
    const bool is_known = found != flows_.end() && now - found->second.last <= kFlowAge;
    const std::optional<uint16_t> before =
        is_known ? std::optional(found->second.path) : std::nullopt;
    const bool is_placed = before && live.Has(*before % kUplinks);
    const Paths allowed = Allowed(flow, leaf, live, now, is_placed ? before : std::nullopt);
    ExpectAllowed(allowed, path);
    reroutes += before && *before != path ? 1 : 0;
    if (begins_) given_[path] = ++begun;
    flows_[flow] = {path, now};
  }

 private:
  struct Flow {
    uint16_t path = 0;
    Time last;
  };
  struct Mark {
    uint16_t leaf = 0;
    uint16_t path = 0;
    Time at;
  };
  struct Delay {
    Duration delay;
    std::optional<Time> at;
  };
  using Cost = std::pair<bool, Duration>;

  void Expire(Time now) {
    std::erase_if(marks_, [&](const auto& mark) { return now - mark.second.at > kNoticeAge; });
  }
  void Forget(std::pair<uint16_t, uint16_t> path) {
    delays_[path] = {Idle(path.second), std::nullopt};
  }
  bool IsFresh(uint16_t leaf, uint16_t path, Time now) const {
    const std::optional<Time> at = delays_.at({leaf, path}).at;
    return at && now - *at <= kStale;
  }
  Cost CostOf(uint16_t leaf, uint16_t path, Time now) const {
    return {!IsFresh(leaf, path, now), delays_.at({leaf, path}).delay};
  }
  bool IsMarked(uint16_t leaf, uint16_t path) const {
    return std::ranges::any_of(marks_, [&](const auto& mark) {
      return mark.second.leaf == leaf && mark.second.path == path;
    });
  }

  // `place`: where the flow is, if that path is alive.
  Paths Allowed(FlowId flow, uint16_t leaf, const LiveUplinks& live, Time now,
                std::optional<uint16_t> place) {
    begins_ = false;
    Paths alive;
    for (uint16_t path = 0; path < rules_.paths(); ++path) {
      if (live.Has(path % kUplinks)) alive.insert(path);
    }
    Paths unmarked = alive;
    std::erase_if(unmarked, [&](uint16_t path) { return IsMarked(leaf, path); });
    if (unmarked.empty()) unmarked = alive;
    if (marks_.contains(flow)) {  // Congested flows stay.
      if (place) return {*place};
      ++hashed;
      return alive;
    }
    if (place) {
      const Duration gap = now - flows_[flow].last;
      if ((!rules_.always && !IsMarked(leaf, *place)) || gap <= Timeout(leaf, now)) {
        return {*place};
      }
      ++flowlets;
      const Paths best = Best(leaf, unmarked, now);
      return best.contains(*place) ? Paths{*place} : best;
    }
    if (rules_.by_delay) return First(leaf, unmarked, now);
    ++hashed;
    // Where the hash leads, unless that path is marked.
    Paths all = Best(leaf, unmarked, now);
    for (const uint16_t path : alive) {
      if (!IsMarked(leaf, path)) all.insert(path);
    }
    return all;
  }
  Paths Best(uint16_t leaf, Paths among, Time now) const {
    Cost least = CostOf(leaf, *among.begin(), now);
    for (const uint16_t path : among) least = std::min(least, CostOf(leaf, path, now));
    std::erase_if(among, [&](uint16_t path) { return CostOf(leaf, path, now) != least; });
    return among;
  }
  // Returns, of the paths alike within a packet's time, the one where a flow began longest ago.
  Paths First(uint16_t leaf, Paths among, Time now) {
    begins_ = true;
    const Cost least = CostOf(leaf, *Best(leaf, among, now).begin(), now);
    std::erase_if(among, [&](uint16_t path) {
      const Cost cost = CostOf(leaf, path, now);
      return cost.first != least.first || cost.second > least.second + kPacketTime;
    });
    int64_t longest_ago = begun;
    for (const uint16_t path : among) longest_ago = std::min(longest_ago, given_[path]);
    std::erase_if(among, [&](uint16_t path) { return given_[path] != longest_ago; });
    return among;
  }

  const Rules rules_;
  std::map<FlowId, Flow> flows_;
  std::map<FlowId, Mark> marks_;
  std::map<std::pair<uint16_t, uint16_t>, Delay> delays_;  // By leaf and path.
  PlainRoutes routes_;
  std::map<uint16_t, int64_t> given_;  // By path: the number of the flow that last began there.
  bool begins_ = false;
};

class Play {
 public:
  Play(const Rules& rules, uint64_t seed)
      : rules_(rules),
        play_(SettingsWith(kSettings, rules.leaf.settings), ShapeOf(rules.leaf), seed),
        model_(rules) {}

  void Step() {
    play_.now += kTick * play_.Below(2);
    SCOPED_TRACE(fmt::format("at {} us", play_.now.ps / 1'000'000));
    const uint16_t what = play_.Below(10);
    if (what < 2) {
      Learn();
    } else if (what < 4) {
      Notify(play_.OneIn(3) ? TdlbControl::kCleared : TdlbControl::kCongested);
    } else {
      if (play_.OneIn(20)) play_.ChangeRoutes();
      for (int i = 0; i < 6; ++i) Send();
    }
    Compare();
  }

  const Model& model() const { return model_; }

 private:
  static constexpr const char* kSettings =
      "kind: tdlb, stale: 400us, table_age: 600us, notification_age: 250us";

  static LbSwitch::Shape ShapeOf(const LeafRules& rules) {
    LbSwitch::Shape shape{
        .uplinks = {100_Gbps, 40_Gbps, 100_Gbps, 100_Gbps},
        .remote_leaves = kLeaves - 1,
        .fabric = {.tiers = rules.tiers, .leaf_uplinks = kUplinks, .above_uplinks = rules.above}};
    for (uint16_t path = 0; path < kUplinks; ++path) {
      shape.ways.push_back({Model::Idle(path), 100_Gbps, 100_Gbps, 375_KB, rules.links()});
    }
    return shape;
  }

  // Also one that does not exist.
  uint16_t AnyPath() { return play_.Below(rules_.paths() + 1u); }
  FlowId AnyFlow() { return 1 + play_.Below(12); }

  // Delays differ by whole ticks, and by about the time of a packet.
  void Learn() {
    const uint16_t leaf = play_.AnyOtherLeaf();
    const uint16_t path = AnyPath();
    const int32_t ns = 20'000 + 50'000 * play_.Below(4) + 150 * play_.Below(4) + play_.Below(2);
    play_.Control(TdlbControl{TdlbControl::kEcho, 0, path, ns}, 0, leaf);
    model_.Learn(leaf, path, 1_ns * ns, play_.now);
  }
  void Notify(TdlbControl::Kind kind) {
    const FlowId flow = AnyFlow();
    const uint16_t path = AnyPath();
    play_.Control(TdlbControl{kind, 0, path, 0}, flow, LeafPlay::LeafOf(flow));
    ++taken_;
    if (kind == TdlbControl::kCleared) return model_.Clear(flow);
    model_.Congest(flow, LeafPlay::LeafOf(flow), path, play_.now);
  }
  void Send() {
    const FlowId flow = AnyFlow();
    SCOPED_TRACE(fmt::format("flow {}", flow));
    const auto [sent, port] = play_.Send(LeafPlay::PacketOf(flow));
    EXPECT_EQ(sent.path % kUplinks, port);
    model_.OnPacket(flow, LeafPlay::LeafOf(flow), play_.live, play_.now, sent.path);
  }

  void Compare() {
    const LbSwitch& leaf = play_.leaf;
    EXPECT_EQ(leaf.Count("reroutes"), model_.reroutes);
    EXPECT_EQ(leaf.Count("flowlets"), model_.flowlets);
    EXPECT_EQ(leaf.Count("cns_taken"), taken_);
    std::map<std::string, double> timeouts;
    for (const auto& gauge : leaf.policy().Gauges(play_.now)) timeouts[gauge.name] = gauge.value;
    ASSERT_EQ(timeouts.size(), kLeaves - 1u);
    for (uint16_t other = 1; other < kLeaves; ++other) {
      EXPECT_DOUBLE_EQ(timeouts[fmt::format("timeout_ns[{}]", other)],
                       static_cast<double>(model_.Timeout(other, play_.now).ps) * 1e-3);
    }
    // Marks are looked through each 10 us.
    play_.leaf.At(play_.now + 20_us, [](SwitchView&, SwitchPolicy&) {});
    EXPECT_EQ(leaf.Count("congested_flows"),
              static_cast<int64_t>(model_.Congested(play_.now + 20_us)));
    play_.now += kTick;
  }

  const Rules rules_;
  LeafPlay play_;
  Model model_;
  int64_t taken_ = 0;
};

class TdlbLeafModelTest : public testing::TestWithParam<Rules> {};

TEST_P(TdlbLeafModelTest, ChoosesAsThePlainModelDoes) {
  int64_t reroutes = 0;
  int64_t flowlets = 0;
  int64_t begun = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Play play(GetParam(), seed);
    for (int step = 0; step < 1'000 && !HasFailure(); ++step) play.Step();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    reroutes += play.model().reroutes;
    flowlets += play.model().flowlets;
    begun += GetParam().by_delay ? play.model().begun : play.model().hashed;
  }
  EXPECT_GT(reroutes, 100);
  EXPECT_GT(flowlets, 100);
  EXPECT_GT(begun, 100);
}

INSTANTIATE_TEST_SUITE_P(
    All, TdlbLeafModelTest,
    testing::Values(Rules{.leaf = {.name = "TwoTiers"}},
                    Rules{.leaf = {.name = "ByHash", .settings = "place: hash"}, .by_delay = false},
                    Rules{.leaf = {.name = "Always", .settings = "reroute: always"},
                          .always = true},
                    Rules{.leaf = {.name = "WholePaths", .tiers = 3, .above = 3}},
                    Rules{.leaf = {.name = "Near", .tiers = 3, .above = 3, .is_near = true}}),
    [](const auto& its) { return its.param.leaf.name; });

}  // namespace heddle::tdlb_leaf_model_test
