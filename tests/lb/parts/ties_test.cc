// SPDX-License-Identifier: Apache-2.0
// Tests the choice among several equally good ports.

#include "lb/parts/ties.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "tests/support/lb_statistics.h"

namespace heddle::ties_test {

const std::array<PortIndex, 4> kPorts = {2, 3, 5, 7};

std::vector<int64_t> Draw(const std::vector<int>& costs, PortIndex previous, int draws) {
  Rng rng = Rng::Stream(1, "ties", 0);
  std::vector<int64_t> counts(8, 0);
  for (int i = 0; i < draws; ++i) {
    ++counts[LeastOf(kPorts, previous, rng, [&](PortIndex port) { return costs[port]; })];
  }
  return counts;
}

TEST(LeastOfTest, TakesTheLeastWhateverWasBefore) {
  EXPECT_EQ(Draw({0, 0, 5, 4, 0, 9, 0, 4}, 2, 1)[2], 0);
  EXPECT_EQ(Draw({0, 0, 5, 4, 0, 3, 0, 4}, 7, 100)[5], 100);
  EXPECT_EQ(Draw({0, 0, 1, 4, 0, 3, 0, 4}, kNoPort, 100)[2], 100);
  EXPECT_EQ(Draw({0, 0, 4, 4, 0, 3, 0, 1}, 0, 100)[7], 100);
}

TEST(LeastOfTest, StaysIfThePreviousPortIsAmongThem) {
  for (const PortIndex previous : {PortIndex{3}, PortIndex{5}, PortIndex{7}}) {
    EXPECT_EQ(Draw({0, 0, 5, 4, 0, 4, 0, 4}, previous, 100)[previous], 100);
  }
}

TEST(LeastOfTest, DrawsUniformlyAmongThem) {
  const std::vector<int64_t> counts = Draw({0, 0, 5, 4, 0, 4, 0, 4}, 2, 30'000);
  EXPECT_EQ(counts[2], 0);
  EXPECT_LT(ChiSquare({counts[3], counts[5], counts[7]}, {1, 1, 1}), kChiSquare99[2]);
  const std::vector<int64_t> all = Draw({0, 0, 4, 4, 0, 4, 0, 4}, kNoPort, 30'000);
  EXPECT_LT(ChiSquare({all[2], all[3], all[5], all[7]}, {1, 1, 1, 1}), kChiSquare99[3]);
}

// The same in two passes, for up to more ties than LeastOf() keeps.
PortIndex SlowLeastOf(const std::vector<PortIndex>& ports, PortIndex previous, Rng& rng,
                      const std::vector<int>& costs) {
  const int least =
      costs[*std::ranges::min_element(ports, {}, [&](PortIndex p) { return costs[p]; })];
  std::vector<PortIndex> ties;
  for (const PortIndex port : ports) {
    if (costs[port] == least) ties.push_back(port);
  }
  if (std::ranges::find(ties, previous) != ties.end()) return previous;
  return ties.size() == 1 ? ties[0] : ties[rng.Below(static_cast<uint32_t>(ties.size()))];
}

TEST(LeastOfTest, AgreesWithASlowSearch) {
  Rng inputs = Rng::Stream(1, "inputs", 0);
  Rng fast = Rng::Stream(1, "ties", 0);
  Rng slow = fast;
  for (int i = 0; i < 3'000; ++i) {
    std::vector<PortIndex> ports(1 + inputs.Below(i % 10 == 0 ? 400 : 8));
    std::iota(ports.begin(), ports.end(), PortIndex{3});
    std::vector<int> costs(ports.size() + 3);
    const uint32_t kinds = 1 + inputs.Below(4);
    for (int& cost : costs) cost = static_cast<int>(inputs.Below(kinds));
    const auto previous = static_cast<PortIndex>(inputs.Below(static_cast<uint32_t>(costs.size())));
    const PortIndex expected = SlowLeastOf(ports, previous, slow, costs);
    ASSERT_EQ(LeastOf(ports, previous, fast, [&](PortIndex port) { return costs[port]; }),
              expected);
  }
}

}  // namespace heddle::ties_test
