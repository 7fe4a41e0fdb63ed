// SPDX-License-Identifier: Apache-2.0
// Schemes that look at queues leave ports alone that are paused (PFC): an empty queue there does
// not move.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/lb_bench.h"
#include "tests/support/switch_bench.h"
#include "tests/support/traces.h"

namespace heddle::paused_ports_test {

constexpr uint8_t kClass = 3;
constexpr PortIndex kFrom = 4;  // Ports 0 to 3 lead to host 0.

SwitchPlan FivePorts() {
  const PortSettings port{.rate = 10_Gbps, .delay = 1_us, .wire_overhead = 24_B};
  SwitchPlan plan;
  plan.ports.assign(5, port);
  plan.queues.classes = 1 << kClass | 1;
  plan.shares.assign(5, {.buffer = kUnlimited});
  return plan;
}

// Port 0 is paused from 1 us to 1 ms. A packet of a flow of its own comes each 2 us meanwhile.
// Returns how many have been sent there.
size_t SentToThePausedPort(const std::string& settings) {
  const Chosen<LoadBalancer> balancer = BalancerFrom(settings);
  SwitchBench bench(FivePorts(), 1_us, balancer.settings->ForSwitch(0, 1));
  RoutingTable routes;
  routes.SetSetsOfHosts(std::array<uint16_t, 5>{});
  routes.sets = {{0, 4}};
  routes.ports = {0, 1, 2, 3};
  bench.node().SetRoutes(routes);
  std::vector<Offer> offers = {{Time{} + 1_us, 0, PauseOf(1 << kClass, true)},
                               {Time{} + 1_ms, 0, PauseOf(1 << kClass, false)}};
  for (uint32_t i = 0; i < 400; ++i) {
    Packet packet = PacketOf(1'500, kClass);
    packet.flow = packet.tuple_hash = i;
    offers.push_back({Time{} + 10_us + 2_us * i, kFrom, packet});
  }
  bench.Run(offers);
  return bench.received(0).size();
}

class PausedPortsTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Schemes, PausedPortsTest,
                         testing::Values("lq", "p2c", "lq_bw", "switch_ar", "qdaps"));

TEST_P(PausedPortsTest, AreNotTakenAsLongAsThereAreOthers) {
  EXPECT_EQ(SentToThePausedPort(GetParam()), 0u);
}

TEST(PausedPortTest, IsTakenByWhatDoesNotLook) {
  EXPECT_NEAR(static_cast<double>(SentToThePausedPort("rps")), 100, 26);
}

// Class 3 has a long queue at all ports, the longest at port 0; class 1 goes first, and has none.
TEST(LqPerClassTest, PacketsOfClassesBehindDoNotCount) {
  const auto to_port_0 = [](const std::string& settings) {
    const Chosen<LoadBalancer> balancer = BalancerFrom(settings);
    SwitchPlan plan = FivePorts();
    plan.queues.classes = 1 << kClass | 1 << 1 | 1;
    plan.queues.scheduler = Scheduler::kStrict;
    SwitchBench bench(plan, 1_us, balancer.settings->ForSwitch(0, 1));
    RoutingTable routes;
    // Host h > 0 is behind port h - 1 alone.
    routes.SetSetsOfHosts(std::array<uint16_t, 5>{0, 1, 2, 3, 4});
    routes.sets = {{0, 4}, {0, 1}, {1, 1}, {2, 1}, {3, 1}};
    routes.ports = {0, 1, 2, 3};
    bench.node().SetRoutes(routes);
    std::vector<Offer> offers;
    for (HostId dst = 1; dst <= 4; ++dst) {
      for (int i = 0; i < (dst == 1 ? 1'200 : 1'000); ++i) {  // 1000 take 1.2 ms.
        offers.push_back({Time{} + 1_us, kFrom, PacketOf(1'500, kClass, dst)});
      }
    }
    for (int i = 0; i < 200; ++i) {
      offers.push_back({Time{} + 10_us + 5_us * i, 1, PacketOf(100, 1, /*dst=*/0)});
    }
    bench.Run(offers);
    size_t of_class_1 = 0;
    for (const Packet& packet : bench.received(0)) of_class_1 += packet.priority == 1 ? 1 : 0;
    return of_class_1;
  };
  EXPECT_EQ(to_port_0("lq"), 0u);
  EXPECT_GT(to_port_0("{kind: lq, per_class: true}"), 20u);
}

}  // namespace heddle::paused_ports_test
