// SPDX-License-Identifier: Apache-2.0
// Compares the series of measure.record with numbers worked out by hand.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "measure/instruments/path_pauses.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/thread_counts.h"

namespace heddle::series_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// 1000 bytes of payload, 1048 as buffered and on the wire: 83.84 ns at 100 Gbps.
constexpr int64_t kPacket = 1'048;
constexpr double kPacketNs = 83.84;
constexpr const char* kLineRate = "{kind: rocev2, framing: ns3_rdma, cc: none}";

struct Star {
  std::string transport = kLineRate;
  std::string port = "{buffer: unlimited}";
  std::string flows = "";  // "src,dst,size_bytes,start_ps" a line
  std::string record = "";
  std::string more = "";
};

// Three hosts on one switch, 100 Gbps and 1 us each; a run to 200 us.
FinishedRun RunStar(const Star& star, int threads = 1,
                    NetworkPlan::Ports ports = NetworkPlan::Ports::kCheapest) {
  const TemporaryFolder folder;
  const std::string file =
      folder.Write("f.csv", "src,dst,size_bytes,start_ps\n" + star.flows).string();
  return RunExperiment(
      ExperimentFrom(fmt::format(
          "topology: {{kind: custom, hosts: 3, switches: [{{name: tor}}], link: {{rate: 100Gbps, "
          "delay: 1us}}, links: [{{a: host0, b: tor}}, {{a: host1, b: tor}}, {{a: host2, b: "
          "tor}}], port: {}}}\ntransport: {}\nlb: ecmp\nworkload: [{{kind: flows, file: {}}}]\n"
          "measure: {{unfinished: drop, t_max: 200us, record: {{{}}}}}\n{}",
          star.port, star.transport, file, star.record, star.more)),
      threads, ports);
}

const std::string kTwoToOne = "1,0,10000000,0\n2,0,10000000,0\n";
const std::string kPfc = "{buffer: unlimited, pfc: {classes: [3], xoff: 50KB}}";

std::vector<std::string> RowsAt(const CsvTable& table, std::string_view column,
                                const std::string& value) {
  std::vector<std::string> rows;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    if (table.At(row, column) != value) continue;
    rows.push_back(fmt::format("{}", fmt::join(table.rows[row], ",")));
  }
  return rows;
}

double Sum(const CsvTable& table, std::string_view column) {
  double sum = 0;
  for (size_t row = 0; row < table.rows.size(); ++row) sum += table.Real(row, column);
  return sum;
}

// --- Off unless asked for ---

TEST(SeriesTest, WritesNothingUnlessAskedAndChangesNothing) {
  const FinishedRun plain = RunStar({.port = kPfc, .flows = kTwoToOne});
  EXPECT_THAT(plain.files.series, IsEmpty());
  const FinishedRun recorded =
      RunStar({.port = kPfc,
               .flows = kTwoToOne,
               .record = "queues: 777ns, links: 1us, buffers: 3us, marks: 5us, pauses: 7us, paths: "
                         "true, dupacks: 1us, lb: 1us, flows: {size_at_least: 1B, every: 1us}"});
  EXPECT_EQ(recorded.files.flows, plain.files.flows);
  EXPECT_EQ(recorded.files.links, plain.files.links);
  EXPECT_EQ(recorded.result.end, plain.result.end);
  std::vector<std::string> names;
  for (const auto& [name, text] : recorded.files.series) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("path_pauses.csv", "pause_intervals.csv", "paused_paths.csv",
                                 "pfc_rate.csv", "series_buffer.csv", "series_cnp.csv",
                                 "series_dupack.csv", "series_flow.csv", "series_lb.csv",
                                 "series_link.csv", "series_marks.csv", "series_queue.csv"));
}

// --- Duplicate ACKs ---

