// SPDX-License-Identifier: Apache-2.0
// Tests background traffic in whole experiments.

#include "experiment/background.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/thread_counts.h"

namespace heddle::background_test {

const std::vector<std::string> kBalancers = {"ecmp", "rps", "{kind: letflow, gap: 20us}", "presto"};

const std::string kLeafSpine =
    "topology: {kind: leaf_spine, leaves: 2, spines: 3, hosts_per_leaf: 4}\n";
const std::string kFatTree = "topology: {kind: fat_tree, k: 4}\n";

// A flow goes from host 0 to host 1, on the same leaf, for a good millisecond: what crosses the
// fabric is background.
std::string WithBackground(const std::string& topology, const std::string& lb,
                           const std::string& entries, const std::string& more = "") {
  static const TemporaryFolder folder;
  static const std::string file =
      folder.Write("flows.csv", "src,dst,size_bytes,start_ps\n0,1,1250000,0\n").string();
  return topology + "lb: " + lb + "\nworkload: [{kind: flows, file: " + file + "}]\nbackground: [" +
         entries + "]\n" + more;
}

int64_t DatagramsInto(const CsvTable& links, const std::string& vertex) {
  int64_t packets = 0;
  for (size_t l = 0; l < links.rows.size(); ++l) {
    if (links.At(l, "peer") == vertex) packets += links.Integer(l, "pkts");
  }
  return packets;
}

TEST(PinnedBackgroundTest, TakesItsSpineUnderEveryLoadBalancer) {
  for (const std::string& lb : kBalancers) {
    SCOPED_TRACE(lb);
    const FinishedRun run = RunExperiment(ExperimentFrom(WithBackground(
        kLeafSpine, lb, "{from: [0, 1, 2, 3], to: [4, 5, 6, 7], rate: 1Gbps, via: spine1}")));
    const CsvTable links(run.files.links);
    EXPECT_EQ(DatagramsInto(links, "spine0"), 0);
    EXPECT_EQ(DatagramsInto(links, "spine2"), 0);
    EXPECT_NEAR(static_cast<double>(DatagramsInto(links, "spine1")),
                static_cast<double>(run.result.packets.datagrams_sent), 8);
    EXPECT_GT(run.result.packets.datagrams_sent, 300);
    const CsvTable udp(run.files.udp);
    for (size_t s = 0; s < 4; ++s) EXPECT_EQ(udp.At(s, "path"), "1");
  }
}

TEST(PinnedBackgroundTest, IsSpreadLikeAllElseWithoutAPin) {
  for (const std::string& lb : kBalancers) {
    SCOPED_TRACE(lb);
    const FinishedRun run = RunExperiment(ExperimentFrom(WithBackground(
        kLeafSpine, lb,
        "{from: [0, 1, 2, 3, 0, 1, 2, 3], to: [4, 5, 6, 7, 5, 6, 7, 4], rate: 1Gbps, pattern: "
        "onoff, mean_on: 50us, mean_off: 50us}")));
    const CsvTable links(run.files.links);
    for (const char* spine : {"spine0", "spine1", "spine2"}) {
      EXPECT_GT(DatagramsInto(links, spine), 0) << spine;
    }
    EXPECT_EQ(CsvTable(run.files.udp).At(0, "path"), "");
    const int64_t reordered = CsvTable(run.files.udp).Integer(0, "reordered");
    if (lb == "ecmp") {
      EXPECT_EQ(reordered, 0);
    }
  }
}

TEST(PinnedBackgroundTest, HasASourceForEachPath) {
  for (const std::string& lb : kBalancers) {
    SCOPED_TRACE(lb);
    const FinishedRun run = RunExperiment(ExperimentFrom(WithBackground(
        kLeafSpine, lb,
        "{from: [0], to: [4], rate: 1Gbps, per_path: true, jitter: 0, stop: 123040ns}")));
    const CsvTable udp(run.files.udp);
    ASSERT_EQ(udp.rows.size(), 3u);
    const CsvTable links(run.files.links);
    for (size_t s = 0; s < 3; ++s) {
      EXPECT_EQ(udp.At(s, "path"), fmt::format("{}", s));
      EXPECT_EQ(udp.Integer(s, "pkts_received"), 10);
      EXPECT_EQ(DatagramsInto(links, fmt::format("spine{}", s)), 10);
    }
  }
}

TEST(PinnedBackgroundTest, TakesItsCoreInAFatTree) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      WithBackground(kFatTree, "rps", "{from: [0, 2], to: [8, 15], rate: 2Gbps, via: core2}")));
  const CsvTable links(run.files.links);
  for (const char* other : {"core0", "core1", "core3", "agg0", "agg2"}) {
    EXPECT_EQ(DatagramsInto(links, other), 0) << other;
  }
  EXPECT_GT(DatagramsInto(links, "core2"), 300);
}

