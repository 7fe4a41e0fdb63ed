// SPDX-License-Identifier: Apache-2.0
// Compares the tables of a run with each other and with the documentation.

#include "experiment/results.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "measure/table.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"

namespace heddle::results_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 8 hosts, two spines of different rates, buffers that overflow, and packets that overtake.
std::string Busy(const std::string& lb, const std::string& more = "") {
  return "topology:\n"
         "  kind: leaf_spine\n"
         "  leaves: 2\n"
         "  spines: 2\n"
         "  hosts_per_leaf: 4\n"
         "  asymmetry: [{spines: [1], rate: 5Gbps}]\n"
         "  port: {buffer: 20KB, ecn_above: 15KB}\n"
         "transport: {kind: dctcp, min_rto: 1ms}\n"
         "lb: " +
         lb +
         "\nworkload:\n"
         "  - {kind: poisson, sizes: small, load: 0.5, flows: 300}\n"
         "  - {kind: incast, fan_in: 6, bytes_each: 20KB, queries: 5, period: 300us}\n" +
         more;
}

std::string Header(const std::string& csv) { return csv.substr(0, csv.find('\n')); }

// metrics.md, section 9.
TEST(ResultsTest, HaveTheSpecifiedColumns) {
  const RunFiles files = RunExperiment(ExperimentFrom(Busy("ecmp"))).files;
  EXPECT_EQ(Header(files.flows),
            "flow_id,src,dst,sport,dport,class,transport,size_bytes,start_ps,rx_done_ps,tx_done_ps,"
            "fct_rx_ns,fct_tx_ns,ideal_rx_ns,ideal_tx_ns,slowdown,hops,pkts,pkts_sent,retx,"
            "retx_spurious,retx_loss,rto,fast_retx,dupack3_reorder,nack,cnp,ecn_marked,"
            "reordered_net,reordered_seq,max_extent,max_degree,ooo_max_bytes,pause_blocked_ns,"
            "paths_used,path_switches,job,iter,step,measured,finished");
  EXPECT_EQ(Header(files.summary),
            "class_set,class,n,unfinished,avg_fct_us,p50_fct_us,p95_fct_us,p99_fct_us,p999_fct_us,"
            "max_fct_us,avg_slowdown,p50_slowdown,p95_slowdown,p99_slowdown,p999_slowdown,"
            "max_slowdown,goodput_gbps,throughput_gbps,low_n");
  EXPECT_EQ(Header(files.links),
            "link_id,node,port,peer,tier,rate_bps,wire_bytes,payload_bytes,pkts,busy_ps,util,"
            "paused_ps,blocked_ps,pause_rx,resume_rx,pause_tx,resume_tx");
  EXPECT_EQ(Header(files.lb), "node,policy,counter,value");
  EXPECT_EQ(Header(files.reorder),
            "scope,class,n_pkts,reordered,ratio,deg1,deg2,deg3plus,extent_p50,extent_p99,"
            "extent_max,late_p99_ns,flows_with_reordering,dupack3_reorder,retx_spurious,pkts_sent,"
            "retx,behind_p99,behind_max,path_switches");
}

