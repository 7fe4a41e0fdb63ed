// SPDX-License-Identifier: Apache-2.0
// Tests a load balancer's controller: when it acts, and its effects, whatever the number of
// threads.

#include "fabric/controller.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lb/parts/load_balancer.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"

namespace heddle::controller_test {

struct Choice {
  Time at;
  size_t chosen;
};

// Sends everything the way its controller says.
class Turned final : public SwitchPolicy {
 public:
  explicit Turned(std::vector<Choice>* seen = nullptr) : seen_(seen) {}
  Decision OnPacket(SwitchView& view, const Packet&, PortIndex, const Candidates& c) override {
    if (seen_ != nullptr) seen_->push_back({view.now(), turn});
    return Decision::Forward(c.ports[turn % c.ports.size()]);
  }
  size_t StateBytes() const override { return sizeof(turn); }

  size_t turn = 0;

 private:
  std::vector<Choice>* seen_;
};

class Turner final : public Controller {
 public:
  Turner(const FabricView& fabric, Duration period) : fabric_(fabric), period_(period) {}
  Time Next() const override { return next_; }
  void Act(Time now) override {
    EXPECT_EQ(now, next_);
    for (SwitchPolicy* policy : fabric_.switches) ++static_cast<Turned*>(policy)->turn;
    next_ += period_;
  }

 private:
  const FabricView& fabric_;
  const Duration period_;
  Time next_ = Time{} + period_;
};

TEST(ControllerTest, ActsBeforeEveryPacketOfItsInstant) {
  std::vector<Choice> seen;
  // The 5th packet of the flow is received whole by its leaf at 1 us + 5 transmissions.
  const Duration period = 1_us + 5 * SerializationDelay(Bytes{1538}, 10_Gbps);
  Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 1, host_link: {rate: "
                                  "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}"),
           .transport = "{kind: tcp, framing: eth, iw: 64}",
           .switch_policy =
               [&](SwitchId s) { return std::make_unique<Turned>(s == 0 ? &seen : nullptr); },
           .controller =
               [&](const FabricView& fabric) {
                 EXPECT_EQ(fabric.switches.size(), 4u);
                 EXPECT_EQ(fabric.hosts.size(), 2u);
                 EXPECT_EQ(fabric.leaf_of_host[1], 1);
                 return std::make_unique<Turner>(fabric, period);
               }});
  lab.AddFlow(0, 1, 100'000);
  lab.Run();
  ASSERT_GT(seen.size(), 60u);
  EXPECT_EQ(seen[4].at, Time{} + period);
  for (const Choice& choice : seen) {
    EXPECT_EQ(choice.chosen, static_cast<size_t>(choice.at.ps / period.ps)) << choice.at.ps;
  }
}

class TurnedBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {}
  SwitchPolicyPtr ForSwitch(SwitchId, uint64_t) const override {
    return std::make_unique<Turned>();
  }
  std::unique_ptr<Controller> ForFabric(const FabricView& fabric, uint64_t) const override {
    return std::make_unique<Turner>(fabric, 7_us);
  }
};

TEST(ControllerTest, WorksInAnExperimentForAnyNumberOfThreads) {
  LoadBalancers().Add<TurnedBalancer>({"turned_by_controller", "For this test.", ""});
  const auto run = [](const std::string& lb, int threads) {
    return RunExperiment(
        ExperimentFrom("name: controlled\n"
                       "topology: {kind: leaf_spine, leaves: 4, spines: 3, hosts_per_leaf: 4}\n"
                       "transport: dctcp\nlb: " +
                       lb +
                       "\n"
                       "workload: [{kind: permutation, size: 1MB}]\n"),
        threads);
  };
  const FinishedRun one = run("turned_by_controller", 1);
  EXPECT_EQ(run("turned_by_controller", 3).files, one.files);
  // Every 7 us all flows of a leaf move to the next spine, so each has used all three.
  const CsvTable flows(one.files.flows);
  ASSERT_EQ(flows.rows.size(), 16u);
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    const bool crosses = flows.Integer(row, "src") / 4 != flows.Integer(row, "dst") / 4;
    EXPECT_EQ(flows.Integer(row, "paths_used"), crosses ? 3 : 1);
  }
  EXPECT_FALSE(one.result.reached_t_max);
}

}  // namespace heddle::controller_test