// Parallel links to one spine are paths of their own, which pairs take by turns.
TEST(PinnedBackgroundTest, UsesParallelLinksByTurns) {
  const Experiment experiment = ExperimentFrom(WithBackground(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, links_per_pair: 2}\n",
      "ecmp", "{from: [0, 1, 2], to: [4, 5, 6], rate: 1Gbps, via: spine1}"));
  ASSERT_EQ(experiment.background.size(), 3u);
  EXPECT_EQ(experiment.background[0].path, 2);
  EXPECT_EQ(experiment.background[1].path, 3);
  EXPECT_EQ(experiment.background[2].path, 2);
}

TEST(PinnedBackgroundTest, GoesAnotherWayWhereItsOwnIsGone) {
  const FinishedRun run = RunExperiment(ExperimentFrom(WithBackground(
      kLeafSpine, "ecmp", "{from: [0], to: [4], rate: 2Gbps, via: spine1, jitter: 0}",
      "schedule: [{at: 200us, links: [leaf0-spine1], state: down}]\n"
      "routing: {convergence: 100us}\n")));
  const CsvTable links(run.files.links);
  // One every 6152 ns. Lost are those that come to the leaf in 100 us, and what was on its way.
  const int64_t lost = CsvTable(run.files.udp).Integer(0, "pkts_lost");
  EXPECT_NEAR(static_cast<double>(lost), 100 / 6.152, 1.5);
  EXPECT_GT(DatagramsInto(links, "spine0") + DatagramsInto(links, "spine2"), 50);
  EXPECT_EQ(run.result.packets.dropped_total(), lost);
}

TEST(BackgroundTest, MeetsItsLoadAndIsCountedApart) {
  const std::string yaml = kLeafSpine +
                           "lb: ecmp\nworkload: [{kind: permutation, size: 1B, start: 5ms}]\n"
                           "background: [{hosts: 1.0, load: 0.3}]\n";
  const Experiment experiment = ExperimentFrom(yaml);
  ASSERT_EQ(experiment.background.size(), 8u);
  for (const UdpSource& source : experiment.background) EXPECT_EQ(source.rate, 3_Gbps);
  const SimulationResult result = RunExperiment(experiment).result;
  const LinkLoad& load = result.load;
  const double seconds = Seconds(load.until - load.from);
  EXPECT_NEAR(static_cast<double>(load.background_offered) * 8 / (8 * 1e10 * seconds), 0.3, 1e-3);
  EXPECT_NEAR(static_cast<double>(load.background_carried) * 8 / (8 * 1e10 * seconds), 0.3, 1e-3);
  EXPECT_EQ(load.payload_offered, 8);
  EXPECT_EQ(load.payload_carried, 8);
  for (const LinkUse& link : load.links) EXPECT_LE(link.sent.payload_bytes, 8);
}

// The sources of one host share its load.
TEST(BackgroundTest, SharesALoadAmongTheSourcesOfAHost) {
  const Experiment experiment = ExperimentFrom(
      WithBackground(kLeafSpine, "ecmp", "{from: [0, 0, 1], to: [4, 5, 6], load: 0.4}"));
  EXPECT_EQ(experiment.background[0].rate, 2_Gbps);
  EXPECT_EQ(experiment.background[1].rate, 2_Gbps);
  EXPECT_EQ(experiment.background[2].rate, 4_Gbps);
}

TEST(BackgroundTest, DrawsAShareOfHostsThatMeetNowhere) {
  for (const char* cross_rack : {"false", "true"}) {
    const std::string entry = fmt::format("{{hosts: 0.5, load: 0.1, cross_rack: {}}}", cross_rack);
    const std::string yaml = WithBackground(kFatTree, "ecmp", entry + ", " + entry);
    std::set<std::vector<HostId>> draws;
    for (const char* seed : {"seed=1", "seed=2"}) {
      const Experiment experiment = ExperimentFrom(yaml, {seed});
      ASSERT_EQ(experiment.background.size(), 16u);
      for (uint32_t entry_index : {0u, 1u}) {
        std::set<HostId> from;
        std::set<HostId> to;
        for (const UdpSource& source : experiment.background) {
          if (source.entry != entry_index) continue;
          from.insert(source.src);
          to.insert(source.dst);
          EXPECT_NE(source.src, source.dst);
          EXPECT_TRUE(cross_rack == std::string("false") || source.src / 2 != source.dst / 2);
        }
        EXPECT_EQ(from.size(), 8u);
        EXPECT_EQ(to.size(), 8u);
        draws.insert({from.begin(), from.end()});
      }
    }
    EXPECT_EQ(draws.size(), 4u) << "entries and seeds draw for themselves";
  }
}