// Returns true if `size` is in a class, by the definition of the class.
bool InClass(const std::string& set, const std::string& label, int64_t size) {
  if (set == "all") return true;
  if (set == "sml") {
    return label == (size <= 100'000 ? "S" : size <= 1'000'000 ? "M" : "L");
  }
  return label == (size <= 10'000 ? "S" : size <= 100'000 ? "M" : size <= 1'000'000 ? "L" : "XL");
}

double LinearPercentile(const std::vector<double>& sorted, double p) {
  const double h = static_cast<double>(sorted.size() - 1) * p;
  const size_t i = static_cast<size_t>(h);
  if (i + 1 >= sorted.size() || sorted[i] == sorted[i + 1]) return sorted[i];
  return sorted[i] + (h - std::floor(h)) * (sorted[i + 1] - sorted[i]);
}

// `unfinished`: whether unfinished flows count as infinitely slow.
void ExpectSummaryFollowsFromFlows(const RunFiles& files, bool unfinished_count) {
  const CsvTable flows(files.flows);
  const CsvTable summary(files.summary);
  for (size_t s = 0; s < summary.rows.size(); ++s) {
    const std::string set = summary.At(s, "class_set");
    SCOPED_TRACE(set + " " + summary.At(s, "class"));
    std::vector<double> fct;
    std::vector<double> slowdown;
    double goodput = 0;
    double bytes = 0;
    double first_ns = kInfinity;
    double last_ns = 0;
    int64_t n = 0;
    int64_t finished = 0;
    for (size_t f = 0; f < flows.rows.size(); ++f) {
      if (flows.At(f, "measured") == "0") continue;
      const int64_t size = flows.Integer(f, "size_bytes");
      if (!InClass(set, summary.At(s, "class"), size)) continue;
      ++n;
      if (flows.At(f, "finished") == "1") {
        ++finished;
        const double ps =
            static_cast<double>(flows.Integer(f, "rx_done_ps") - flows.Integer(f, "start_ps"));
        fct.push_back(ps / 1e6);
        slowdown.push_back(flows.Real(f, "fct_rx_ns") / flows.Real(f, "ideal_rx_ns"));
        goodput += static_cast<double>(size) * 8 / (ps / 1e3);
        bytes += static_cast<double>(size);
        first_ns = std::min(first_ns, flows.Real(f, "start_ps") / 1e3);
        last_ns = std::max(last_ns, flows.Real(f, "rx_done_ps") / 1e3);
      } else if (unfinished_count) {
        fct.push_back(kInfinity);
        slowdown.push_back(kInfinity);
      }
    }
    EXPECT_EQ(summary.Integer(s, "n"), n);
    EXPECT_EQ(summary.Integer(s, "unfinished"), n - finished);
    EXPECT_EQ(summary.Integer(s, "low_n"), fct.size() < 10'000 ? 1 : 0);
    if (fct.empty()) {
      EXPECT_EQ(summary.At(s, "avg_fct_us"), "");
      EXPECT_EQ(summary.At(s, "max_slowdown"), "");
      continue;
    }
    // An unfinished flow that counts has none.
    const double counted = static_cast<double>(fct.size());
    EXPECT_NEAR(summary.Real(s, "goodput_gbps"), goodput / counted, 1e-9);
    if (finished > 0) {
      EXPECT_NEAR(summary.Real(s, "throughput_gbps"), bytes * 8 / (last_ns - first_ns), 1e-6);
    }
    for (auto& [name, values] :
         std::map<std::string, std::vector<double>*>{{"fct_us", &fct}, {"slowdown", &slowdown}}) {
      std::ranges::sort(*values);
      double sum = 0;
      for (const double value : *values) sum += value;
      const auto expect = [&](const std::string& what, double expected) {
        const double read = summary.Real(s, what + "_" + name);
        if (std::isinf(expected)) {
          EXPECT_EQ(read, expected) << what;
        } else {
          EXPECT_NEAR(read, expected, 1e-9 * expected) << what;
        }
      };
      expect("avg", sum / static_cast<double>(values->size()));
      expect("p50", LinearPercentile(*values, 0.5));
      expect("p95", LinearPercentile(*values, 0.95));
      expect("p99", LinearPercentile(*values, 0.99));
      expect("p999", LinearPercentile(*values, 0.999));
      expect("max", values->back());
    }
  }
}

TEST(SummaryTest, FollowsFromFlows) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom(Busy("rps", "measure: {classes: [all, smlxl, sml], warm_up: 100us}\n")));
  ExpectSummaryFollowsFromFlows(run.files, true);
  const CsvTable summary(run.files.summary);
  EXPECT_EQ(summary.rows.size(), 1u + 4u + 3u);
  EXPECT_EQ(summary.At(4, "class"), "XL");
  EXPECT_EQ(summary.Integer(4, "n"), 0);
}

