// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::presto_test {

constexpr HostId kRemote = 1;
constexpr HostId kSameLeaf = 2;

struct Cell {
  uint16_t path;
  int64_t bytes;
};

// The cells of a flow of `size` bytes, by the number that its packets carry.
std::vector<Cell> CellsOf(LbHost& host, int64_t size, FlowId id = 0) {
  HostFlow flow = host.Start(kRemote, id);
  std::vector<Cell> cells;
  while (flow.bytes_sent < size) {
    const int64_t payload = std::min<int64_t>(1'460, size - flow.bytes_sent);
    const Packet packet = host.Send(flow, static_cast<uint32_t>(payload));
    const uint32_t number = packet.Scheme<uint32_t>();
    if (number >= cells.size()) cells.push_back({packet.path, 0});
    EXPECT_EQ(number, cells.size() - 1);  // Never back to an earlier cell.
    EXPECT_EQ(packet.path, cells.back().path) << "inside cell " << number;
    cells.back().bytes += payload;
  }
  return cells;
}

TEST(PrestoTest, AMegabyteIsSixteenCellsAndThePathChangesAtEachNeverInside) {
  const PathTable paths = PathsOfWeights({1, 1, 1, 1});
  LbHost host("presto", paths);
  const std::vector<Cell> cells = CellsOf(host, 1'000'000);
  ASSERT_EQ(cells.size(), 16u);
  for (size_t i = 0; i + 1 < cells.size(); ++i) {
    EXPECT_EQ(cells[i].bytes, 44 * 1'460);  // One packet more would not fit 64 KB.
    EXPECT_NE(cells[i].path, cells[i + 1].path);
    if (i >= 4) {
      EXPECT_EQ(cells[i].path, cells[i - 4].path);
    }
  }
  EXPECT_EQ(host.Count("cells"), 15);  // Changes.
  EXPECT_EQ(host.Count("reroutes"), 15);
}

TEST(PrestoTest, WhereThereIsOnePathCellsRerouteNothing) {
  const PathTable paths = PathsOfWeights({1});
  LbHost host("presto", paths);
  CellsOf(host, 1'000'000);
  EXPECT_EQ(host.Count("cells"), 15);
  EXPECT_EQ(host.Count("reroutes"), 0);
}

TEST(PrestoTest, ACellHoldsExactlyItsSize) {
  const PathTable paths = PathsOfWeights({1, 1});
  LbHost host("{kind: presto, cell: 2920B}", paths);
  const std::vector<Cell> cells = CellsOf(host, 29'200);
  EXPECT_EQ(cells.size(), 10u);
  LbHost smaller("{kind: presto, cell: 2919B}", paths);
  EXPECT_EQ(CellsOf(smaller, 29'200).size(), 20u);
}

TEST(PrestoTest, AFlowOf40KilobytesNeverChangesItsPath) {
  const PathTable paths = PathsOfWeights({1, 1, 1, 1});
  LbHost host("presto", paths);
  for (FlowId id = 0; id < 100; ++id) EXPECT_EQ(CellsOf(host, 40'000, id).size(), 1u);
}

TEST(PrestoTest, ACellGoesOnThroughSilenceAndRetransmission) {
  const PathTable paths = PathsOfWeights({1, 1});
  LbHost host("presto", paths);
  HostFlow flow = host.Start(kRemote);
  const uint16_t path = host.Send(flow).path;
  EXPECT_EQ(host.Send(flow, 1'460, Time{} + 1_s).path, path);
}

TEST(PrestoTest, FlowsStartWithARandomPath) {
  const PathTable paths = PathsOfWeights({1, 1, 1, 1});
  LbHost host("presto", paths);
  std::vector<int64_t> counts(4);
  for (FlowId id = 0; id < 4'000; ++id) {
    HostFlow flow = host.Start(kRemote, id);
    ++counts[host.Send(flow).path];
  }
  EXPECT_LT(ChiSquare(counts, {1, 1, 1, 1}), kChiSquare99[3]);
}

// Returns the bytes of one long flow by path.
std::vector<int64_t> BytesByPath(const char* settings, const std::vector<uint16_t>& weights) {
  const PathTable paths = PathsOfWeights(weights);
  LbHost host(settings, paths);
  std::vector<int64_t> bytes(weights.size());
  for (const Cell& cell : CellsOf(host, 6 * 70 * 44 * 1'460)) bytes[cell.path] += cell.bytes;
  return bytes;
}

TEST(PrestoTest, WeightsOfTwoToOneGiveTwiceTheBytes) {
  const std::vector<int64_t> bytes = BytesByPath("presto", {2, 1});
  EXPECT_EQ(bytes[0], 2 * bytes[1]);
  const std::vector<int64_t> three = BytesByPath("presto", {1, 3, 2});
  EXPECT_EQ(three[1], 3 * three[0]);
  EXPECT_EQ(three[2], 2 * three[0]);
}

TEST(PrestoTest, WithEqualWeightsCapacityDoesNotCount) {
  const std::vector<int64_t> bytes = BytesByPath("{kind: presto, weights: equal}", {2, 1});
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST(PrestoTest, SpreadsThePathsOfGreaterWeightOverTheRound) {
  const PathTable paths = PathsOfWeights({5, 1});
  LbHost host("{kind: presto, cell: 1460B}", paths);
  const std::vector<Cell> cells = CellsOf(host, 600 * 1'460);
  for (size_t i = 0; i + 6 <= cells.size(); ++i) {
    int64_t seconds = 0;
    for (size_t j = i; j < i + 6; ++j) seconds += cells[j].path;
    ASSERT_EQ(seconds, 1);
  }
}

TEST(PrestoTest, KeepsItsOrderShortWhenWeightsHaveNoCommonMeasure) {
  const PathTable paths = PathsOfWeights({65'535, 40'001, 1});
  LbHost host("{kind: presto, cell: 1460B}", paths);
  std::vector<double> counts(3);
  for (const Cell& cell : CellsOf(host, 20'000 * 1'460)) ++counts[cell.path];
  EXPECT_NEAR(counts[0] / counts[1], 65'535.0 / 40'001, 0.02);
  EXPECT_GT(counts[2], 0);
  EXPECT_LT(host.policy().StateBytes(), 20'000u);
}

TEST(PrestoTest, LeavesAFailedPathAtTheNextPacket) {
  PathTable paths = PathsOfWeights({1, 1, 1, 1});
  LbHost host("{kind: presto, cell: 1460B}", paths);
  HostFlow flow = host.Start(kRemote);
  HostFlow other = host.Start(kRemote, 1);
  for (int i = 0; i < 10; ++i) host.Send(flow);
  paths.Set(0, 1, {{0, 1}, {3, 1}});
  std::set<uint16_t> used;
  for (int i = 0; i < 10; ++i) {
    used.insert(host.Send(flow).path);
    used.insert(host.Send(other).path);
  }
  EXPECT_EQ(used, (std::set<uint16_t>{0, 3}));
}

TEST(PrestoTest, WithoutAChoicePacketsCarryNoPath) {
  const PathTable paths = PathsOfWeights({1, 1});
  LbHost host("presto", paths);
  HostFlow flow = host.Start(kSameLeaf);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(host.Send(flow).path, kNoPath);
}

TEST(PrestoTest, AcksCarryNoPath) {
  const PathTable paths = PathsOfWeights({1, 1});
  LbHost host("presto", paths);
  EXPECT_FALSE(host.Wants(HostPolicy::kSendAck));
}

TEST(PrestoTest, IsAFunctionOfTheSeedAndTheHost) {
  const PathTable paths = PathsOfWeights({1, 1, 1, 1});
  const auto starts = [&](HostId id, uint64_t seed) {
    LbHost host("presto", paths, id, seed);
    std::vector<uint16_t> first;
    for (FlowId f = 0; f < 50; ++f) {
      HostFlow flow = host.Start(kRemote, f);
      first.push_back(host.Send(flow).path);
    }
    return first;
  };
  EXPECT_EQ(starts(0, 1), starts(0, 1));
  EXPECT_NE(starts(0, 1), starts(0, 2));
  EXPECT_NE(starts(0, 1), starts(2, 1));
}

}  // namespace heddle::presto_test
