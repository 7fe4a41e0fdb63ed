// SPDX-License-Identifier: Apache-2.0
// Tests when RLB warns of a pause, and what a warning does to the packets of a flow.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lb/rlb/pause_forecast.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"
#include "tests/support/switch_bench.h"
#include "tests/support/traces.h"

namespace heddle::rlb_test {

constexpr uint8_t kClass = 3;
constexpr PortIndex kFrom = 4;  // Ports 0 to 3 lead to host 0.

// lb/rlb/rlb.cc writes this header.
struct Warning {
  uint8_t cls;
};

Packet WarningOf(uint8_t cls) {
  Packet packet;
  packet.kind = PacketKind::kControl;
  packet.flow = ~FlowId{0};
  packet.bytes = 64;
  packet.SetScheme(Warning{cls});
  return packet;
}

// Ports of these rates; an input pauses its sender above `xoff`.
SwitchPlan Lossless(const std::vector<BitRate>& rates, Bytes xoff = 1_MB) {
  SwitchPlan plan;
  for (const BitRate rate : rates) {
    plan.ports.push_back({.rate = rate, .delay = 1_us, .wire_overhead = 24_B});
    plan.shares.push_back({.buffer = kUnlimited, .headroom = 1'000'000, .xoff = xoff.count});
  }
  plan.queues.classes = 1 << kClass | 1;
  plan.queueing.memory.lossless = 1 << kClass;
  return plan;
}

// --- When a switch warns ---

// X_off 256 KB and a queue of 200 KB: with 20 KB more in 2 us it takes 5.6 us, with 10 KB 11.2 us.
TEST(TimeToPauseTest, GoesOnAsTheInputHasGrown) {
  EXPECT_EQ(TimeToPause(180_KB, 200_KB, 256_KB, 2_us), 5'600'000_ps);
  EXPECT_EQ(TimeToPause(190_KB, 200_KB, 256_KB, 2_us), 11'200'000_ps);
}

TEST(TimeToPauseTest, IsNoneAboveTheThresholdAndNeverWithoutGrowth) {
  EXPECT_EQ(TimeToPause(200_KB, 200_KB, 256_KB, 2_us).ps, kNever.ps);
  EXPECT_EQ(TimeToPause(200_KB, 180_KB, 256_KB, 2_us).ps, kNever.ps);
  EXPECT_EQ(TimeToPause(300_KB, 257_KB, 256_KB, 2_us), 0_ps);
  EXPECT_EQ(TimeToPause(255_KB, 256_KB, 256_KB, 2_us), 0_ps);
}

// A packet comes each `every` through port 1, of 100 Gbps, and leaves through port 0, of 20 Gbps.
struct Stream {
  Duration every;
  int packets;
  static constexpr Duration kService = 409'600_ps;  // 1024 bytes at 20 Gbps.

