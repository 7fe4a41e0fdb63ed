// SPDX-License-Identifier: Apache-2.0
// A leaf of TR beside a plain model of its rules (Zhang et al., J. Cloud Computing 10:37, 2021),
// over random packets, codes in ACKs, queues at the uplinks and failures. Where several uplinks are
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

#include "lb/tr/code.h"
#include "tests/support/lb_bench.h"
#include "tests/support/leaf_play.h"

namespace heddle::tr_leaf_model_test {

constexpr Duration kFlowAge = 400_us;
constexpr Duration kIdle = 40_us;
constexpr int64_t kLongAbove = 20'000;
constexpr int64_t kBuffer = 96'000;
constexpr uint16_t kUplinks = LeafRules::kUplinks;
constexpr int64_t kFraming = 24;

struct Rules {
  std::string name;
  std::string settings = {};
  bool own_clock = false;
  bool decays = false;
  bool own_serialization = true;
  int bits = 5;
};
std::ostream& operator<<(std::ostream& os, const Rules& rules) { return os << rules.name; }

// Picoseconds to send a byte: of the uplinks, and of the links from the spines to the leaves.
constexpr int64_t kUp[kUplinks] = {80, 200, 80, 320};
constexpr int64_t kDown[kUplinks] = {80, 80, 200, 320};
constexpr Duration kPropagation[kUplinks] = {2_us, 2_us, 3_us, 5_us};

class Model {
 public:
  using Ports = std::set<PortIndex>;
  using Waits = std::vector<Duration>;  // Of the uplinks' own queues.

  explicit Model(const Rules& rules) : rules_(rules) {}

  int64_t reroutes = 0;
  int64_t nothing_fits = 0;
  int64_t told = 0;
  Duration told_age{0};

  void OnCode(uint16_t leaf, PortIndex port, int code, Time now) {
    Beyond& beyond = beyond_[{leaf, port}];
    beyond.queue = kBuffer * code / (1 << rules_.bits);
    beyond.told = now;
  }

  int64_t ShortFlows() const { return static_cast<int64_t>(present_.size()); }

  // Expects that a packet of the flow may take `port`.
  void OnPacket(const Packet& packet, uint16_t leaf, const LiveUplinks& live, const Waits& waits,
                Time now, PortIndex port) {
    routes_.Note(leaf, live, kUplinks, [&](PortIndex gone) { beyond_.erase({leaf, gone}); });
    std::erase_if(present_, [&](const auto& its) { return now - its.second > kIdle; });
    Flow& flow = flows_[packet.flow];
    if (now - flow.last > kFlowAge) flow = {};
    flow.last = now;
    flow.bytes += packet.data.payload;
    const bool is_long = flow.bytes > kLongAbove;
    if (is_long) {
      std::erase_if(present_, [&](const auto& its) { return its.first.first == packet.flow; });
    }
    const int64_t size = packet.bytes + kFraming;
    std::map<PortIndex, Time> arrivals;
    for (const PortIndex up : live.ports) {
      arrivals[up] = ArrivalOver(up, leaf, rules_.own_serialization ? size : 0, waits[up], now);
    }
    const Ports allowed = Allowed(flow, is_long, arrivals);
    ExpectAllowed(allowed, port);
    reroutes += flow.port && *flow.port != port ? 1 : 0;
    flow.port = port;
    flow.arrival = std::max(flow.arrival, arrivals[port]);
    if (!is_long) present_[{packet.flow, port}] = now;
    Beyond& beyond = beyond_[{leaf, port}];
    if (rules_.own_clock) {
      const Time there = now + waits[port] + Duration{size * kUp[port]} + kPropagation[port];
      beyond.free = std::max(beyond.free, there) + Duration{size * kDown[port]};
    } else if (beyond.told) {
      ++told;
      told_age = told_age + (now - *beyond.told);
    }
  }

 private:
  struct Flow {
    int64_t bytes = 0;
    Time arrival{-1};
    std::optional<PortIndex> port;
    Time last{-kNever.ps};
  };
  struct Beyond {
    int64_t queue = 0;
    std::optional<Time> told;
    Time free;
  };

  Time ArrivalOver(PortIndex port, uint16_t leaf, int64_t size, Duration wait, Time now) {
    const Beyond& beyond = beyond_[{leaf, port}];
    const Time at_spine = now + wait + Duration{size * kUp[port]} + kPropagation[port];
    const Duration sending{size * kDown[port]};
    if (rules_.own_clock) return std::max(at_spine, beyond.free) + sending;
    int64_t queue = beyond.queue;
    if (rules_.decays && queue > 0) {
      queue = std::max<int64_t>(0, queue - (now - *beyond.told).ps / kDown[port]);
    }
    return at_spine + Duration{queue * kDown[port]} + sending;
  }

  Ports Allowed(const Flow& flow, bool is_long, const std::map<PortIndex, Time>& arrivals) {
    Ports fit;
    for (const auto& [port, arrival] : arrivals) {
      if (arrival > flow.arrival || port == flow.port) fit.insert(port);
    }
    if (fit.empty()) {
      ++nothing_fits;
      for (const auto& its : arrivals) fit.insert(its.first);
    }
    const auto cost = [&](PortIndex port) {
      const auto flows = std::ranges::count_if(
          present_, [&](const auto& its) { return its.first.second == port; });
      return std::pair(is_long ? flows : 0, arrivals.at(port));
    };
    auto least = cost(*fit.begin());
    for (const PortIndex port : fit) least = std::min(least, cost(port));
    std::erase_if(fit, [&](PortIndex port) { return cost(port) != least; });
    if (flow.port && fit.contains(*flow.port)) return {*flow.port};
    return fit;
  }

