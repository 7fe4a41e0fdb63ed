// SPDX-License-Identifier: Apache-2.0
// A leaf of FLB beside plain models, over random packets: of its rerouting (Hu et al., USENIX ATC
// 2025, algorithm 1), with random delays and failures of uplinks, and of the isolation of flows
// (section 3.2), with random notices. Where several paths are equally good the leaf may take any of
// them, and the model follows.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lb/flb/header.h"
#include "tests/support/lb_bench.h"
#include "tests/support/leaf_play.h"

namespace heddle::flb_leaf_model_test {

constexpr Duration kFlowAge = 200_us;
constexpr Duration kHeldAge = 600_us;
constexpr Duration kRoundTrip = 20_us;
constexpr Duration kUnsure = 2_ns;
constexpr uint16_t kUplinks = LeafRules::kUplinks;
constexpr uint16_t kLeaves = LeafRules::kLeaves;

struct Rules {
  LeafRules leaf;
  bool above_least = false;
  std::optional<Duration> tick = {};

  uint16_t paths() const { return leaf.paths(); }
};
std::ostream& operator<<(std::ostream& os, const Rules& rules) { return os << rules.leaf; }

class Model {
 public:
  using Paths = std::set<uint16_t>;

  explicit Model(const Rules& rules) : rules_(rules) {
    for (uint16_t leaf = 1; leaf < kLeaves; ++leaf) {
      for (PortIndex port = 0; port < kUplinks; ++port) Forget(leaf, port);
    }
  }

  int64_t reroutes = 0;
  int64_t moved = 0;  // Flows that left their path for a faster one.

  void Learn(uint16_t leaf, uint16_t path, Duration delay) {
    if (path >= rules_.paths()) return;
    std::vector<Duration>& all = measured_[{leaf, path}];
    all.push_back(delay);
    delays_[{leaf, path}] = rules_.above_least ? delay - std::ranges::min(all) : delay;
  }

  // Expects that a packet of the flow may take `path`.
  void OnPacket(FlowId flow, uint16_t leaf, const LiveUplinks& live, Time now, uint16_t path) {
    routes_.Note(leaf, live, kUplinks, [&](PortIndex port) { Forget(leaf, port); });
    const auto found = flows_.find(flow);
    const bool is_known = found != flows_.end() && now - found->second.last <= kFlowAge;
    const Flow* const before = is_known ? &found->second : nullptr;
    const bool is_placed = before && live.Has(before->path % kUplinks);
    const Paths allowed =
        is_placed ? Stay(leaf, *before, Alive(live), now) : Begin(leaf, Alive(live));
    ExpectAllowed(allowed, path);
    if (!is_placed) given_[path] = ++begun_;
    reroutes += before && before->path != path ? 1 : 0;
    moved += is_placed && before->path != path ? 1 : 0;
    flows_[flow] = {path, now};
  }

 private:
  struct Flow {
    uint16_t path = 0;
    Time last;
  };

