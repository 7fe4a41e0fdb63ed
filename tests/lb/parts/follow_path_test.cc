// SPDX-License-Identifier: Apache-2.0

#include "lb/parts/follow_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::follow_path_test {

// The switch's part of Presto is FollowPath alone.
constexpr const char* kFollowing = "presto";

Packet OnPath(uint16_t path, uint32_t tuple_hash = 7) {
  Packet packet = LbPacket(tuple_hash);
  packet.path = path;
  return packet;
}

TEST(FollowPathTest, TakesTheUplinkThatThePathNames) {
  LbSwitch leaf(kFollowing);
  for (uint16_t path = 0; path < 40; ++path) EXPECT_EQ(leaf.PortFor(OnPath(path)), path % 4);
}

TEST(FollowPathTest, TakesItsOwnDigitOfThePath) {
  LbSwitch upper(kFollowing, {.path_divisor = 8});
  for (uint16_t path = 0; path < 64; ++path) {
    EXPECT_EQ(upper.PortFor(OnPath(path)), path / 8 % 4);
  }
}

TEST(FollowPathTest, HashesPacketsWithoutAPathAsEcmpDoes) {
  LbSwitch leaf(kFollowing, {.id = 5, .seed = 3});
  LbSwitch ecmp("ecmp", {.id = 5, .seed = 3});
  std::vector<int64_t> counts(4);
  for (const uint32_t tuple : RandomTuples(1, 2'000)) {
    const PortIndex port = leaf.PortFor(LbPacket(tuple));
    ASSERT_EQ(port, ecmp.PortFor(LbPacket(tuple)));
    ++counts[port];
  }
  EXPECT_EQ(Used(counts), 4);
}

TEST(FollowPathTest, HashesPacketsWhoseUplinkIsNoCandidate) {
  LbSwitch leaf(kFollowing);
  const std::vector<PortIndex> live{0, 1, 3};
  std::vector<int64_t> counts(4);
  for (const uint32_t tuple : RandomTuples(2, 2'000)) {
    ++counts[leaf.PortFor(OnPath(2, tuple), Time{}, live)];
  }
  EXPECT_EQ(counts[2], 0);
  EXPECT_EQ(Used(counts), 3);
}

}  // namespace heddle::follow_path_test