  const Rules rules_;
  std::map<FlowId, Flow> flows_;
  std::map<std::pair<FlowId, PortIndex>, Time> present_;  // Short flows.
  std::map<std::pair<uint16_t, PortIndex>, Beyond> beyond_;
  PlainRoutes routes_;
};

class Play {
 public:
  Play(const Rules& rules, uint64_t seed)
      : rules_(rules),
        play_(SettingsWith(kSettings, rules.settings), Shape(), seed),
        model_(rules) {}

  void Step() {
    if (!play_.OneIn(3)) play_.now += 100_ns * play_.Below(20);
    if (play_.OneIn(40)) play_.now += kIdle / 2 * play_.Below(3);
    if (play_.OneIn(200)) play_.now += kFlowAge;
    SCOPED_TRACE(fmt::format("at {} ns", play_.now.ps / 1'000));
    const uint16_t what = play_.Below(10);
    if (what < 2) {
      Tell();
    } else if (what == 2) {
      play_.FillAnUplink(20);
    } else {
      if (play_.OneIn(12)) play_.ChangeRoutes();
      Send();
    }
    EXPECT_EQ(play_.leaf.Count("reroutes"), model_.reroutes);
    EXPECT_EQ(play_.leaf.Count("s_empty"), model_.nothing_fits);
    EXPECT_EQ(play_.leaf.Count("codes_read"), codes_);
    EXPECT_EQ(play_.leaf.Count("short_flows"), model_.ShortFlows());
    EXPECT_EQ(play_.leaf.Count("told_decisions"), model_.told);
    EXPECT_EQ(play_.leaf.Count("telemetry_age_ns"), model_.told_age.ps / 1'000);
  }

  const Model& model() const { return model_; }

 private:
  static constexpr const char* kSettings =
      "kind: tr, buffer: 96KB, idle: 40us, long_above: 20KB, table_age: 400us";

  static LbSwitch::Shape Shape() {
    const auto rate = [](int64_t ps_per_byte) { return BitRate{8'000'000'000'000 / ps_per_byte}; };
    LbSwitch::Shape shape{.uplinks = {}, .remote_leaves = LeafRules::kLeaves - 1};
    for (uint16_t port = 0; port < kUplinks; ++port) {
      shape.uplinks.push_back(rate(kUp[port]));
      shape.ways.push_back({kPropagation[port], rate(kDown[port]), rate(kDown[port]), 375_KB});
    }
    return shape;
  }

  // ACKs without a code, and those that took a detour, tell nothing.
  void Tell() {
    Packet ack;
    ack.kind = PacketKind::kAck;
    ack.src = play_.AnyOtherLeaf();
    ack.dst = 0;
    ack.hops = play_.OneIn(8) ? 4 : 2;
    const TrHeader header{static_cast<uint8_t>(play_.Below(1u << rules_.bits) / 2),
                          !play_.OneIn(8)};
    ack.SetScheme(header);
    const PortIndex port = play_.AnyUplink();
    EXPECT_TRUE(play_.Deliver(ack, port));
    if (ack.hops != 2 || !header.is_set) return;
    ++codes_;
    model_.OnCode(ack.src, port, header.code, play_.now);
  }
  void Send() {
    const FlowId flow = 1 + play_.Below(6);
    const Packet packet =
        LeafPlay::PacketOf(flow, play_.OneIn(2) ? 1'460 : 60 + play_.Below(1'400));
    Model::Waits waits;
    play_.leaf.At(play_.now, [&](SwitchView& view, SwitchPolicy&) {
      for (PortIndex port = 0; port < kUplinks; ++port) waits.push_back(view.QueueingDelay(port));
    });
    SCOPED_TRACE(fmt::format("flow {}", flow));
    const PortIndex port = play_.Send(packet).second;
    model_.OnPacket(packet, packet.dst, play_.live, waits, play_.now, port);
  }

  const Rules rules_;
  LeafPlay play_;
  Model model_;
  int64_t codes_ = 0;
};

class TrLeafModelTest : public testing::TestWithParam<Rules> {};

TEST_P(TrLeafModelTest, ChoosesAsThePlainModelDoes) {
  int64_t reroutes = 0;
  int64_t nothing_fits = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Play play(GetParam(), seed);
    for (int step = 0; step < 5'000 && !HasFailure(); ++step) play.Step();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    reroutes += play.model().reroutes;
    nothing_fits += play.model().nothing_fits;
  }
  EXPECT_GT(reroutes, 1'000);
  EXPECT_GT(nothing_fits, 20);
}

INSTANTIATE_TEST_SUITE_P(
    All, TrLeafModelTest,
    testing::Values(Rules{.name = "Default"},
                    Rules{.name = "Published",
                          .settings = "own_serialization: false",
                          .own_serialization = false},
                    Rules{.name = "Decays", .settings = "decay: true", .decays = true},
                    Rules{.name = "ThreeBits", .settings = "bits: 3", .bits = 3},
                    Rules{.name = "OwnClock", .settings = "telemetry: vclock", .own_clock = true}),
    [](const auto& its) { return its.param.name; });

}  // namespace heddle::tr_leaf_model_test