  Time ArrivalOf(int i) const { return Time{} + 1_us + every * i; }
  // Counts the packets that have come and not left, one by one.
  int64_t HeldAt(Time at) const {
    int64_t held = 0;
    Time free{};
    for (int i = 0; i < packets && ArrivalOf(i) <= at; ++i) {
      free = std::max(free, ArrivalOf(i)) + kService;
      if (free > at) held += 1'000;
    }
    return held;
  }
  // The first sample at which the input will be full within `warn_before`.
  Time FirstWarning(int64_t xoff, Duration warn_before) const {
    for (Time at = Time{} + 2_us; at < ArrivalOf(packets); at = at + 2_us) {
      const int64_t held = HeldAt(at);
      const int64_t growth = held - HeldAt(at - 2_us);
      if (growth > 0 && (xoff - held) * 2'000'000 < warn_before.ps * growth) return at;
    }
    return kNever;
  }
};

// Returns when the first warning reaches the peer of port 1; kNever if none does.
Time FirstWarningOf(const Stream& stream) {
  const Chosen<LoadBalancer> balancer = BalancerFrom("{kind: rlb, inner: ecmp, warn_before: 6us}");
  SwitchBench bench(Lossless({20_Gbps, 100_Gbps}, 256_KB), 1_us,
                    balancer.settings->ForSwitch(0, 1));
  std::vector<Offer> offers;
  for (int i = 0; i < stream.packets; ++i) {
    offers.push_back({stream.ArrivalOf(i), 1, PacketOf(1'000, kClass, 0)});
  }
  bench.Run(offers);
  for (const Packet& packet : bench.received(1)) {
    if (packet.kind == PacketKind::kControl) return packet.arrival;
  }
  return kNever;
}

TEST(RlbTest, WarnsAsSoonAsTheInputWillBeFullInTime) {
  for (const Duration every : {90_ns, 100_ns, 150_ns, 200_ns}) {
    const Stream stream{every, 1'000};
    const Time sampled = stream.FirstWarning(256'000, 6_us);
    ASSERT_NE(sampled, kNever);
    EXPECT_EQ(FirstWarningOf(stream), sampled + 1_us + 7'040_ps);  // 88 bytes at 100 Gbps.
  }
}

TEST(RlbTest, DoesNotWarnOfAQueueThatStaysBelow) {
  const Stream stream{100_ns, 250};  // 189 KB at most.
  EXPECT_EQ(stream.FirstWarning(256'000, 6_us), kNever);
  EXPECT_EQ(FirstWarningOf(stream), kNever);
}

// --- What a warning does ---

// Five switches around one; host 0 is behind ports 0 to 3. A flow whose hash is `flow`.
class Bench {
 public:
  explicit Bench(const std::string& settings)
      : balancer_(BalancerFrom(settings)),
        bench_(Lossless(std::vector<BitRate>(5, 10_Gbps)), 1_us,
               balancer_.settings->ForSwitch(0, 1)) {
    RoutingTable routes;
    routes.SetSetsOfHosts(std::array<uint16_t, 5>{});
    routes.sets = {{0, 4}};
    routes.ports = routes.uplinks = {0, 1, 2, 3};
    bench_.node().SetRoutes(routes);
  }

  void Send(Time at, FlowId flow, uint32_t seq = 0) {
    Packet packet = PacketOf(1'500, kClass);
    packet.flow = flow;
    packet.tuple_hash = static_cast<uint32_t>(Mix64(flow));
    packet.src = 4;
    packet.seq = seq;
    offers_.push_back({at, kFrom, packet});
  }
  void Offer(Time at, PortIndex port, const Packet& packet) {
    offers_.push_back({at, port, packet});
  }
  void Run() { bench_.Run(offers_); }

  const std::vector<Packet>& Received(PortIndex port) const { return bench_.received(port); }
  size_t DataAt(PortIndex port, Time from = Time{}, Time to = kNever) const {
    return static_cast<size_t>(std::ranges::count_if(Received(port), [&](const Packet& packet) {
      return packet.kind == PacketKind::kData && packet.arrival >= from && packet.arrival < to;
    }));
  }
  // The port that took all packets of the run.
  PortIndex OnlyPort() const {
    for (PortIndex port = 0; port < 4; ++port) {
      if (DataAt(port) > 0) return port;
    }
    return kFrom;
  }
  int64_t Count(std::string_view counter) {
    for (const auto& its : bench_.node().policy().Counters()) {
      if (its.name == counter) return its.value;
    }
    ADD_FAILURE() << counter;
    return -1;
  }

 private:
  const Chosen<LoadBalancer> balancer_;
  SwitchBench bench_;
  std::vector<heddle::Offer> offers_;
};

// The port to which ECMP hashes the flow.
PortIndex EcmpPortOf(FlowId flow) {
  Bench bench("{kind: rlb, inner: ecmp}");
  bench.Send(Time{} + 2_us, flow);
  bench.Run();
  return bench.OnlyPort();
}

TEST(RlbTest, SendsNewFlowsAroundAWarnedPortAsLongAsTheWarningLasts) {
  Bench bench("{kind: rlb, inner: ecmp, warned_for: 100us}");
  bench.Offer(Time{} + 500_us, 0, WarningOf(kClass));
  for (FlowId flow = 0; flow < 1'000; ++flow) bench.Send(Time{} + 2_us + 1'500_ns * flow, flow);
  bench.Run();
  const auto at = [](Duration time) { return Time{} + time + 2'300_ns; };  // Sent and received.
  EXPECT_NEAR(static_cast<double>(bench.DataAt(0, Time{}, at(500_us))), 332 / 4.0, 30);
  EXPECT_EQ(bench.DataAt(0, at(502_us), at(599_us)), 0u);
  EXPECT_GT(bench.DataAt(0, at(600_us)), 100u);
  EXPECT_EQ(bench.DataAt(0) + bench.DataAt(1) + bench.DataAt(2) + bench.DataAt(3), 1'000u);
}

TEST(RlbTest, AWarningIsForOneClass) {
  Bench bench("{kind: rlb, inner: ecmp, warned_for: 10ms}");
  bench.Offer(Time{} + 2_us, 0, WarningOf(kClass + 1));
  for (FlowId flow = 0; flow < 400; ++flow) bench.Send(Time{} + 4_us + 1'500_ns * flow, flow);
  bench.Run();
  EXPECT_NEAR(static_cast<double>(bench.DataAt(0)), 100, 30);
}

TEST(RlbTest, APausedPortCountsAsWarned) {
  Bench bench("{kind: rlb, inner: ecmp}");
  bench.Offer(Time{} + 1_us, 0, PauseOf(1 << kClass, true));
  bench.Offer(Time{} + 2_ms, 0, PauseOf(1 << kClass, false));
  for (FlowId flow = 0; flow < 400; ++flow) bench.Send(Time{} + 10_us + 2_us * flow, flow);
  bench.Run();
  EXPECT_EQ(bench.DataAt(0), 0u);
}

// Twenty packets of a flow wait at its port, so that a packet anywhere else would overtake them.
TEST(RlbTest, APacketThatWouldOvertakeRecirculatesAndThenFollows) {
  constexpr FlowId kFlow = 7;
  const PortIndex port = EcmpPortOf(kFlow);
  Bench bench("{kind: rlb, inner: ecmp, recirculations: 4, recirculation: 1us, warned_for: 1ms}");
  for (uint32_t i = 0; i < 20; ++i) bench.Send(Time{} + 2_us + 100_ns * i, kFlow, i);
  bench.Offer(Time{} + 5_us, port, WarningOf(kClass));
  for (uint32_t i = 20; i < 24; ++i) bench.Send(Time{} + 4_us + 100_ns * i, kFlow, i);
  bench.Run();
  EXPECT_EQ(bench.DataAt(port), 24u);
  uint32_t next = 0;
  for (const Packet& packet : bench.Received(port)) EXPECT_EQ(packet.seq, next++);
  EXPECT_EQ(bench.Count("recirculations"), 16);  // Four packets, four times each.
  EXPECT_EQ(bench.Count("sent_around"), 0);
}

// Two packets wait, which leave at 2 + 2 x 1.2192 us; the third comes at 3 us, is looked at again
// each microsecond, and goes elsewhere at 5 us.
TEST(RlbTest, APacketThatNoLongerOvertakesIsSentAround) {
  constexpr FlowId kFlow = 7;
  const PortIndex port = EcmpPortOf(kFlow);
  Bench bench("{kind: rlb, inner: ecmp, recirculations: 4, recirculation: 1us, warned_for: 1ms}");
  bench.Send(Time{} + 2_us, kFlow, 0);
  bench.Send(Time{} + 2'000'001_ps, kFlow, 1);
  bench.Offer(Time{} + 2_us + 500_ns, port, WarningOf(kClass));
  bench.Send(Time{} + 3_us, kFlow, 2);
  bench.Run();
  EXPECT_EQ(bench.DataAt(port), 2u);
  EXPECT_EQ(bench.Count("recirculations"), 2);
  EXPECT_EQ(bench.Count("sent_around"), 1);
  for (PortIndex other = 0; other < 4; ++other) {
    if (other == port || bench.Received(other).empty()) continue;
    EXPECT_EQ(bench.Received(other).front().arrival, Time{} + 5_us + 1'219'200_ps + 1_us);
  }
}

TEST(RlbTest, WithoutRecirculationPacketsKeepTheirPort) {
  constexpr FlowId kFlow = 7;
  const PortIndex port = EcmpPortOf(kFlow);
  Bench bench("{kind: rlb, inner: ecmp, recirculations: 0, warned_for: 1ms}");
  bench.Offer(Time{} + 2_us, port, WarningOf(kClass));
  for (uint32_t i = 0; i < 10; ++i) bench.Send(Time{} + 1_us + 100_ns * (20 + i), kFlow, i);
  bench.Run();
  EXPECT_EQ(bench.Count("recirculations"), 0);
  size_t all = 0;
  for (PortIndex any = 0; any < 4; ++any) all += bench.DataAt(any);
  EXPECT_EQ(all, 10u);
}

// Six packets come; two recirculate until the packets before them have left, and go elsewhere then.
TEST(RlbTest, AFullLoopSendsPacketsOn) {
  constexpr FlowId kFlow = 7;
  const PortIndex port = EcmpPortOf(kFlow);
  Bench bench("{kind: rlb, inner: ecmp, recirculating: 2, recirculation: 10us, warned_for: 1ms}");
  for (uint32_t i = 0; i < 20; ++i) bench.Send(Time{} + 2_us + 100_ns * i, kFlow, i);
  bench.Offer(Time{} + 5_us, port, WarningOf(kClass));
  for (uint32_t i = 20; i < 26; ++i) bench.Send(Time{} + 4_us + 100_ns * i, kFlow, i);
  bench.Run();
  EXPECT_EQ(bench.Count("not_recirculated"), 4);
  EXPECT_EQ(bench.DataAt(port), 24u);
  EXPECT_EQ(bench.Count("sent_around"), 2);
}

// --- Whole networks ---

std::string Network(const std::string& lb, const std::string& transport, const std::string& port,
                    const std::string& workload) {
  return "seed: 3\ntopology: {kind: leaf_spine, leaves: 3, spines: 4, hosts_per_leaf: 4, " + port +
         "}\ntransport: " + transport + "\nlb: " + lb + "\nworkload: " + workload +
         "\nmeasure: {warm_up: 0s, t_max: 1s}\n";
}
const std::string kPoisson = "[{kind: poisson, sizes: small, load: 0.4, flows: 200}]";
const std::string kBursts =
    "[{kind: poisson, sizes: websearch, max_size: 1MB, load: 0.6, flows: 150}, {kind: incast, "
    "fan_in: 8, bytes_each: 200KB, queries: 6, period: 400us}]";
const std::string kPfc = "port: {memory: {model: dt, size: 300KB}, pfc: {classes: [3]}}";

std::string AroundOf(const std::string& inner) { return "{kind: rlb, inner: " + inner + "}"; }

// Without a warning nothing differs, down to the picosecond.
TEST(RlbTest, IsItsInnerLoadBalancerWhereNothingIsPaused) {
  for (const std::string inner : {"letflow", "drill", "presto", "hermes"}) {
    SCOPED_TRACE(inner);
    const std::string dctcp = "{kind: dctcp, min_rto: 1ms}";
    const std::string lossy = "port: {buffer: 60KB}";
    EXPECT_EQ(
        RunExperiment(ExperimentFrom(Network(AroundOf(inner), dctcp, lossy, kPoisson))).files.flows,
        RunExperiment(ExperimentFrom(Network(inner, dctcp, lossy, kPoisson))).files.flows);
    const std::string deep = "port: {memory: {model: dt, size: 90MB}, pfc: {classes: [3]}}";
    const FinishedRun run =
        RunExperiment(ExperimentFrom(Network(AroundOf(inner), "rocev2", deep, kPoisson)));
    EXPECT_EQ(Counted(run, "warnings"), 0);
    EXPECT_EQ(run.files.flows,
              RunExperiment(ExperimentFrom(Network(inner, "rocev2", deep, kPoisson))).files.flows);
  }
}

int64_t PausesBetweenSwitches(const FinishedRun& run) {
  const CsvTable links(run.files.links);
  int64_t pauses = 0;
  for (size_t row = 0; row < links.rows.size(); ++row) {
    const std::string& tier = links.At(row, "tier");
    if (tier == "leaf_up" || tier == "spine_down") pauses += links.Integer(row, "pause_rx");
  }
  return pauses;
}

TEST(RlbTest, SendsPacketsAroundPausesInANetwork) {
  const FinishedRun run =
      RunExperiment(ExperimentFrom(Network(AroundOf("letflow"), "rocev2", kPfc, kBursts)));
  EXPECT_EQ(run.result.unfinished, 0);
  EXPECT_GT(PausesBetweenSwitches(run), 0);
  EXPECT_GT(Counted(run, "warnings"), 0);
  EXPECT_GT(Counted(run, "sent_around"), 0);
  EXPECT_GT(Counted(run, "recirculations"), 0);
}

TEST(RlbTest, RefusesToWrapItselfAndWarnsWithoutPfc) {
  EXPECT_NE(ErrorsOf(Network(AroundOf("rlb"), "rocev2", kPfc, kPoisson))
                .find("is no load balancer that rlb wraps; use drill"),
            std::string::npos);
  EXPECT_NE(ErrorsOf(Network(AroundOf("nonsense"), "rocev2", kPfc, kPoisson))
                .find("no load balancer is called"),
            std::string::npos);
  const Experiment lossy =
      ExperimentFrom(Network("rlb", "{kind: dctcp}", "port: {buffer: 60KB}", kPoisson));
  EXPECT_TRUE(std::ranges::any_of(lossy.warnings, [](const std::string& warning) {
    return warning.find("without PFC no port is paused") != std::string::npos;
  }));
}

}  // namespace heddle::rlb_test