// 8 hosts, packets that overtake and packets that are lost.
FinishedRun RunWithDupacks(const std::string& lb, int threads = 1) {
  return RunExperiment(
      ExperimentFrom(fmt::format(
          "topology: {{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, asymmetry: "
          "[{{spines: [1], rate: 5Gbps}}], port: {{buffer: 20KB, ecn_above: 15KB}}}}\n"
          "transport: {{kind: dctcp, min_rto: 1ms}}\nlb: {}\nworkload: [{{kind: poisson, sizes: "
          "small, load: 0.5, flows: 300}}]\nmeasure: {{warm_up: 0ps, record: {{dupacks: 50us}}}}\n",
          lb)),
      threads);
}

TEST(DupackSeriesTest, AddsUpToWhatFlowsCount) {
  for (const std::string lb : {"ecmp", "rps"}) {
    SCOPED_TRACE(lb);
    const FinishedRun run = RunWithDupacks(lb);
    const CsvTable flows(run.files.flows);
    const CsvTable series(run.files.series.at("series_dupack.csv"));
    EXPECT_EQ(Sum(series, "data_pkts"), Sum(flows, "pkts_sent"));
    EXPECT_EQ(Sum(series, "dupack3_reorder"), Sum(flows, "dupack3_reorder"));
    EXPECT_EQ(Sum(series, "dupack3_reorder") + Sum(series, "dupack3_loss"),
              Sum(flows, "fast_retx"));
    EXPECT_GT(Sum(series, "dupack3_loss"), 0);
    EXPECT_EQ(Sum(series, "dupack3_reorder") > 0, lb == "rps");
    EXPECT_EQ(RunWithDupacks(lb, 2).files.series, run.files.series);
  }
}

// --- The state of load balancers ---

FinishedRun RunWithGauges(const std::string& lb, const std::string& more = "") {
  return RunExperiment(ExperimentFrom(fmt::format(
      "topology: {{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2, asymmetry: "
      "[{{spines: [1], delay: 11us}}]}}\nlb: {}\nworkload: [{{kind: permutation, size: 2MB, "
      "cross_rack: true}}]\nmeasure: {{record: {{lb: 100us}}}}\n{}",
      lb, more)));
}

// The last value of a gauge.
double LastOf(const CsvTable& series, std::string_view node, std::string_view gauge) {
  double last = -1;
  for (size_t row = 0; row < series.rows.size(); ++row) {
    if (series.At(row, "node") == node && series.At(row, "gauge") == gauge) {
      last = series.Real(row, "value");
    }
  }
  return last;
}

// Two links of 11 us instead of 1 us: probes take 20 us longer.
TEST(LbSeriesTest, ShowsTheTimeoutOfTdlb) {
  const FinishedRun run = RunWithGauges("tdlb");
  const CsvTable series(run.files.series.at("series_lb.csv"));
  EXPECT_EQ(series.At(0, "time_ns"), "100000");
  EXPECT_EQ(series.At(0, "node"), "leaf0");
  EXPECT_EQ(series.At(0, "gauge"), "timeout_ns[1]");
  EXPECT_NEAR(LastOf(series, "leaf1", "timeout_ns[0]"), 20'000, 5'000);
  for (size_t row = 0; row < series.rows.size(); ++row) {
    EXPECT_NE(series.At(row, "node").substr(0, 5), "spine");
  }
}

TEST(LbSeriesTest, ShowsWhatPdlbMeasuresAndDoes) {
  const CsvTable adaptive(
      RunWithGauges("{kind: pdlb, period: 100us}").files.series.at("series_lb.csv"));
  const double share = LastOf(adaptive, "host0", "slow_share[1]");
  EXPECT_GT(share, 0);
  EXPECT_LT(share, 1);
  EXPECT_NEAR(LastOf(adaptive, "host0", "slow_paths[1]"), 2 * share, 1e-12);
  EXPECT_GT(LastOf(adaptive, "host0", "slowness[1]"), 1);
  EXPECT_GE(LastOf(adaptive, "host0", "granularity[1]"), 1);
  EXPECT_EQ(LastOf(adaptive, "host0", "granularity[0]"), -1);  // Its own leaf.
  const CsvTable fixed(
      RunWithGauges("{kind: pdlb, granularity: 5}").files.series.at("series_lb.csv"));
  for (size_t row = 0; row < fixed.rows.size(); ++row) EXPECT_EQ(fixed.Real(row, "value"), 5);
  EXPECT_GT(fixed.rows.size(), 0u);
}

