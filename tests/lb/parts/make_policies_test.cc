// SPDX-License-Identifier: Apache-2.0
// Tests load balancers that throw, or make nothing, as plug-ins may.

#include "lb/parts/make_policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

#include "experiment/simulation.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/status.h"

namespace heddle::make_policies_test {

using testing::HasSubstr;

enum class How { kReturns, kThrows, kThrowsNumber, kHasNoMemory };

void Fail(How how) {
  if (how == How::kThrows) throw std::runtime_error("out of luck");
  if (how == How::kThrowsNumber) throw 42;
  if (how == How::kHasNoMemory) throw std::bad_alloc();
}

// Makes no policy for a switch, and fails before it where it is told to.
class Faulty final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {}
  void Prepare(const FabricShape& /*fabric*/, std::string_view /*path*/,
               Diagnostics& /*diagnostics*/) override {
    Fail(prepares);
  }
  SwitchPolicyPtr ForSwitch(SwitchId /*id*/, uint64_t /*seed*/) const override {
    Fail(makes);
    return nullptr;
  }
  HostPolicyPtr ForHost(HostId /*id*/, uint64_t /*seed*/) const override {
    Fail(makes);
    return nullptr;
  }
  std::unique_ptr<Controller> ForFabric(const FabricView& /*fabric*/,
                                        uint64_t /*seed*/) const override {
    Fail(makes);
    return nullptr;
  }

  static inline How prepares = How::kReturns;
  static inline How makes = How::kReturns;
};

class MakePoliciesTest : public testing::Test {
 protected:
  MakePoliciesTest() { Faulty::prepares = Faulty::makes = How::kReturns; }
  Faulty faulty_;
};

TEST_F(MakePoliciesTest, ASwitchNeedsAPolicyAndOthersDoNot) {
  EXPECT_THAT(
      MakeSwitchPolicy(faulty_, "faulty", 0, 1),
      Fails(absl::StatusCode::kInvalidArgument,
            "load balancer \"faulty\": ForSwitch() has returned no policy; every switch needs "
            "one"));
  EXPECT_THAT(MakeHostPolicy(faulty_, "faulty", 0, 1), IsOk());
  EXPECT_THAT(MakeController(faulty_, "faulty", {}, 1), IsOk());
}

TEST_F(MakePoliciesTest, WhatIsThrownIsAStatus) {
  Faulty::makes = How::kThrows;
  EXPECT_THAT(MakeSwitchPolicy(faulty_, "faulty", 0, 1),
              Fails(absl::StatusCode::kInvalidArgument,
                    "load balancer \"faulty\": ForSwitch() has thrown: out of luck"));
  EXPECT_THAT(MakeHostPolicy(faulty_, "faulty", 0, 1),
              Fails(absl::StatusCode::kInvalidArgument, HasSubstr("ForHost() has thrown: out of")));
  EXPECT_THAT(MakeController(faulty_, "faulty", {}, 1),
              Fails(absl::StatusCode::kInvalidArgument, HasSubstr("ForFabric() has thrown: out")));
  Faulty::makes = How::kThrowsNumber;
  EXPECT_THAT(
      MakeHostPolicy(faulty_, "faulty", 0, 1),
      Fails(
          absl::StatusCode::kInvalidArgument,
          "load balancer \"faulty\": ForHost() has thrown something that is not a std::exception"));
}

TEST_F(MakePoliciesTest, ALackOfMemoryIsNotItsFault) {
  Faulty::makes = How::kHasNoMemory;
  EXPECT_THROW(MakeSwitchPolicy(faulty_, "faulty", 0, 1).IgnoreError(), std::bad_alloc);
}

TEST_F(MakePoliciesTest, WhatPreparingThrowsIsAnErrorOfTheSetting) {
  Faulty::prepares = How::kThrows;
  Diagnostics diagnostics;
  PrepareBalancer(faulty_, "faulty", {}, "lb", diagnostics);
  EXPECT_THAT(diagnostics.Report(),
              HasSubstr("lb: load balancer \"faulty\": Prepare() has thrown: out of luck"));
}

TEST_F(MakePoliciesTest, AnExperimentWithoutPoliciesIsNotSimulated) {
  LoadBalancers().Add<Faulty>({"faulty", "Makes nothing.", "This test"});
  const std::string yaml =
      "topology: {kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 1}\nlb: faulty\n"
      "workload: [{kind: permutation, size: 1KB}]\n";
  const Experiment experiment = ExperimentFrom(yaml);
  EXPECT_THAT(Simulate(experiment, {}, [](std::string_view) { return true; }),
              Fails(absl::StatusCode::kInvalidArgument, HasSubstr("has returned no policy")));
  Faulty::prepares = How::kThrowsNumber;
  EXPECT_THAT(ErrorsOf(yaml), HasSubstr("test.yaml:2:5: lb: load balancer \"faulty\": Prepare() "
                                        "has thrown something that is not a std::exception"));
}

}  // namespace heddle::make_policies_test