TEST(BackgroundTest, SlowsFlowsThatItMeets) {
  const std::string yaml = kLeafSpine +
                           "lb: ecmp\nworkload: [{kind: permutation, size: 500KB, cross_rack: "
                           "true}]\n";
  const std::string with = yaml + "background: [{hosts: 1, load: 0.25, cross_rack: true}]\n";
  const FinishedRun alone = RunExperiment(ExperimentFrom(yaml));
  const FinishedRun beside = RunExperiment(ExperimentFrom(with));
  const double before = CsvTable(alone.files.summary).Real(0, "avg_slowdown");
  const double after = CsvTable(beside.files.summary).Real(0, "avg_slowdown");
  EXPECT_GT(after, before * 1.2);
  EXPECT_EQ(alone.result.packets.datagrams_sent, 0);
  EXPECT_GT(beside.result.packets.datagrams_sent, 1'000);
}

// Datagrams want 90 % of a link. A flow in a class of its own gets half of the link by turns, given
// buffers for both; in the datagrams' class it gets little more than they leave.
TEST(BackgroundTest, SharesALinkByItsClass) {
  const auto slowdown = [](int priority) {
    const TemporaryFolder folder;
    const std::string file =
        folder.Write("flows.csv", "src,dst,size_bytes,start_ps\n0,4,5000000,0\n").string();
    const FinishedRun run = RunExperiment(ExperimentFrom(
        fmt::format("topology: {{kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 4, port: "
                    "{{memory: {{model: dt}}}}}}\nlb: ecmp\nworkload: [{{kind: flows, file: {}}}]\n"
                    "background: [{{from: [1], to: [5], rate: 9Gbps, priority: {}}}]\n",
                    file, priority)));
    return CsvTable(run.files.flows).Real(0, "slowdown");
  };
  EXPECT_NEAR(slowdown(2), 2, 0.2);
  EXPECT_GT(slowdown(1), 5);
}

TEST(BackgroundTest, LeavesTheFlowsThemselvesAsTheyAre) {
  const std::string yaml =
      kLeafSpine + "lb: rps\nworkload: [{kind: poisson, sizes: small, load: 0.3, flows: 200}]\n";
  CsvTable alone(RunExperiment(ExperimentFrom(yaml)).files.flows);
  CsvTable beside(
      RunExperiment(ExperimentFrom(yaml + "background: [{hosts: 1, load: 0.3}]\n")).files.flows);
  const auto drawn = [](const CsvTable& flows) {
    std::set<std::string> rows;
    for (size_t f = 0; f < flows.rows.size(); ++f) {
      std::string row;
      for (const char* column : {"flow_id", "src", "dst", "size_bytes", "start_ps"}) {
        row += flows.At(f, column) + ",";
      }
      rows.insert(row);
    }
    return rows;
  };
  EXPECT_EQ(drawn(alone), drawn(beside));
  EXPECT_NE(alone.rows, beside.rows);
}

// The run ends with the measured flows, whatever the background does.
TEST(BackgroundTest, DoesNotKeepTheRunGoing) {
  const Experiment experiment =
      ExperimentFrom(WithBackground(kLeafSpine, "ecmp",
                                    "{hosts: 1, load: 0.1}, {from: [2], to: [3], rate: "
                                    "1Mbps, start: 500ms}"));
  const FinishedRun run = RunExperiment(experiment);
  EXPECT_FALSE(run.result.reached_t_max);
  EXPECT_EQ(run.result.unfinished, 0);
  EXPECT_LT(run.result.end, Time{} + 5_ms);
  EXPECT_EQ(CsvTable(run.files.udp).Integer(8, "pkts_sent"), 0);
}

TEST(BackgroundTest, FitsItsPayloadToTheTransport) {
  const auto payload = [](const std::string& transport, const std::string& set = "auto") {
    return ExperimentFrom(WithBackground(kLeafSpine, "ecmp",
                                         "{from: [0], to: [1], rate: 1Gbps, payload: " + set + "}",
                                         "transport: " + transport + "\n"))
        .background[0];
  };
  EXPECT_EQ(payload("dctcp").payload, Bytes{1'472});
  EXPECT_EQ(payload("dctcp").wire, Bytes{1'538});
  EXPECT_EQ(payload("{kind: tcp, mtu: 9000}").payload, Bytes{1'472});
  EXPECT_EQ(payload("{kind: tcp, mtu: 512}").payload, Bytes{484});
  // 1024 of payload and 44 of headers, less 28.
  EXPECT_EQ(payload("rocev2").payload, Bytes{1'040});
  EXPECT_EQ(payload("rocev2").packet, Bytes{1'086});
  EXPECT_EQ(payload("{kind: dctcp, framing: ip1500}", "8972B").wire, Bytes{9'000});
}

TEST(BackgroundTest, IsTheSameForEveryNumberOfThreads) {
  for (const std::string& lb : kBalancers) {
    SCOPED_TRACE(lb);
    const Experiment experiment = ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 3, host_link: {rate: "
        "25Gbps, delay: 25ns}, fabric_link: {rate: 100Gbps}, port: {buffer: 50pkts}}\nlb: " +
        lb +
        "\ntransport: {kind: dctcp, min_rto: 500us}\nworkload: [{kind: poisson, sizes: small, "
        "load: 0.3, flows: 120}]\n"
        "background:\n"
        "  - {hosts: 0.6, load: 0.3, pattern: poisson}\n"
        "  - {hosts: 0.4, load: 0.2, pattern: onoff, mean_on: 30us, mean_off: 60us, on_dist: "
        "pareto, cross_rack: true, via: spine1}\n"
        "  - {from: [0, 3], to: [8], rate: 500Mbps, start: 10us, per_path: true}\n");
    const FinishedRun first = RunExperiment(experiment, 1);
    EXPECT_GT(first.result.packets.datagrams_received, 500);
    for (const int threads : ThreadCounts({1, 2, 3})) {
      const FinishedRun again = RunExperiment(experiment, threads);
      EXPECT_EQ(first.files, again.files) << threads << " threads";
      EXPECT_EQ(first.result.load.background_carried, again.result.load.background_carried);
    }
    const Experiment resolved = ExperimentFrom(experiment.Resolved());
    EXPECT_EQ(first.files, RunExperiment(resolved).files);
  }
}

TEST(UdpCsvTest, HasARowForEachSource) {
  const FinishedRun run = RunExperiment(ExperimentFrom(WithBackground(
      kLeafSpine, "ecmp",
      "{from: [0], to: [4], rate: 1Gbps, jitter: 0, stop: 123040ns}, {from: [5], to: [3], rate: "
      "1Mbps, pattern: poisson, priority: 5, start: 900s, payload: 100B}",
      "measure: {t_max: 1000s}\n")));
  const std::string expected =
      "source,entry,src,dst,pattern,priority,path,rate_bps,start_ps,stop_ps,pkts_sent,bytes_sent,"
      "pkts_unsent,pkts_received,bytes_received,pkts_lost,loss_ratio,reordered,avg_delay_ns,"
      "p50_delay_ns,p99_delay_ns,max_delay_ns\n";
  ASSERT_TRUE(run.files.udp.starts_with(expected)) << run.files.udp;
  const CsvTable udp(run.files.udp);
  ASSERT_EQ(udp.rows.size(), 2u);
  EXPECT_EQ(udp.Integer(0, "stop_ps"), 123'040'000);
  EXPECT_EQ(udp.Integer(0, "pkts_sent"), 10);
  EXPECT_EQ(udp.Integer(0, "bytes_received"), 14'720);
  EXPECT_EQ(udp.At(0, "loss_ratio"), "0");
  // Host links of 10 Gbps, fabric links of 10 Gbps, 1 us each: four times 2230.4 ns, alone or
  // behind nothing.
  EXPECT_EQ(udp.At(0, "max_delay_ns"), "8921.6");
  EXPECT_EQ(udp.At(1, "pattern"), "poisson");
  EXPECT_EQ(udp.At(1, "priority"), "5");
  EXPECT_EQ(udp.At(1, "stop_ps"), "");
  EXPECT_EQ(udp.At(1, "pkts_sent"), "0");
  EXPECT_EQ(udp.At(1, "avg_delay_ns"), "") << "nothing has arrived";
}

TEST(UdpCsvTest, IsWrittenIfThereIsABackground) {
  const TemporaryFolder folder;
  const std::string yaml = kLeafSpine + "lb: ecmp\nworkload: [{kind: permutation, size: 10KB}]\n";
  folder.Write("without.yaml", yaml);
  folder.Write("with.yaml", yaml + "background: [{hosts: 1, load: 0.5}]\n");
  const CommandResult run = RunCommand(
      std::string(HEDDLE_BINARY) + " run without.yaml with.yaml --out out", folder.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "out/without/udp.csv"));
  EXPECT_EQ(CsvTable(ReadFile(folder / "out/with/udp.csv")).rows.size(), 8u);
  const std::string summary = ReadFile(folder / "out/with/summary.json");
  EXPECT_NE(summary.find("\"datagrams_sent\": "), std::string::npos);
  EXPECT_NE(summary.find("\"carried_background\": "), std::string::npos);
}

}  // namespace heddle::background_test