// Also behind what stands around the scheme; and nothing of a scheme that shows nothing.
TEST(LbSeriesTest, AsksTheSchemeItself) {
  const FinishedRun plain = RunWithGauges("tdlb");
  const FinishedRun around =
      RunWithGauges("tdlb", "schedule: [{at: 0ps, switches: [leaf0, spine0], drop: 0}]\n");
  EXPECT_EQ(around.files.series, plain.files.series);
  EXPECT_EQ(RunWithGauges("ecmp").files.series.at("series_lb.csv"), "time_ns,node,gauge,value\n");
}

// --- Queues and memory ---

// From 1 us on, a packet of each sender arrives every 83.84 ns, and one leaves. Each sender has
// brought 119 by 11 us, for 10'000 / 83.84 = 119.3; the first left at 1'167.68 ns, 118 have in all.
TEST(QueueSeriesTest, SeesAQueueGrowAtTheRateOfOneSender) {
  for (const NetworkPlan::Ports ports :
       {NetworkPlan::Ports::kCheapest, NetworkPlan::Ports::kQueued, NetworkPlan::Ports::kEager}) {
    const FinishedRun run =
        RunStar({.flows = kTwoToOne, .record = "queues: 1us, buffers: 1us"}, 1, ports);
    const CsvTable queues(run.files.series.at("series_queue.csv"));
    int64_t seen = 0;
    for (size_t row = 0; row < queues.rows.size(); ++row) {
      if (queues.At(row, "port") != "0" || queues.At(row, "class") != "3") continue;
      const double at = queues.Real(row, "time_ns");
      if (at > 40'000) continue;
      ++seen;
      const int64_t arrived = static_cast<int64_t>((at - 1'000) / kPacketNs);
      const int64_t packets = 2 * arrived - (arrived - 1);
      EXPECT_EQ(queues.Integer(row, "pkts"), packets) << at;
      EXPECT_EQ(queues.Integer(row, "bytes"), packets * kPacket) << at;
      EXPECT_EQ(queues.At(row, "node"), "tor");
      EXPECT_EQ(queues.At(row, "paused"), "0");
    }
    EXPECT_EQ(seen, 39);
    EXPECT_THAT(RowsAt(queues, "time_ns", "11000"),
                testing::Contains(fmt::format("11000,tor,0,3,{},120,0", 120 * kPacket)));
  }
}

// The first packets arrive at exactly 1'083.84 ns; a sample at that instant comes before them.
TEST(QueueSeriesTest, ComesBeforeAllEventsOfItsInstant) {
  const FinishedRun run = RunStar({.flows = kTwoToOne, .record = "queues: 541920ps"});
  const CsvTable queues(run.files.series.at("series_queue.csv"));
  EXPECT_THAT(RowsAt(queues, "time_ns", "1083.84"), IsEmpty());
  EXPECT_THAT(RowsAt(queues, "time_ns", "1625.76"), Not(IsEmpty()));
}

std::map<std::string, int64_t> BytesByTime(const CsvTable& table, std::string_view column,
                                           std::string_view class_left_out = "") {
  std::map<std::string, int64_t> bytes;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    if (!class_left_out.empty() && table.At(row, "class") == class_left_out) continue;
    if (table.Integer(row, column) == 0) continue;
    bytes[table.At(row, "time_ns")] += table.Integer(row, column);
  }
  return bytes;
}

// Control packets, of class 0, take no memory that is shared.
TEST(BufferSeriesTest, IsTheSumOfTheQueues) {
  const std::string shared = "{memory: {model: dt, size: 4MB}, pfc: {classes: [3]}}";
  for (const std::string& port :
       {std::string("{buffer: unlimited}"), std::string("{buffer: 200pkts}"), shared}) {
    SCOPED_TRACE(port);
    const FinishedRun run =
        RunStar({.port = port, .flows = kTwoToOne, .record = "queues: 2us, buffers: 2us"});
    const CsvTable queues(run.files.series.at("series_queue.csv"));
    const CsvTable memory(run.files.series.at("series_buffer.csv"));
    EXPECT_GT(memory.rows.size(), 50u);
    EXPECT_EQ(BytesByTime(memory, "used_bytes"),
              BytesByTime(queues, "bytes", port == shared ? "0" : ""));
  }
}

TEST(QueueSeriesTest, CountsBytesWhereBuffersCountPackets) {
  const FinishedRun run =
      RunStar({.port = "{buffer: 50pkts}", .flows = kTwoToOne, .record = "queues: 10us"});
  const CsvTable queues(run.files.series.at("series_queue.csv"));
  EXPECT_THAT(RowsAt(queues, "time_ns", "20000"),
              testing::Contains(fmt::format("20000,tor,0,3,{},50,0", 50 * kPacket)));
}

// --- Links ---

// A packet each 335.36 ns. In the first 100 us 299 have started, the last of them 62.72 ns before
// their end: 298 x 83.84 + 62.72 ns of transmission.
TEST(LinkSeriesTest, MeasuresExactlyWhatALinkSends) {
  const FinishedRun run =
      RunStar({.transport = "{kind: rocev2, framing: ns3_rdma, cc: {kind: none, rate: 25Gbps}}",
               .flows = "1,0,10000000,0\n",
               .record = "links: 100us"});
  const CsvTable series(run.files.series.at("series_link.csv"));
  const size_t nic = series.Find("node", "host1");
  EXPECT_EQ(series.At(nic, "time_ns"), "100000");
  EXPECT_EQ(series.Integer(nic, "wire_bytes"), 298 * kPacket);
  EXPECT_DOUBLE_EQ(series.Real(nic, "util"), (298 * kPacketNs + 62.72) / 100'000);
}

TEST(LinkSeriesTest, SumsToLinksCsv) {
  const FinishedRun run = RunStar({.port = kPfc, .flows = kTwoToOne, .record = "links: 7us"});
  const CsvTable series(run.files.series.at("series_link.csv"));
  EXPECT_EQ(series.rows.back().front(), "200000");  // The rest, shorter than 7 us.
  EXPECT_EQ(Sum(series, "wire_bytes"), Sum(CsvTable(run.files.links), "wire_bytes"));
}

// --- Marks ---

TEST(MarkSeriesTest, CountsAllMarksAndAllNotifications) {
  const FinishedRun run = RunStar({.transport = "{kind: rocev2, cc: dcqcn}",
                                   .port = "{buffer: 1MB, ecn_above: 20KB}",
                                   .flows = kTwoToOne,
                                   .record = "marks: 30us"});
  const CsvTable marks(run.files.series.at("series_marks.csv"));
  EXPECT_GT(run.result.packets.marked, 0);
  EXPECT_EQ(Sum(marks, "marked"), static_cast<double>(run.result.packets.marked));
  EXPECT_EQ(marks.At(0, "node"), "tor");
  EXPECT_EQ(marks.At(0, "port"), "0");
  const CsvTable cnps(run.files.series.at("series_cnp.csv"));
  EXPECT_GT(Sum(cnps, "cnps"), 0);
  EXPECT_EQ(Sum(cnps, "cnps"), Sum(CsvTable(run.files.flows), "cnp"));
  EXPECT_EQ(RowsAt(cnps, "host", "0").size(), 0u);
}

// --- Flows ---

// 25 Gbps: packets leave at 0, 335.36 and 670.72 ns. The first ACK is back after 4 us and more.
TEST(FlowSeriesTest, FollowsAPacedQueuePair) {
  const FinishedRun run =
      RunStar({.transport = "{kind: rocev2, framing: ns3_rdma, cc: {kind: none, rate: 25Gbps}}",
               .flows = "1,0,100000,0\n1,0,1000,0\n2,0,50000,3000000\n",
               .record = "flows: {size_at_least: 50KB, every: 1us}"});
  const CsvTable flows(run.files.series.at("series_flow.csv"));
  EXPECT_EQ(fmt::format("{}", fmt::join(flows.rows[0], ",")), "1000,0,,25000000000,,3000,0");
  EXPECT_THAT(RowsAt(flows, "flow_id", "1"), IsEmpty());
  EXPECT_EQ(RowsAt(flows, "flow_id", "2").front(), "4000,2,,25000000000,,3000,0");
  // It ends when its last ACK has come.
  const CsvTable done(run.files.flows);
  const double end = done.Real(done.Find("flow_id", "0"), "fct_tx_ns");
  const auto rows = RowsAt(flows, "flow_id", "0");
  EXPECT_EQ(rows.size(), static_cast<size_t>(end / 1'000));
}

// 1460 bytes of payload, 1538 on the wire: 123.04 ns. At 1 us the ninth has begun to leave, and
// the window is full.
TEST(FlowSeriesTest, FollowsAWindow) {
  const FinishedRun run = RunStar({.transport = "{kind: dctcp, iw: 9}",
                                   .port = "{buffer: unlimited, ecn_above: 20KB}",
                                   .flows = "1,0,10000000,0\n2,0,10000000,0\n",
                                   .record = "flows: {ids: [1], every: 1us}"});
  const CsvTable flows(run.files.series.at("series_flow.csv"));
  EXPECT_EQ(fmt::format("{}", fmt::join(flows.rows[0], ",")), "1000,1,13140,,1,13140,0");
  EXPECT_THAT(RowsAt(flows, "flow_id", "0"), IsEmpty());
  int64_t acked = 0;
  double least_alpha = 1;
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    EXPECT_GE(flows.Integer(row, "acked_bytes"), acked);
    acked = flows.Integer(row, "acked_bytes");
    EXPECT_LE(acked + flows.Integer(row, "inflight_bytes"), 10'000'000);
    least_alpha = std::min(least_alpha, flows.Real(row, "alpha"));
  }
  EXPECT_GT(acked, 500'000);
  EXPECT_LT(least_alpha, 0.9);
}

// --- Pauses ---

std::map<std::string, double> NsByPort(const CsvTable& intervals, bool blocked) {
  std::map<std::string, double> sums;
  for (size_t row = 0; row < intervals.rows.size(); ++row) {
    const double start = intervals.Real(row, "start_ns");
    const double end = intervals.Real(row, "end_ns");
    EXPECT_LE(start, end);
    EXPECT_LE(intervals.Real(row, "blocked_ns"), end - start + 1e-6);
    EXPECT_EQ(intervals.At(row, "class"), "3");
    sums[intervals.At(row, "node") + ":" + intervals.At(row, "port")] +=
        blocked ? intervals.Real(row, "blocked_ns") : end - start;
  }
  return sums;
}

void ExpectPausesAgree(const FinishedRun& run) {
  const CsvTable links(run.files.links);
  const CsvTable intervals(run.files.series.at("pause_intervals.csv"));
  auto paused = NsByPort(intervals, false);
  auto blocked = NsByPort(intervals, true);
  std::map<std::string, double> frames;
  for (size_t row = 0; row < links.rows.size(); ++row) {
    const std::string port = links.At(row, "node") + ":" + links.At(row, "port");
    EXPECT_NEAR(paused[port], links.Real(row, "paused_ps") / 1e3, 1e-3) << port;
    EXPECT_NEAR(blocked[port], links.Real(row, "blocked_ps") / 1e3, 1e-3) << port;
    frames[links.At(row, "tier")] += links.Real(row, "pause_rx");
  }
  const CsvTable rates(run.files.series.at("pfc_rate.csv"));
  for (size_t row = 0; row < rates.rows.size(); ++row) {
    frames[rates.At(row, "layer")] -= rates.Real(row, "pause_frames");
  }
  for (const auto& [layer, left] : frames) EXPECT_EQ(left, 0) << layer;
  EXPECT_GT(intervals.rows.size(), 10u);
}

TEST(PauseSeriesTest, HoldsEveryPauseOfAnIncast) {
  const FinishedRun run = RunStar({.port = kPfc, .flows = kTwoToOne, .record = "pauses: 10us"});
  ExpectPausesAgree(run);
  const CsvTable links(run.files.links);
  const CsvTable rates(run.files.series.at("pfc_rate.csv"));
  EXPECT_EQ(rates.rows.size(), 20u * 2);  // Bins by layers: host_up and leaf_down.
  double paused_ns = 0;
  for (size_t row = 0; row < rates.rows.size(); ++row) {
    paused_ns += rates.Real(row, "paused_links_timeavg") * 10'000;
    EXPECT_EQ(rates.Integer(row, "paused_links_fabric"), 0);
    EXPECT_LE(rates.Integer(row, "paused_links_total"), 2);
    EXPECT_GE(rates.Integer(row, "paused_links_total"), rates.Real(row, "paused_links_timeavg"));
  }
  EXPECT_NEAR(paused_ns, Sum(links, "paused_ps") / 1e3, 1e-3);
}

// One leaf's hosts overload a host elsewhere: pauses go up into the fabric.
const std::string kFabric =
    "topology: {kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 4, host_link: {rate: "
    "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}, port: {buffer: unlimited, pfc: "
    "{classes: [3], xoff: 20KB}}}\ntransport: {kind: rocev2, cc: none, recovery: irn}\nlb: rps\n"
    "workload: [{kind: incast, fan_in: 11, bytes_each: 300KB, queries: 1}]\n"
    "measure: {warm_up: 0ps, t_max: 20ms, record: {queues: 13us, links: 20us, buffers: 30us, "
    "marks: 100us, flows: {ids: [0, 3, 7], every: 17us}, pauses: 50us, paths: true}}\n";

TEST(PauseSeriesTest, HoldsEveryPauseOfAFabric) {
  const FinishedRun run = RunExperiment(ExperimentFrom(kFabric));
  EXPECT_EQ(run.result.packets.dropped_total(), 0);
  ExpectPausesAgree(run);
  const CsvTable rates(run.files.series.at("pfc_rate.csv"));
  double fabric = 0;
  for (size_t row = 0; row < rates.rows.size(); ++row) {
    const std::string& layer = rates.At(row, "layer");
    const bool is_fabric = layer == "leaf_up" || layer == "spine_down";
    EXPECT_EQ(rates.Integer(row, "paused_links_fabric"),
              is_fabric ? rates.Integer(row, "paused_links_total") : 0);
    fabric += rates.Real(row, "paused_links_fabric");
  }
  EXPECT_GT(fabric, 0);
  const CsvTable paths(run.files.series.at("path_pauses.csv"));
  ASSERT_GT(paths.rows.size(), 0u);
  for (size_t row = 0; row < paths.rows.size(); ++row) {
    EXPECT_GE(paths.Real(row, "paused_ns"), paths.Real(row, "all_paths_paused_ns"));
  }
  const CsvTable bins(run.files.series.at("paused_paths.csv"));
  double most = 0;
  for (size_t row = 0; row < bins.rows.size(); ++row) {
    EXPECT_EQ(bins.Integer(row, "paths"), 3 * 2 * 2);
    most = std::max(most, bins.Real(row, "paused_paths"));
  }
  EXPECT_GT(most, 0);
  EXPECT_LE(most, static_cast<double>(paths.rows.size()));
}

TEST(PauseSeriesTest, LogsClassesApart) {
  PauseLog log(2);
  log.Set(1, 0b1000, 0b0000, Time{100});
  log.Set(1, 0b1100, 0b1000, Time{150});
  log.Set(1, 0b0100, 0b0100, Time{170});
  ASSERT_EQ(log.ended().size(), 1u);
  EXPECT_EQ(log.ended()[0].start, Time{100});
  EXPECT_EQ(log.ended()[0].end, Time{170});
  EXPECT_EQ(log.ended()[0].blocked, Duration{20});
  EXPECT_EQ(log.ended()[0].port, 1);
  EXPECT_EQ(log.ended()[0].cls, 3);
  std::vector<PauseInterval> open;
  log.AddOpen(Time{200}, open);
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].start, Time{150});
  EXPECT_EQ(open[0].blocked, Duration{30});
  EXPECT_EQ(open[0].cls, 2);
}

// Two leaves, two spines. Through the first spine: [0, 10) and [5, 20), which is 20 long; through
// the second: [15, 30), of which 5 is shared.
TEST(PathPausesTest, UnitesTheIntervalsOfItsPorts) {
  Lab lab({.graph = GraphFrom("{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 1}")});
  lab.Run(Time{} + 1_us);
  const Network& network = lab.network();
  const auto egress = [&](VertexId from, VertexId to) {
    const auto egresses = network.egresses();
    return static_cast<size_t>(
        std::ranges::find_if(
            egresses, [&](const Network::Egress& e) { return e.vertex == from && e.peer == to; }) -
        egresses.begin());
  };
  const VertexId leaf0 = lab.SwitchVertex(0), leaf1 = lab.SwitchVertex(1);
  const VertexId spine0 = lab.SwitchVertex(2), spine1 = lab.SwitchVertex(3);
  PathPauses pauses(network);
  ASSERT_EQ(pauses.paths().size(), 4u);
  pauses.Add(egress(spine0, leaf1), Time{5}, Time{20});
  pauses.Add(egress(leaf0, spine0), Time{0}, Time{10});
  pauses.Add(egress(leaf0, spine1), Time{15}, Time{30});
  EXPECT_EQ(pauses.CloseBin(), 2);
  pauses.Add(egress(leaf0, spine1), Time{40}, Time{41});
  pauses.Add(egress(leaf0, lab.HostVertex(0)), Time{40},
             Time{45});  // Towards a host: of no path between leaves.
  EXPECT_EQ(pauses.CloseBin(), 1);
  EXPECT_EQ(pauses.CloseBin(), 0);
  EXPECT_EQ(pauses.paths()[0].paused, Duration{20});
  EXPECT_EQ(pauses.paths()[1].paused, Duration{16});
  EXPECT_EQ(pauses.AllPaused(pauses.paths()[0]), Duration{5});
  EXPECT_EQ(pauses.paths()[1].id, 1u);
  EXPECT_EQ(pauses.paths()[2].paused, Duration{0});
  EXPECT_EQ(pauses.AllPaused(pauses.paths()[2]), Duration{0});
}

// --- The promise ---

TEST(SeriesTest, IsTheSameForEveryNumberOfThreads) {
  const Experiment experiment = ExperimentFrom(kFabric);
  const FinishedRun first = RunExperiment(experiment);
  EXPECT_EQ(first.files.series.size(), 10u);
  for (const int threads : ThreadCounts({1, 2, 3})) {
    EXPECT_EQ(RunExperiment(experiment, threads).files, first.files) << threads;
  }
  EXPECT_EQ(RunExperiment(ExperimentFrom(experiment.Resolved())).files, first.files);
}

TEST(SeriesTest, StopsTheRunIfItCannotBeWritten) {
  const Experiment experiment = ExperimentFrom(kFabric);
  int rows = 0;
  const auto result = Simulate(
      experiment, {}, [](std::string_view) { return true; },
      [&](std::string_view, std::string_view) { return ++rows < 20; });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->stopped);
  EXPECT_EQ(rows, 20);
}

TEST(SeriesTest, RefusesWhatItCannotRecord) {
  const auto errors = [](const std::string& record) {
    return ErrorsOf(
        "topology: {kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 1}\n"
        "lb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n"
        "measure: {record: {" +
        record + "}}\n");
  };
  EXPECT_THAT(errors("queues: 100ps"),
              HasSubstr("test.yaml:4:28: measure.record.queues: \"100ps\" is out of range"));
  EXPECT_THAT(errors("links: 10"), HasSubstr("measure.record.links: \"10\" has no unit"));
  EXPECT_THAT(errors("flows: {ids: [-1]}"), HasSubstr("measure.record.flows.ids[0]"));
  EXPECT_THAT(errors("paths: true"),
              HasSubstr("measure.record.paths: needs an interval, such as \"pauses: 1ms\""));
  EXPECT_EQ(errors("pauses: 1ms, paths: true"), "");
}

}  // namespace heddle::series_test