TEST(SummaryTest, CountsUnfinishedFlowsAsInfinitelySlowUnlessTheyAreDropped) {
  for (const std::string unfinished : {"error", "inf", "drop"}) {
    SCOPED_TRACE(unfinished);
    const Experiment experiment = ExperimentFrom(
        Busy("ecmp", fmt::format("measure: {{t_max: 900us, unfinished: {}}}\n", unfinished)));
    const FinishedRun run = RunExperiment(experiment);
    EXPECT_TRUE(run.result.reached_t_max);
    EXPECT_GT(run.result.unfinished, 0);
    ExpectSummaryFollowsFromFlows(run.files, unfinished != "drop");
    const CsvTable summary(run.files.summary);
    EXPECT_EQ(summary.At(0, "max_fct_us") == "inf", unfinished != "drop");
  }
}

TEST(SummaryTest, FlowsThatAllAreUnfinishedHaveAGoodputOfZeroUnlessTheyAreDropped) {
  for (const auto& [unfinished, goodput] : {std::pair("inf", "0"), std::pair("drop", "")}) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        fmt::format("topology: {{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}}\n"
                    "lb: ecmp\nworkload: [{{kind: permutation, size: 1MB}}]\n"
                    "measure: {{warm_up: 0us, t_max: 20us, unfinished: {}}}\n",
                    unfinished)));
    EXPECT_EQ(CsvTable(run.files.summary).At(0, "goodput_gbps"), goodput);
  }
}

// A file of one flow from host 0 to host 1.
std::string OneFlow(int64_t size) {
  static const TemporaryFolder folder;
  return folder
      .Write(fmt::format("{}.csv", size),
             fmt::format("src,dst,size_bytes,start_ps\n0,1,{},0\n", size))
      .string();
}

void ExpectReorderFollowsFromFlows(const RunFiles& files, int64_t dropped) {
  const CsvTable flows(files.flows);
  const CsvTable reorder(files.reorder);
  for (size_t r = 0; r < reorder.rows.size(); ++r) {
    std::map<std::string, int64_t> sums;
    for (size_t f = 0; f < flows.rows.size(); ++f) {
      if (flows.At(f, "measured") == "0") continue;
      const int64_t size = flows.Integer(f, "size_bytes");
      if (!InClass(reorder.At(r, "scope"), reorder.At(r, "class"), size)) continue;
      sums["sent"] += flows.Integer(f, "pkts_sent");
      sums["pkts_sent"] += flows.Integer(f, "pkts_sent");
      sums["retx"] += flows.Integer(f, "retx");
      sums["path_switches"] += flows.Integer(f, "path_switches");
      sums["reordered"] += flows.Integer(f, "reordered_net");
      sums["flows_with_reordering"] += flows.Integer(f, "reordered_net") > 0 ? 1 : 0;
      sums["dupack3_reorder"] += flows.Integer(f, "dupack3_reorder");
      sums["retx_spurious"] += flows.Integer(f, "retx_spurious");
      sums["lost"] += flows.Integer(f, "retx_loss");
      sums["extent_max"] = std::max(sums["extent_max"], flows.Integer(f, "max_extent"));
    }
    for (const std::string column :
         {"reordered", "flows_with_reordering", "dupack3_reorder", "retx_spurious", "extent_max",
          "pkts_sent", "retx", "path_switches"}) {
      EXPECT_EQ(reorder.Integer(r, column), sums[column]) << r << " " << column;
    }
    // The rest come right behind a packet sent before them.
    EXPECT_LE(
        reorder.Integer(r, "deg1") + reorder.Integer(r, "deg2") + reorder.Integer(r, "deg3plus"),
        sums["reordered"]);
    // A retransmission of a lost packet was sent at least once more than it arrived.
    EXPECT_LE(reorder.Integer(r, "n_pkts"), sums["sent"] - sums["lost"]);
    EXPECT_LE(sums["sent"] - reorder.Integer(r, "n_pkts"), dropped);
    EXPECT_LE(reorder.Integer(r, "extent_p50"), reorder.Integer(r, "extent_p99"));
    if (sums["sent"] > 0) {
      EXPECT_DOUBLE_EQ(reorder.Real(r, "ratio"),
                       reorder.Real(r, "reordered") / reorder.Real(r, "n_pkts"));
    }
  }
}

