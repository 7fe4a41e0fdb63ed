// SPDX-License-Identifier: Apache-2.0
// The program of the conformance tests of load balancers. It is installed, so that authors of
// plug-ins can test theirs:
//   conformance_test [--plugin FILE.so]... [options of GoogleTest]

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "cli/plugins.h"
#include "lb/parts/load_balancer.h"
#include "settings/status.h"
#include "tests/conformance/tested_policies.h"

namespace heddle {
namespace {

std::vector<std::string> tested;

// Takes `--plugin FILE` out of the arguments, and loads the files.
absl::Status LoadPlugins(std::vector<char*>& arguments) {
  Plugins plugins;
  for (auto at = arguments.begin(); at != arguments.end();) {
    if (std::string_view(*at) != "--plugin") {
      ++at;
      continue;
    }
    if (at + 1 == arguments.end()) {
      return absl::InvalidArgumentError("--plugin is followed by the file of a plug-in");
    }
    if (const absl::Status status = plugins.Load(*(at + 1)); !status.ok()) {
      return Within(status, *(at + 1));
    }
    at = arguments.erase(at, at + 2);
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<std::string>& TestedPolicies() { return tested; }

}  // namespace heddle

int main(int argc, char** argv) {
  using heddle::tested;
  const std::vector<std::string> built_in = heddle::LoadBalancers().Names();
  std::vector<char*> arguments(argv, argv + argc);
  if (const absl::Status status = heddle::LoadPlugins(arguments); !status.ok()) {
    fmt::print(stderr, "{}\n", heddle::MessageOf(status));
    return 2;
  }
  const std::vector<std::string> names = heddle::LoadBalancers().Names();
  std::ranges::set_difference(names, built_in, std::back_inserter(tested));
  if (tested.empty()) tested = built_in;

  int left = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  testing::InitGoogleTest(&left, arguments.data());
  return RUN_ALL_TESTS();
}