  // A full packet of 1524 bytes in an idle fabric: the uplink, the last link, and those between.
  Duration Idle(PortIndex port) const;
  void Forget(uint16_t leaf, PortIndex port) {
    for (uint16_t path = port; path < rules_.paths(); path += kUplinks) {
      measured_.erase({leaf, path});
      delays_[{leaf, path}] = rules_.above_least ? 0_ps : 1_ns * (Idle(port).ps / 1'000);
    }
  }

  Paths Alive(const LiveUplinks& live) const {
    Paths alive;
    for (uint16_t path = 0; path < rules_.paths(); ++path) {
      if (live.Has(path % kUplinks)) alive.insert(path);
    }
    return alive;
  }
  // Returns the fastest paths: stamps cannot tell which of them is faster.
  Paths Fastest(uint16_t leaf, Paths among) const {
    Duration least = delays_.at({leaf, *among.begin()});
    for (const uint16_t path : among) least = std::min(least, delays_.at({leaf, path}));
    std::erase_if(among, [&](uint16_t path) { return delays_.at({leaf, path}) > least + kUnsure; });
    return among;
  }
  // The fastest path where a flow began longest ago.
  Paths Begin(uint16_t leaf, const Paths& free) {
    Paths among = Fastest(leaf, free);
    int64_t longest_ago = begun_;
    for (const uint16_t path : among) longest_ago = std::min(longest_ago, given_[path]);
    std::erase_if(among, [&](uint16_t path) { return given_[path] != longest_ago; });
    return among;
  }
  // A faster path on which the packet stays behind the one before.
  Paths Stay(uint16_t leaf, const Flow& flow, const Paths& alive, Time now) {
    const Duration here = delays_.at({leaf, flow.path});
    Duration gap = now - flow.last;
    if (rules_.tick) {
      gap = *rules_.tick * (now.ps / rules_.tick->ps - flow.last.ps / rules_.tick->ps);
    }
    Paths fit = alive;
    std::erase_if(fit, [&](uint16_t path) {
      const Duration there = delays_.at({leaf, path});
      return gap + there < here + kUnsure || there >= here - kUnsure;
    });
    return fit.empty() ? Paths{flow.path} : Fastest(leaf, fit);
  }

  const Rules rules_;
  std::map<FlowId, Flow> flows_;
  std::map<std::pair<uint16_t, uint16_t>, std::vector<Duration>> measured_;  // By leaf and path.
  std::map<std::pair<uint16_t, uint16_t>, Duration> delays_;
  std::map<uint16_t, int64_t> given_;
  int64_t begun_ = 0;
  PlainRoutes routes_;
};

constexpr int64_t kUp[kUplinks] = {80, 200, 80, 80};    // Picoseconds for a byte.
constexpr int64_t kLast[kUplinks] = {80, 80, 80, 320};  // Of the last link.
constexpr int64_t kLeast[kUplinks] = {80, 200, 80, 400};
constexpr Duration kPropagation[kUplinks] = {2_us, 2_us, 3_us, 2_us};

Duration Model::Idle(PortIndex port) const {
  constexpr int64_t kPacket = 1'524;
  const int64_t per_byte = kUp[port] + kLast[port] + kLeast[port] * (rules_.leaf.links() - 2);
  return kPropagation[port] + Duration{kPacket * per_byte};
}

std::string SettingsOf(const LeafRules& rules) {
  return SettingsWith("kind: flb, table_age: 200us, held_age: 600us", rules.settings);
}
LbSwitch::Shape ShapeOf(const LeafRules& rules) {
  const auto rate = [](int64_t ps_per_byte) { return BitRate{8'000'000'000'000 / ps_per_byte}; };
  LbSwitch::Shape shape{.uplinks = {},
                        .remote_leaves = kLeaves - 1,
                        .fabric = {.tiers = rules.tiers,
                                   .leaf_uplinks = kUplinks,
                                   .above_uplinks = rules.above,
                                   .base_rtt = kRoundTrip}};
  for (uint16_t port = 0; port < kUplinks; ++port) {
    shape.uplinks.push_back(rate(kUp[port]));
    shape.ways.push_back(
        {kPropagation[port], rate(kLast[port]), rate(kLeast[port]), 375_KB, rules.links()});
  }
  return shape;
}

// Returns the path that the next packet of the flow takes. In two tiers packets do not name it.
uint16_t PathOf(FlowId flow, const LeafRules& rules, LeafPlay& play) {
  const auto [sent, port] = play.Send(LeafPlay::PacketOf(flow));
  if (rules.above == 1) return port;
  EXPECT_EQ(sent.path % kUplinks, port);
  return sent.path;
}

class Play {
 public:
  Play(const Rules& rules, uint64_t seed)
      : rules_(rules), play_(SettingsOf(rules.leaf), ShapeOf(rules.leaf), seed), model_(rules) {}

  void Step() {
    if (!play_.OneIn(3)) play_.now += 1_ns * play_.Below(2'000);
    if (play_.OneIn(60)) play_.now += kFlowAge / 4 * play_.Below(6);
    SCOPED_TRACE(fmt::format("at {} ns", play_.now.ps / 1'000));
    if (play_.OneIn(5)) {
      Learn();
    } else {
      if (play_.OneIn(60)) play_.ChangeRoutes();
      Send();
    }
    EXPECT_EQ(play_.leaf.Count("reroutes"), model_.reroutes);
  }

  const Model& model() const { return model_; }

 private:
  // Delays differ by a little less or more than what counts, or by about a gap.
  void Learn() {
    const uint16_t leaf = play_.AnyOtherLeaf();
    const uint16_t path = play_.Below(rules_.paths() + 1u);
    const int32_t ns = 2'000 + (play_.OneIn(2) ? play_.Below(5'000) : 0) + play_.Below(6);
    play_.Control(FlbControl{FlbControl::kDelay, static_cast<uint8_t>(path), 0, ns}, 0, leaf);
    model_.Learn(leaf, path, 1_ns * ns);
  }
  void Send() {
    const FlowId flow = 1 + play_.Below(10);
    SCOPED_TRACE(fmt::format("flow {}", flow));
    model_.OnPacket(flow, LeafPlay::LeafOf(flow), play_.live, play_.now,
                    PathOf(flow, rules_.leaf, play_));
  }

  const Rules rules_;
  LeafPlay play_;
  Model model_;
};

class FlbLeafModelTest : public testing::TestWithParam<Rules> {};

TEST_P(FlbLeafModelTest, ChoosesAsThePlainModelDoes) {
  int64_t moved = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Play play(GetParam(), seed);
    for (int step = 0; step < 3'000 && !HasFailure(); ++step) play.Step();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    moved += play.model().moved;
  }
  EXPECT_GT(moved, 500);
}

INSTANTIATE_TEST_SUITE_P(
    All, FlbLeafModelTest,
    testing::Values(Rules{.leaf = {.name = "TwoTiers"}},
                    Rules{.leaf = {.name = "AboveLeast", .settings = "compare: queueing"},
                          .above_least = true},
                    Rules{.leaf = {.name = "Ticks", .settings = "gap_tick: 1us"}, .tick = 1_us},
                    Rules{.leaf = {.name = "WholePaths", .tiers = 3, .above = 3}},
                    Rules{.leaf = {.name = "Near", .tiers = 3, .above = 3, .is_near = true}}),
    [](const auto& its) { return its.param.leaf.name; });

// --- Isolation ---

// Checks that flows keep apart, and that isolated ones have as many uplinks as they need.
class IsolationPlay {
 public:
  IsolationPlay(const LeafRules& rules, bool by_leaf, uint64_t seed)
      : rules_(rules), by_leaf_(by_leaf), play_(SettingsOf(rules), ShapeOf(rules), seed) {}

