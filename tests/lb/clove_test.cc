// SPDX-License-Identifier: Apache-2.0
// Clove: weights that marks lower, and utilisations that packets bring home.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::clove_test {

// lb/clove.cc writes this header.
struct Header {
  uint16_t path = kNoPath;
  uint8_t utilisation = 0;
};

const std::string kEcn = "{kind: clove_ecn, gap: 50us, recent: 100us}";
const std::string kInt = "{kind: clove_int, gap: 50us}";

class Sender {
 public:
  explicit Sender(const std::string& settings, size_t paths = 4)
      : table_(PathsOfWeights(std::vector<uint16_t>(paths, 1))), host_(settings, table_) {
    flow_ = host_.Start(1);
  }

  void Hear(uint16_t path, uint8_t utilisation = 0) {
    Packet ack = LbPacket(1);
    ack.kind = PacketKind::kAck;
    ack.SetScheme(Header{path, utilisation});
    host_.At(now, [&](HostView& view, HostPolicy& policy) {
      policy.OnAck(view, flow_, ack, {1'460, 0, 20_us, false});
    });
  }

  bool Hides() {
    bool hides = false;
    host_.At(now, [&](HostView& view, HostPolicy& policy) {
      ASSERT_TRUE(host_.Wants(HostPolicy::kEcho));
      hides = policy.HidesEcho(view, flow_);
    });
    return hides;
  }
  int64_t Count(std::string_view counter) const { return host_.Count(counter); }

  // The paths of flowlets of one packet, counted.
  std::vector<int64_t> Flowlets(int count) {
    std::vector<int64_t> paths(4);
    for (int i = 0; i < count; ++i) {
      now += 51_us;
      ++paths[host_.Send(flow_, 1'460, now).path];
    }
    return paths;
  }
  uint16_t Send(Duration later) {
    now += later;
    return host_.Send(flow_, 1'460, now).path;
  }

  Time now = Time{} + 1_ms;

 private:
  const PathTable table_;
  LbHost host_;
  HostFlow flow_;
};

TEST(CloveTest, FlowletsAreDrawnUniformlyAsLongAsNothingIsMarked) {
  Sender sender(kEcn);
  EXPECT_LT(ChiSquare(sender.Flowlets(4'000), {1, 1, 1, 1}), kChiSquare99[3]);
}

TEST(CloveTest, AFlowletStaysUntilItsGap) {
  Sender sender(kEcn);
  const uint16_t path = sender.Send(0_us);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(sender.Send(50_us), path);
  std::set<uint16_t> used;
  for (int i = 0; i < 100; ++i) used.insert(sender.Send(50_us + 1_ps));
  EXPECT_EQ(used.size(), 4u);
}

// A third of 1/4 goes to the three others: 1/6 and three times 5/18.
TEST(CloveTest, ANoteTakesAThirdOffAndGivesItToTheOthers) {
  Sender sender(kEcn);
  sender.Hear(2);
  EXPECT_LT(ChiSquare(sender.Flowlets(9'000), {5, 5, 3, 5}), kChiSquare99[3]);
  sender.now += 1_ms;
  sender.Hear(2);  // 1/9, and three times 8/27.
  EXPECT_LT(ChiSquare(sender.Flowlets(9'000), {8, 8, 3, 8}), kChiSquare99[3]);
}

// All begin with 1/4: 0 loses 1/12 to three; then 1 loses a third of 1/4 + 1/36 = 5/18 to two.
TEST(CloveTest, PathsThatWereMarkedJustNowGetNothing) {
  Sender sender(kEcn);
  sender.Hear(0);
  sender.now += 10_us;
  sender.Hear(1);
  const double moved = 5.0 / 54 / 2;
  EXPECT_LT(
      ChiSquare(sender.Flowlets(9'000), {1.0 / 6, 5.0 / 27, 5.0 / 18 + moved, 5.0 / 18 + moved}),
      kChiSquare99[3]);
}

TEST(CloveTest, WhenAllPathsAreMarkedWeightsStay) {
  Sender sender(kEcn);
  for (int round = 0; round < 50; ++round) {
    sender.now += 50_us;  // Never so long that a path counts as free again.
    for (uint16_t path = 0; path < 4; ++path) sender.Hear(path);
  }
  // The paths marked first lost a third while others were unmarked.
  const double second = 5.0 / 18 * 2 / 3;
  const double third = (1.0 / 4 + 1.0 / 36 + 5.0 / 108) * 2 / 3;
  EXPECT_LT(
      ChiSquare(sender.Flowlets(6'000), {1.0 / 6, second, third, 1 - 1.0 / 6 - second - third}),
      kChiSquare99[3]);
}

// The rule is written down once more here. Weights that did not sum to 1 would favour the last
// path, or never draw it.
TEST(CloveTest, AfterManyNotesWeightsAreThoseOfTheRuleAndSumToOne) {
  Sender sender(kEcn);
  Rng rng = Rng::Stream(1, "notes", 0);
  std::vector<double> weights(4, 0.25);
  std::vector<Time> noted(4, Time{-kNever.ps});
  for (int note = 0; note < 2'000; ++note) {
    sender.now += 1_us * rng.Below(100);
    const uint16_t path = static_cast<uint16_t>(rng.Below(4));
    sender.Hear(path);
    noted[path] = sender.now;
    std::vector<size_t> others;
    for (size_t p = 0; p < 4; ++p) {
      if (sender.now - noted[p] > 100_us) others.push_back(p);
    }
    if (others.empty()) continue;
    for (const size_t p : others)
      weights[p] += weights[path] / 3 / static_cast<double>(others.size());
    weights[path] *= 2.0 / 3;
  }
  EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-9);
  EXPECT_LT(ChiSquare(sender.Flowlets(9'000), weights), kChiSquare99[3]);
}

TEST(CloveTest, HidesMarksUntilAllPathsHaveThem) {
  Sender sender("{kind: clove_ecn, gap: 50us, recent: 100us, mask_ecn: true}");
  for (uint16_t path = 0; path < 4; ++path) {
    EXPECT_TRUE(sender.Hides()) << path;
    sender.Hear(path);
  }
  EXPECT_FALSE(sender.Hides());
  sender.now += 100_us;
  EXPECT_FALSE(sender.Hides());
  sender.now += 1_ps;  // All are free again.
  EXPECT_TRUE(sender.Hides());
  EXPECT_EQ(sender.Count("hidden_echoes"), 5);
}

TEST(CloveTest, UsesAtMostSoManyPaths) {
  Sender sender("{kind: clove_ecn, gap: 50us, paths: 2}");
  EXPECT_EQ(Used(sender.Flowlets(200)), 2);
}

TEST(CloveTest, WithTelemetryTheLeastUsedPathIsTaken) {
  Sender sender(kInt);
  for (const uint16_t path : std::vector<uint16_t>{0, 1, 3}) sender.Hear(path, 10);
  EXPECT_EQ(sender.Flowlets(100), (std::vector<int64_t>{0, 0, 100, 0}));  // Not heard of: idle.
  sender.Hear(2, 200);
  sender.Hear(1, 9);
  EXPECT_EQ(sender.Flowlets(50), (std::vector<int64_t>{0, 50, 0, 0}));
  sender.now += 10_ms;  // All that was heard is stale.
  EXPECT_EQ(Used(sender.Flowlets(200)), 4);
}

// --- The receiver ---

TEST(CloveTest, TellsOfAPathAtMostOnceARelayInterval) {
  const PathTable table = PathsOfWeights({1, 1, 1, 1});
  LbHost host("{kind: clove_ecn, relay_every: 8us}", table);
  const auto arrive = [&](Time at, uint16_t path, bool marked) {
    Packet data = LbPacket(1);
    data.src = 1;
    data.dst = 0;
    data.path = path;
    if (marked) data.Set(Packet::kCe);
    Packet ack = LbPacket(2);
    host.At(at, [&](HostView& view, HostPolicy& policy) {
      policy.OnData(view, data);
      policy.OnSendAck(view, data, ack);
    });
    return ack.Scheme<Header>().path;
  };
  EXPECT_EQ(arrive(Time{} + 1_us, 3, false), kNoPath);
  EXPECT_EQ(arrive(Time{} + 2_us, 3, true), 3);
  EXPECT_EQ(arrive(Time{} + 3_us, 3, true), kNoPath);  // Too soon again.
  EXPECT_EQ(arrive(Time{} + 4_us, 1, true), 1);        // The mark is for another path.
  EXPECT_EQ(arrive(Time{} + 10_us, 2, false), 3);      // It was due.
  EXPECT_EQ(arrive(Time{} + 30_us, 2, false), kNoPath);
}

// --- In a network ---

// The share of what leaf 0 sends that takes the second of two spines, which has a third of the
// other's rate towards leaf 1: a quarter of the capacity. A host knows what its own flows were
// told, so there are few pairs, whose flows follow each other closely.
double ShareOfSlowSpine(const std::string& lb) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: "
      "40Gbps, delay: 1us}, fabric_link: {rate: 30Gbps, delay: 1us}, asymmetry: [{links: "
      "[leaf1-spine1], rate: 10Gbps}]}\nlb: " +
      lb +
      "\nworkload: [{kind: poisson, sizes: websearch, load: 0.25, flows: 1000}]\n"
      "transport: {kind: dctcp}\n"));
  return ShareOfUplink(run, "leaf0", "spine1");
}

TEST(CloveTest, ASlowPathSettlesAtItsShareOfTheCapacity) {
  EXPECT_NEAR(ShareOfSlowSpine("ecmp"), 0.5, 0.1);
  EXPECT_NEAR(ShareOfSlowSpine("{kind: clove_ecn, gap: 30us}"), 0.25, 0.06);
  EXPECT_NEAR(ShareOfSlowSpine("{kind: clove_int, gap: 30us}"), 0.25, 0.06);
}

// Many hosts send to one, whose link is congested whatever their paths; each host knows of marks on
// the one path that its flow takes.
TEST(CloveTest, HiddenMarksLetQueuesGrow) {
  const auto mean_wait = [](const std::string& lb) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 4}\nlb: " + lb +
        "\nworkload: [{kind: incast, fan_in: 4, bytes_each: 500KB, queries: 3, period: 5ms}]\n"
        "transport: {kind: dctcp}\nmeasure: {queueing: true}\n"));
    return CsvTable(run.files.queueing).Real(0, "mean_ns");
  };
  EXPECT_GT(mean_wait("{kind: clove_ecn, mask_ecn: true}"), 1.5 * mean_wait("clove_ecn"));
}

TEST(CloveTest, HidesMarksOnlyWhereAcksEchoThem) {
  EXPECT_THAT(ErrorsOf("topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
                       "transport: {kind: rocev2}\nlb: {kind: clove_ecn, mask_ecn: true}\n"
                       "workload: [{kind: permutation, size: 1MB}]\n"),
              testing::HasSubstr("lb.mask_ecn: needs a transport whose ACKs echo marks"));
}

}  // namespace heddle::clove_test