TEST(ReorderTest, FollowsFromFlows) {
  for (const std::string lb : {"ecmp", "rps", "presto", "{kind: letflow, gap: 10us}"}) {
    SCOPED_TRACE(lb);
    const FinishedRun run = RunExperiment(ExperimentFrom(Busy(lb)));
    ExpectReorderFollowsFromFlows(run.files, run.result.packets.dropped_total());
    EXPECT_GT(run.result.packets.dropped_total(), 0);
    if (lb == "rps") {
      EXPECT_GT(CsvTable(run.files.reorder).Integer(0, "reordered"), 0);
    }
  }
}

// Ten packets over two paths by turns, one of which takes 3.5 packets longer. If it has the odd
// ones, they come as 0 2 4 1 6 3 8 5 7 9: three are 3 behind, and one is 1. If it has the even
// ones, 0, 2, 4 and 6 are 3 behind, and 8 is 1.
TEST(ReorderTest, CountsHowFarPacketsLieBehind) {
  // 1538 bytes at 10 Gbps: 1230.4 ns. Both links of a path are slower by half of 3.5 of these.
  const FinishedRun run = RunExperiment(ExperimentFrom(fmt::format(
      "topology: {{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 1, host_link: {{rate: "
      "10Gbps, delay: 1us}}, fabric_link: {{rate: 10Gbps, delay: 1us}}, asymmetry: [{{spines: [1], "
      "delay: 3153200ps}}]}}\ntransport: {{kind: tcp, iw: 10, dupthresh: inf}}\nlb: drb\n"
      "workload: [{{kind: flows, file: {}}}]\n",
      OneFlow(14'600))));
  const CsvTable flows(run.files.flows);
  const CsvTable reorder(run.files.reorder);
  const int64_t behind = flows.Integer(0, "reordered_seq");
  EXPECT_TRUE(behind == 4 || behind == 5) << behind;
  EXPECT_EQ(flows.Integer(0, "path_switches"), 5 - behind);
  EXPECT_EQ(flows.Integer(0, "paths_used"), 2);
  EXPECT_EQ(reorder.Integer(0, "behind_p99"), 3);
  EXPECT_EQ(reorder.Integer(0, "behind_max"), 3);
}

// Every packet takes another path than the one before, in order; or all take the same path.
TEST(FlowsTest, CountChangesOfPath) {
  for (const auto& [lb, switches] : {std::pair{"drb", 9}, {"ecmp", 0}, {"letflow", 0}}) {
    SCOPED_TRACE(lb);
    const FinishedRun run = RunExperiment(ExperimentFrom(fmt::format(
        "topology: {{kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 1}}\nlb: {}\n"
        "workload: [{{kind: flows, file: {}}}]\n",
        lb, OneFlow(14'600))));
    const CsvTable flows(run.files.flows);
    EXPECT_EQ(flows.Integer(0, "reordered_net"), 0);
    EXPECT_EQ(flows.Integer(0, "path_switches"), switches);
  }
}

TEST(FlowsTest, StandInTheOrderInWhichSendersFinish) {
  const FinishedRun run =
      RunExperiment(ExperimentFrom(Busy("rps", "measure: {t_max: 1200us, unfinished: inf}\n")));
  const CsvTable flows(run.files.flows);
  std::vector<std::tuple<int64_t, int64_t>> keys;
  for (size_t f = 0; f < flows.rows.size(); ++f) {
    const bool sent = !flows.At(f, "tx_done_ps").empty();
    keys.emplace_back(sent ? flows.Integer(f, "tx_done_ps") : kNever.ps,
                      flows.Integer(f, "flow_id"));
  }
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  EXPECT_EQ(std::get<0>(keys.back()), kNever.ps);
  EXPECT_EQ(static_cast<int64_t>(keys.size()), run.result.flows_started);
}

TEST(FlowsTest, TimesAddUpInEveryRow) {
  const FinishedRun run = RunExperiment(ExperimentFrom(Busy("rps", "measure: {warm_up: 0ps}\n")));
  const CsvTable flows(run.files.flows);
  int64_t bytes = 0;
  for (size_t f = 0; f < flows.rows.size(); ++f) {
    ASSERT_EQ(flows.At(f, "finished"), "1");
    const int64_t start = flows.Integer(f, "start_ps");
    const auto ps = [&](const char* ns) {
      std::string text;
      AppendExact(
          text,
          flows.Integer(f, ns == std::string("fct_rx_ns") ? "rx_done_ps" : "tx_done_ps") - start,
          3);
      return text;
    };
    EXPECT_EQ(flows.At(f, "fct_rx_ns"), ps("fct_rx_ns"));
    EXPECT_EQ(flows.At(f, "fct_tx_ns"), ps("fct_tx_ns"));
    EXPECT_DOUBLE_EQ(flows.Real(f, "slowdown"),
                     flows.Real(f, "fct_rx_ns") / flows.Real(f, "ideal_rx_ns"));
    const int64_t size = flows.Integer(f, "size_bytes");
    const int64_t packets = flows.Integer(f, "pkts");
    EXPECT_EQ(packets, (size + 1459) / 1460);
    EXPECT_EQ(flows.Integer(f, "pkts_sent"), packets + flows.Integer(f, "retx"));
    EXPECT_EQ(flows.Integer(f, "retx"),
              flows.Integer(f, "retx_spurious") + flows.Integer(f, "retx_loss"));
    const bool same_rack = flows.Integer(f, "src") / 4 == flows.Integer(f, "dst") / 4;
    EXPECT_EQ(flows.Integer(f, "hops"), same_rack ? 2 : 4);
    EXPECT_LE(flows.Integer(f, "paths_used"), same_rack ? 1 : 2);
    EXPECT_GE(flows.Integer(f, "paths_used"), 1);
    EXPECT_EQ(flows.Integer(f, "job") > 0, flows.At(f, "dport") == "200");
    bytes += size;
  }
  EXPECT_EQ(bytes, run.result.payload_finished);
  EXPECT_EQ(run.result.flows_finished, run.result.flows_started);
}

// M7, and what enters the fabric leaves it. Closed workloads are measured from 0 to the end.
TEST(LinksTest, CountEveryByteOfARunThatEndsIdle) {
  const Experiment experiment = ExperimentFrom(
      "topology:\n  kind: leaf_spine\n  leaves: 2\n  spines: 2\n  hosts_per_leaf: 4\n"
      "  asymmetry: [{spines: [1], rate: 40Gbps}]\n"
      "lb: ecmp\nworkload: [{kind: permutation, size: 100KB}]\n");
  const FinishedRun run = RunExperiment(experiment);
  const CsvTable links(run.files.links);
  ASSERT_EQ(links.rows.size(), 2 * experiment.graph.links.size());
  ASSERT_EQ(run.result.packets.in_flight, 0);
  ASSERT_EQ(run.result.packets.dropped_total(), 0);
  const double interval = static_cast<double>((run.result.load.until - run.result.load.from).ps);
  std::map<std::string, int64_t> payload;
  int64_t packets = 0;
  for (size_t l = 0; l < links.rows.size(); ++l) {
    EXPECT_EQ(links.Integer(l, "link_id"), static_cast<int64_t>(l));
    const int64_t byte_ps = 8'000'000'000'000 / links.Integer(l, "rate_bps");
    EXPECT_EQ(links.Integer(l, "busy_ps"), links.Integer(l, "wire_bytes") * byte_ps);
    EXPECT_DOUBLE_EQ(links.Real(l, "util"), links.Real(l, "busy_ps") / interval);
    EXPECT_LE(links.Real(l, "util"), 1);
    payload[links.At(l, "tier")] += links.Integer(l, "payload_bytes");
    packets += links.Integer(l, "pkts");
  }
  EXPECT_EQ(payload["host_up"], 8 * 100'000);
  EXPECT_EQ(payload["leaf_down"], 8 * 100'000);
  EXPECT_EQ(payload["leaf_up"], payload["spine_down"]);
  EXPECT_EQ(packets, run.result.packets.hops);
  EXPECT_EQ(links.At(0, "node"), "host0");
  EXPECT_EQ(links.At(0, "peer"), "leaf0");
  EXPECT_EQ(links.Integer(links.rows.size() - 1, "rate_bps"), 40'000'000'000);
}

TEST(LinksTest, OfALoadCoverItsTimeAlone) {
  const Experiment experiment = ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
      "lb: ecmp\nworkload: [{kind: poisson, sizes: small, load: 0.5, duration: 2ms}]\n"
      "measure: {warm_up: 500us}\n");
  const FinishedRun run = RunExperiment(experiment);
  EXPECT_EQ(run.result.load.from, Time{} + 500_us);
  EXPECT_EQ(run.result.load.until, Time{} + 2_ms);
  const CsvTable links(run.files.links);
  for (size_t l = 0; l < links.rows.size(); ++l) {
    EXPECT_LE(links.Integer(l, "busy_ps"), (2_ms - 500_us).ps);
    EXPECT_DOUBLE_EQ(links.Real(l, "util"), links.Real(l, "busy_ps") / 1.5e9);
  }
}

TEST(SummaryJsonTest, TellsQueriesAndLoads) {
  const Experiment experiment = ExperimentFrom(Busy("ecmp"));
  const FinishedRun run = RunExperiment(experiment);
  ASSERT_EQ(run.result.queries.size(), 1u);
  const QueryResult& queries = run.result.queries.front();
  EXPECT_EQ(queries.workload, 1u);
  EXPECT_EQ(queries.incomplete, 0);
  // A query is complete at its last answer in flows.csv. A query starts every 300 us; the first one
  // starts in the warm-up.
  const CsvTable flows(run.files.flows);
  std::vector<double> completion(5);
  for (size_t f = 0; f < flows.rows.size(); ++f) {
    const int64_t job = flows.Integer(f, "job");
    if (job == 0) continue;
    EXPECT_EQ(flows.Integer(f, "measured"), job > 1 ? 1 : 0);
    double& last = completion[static_cast<size_t>(job - 1)];
    last = std::max(last,
                    static_cast<double>(flows.Integer(f, "rx_done_ps") - (job - 1) * 300'000'000));
  }
  completion.erase(completion.begin());
  EXPECT_EQ(queries.completion_ps, completion);
}

TEST(SummaryJsonTest, TellsTheMeanSlowdownOfAllFlowsHoweverTheyAreSplit) {
  for (const std::string classes : {"all", "smlxl", "conga"}) {
    const Experiment experiment =
        ExperimentFrom(Busy("ecmp", "measure: {classes: [" + classes + "]}\n"));
    const FinishedRun run = RunExperiment(experiment);
    double sum = 0;
    for (const FlowSample& sample : run.result.samples) sum += sample.slowdown;
    EXPECT_THAT(
        SummaryJson(experiment, run.result, {}),
        testing::HasSubstr(fmt::format("\"avg_slowdown\": {},",
                                       sum / static_cast<double>(run.result.samples.size()))));
  }
}

// Ten queries, one each 100 us, whose flows start up to 60 us later. Of those asked before 870 us,
// the last one's flows may start after it: it does not count, and none is incomplete.
TEST(SummaryJsonTest, QueriesCountIfAllTheirFlowsAreMeasured) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\nlb: ecmp\n"
      "workload: [{kind: incast, fan_in: 2, receiver: 0, bytes_each: 10KB, queries: 10, period: "
      "100us, jitter: 60us}]\nmeasure: {cool_down: 130us}\n"));
  ASSERT_EQ(run.result.queries.size(), 1u);
  EXPECT_EQ(run.result.queries[0].incomplete, 0);
  EXPECT_GT(run.result.queries[0].completion_ps.size(), 5u);
}

// With more jitter than time between queries, flows of a later query may start first, and the run
// may end before a query has any.
TEST(SummaryJsonTest, QueriesThatTheEndComesBeforeDoNotCount) {
  for (const int seed : {1, 2, 3, 4, 5}) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\nlb: ecmp\nseed: " +
        std::to_string(seed) +
        "\nworkload: [{kind: incast, fan_in: 3, receiver: 0, bytes_each: 10KB, queries: 50, "
        "period: "
        "20us, jitter: 300us}]\nmeasure: {cool_down: 500us}\n"));
    ASSERT_EQ(run.result.queries.size(), 1u);
    EXPECT_EQ(run.result.queries[0].incomplete, 0) << seed;
    EXPECT_GT(run.result.queries[0].completion_ps.size(), 5u);
  }
}

TEST(SummaryJsonTest, CountsQueriesThatNobodyAnsweredInTime) {
  const std::vector<double> infinite(2, std::numeric_limits<double>::infinity());
  for (const auto& [unfinished, times] :
       {std::pair("inf", infinite), std::pair("drop", std::vector<double>())}) {
    const Experiment experiment = ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\nlb: ecmp\n"
        "workload: [{kind: incast, fan_in: 3, bytes_each: 1MB, queries: 2, period: 10us}]\n"
        "measure: {t_max: 100us, unfinished: " +
        std::string(unfinished) + "}\n");
    const FinishedRun run = RunExperiment(experiment);
    ASSERT_EQ(run.result.queries.size(), 1u);
    EXPECT_EQ(run.result.queries.front().completion_ps, times);
    EXPECT_EQ(run.result.queries.front().incomplete, 2);
    EXPECT_THAT(SummaryJson(experiment, run.result, {}),
                testing::ContainsRegex("\"complete\": 0,[ \n]*\"incomplete\": 2"));
  }
}

// 20 senders of 10 packets each behind one switch.
TEST(QueryTest, CompletesWhenTheLastPacketOfAnIncastArrives) {
  const Experiment experiment = ExperimentFrom(
      "topology:\n  kind: leaf_spine\n  leaves: 1\n  spines: 1\n  hosts_per_leaf: 21\n"
      "  port: {buffer: unlimited, ecn_above: unlimited}\n"
      "lb: ecmp\nworkload: [{kind: incast, fan_in: 20, bytes_each: 14600B, receiver: 0}]\n");
  const FinishedRun run = RunExperiment(experiment);
  ASSERT_EQ(run.result.queries.size(), 1u);
  EXPECT_EQ(run.result.queries.front().completion_ps, std::vector<double>{249'310'400});
}

// The rows of lb.csv of one node, as counter=value.
std::vector<std::string> LbRowsOf(const CsvTable& lb, const std::string& node) {
  std::vector<std::string> rows;
  for (size_t row = 0; row < lb.rows.size(); ++row) {
    if (lb.At(row, "node") == node)
      rows.push_back(lb.At(row, "counter") + "=" + lb.At(row, "value"));
  }
  return rows;
}

// Finds numbers in summary.json by their key.
class SummaryText {
 public:
  explicit SummaryText(std::string json) : json_(std::move(json)) {}

  int64_t Integer(const std::string& key) const {
    const std::string start = "\"" + key + "\": ";
    const size_t at = json_.find(start);
    if (at == std::string::npos) throw std::runtime_error("no " + key + " in summary.json");
    return std::stoll(json_.substr(at + start.size()));
  }

 private:
  std::string json_;
};

TEST(ResultsTest, LbHasTheStateAndTheCountersOfEachSwitch) {
  const FinishedRun run = RunExperiment(ExperimentFrom(Busy("{kind: letflow, slots: 10}")));
  const CsvTable lb(run.files.lb);
  int64_t flowlets = 0;
  int64_t state = 0;
  for (size_t row = 0; row < lb.rows.size(); ++row) {
    EXPECT_EQ(lb.At(row, "policy"), "letflow");
    EXPECT_EQ(lb.At(row, "node").substr(0, 4), lb.At(row, "node")[0] == 'l' ? "leaf" : "spin");
    if (lb.At(row, "counter") == "flowlets") flowlets += lb.Integer(row, "value");
    if (lb.At(row, "counter") == "state_bytes") state += lb.Integer(row, "value");
  }
  EXPECT_GT(LbRowsOf(lb, "leaf0").size(), 1u);
  EXPECT_EQ(LbRowsOf(lb, "leaf0").front(), "state_bytes=160");
  EXPECT_EQ(LbRowsOf(lb, "leaf0").back(), "table_entries=10");
  EXPECT_EQ(LbRowsOf(lb, "spine0"),
            (std::vector<std::string>{"state_bytes=160", "decisions=0", "flowlets=0", "reroutes=0",
                                      "table_entries=0"}));
  // summary.json has the sums.
  const SummaryText summary(SummaryJson(ExperimentFrom(Busy("ecmp")), run.result, {}));
  EXPECT_EQ(summary.Integer("state_bytes"), state);
  EXPECT_EQ(summary.Integer("flowlets"), flowlets);
}

// Five packets of a flow and their ACKs, each with a choice at the leaf that it leaves, none at the
// spine.
TEST(ResultsTest, LbHasTheSameDecisionsForEverySchemeThatSendsNothing) {
  for (const char* const kind : {"rps", "tr", "letflow", "switch_ar", "reps"}) {
    const CsvTable lb(
        RunExperiment(ExperimentFrom(std::string("topology: {kind: leaf_spine, leaves: 2, spines: "
                                                 "2, hosts_per_leaf: 1}\nworkload: [{kind: incast, "
                                                 "fan_in: 1, bytes_each: 7300B, receiver: 0}]\n"
                                                 "lb: ") +
                                     kind))
            .files.lb);
    const auto decisions_of = [&](const std::string& node) { return LbRowsOf(lb, node).at(1); };
    EXPECT_EQ(decisions_of("leaf0"), "decisions=5") << kind;
    EXPECT_EQ(decisions_of("leaf1"), "decisions=5") << kind;
    EXPECT_EQ(decisions_of("spine0"), "decisions=0") << kind;
  }
}

TEST(ResultsTest, LbHasTheStateOfHostsAndWhatTheyHaveCounted) {
  const auto rows_of_host = [](const std::string& lb, const std::string& workload) {
    const std::string yaml =
        "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
        "workload: [" +
        workload + "]\nlb: " + lb + "\n";
    return LbRowsOf(CsvTable(RunExperiment(ExperimentFrom(yaml)).files.lb), "host1");
  };
  const std::string small = "{kind: permutation, size: 10KB}";
  EXPECT_EQ(rows_of_host("presto", small).size(), 1u);
  EXPECT_EQ(rows_of_host("presto", "{kind: permutation, size: 1MB}").back(),
            "cells=15");  // 16 cells have 15 boundaries.
  // A generator of random numbers, and 24 bytes of each flow.
  EXPECT_EQ(rows_of_host("flowbender", small), std::vector<std::string>{"state_bytes=56"});
  EXPECT_EQ(rows_of_host("flowbender", small + ", " + small),
            std::vector<std::string>{"state_bytes=80"});
}

}  // namespace heddle::results_test
