// SPDX-License-Identifier: Apache-2.0
// measure.record.drops, against numbers worked out by hand and the sums in summary.json.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"

namespace heddle::drop_series_test {

using testing::ElementsAre;

CsvTable DropsOf(const FinishedRun& run) {
  return CsvTable(run.files.series.at("series_drop.csv"));
}

std::map<std::string, int64_t> ByReason(const CsvTable& drops) {
  std::map<std::string, int64_t> sums;
  for (size_t row = 0; row < drops.rows.size(); ++row) {
    EXPECT_GT(drops.Integer(row, "pkts"), 0);
    sums[drops.At(row, "reason")] += drops.Integer(row, "pkts");
  }
  return sums;
}

void ExpectSumsOfTheRun(const FinishedRun& run) {
  std::map<std::string, int64_t> expected;
  for (size_t reason = 0; reason < kDropReasons; ++reason) {
    const int64_t dropped = run.result.packets.dropped[reason];
    if (dropped > 0) expected[kDropReasonNames[reason]] = dropped;
  }
  EXPECT_EQ(ByReason(DropsOf(run)), expected);
  EXPECT_FALSE(expected.empty());
}

// Two hosts send 20 packets each at line rate to a third, at once, and the switch has room for 8.
// Packets take 83.84 ns, so pair k comes at 1,083.84 + 83.84 k ns, when k packets have left: the
// queue is k + 2 packets long, and from k = 7 on one of each pair is dropped. Pairs 7 to 10 come
// before 2 us, 11 to 19 before 3 us.
TEST(DropSeriesTest, CountsWhatOverflowsInItsInterval) {
  const TemporaryFolder folder;
  const std::string flows =
      folder.Write("f.csv", "src,dst,size_bytes,start_ps\n1,0,20000,0\n2,0,20000,0\n").string();
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: custom, hosts: 3, switches: [{name: tor}], link: {rate: 100Gbps, delay: "
      "1us}, links: [{a: host0, b: tor}, {a: host1, b: tor}, {a: host2, b: tor}], port: {buffer: "
      "8384B}}\ntransport: {kind: rocev2, framing: ns3_rdma, cc: none}\nlb: ecmp\n"
      "workload: [{kind: flows, file: " +
      flows + "}]\nmeasure: {unfinished: drop, t_max: 4us, record: {drops: 1us}}\n"));
  using Row = std::vector<std::string>;
  EXPECT_THAT(DropsOf(run).rows,
              ElementsAre(Row{"2000", "tor", "TAIL", "4"}, Row{"3000", "tor", "TAIL", "9"}));
  ExpectSumsOfTheRun(run);
}

TEST(DropSeriesTest, RowsAddUpToTheCountsOfTheRun) {
  const Experiment experiment = ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 3, port: {buffer: 20KB, "
      "ecn_above: 15KB}}\ntransport: {kind: dctcp, min_rto: 500us}\nlb: rps\nworkload:\n"
      "  - {kind: poisson, sizes: small, load: 0.5, flows: 200}\n"
      "  - {kind: incast, fan_in: 6, bytes_each: 30KB, queries: 3, period: 300us}\n"
      "schedule:\n"
      "  - {at: 100us, links: [leaf0-spine1, host4-leaf1], state: down}\n"
      "  - {at: 300us, links: [leaf0-spine1, host4-leaf1], state: up}\n"
      "  - {at: 0s, links: [leaf1-spine0, host0-leaf0], loss: 0.02}\n"
      "measure: {warm_up: 0ps, t_max: 20ms, unfinished: inf, record: {drops: 70us}}\n");
  const FinishedRun run = RunExperiment(experiment);
  ExpectSumsOfTheRun(run);
  EXPECT_GE(ByReason(DropsOf(run)).size(), 3u);  // Overflow, links that are down, damage.
  EXPECT_EQ(RunExperiment(experiment, 3).files, run.files);
}

}  // namespace heddle::drop_series_test
