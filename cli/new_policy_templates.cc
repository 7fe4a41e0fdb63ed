// SPDX-License-Identifier: Apache-2.0
// The files that heddle new-policy writes. Tests compile and run them, and compare them with
// docs/examples/out_of_tree.

#include "cli/new_policy_command.h"

namespace heddle {

const std::string_view kPolicyTemplate = R"(// Describe the load balancer here, and name its paper.

#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

class @Name@AtSwitch final : public SwitchPolicy {
 public:
  @Name@AtSwitch(int64_t choices, Rng rng) : choices_(choices), rng_(rng) {}

  // The least loaded of a few next hops that are drawn at random.
  Decision OnPacket(SwitchView& view, const Packet& /*packet*/, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    const auto draw = [&] {
      return candidates.ports[rng_.Below(static_cast<uint32_t>(candidates.ports.size()))];
    };
    PortIndex best = draw();
    for (int64_t i = 1; i < choices_; ++i) {
      const PortIndex other = draw();
      if (view.QueueingDelay(other) < view.QueueingDelay(best)) best = other;
    }
    return Decision::Forward(best);
  }

  size_t StateBytes() const override { return sizeof(rng_); }

 private:
  const int64_t choices_;
  Rng rng_;
};

class @Name@Scheme final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("choices", choices_, Between<int64_t>(1, 64), "Next hops drawn for each packet.");
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<@Name@AtSwitch>(choices_, Rng::Stream(seed, "@name@", id));
  }

 private:
  int64_t choices_ = 2;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<@Name@Scheme>(
    {"@name@", "Every packet takes the least loaded of a few random next hops.", ""});

}  // namespace
}  // namespace heddle
)";

const std::string_view kPolicyTestTemplate = R"(#include <gtest/gtest.h>

#include <set>

#include "tests/support/lb_bench.h"

namespace heddle::@name@_test {

// tests/conformance tests the rules for all load balancers; here are tests of this one's promises.
TEST(@Name@Test, UsesEveryNextHop) {
  LbSwitch leaf("@name@");
  std::set<PortIndex> used;
  for (int i = 0; i < 1'000; ++i) used.insert(leaf.PortFor(LbPacket(1), Time{} + 1_us * i));
  EXPECT_EQ(used.size(), leaf.uplinks().size());
}

}  // namespace heddle::@name@_test
)";

const std::string_view kMainTemplate = R"(// SPDX-License-Identifier: Apache-2.0
// heddle, with the load balancers that are linked into this program in addition.

#include <cli/heddle_main.h>

int main(int argc, char** argv) { return heddle::HeddleMain(argc, argv); }
)";

const std::string_view kCmakeTemplate = R"(# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
project(@name@ LANGUAGES CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(heddle REQUIRED)

# For `heddle run --plugin @name@.so`.
heddle_add_plugin(@name@ @name@.cc)

# `ctest --test-dir build` checks what must hold for every load balancer.
enable_testing()
heddle_test_plugin(@name@)

# A program of its own, with the same commands as heddle.
add_executable(my_heddle main.cc @name@.cc)
target_link_libraries(my_heddle PRIVATE heddle::heddle)
)";

const std::string_view kExperimentTemplate =
    R"(# A first experiment with @name@: web-search traffic at 50 % load on four spines.
topology: {kind: leaf_spine, leaves: 4, spines: 4, hosts_per_leaf: 4}
transport: dctcp
lb: @name@
workload: [{kind: poisson, sizes: websearch, load: 0.5, flows: 500}]
measure: {warm_up: 0us}
)";

const std::string_view kReadmeTemplate = R"(# @name@

A load balancer for Heddle, as a plug-in for `heddle` and in a program of its own.

    cmake -S . -B build -DCMAKE_PREFIX_PATH=/where/heddle/is/installed
    cmake --build build
    ctest --test-dir build
    heddle run experiment.yaml --plugin build/@name@.so
    build/my_heddle run experiment.yaml --force

A plug-in runs only in the `heddle` that it was built for. After an update of Heddle or of the compiler, build it
again. Until then `heddle` refuses the plug-in with an error message.
)";

}  // namespace heddle