  void Round() {
    for (int i = play_.Below(4); i > 0; --i) Notify();
    EXPECT_GE(isolated_uplinks(), Needed());
    SendSome();
    // Uplinks that are not needed any more are freed within a round trip.
    play_.now += 2 * kRoundTrip;
    play_.leaf.At(play_.now, [](SwitchView&, SwitchPolicy&) {});
    std::erase_if(flows_, [&](const auto& its) { return play_.now - its.second.last > kHeldAge; });
    EXPECT_EQ(isolated_uplinks(), Needed());
    EXPECT_EQ(play_.leaf.Count("isolated_flows"), static_cast<int64_t>(flows_.size()));
    most_ = std::max(most_, isolated_uplinks());
    SendSome();
  }

  int64_t most() const { return most_; }

 private:
  struct Isolated {
    int there = 1;  // n of the latest notice.
    Time last;      // Of a packet or a notice.
  };

  int64_t isolated_uplinks() const { return play_.leaf.Count("isolated_ports"); }
  uint16_t ScopeOf(FlowId flow) const { return by_leaf_ ? LeafPlay::LeafOf(flow) : 0; }

  // Each flow has the n-th part of a link. One uplink at least remains for others.
  int64_t Needed() const {
    std::map<uint16_t, double> share;
    for (const auto& [flow, its] : flows_) share[ScopeOf(flow)] += 1.0 / its.there;
    int64_t needed = 0;
    for (const auto& its : share) {
      needed += std::min(std::llround(std::ceil(its.second - 1e-6)), kUplinks - 1LL);
    }
    return needed;
  }

  void Notify() {
    const FlowId flow = AnyFlow();
    if (play_.OneIn(3)) {
      play_.Control(FlbControl{FlbControl::kReleased, 0, 0, 0}, flow, LeafPlay::LeafOf(flow));
      flows_.erase(flow);
      return;
    }
    const int there = 1 + play_.Below(6);
    play_.Control(FlbControl{FlbControl::kCongested, 0, static_cast<uint16_t>(there), 0}, flow,
                  LeafPlay::LeafOf(flow));
    flows_[flow] = {there, play_.now};
  }

  // At one instant. No uplink has both kinds of flows, and isolated flows share one path over each.
  void SendSome() {
    std::map<uint16_t, std::set<uint16_t>> isolated;
    std::map<uint16_t, std::set<PortIndex>> open;
    std::map<uint16_t, std::set<PortIndex>> closed;
    for (int i = 0; i < 6; ++i) {
      const FlowId flow = AnyFlow();
      const uint16_t path = PathOf(flow, rules_, play_);
      const PortIndex uplink = path % kUplinks;
      const auto found = flows_.find(flow);
      if (found == flows_.end()) {
        open[ScopeOf(flow)].insert(uplink);
      } else {
        found->second.last = play_.now;
        isolated[ScopeOf(flow)].insert(path);
        closed[ScopeOf(flow)].insert(uplink);
      }
    }
    for (const auto& [scope, uplinks] : closed) {
      EXPECT_EQ(isolated[scope].size(), uplinks.size());
      EXPECT_LE(static_cast<int64_t>(uplinks.size()), isolated_uplinks());
      for (const PortIndex uplink : uplinks) EXPECT_FALSE(open[scope].contains(uplink)) << uplink;
    }
  }
  FlowId AnyFlow() { return 1 + play_.Below(24); }

  const LeafRules rules_;
  const bool by_leaf_;
  LeafPlay play_;
  std::map<FlowId, Isolated> flows_;
  int64_t most_ = 0;
};

TEST_P(FlbLeafModelTest, FlowsThatAreIsolatedKeepToAsFewUplinksAsTheyNeed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const bool by_leaf = seed % 2 == 0;
    LeafRules rules = GetParam().leaf;
    if (by_leaf) rules.settings += rules.settings.empty() ? "scope: path" : ", scope: path";
    IsolationPlay play(rules, by_leaf, seed);
    for (int round = 0; round < 200 && !HasFailure(); ++round) play.Round();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    EXPECT_GE(play.most(), kUplinks - 1);
  }
}

}  // namespace heddle::flb_leaf_model_test
