// SPDX-License-Identifier: Apache-2.0
// measure.queueing and measure.link_classes, against numbers worked out by hand.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "measure/delivery_tap.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"

namespace heddle::packet_meters_test {

constexpr NetworkPlan::Ports kAllPorts[] = {
    NetworkPlan::Ports::kCheapest, NetworkPlan::Ports::kQueued, NetworkPlan::Ports::kEager};

// 1000 bytes of payload, 1048 on the wire: 83.84 ns at 100 Gbps.
constexpr double kPacketNs = 83.84;

std::string CustomYaml(const std::string& switches, const std::string& links,
                       const std::string& flow_file, const std::string& more = "") {
  return fmt::format(
      "topology: {{kind: custom, hosts: 3, switches: [{}], link: {{rate: 100Gbps, delay: 1us}}, "
      "links: [{}], port: {{buffer: unlimited}}}}\n"
      "transport: {{kind: rocev2, framing: ns3_rdma, cc: none}}\nlb: ecmp\n"
      "workload: [{{kind: flows, file: {}}}]\nmeasure: {{queueing: true, link_classes: true, "
      "classes: [all, sml], t_max: 1ms}}\n{}",
      switches, links, flow_file, more);
}

struct Waits {
  int64_t packets;
  double mean_ns;
  double p99_ns;
  double max_ns;
};

Waits WaitsOf(const FinishedRun& run, std::string_view cls = "all") {
  const CsvTable table(run.files.queueing);
  const size_t row = table.Find("class", cls);
  return {table.Integer(row, "n_pkts"), table.Real(row, "mean_ns"), table.Real(row, "p99_ns"),
          table.Real(row, "max_ns")};
}

// Ten packets of each of two hosts come at the same instants, and leave one after the other: the
// k-th of the first waits for k packets, the k-th of the second for k + 1.
TEST(QueueingTest, TwoSendersWaitForEachOther) {
  const TemporaryFolder folder;
  const std::string flows =
      folder.Write("f.csv", "src,dst,size_bytes,start_ps\n1,0,10000,0\n2,0,10000,0\n").string();
  const std::string yaml = CustomYaml(
      "{name: tor}", "{a: host0, b: tor}, {a: host1, b: tor}, {a: host2, b: tor}", flows);
  for (const NetworkPlan::Ports ports : kAllPorts) {
    const Waits waits = WaitsOf(RunExperiment(ExperimentFrom(yaml), 1, ports));
    EXPECT_EQ(waits.packets, 20);
    EXPECT_NEAR(waits.mean_ns, (45 + 55) * kPacketNs / 20, 1e-9);
    EXPECT_NEAR(waits.max_ns, 10 * kPacketNs, 1e-9);
    EXPECT_NEAR(waits.p99_ns, 10 * kPacketNs, 1e-9);
  }
}

// A port that trims cuts packets out of its queue, too: these wait as a whole, then as a header. Of
// flow_links.csv each cut packet counts as dropped once.
TEST(TrimmingTest, PacketsCutOutOfAQueueCountOnce) {
  for (const std::string victim : {"arriving", "newest", "coin"}) {
    SCOPED_TRACE(victim);
    const Experiment experiment = ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 4, spines: 4, hosts_per_leaf: 4, port: {trim: {when: "
        "port, victim: " +
        victim +
        "}}}\ntransport: {kind: rocev2, recovery: irn}\nlb: rps\n"
        "workload: [{kind: incast, fan_in: 12, bytes_each: 50KB}]\n"
        "measure: {queueing: true, flow_links: true}\n");
    const RunFiles files = RunExperiment(experiment).files;
    const CsvTable queueing(files.queueing);
    const CsvTable trimming(files.series.at("trimming.csv"));
    const CsvTable links(files.series.at("flow_links.csv"));
    int64_t trimmed = 0;
    for (size_t row = 0; row < trimming.rows.size(); ++row) {
      trimmed += trimming.Integer(row, "trimmed");
    }
    int64_t dropped = 0;
    for (size_t row = 0; row < links.rows.size(); ++row) dropped += links.Integer(row, "dropped");
    EXPECT_GT(trimmed, 100);
    EXPECT_EQ(dropped, trimmed);
    EXPECT_LT(queueing.Real(0, "max_ns"), 100'000);  // Queues of 30 KB at 10 Gbps, on four ports.
  }
}

// Links of 100, 50 and 25 Gbps, p apart at the first: the k-th packet waits k p before the second,
// from which packets come 2 p apart, and 2 k p before the third. The fourth is as fast as the
// third.
std::string Narrowing(const std::string& flow_file, const std::string& more = "") {
  return CustomYaml(
      "{name: a}, {name: b}, {name: c}",
      "{a: host1, b: a}, {a: a, b: b, rate: 50Gbps}, {a: b, b: c, rate: 25Gbps}, {a: c, b: host0, "
      "rate: 25Gbps}, {a: host2, b: c}",
      flow_file, more);
}

TEST(QueueingTest, AddsUpOverSwitches) {
  const TemporaryFolder folder;
  const std::string flows =
      folder.Write("f.csv", "src,dst,size_bytes,start_ps\n1,0,10000,0\n").string();
  for (const NetworkPlan::Ports ports : kAllPorts) {
    for (const int threads : {1, 3}) {
      const Waits waits = WaitsOf(RunExperiment(ExperimentFrom(Narrowing(flows)), threads, ports));
      EXPECT_EQ(waits.packets, 10);
      EXPECT_NEAR(waits.mean_ns, 3 * 4.5 * kPacketNs, 1e-9);
      EXPECT_NEAR(waits.max_ns, 3 * 9 * kPacketNs, 1e-9);
    }
  }
}

// Packets that wait when the rate changes leave at other times than a FIFO port had planned.
TEST(QueueingTest, FollowsLinksThatChange) {
  const TemporaryFolder folder;
  const std::string flows =
      folder.Write("f.csv", "src,dst,size_bytes,start_ps\n1,0,100000,0\n").string();
  const std::string yaml =
      Narrowing(flows,
                "schedule: [{at: 4us, links: [a-b], rate: 10Gbps}, {at: 9us, links: [a-b], rate: "
                "50Gbps}, {at: 11us, links: [b-c], rate: 10Gbps}]\n");
  const std::string expected =
      RunExperiment(ExperimentFrom(yaml), 1, NetworkPlan::Ports::kEager).files.queueing;
  EXPECT_GT(WaitsOf(RunExperiment(ExperimentFrom(yaml))).max_ns, 3 * 99 * kPacketNs);
  for (const NetworkPlan::Ports ports : kAllPorts) {
    EXPECT_EQ(RunExperiment(ExperimentFrom(yaml), 2, ports).files.queueing, expected);
  }
}

std::string Busy(const std::string& lb, const std::string& transport, const std::string& port,
                 bool measured, const std::string& more = "") {
  return fmt::format(
      "topology: {{kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 3, host_link: {{rate: "
      "10Gbps, delay: 300ns}}, asymmetry: [{{spines: [1], rate: 5Gbps}}], port: {}}}\n"
      "transport: {}\nlb: {}\nworkload:\n"
      "  - {{kind: poisson, sizes: small, load: 0.5, flows: 150}}\n"
      "  - {{kind: incast, fan_in: 5, bytes_each: 20KB, queries: 3, period: 300us}}\n"
      "measure: {{warm_up: 0ps, queueing: {}, link_classes: {}}}\n{}",
      port, transport, lb, measured, measured, more);
}

const std::string kDctcp = "{kind: dctcp, min_rto: 1ms}";
const std::string kSmall = "{buffer: 20KB, ecn_above: 15KB}";
const std::string kPfc = "{buffer: 200KB, pfc: {classes: [3]}}";

struct Case {
  std::string lb;
  std::string transport;
  std::string port;
  std::string more = "";
};

const Case kCases[] = {
    {"rps", kDctcp, kSmall},
    {"{kind: letflow, gap: 20us}", kDctcp, "{buffer: 200KB, ecn_above: 30KB, mark_at: dequeue}"},
    {"conga", "{kind: tcp, control_priority: 0}", kSmall},
    {"conweave", "{kind: rocev2, cc: dcqcn}", kPfc},
    {"tdlb", kDctcp, kSmall},
    {"rps", kDctcp, kSmall,
     "schedule: [{at: 200us, links: [leaf0-spine0], state: down}, {at: 500us, links: "
     "[leaf0-spine0], state: up}]\n"},
};

TEST(PacketMeterTest, ChangesNothingElse) {
  for (const auto& [lb, transport, port, more] : kCases) {
    SCOPED_TRACE(lb + " " + transport + more);
    const FinishedRun plain = RunExperiment(ExperimentFrom(Busy(lb, transport, port, false, more)));
    EXPECT_EQ(plain.files.queueing, "");
    EXPECT_EQ(plain.files.link_classes, "");
    const FinishedRun measured =
        RunExperiment(ExperimentFrom(Busy(lb, transport, port, true, more)));
    EXPECT_EQ(measured.files.flows, plain.files.flows);
    EXPECT_EQ(measured.files.reorder, plain.files.reorder);
    EXPECT_EQ(measured.files.links, plain.files.links);
    EXPECT_EQ(measured.files.lb, plain.files.lb);
    EXPECT_EQ(measured.result.end, plain.result.end);
  }
}

TEST(PacketMeterTest, DoesNotDependOnThreads) {
  for (const auto& [lb, transport, port, more] : kCases) {
    SCOPED_TRACE(lb + " " + transport + more);
    const Experiment experiment = ExperimentFrom(Busy(lb, transport, port, true, more));
    const FinishedRun one = RunExperiment(experiment, 1);
    EXPECT_GT(WaitsOf(one).mean_ns, 0);
    EXPECT_EQ(RunExperiment(experiment, 4).files, one.files);
  }
}

// Every packet that a receiver counts has been seen, and those that come when their flow has ended.
TEST(PacketMeterTest, CountsEachPacketOnce) {
  for (const auto& [lb, transport, port, more] : kCases) {
    SCOPED_TRACE(lb + " " + transport + more);
    const FinishedRun run = RunExperiment(ExperimentFrom(Busy(lb, transport, port, true, more)));
    const CsvTable queueing(run.files.queueing);
    const CsvTable reorder(run.files.reorder);
    ASSERT_EQ(queueing.rows.size(), reorder.rows.size());
    for (size_t row = 0; row < reorder.rows.size(); ++row) {
      EXPECT_EQ(queueing.At(row, "class"), reorder.At(row, "class"));
      const int64_t late = queueing.Integer(row, "n_pkts") - reorder.Integer(row, "n_pkts");
      EXPECT_GE(late, 0);
      EXPECT_LE(late, run.result.late_packets);  // ACKs are among these.
    }
  }
}

// Two taps on one host: both see everything.
TEST(PacketMeterTest, SharesHostsWithOtherTaps) {
  const Experiment experiment = ExperimentFrom(Busy("rps", kDctcp, kSmall, true));
  const Experiment plain = ExperimentFrom(Busy("rps", kDctcp, kSmall, false));
  DeliveryTaps taps;
  SimulationOptions options;
  options.instruments = {&taps};
  const FinishedRun both = RunExperiment(experiment, options);
  EXPECT_EQ(taps.Sum(), FingerprintOf(plain));
  EXPECT_EQ(both.files.queueing, RunExperiment(experiment).files.queueing);
}

// Over a whole run classes add up to what links.csv says, port by port.
TEST(LinkClassesTest, AddUpToWhatLinksCarry) {
  const TemporaryFolder folder;
  const std::string flows = folder
                                .Write("f.csv",
                                       "src,dst,size_bytes,start_ps\n0,3,40000,0\n1,4,500000,0\n"
                                       "2,5,1500000,0\n3,0,70000,0\n4,5,30000,0\n")
                                .string();
  const FinishedRun run = RunExperiment(ExperimentFrom(fmt::format(
      "topology: {{kind: leaf_spine, leaves: 2, spines: 3, hosts_per_leaf: 3, port: {{buffer: "
      "30KB, ecn_above: 15KB}}}}\ntransport: {}\nlb: rps\nworkload: [{{kind: flows, file: {}}}]\n"
      "measure: {{link_classes: true, classes: [all, sml]}}\n",
      kDctcp, flows)));
  const CsvTable links(run.files.links);
  const CsvTable classes(run.files.link_classes);
  std::map<std::string, std::map<std::string, int64_t>> by_scope;  // By link, then class set.
  std::map<std::string, int64_t> up;                               // By class.
  for (size_t row = 0; row < classes.rows.size(); ++row) {
    const int64_t bytes = classes.Integer(row, "payload_bytes");
    by_scope[classes.At(row, "link_id")][classes.At(row, "scope")] += bytes;
    if (classes.At(row, "tier") == "leaf_up") up[classes.At(row, "class")] += bytes;
  }
  ASSERT_EQ(by_scope.size(), 6u + 6u + 6u);  // Down to hosts, up to spines, and down from them.
  for (const auto& [link, scopes] : by_scope) {
    const size_t row = links.Find("link_id", link);
    for (const auto& [scope, bytes] : scopes) {
      EXPECT_EQ(bytes, links.Integer(row, "payload_bytes")) << link << " " << scope;
    }
  }
  // The bytes that cross the fabric include retransmissions.
  EXPECT_GE(up["S"], 110'000);
  EXPECT_GE(up["M"], 500'000);
  EXPECT_GE(up["L"], 1'500'000);
  EXPECT_EQ(up["all"], up["S"] + up["M"] + up["L"]);
}

// --- measure.flow_links ---

// The k-th packets of two hosts come at one instant, when k of each have left: the first finds k
// packets, the second one more, and both count themselves.
TEST(FlowLinksTest, TellTheQueuesThatTwoSendersMeet) {
  const TemporaryFolder folder;
  const std::string flows =
      folder.Write("f.csv", "src,dst,size_bytes,start_ps\n1,0,10000,0\n2,0,10000,0\n").string();
  const std::string yaml = CustomYaml(
      "{name: tor}", "{a: host0, b: tor}, {a: host1, b: tor}, {a: host2, b: tor}", flows);
  for (const NetworkPlan::Ports ports : kAllPorts) {
    const FinishedRun run =
        RunExperiment(ExperimentFrom(yaml, {"measure.flow_links=true"}), 1, ports);
    const CsvTable links(run.files.series.at("flow_links.csv"));
    ASSERT_EQ(links.rows.size(), 2u);
    for (size_t row = 0; row < 2; ++row) {
      EXPECT_EQ(links.Integer(row, "flow_id"), static_cast<int64_t>(row));
      EXPECT_EQ(links.At(row, "node"), "tor");
      EXPECT_EQ(links.At(row, "peer"), "host0");
      EXPECT_EQ(links.Integer(row, "pkts"), 10);
      EXPECT_EQ(links.Integer(row, "dropped"), 0);
      EXPECT_EQ(links.Integer(row, "queue_max_bytes"), 1048 * static_cast<int64_t>(10 + row));
      EXPECT_DOUBLE_EQ(links.Real(row, "queue_mean_bytes"),
                       1048 * (5.5 + static_cast<double>(row)));
    }
  }
}

// Each data packet that was sent is in one row of each switch, or was dropped there.
TEST(FlowLinksTest, CountEachPacketAtEachSwitch) {
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.push_back({"ecmp", "{kind: mptcp, min_rto: 1ms}", kSmall});  // Subflows count together.
  for (const auto& [lb, transport, port, more] : cases) {
    if (!more.empty()) continue;  // Links that go down lose packets that a port had taken.
    SCOPED_TRACE(lb + " " + transport);
    const Experiment experiment =
        ExperimentFrom(Busy(lb, transport, port, false), {"measure.flow_links=true"});
    const FinishedRun run = RunExperiment(experiment);
    const CsvTable links(run.files.series.at("flow_links.csv"));
    const CsvTable ports_of_links(run.files.links);
    std::map<int64_t, int64_t> taken, dropped, received;
    for (size_t row = 0; row < links.rows.size(); ++row) {
      const int64_t flow = links.Integer(row, "flow_id");
      const size_t link = ports_of_links.Find("link_id", links.At(row, "link_id"));
      EXPECT_EQ(ports_of_links.At(link, "node"), links.At(row, "node"));
      EXPECT_EQ(ports_of_links.At(link, "port"), links.At(row, "port"));
      EXPECT_EQ(ports_of_links.At(link, "peer"), links.At(row, "peer"));
      dropped[flow] += links.Integer(row, "dropped");
      const bool is_last = links.At(row, "peer").starts_with("host");
      (is_last ? received : taken)[flow] += links.Integer(row, "pkts");
    }
    const CsvTable flows(run.files.flows);
    for (size_t row = 0; row < flows.rows.size(); ++row) {
      const int64_t flow = flows.Integer(row, "flow_id");
      EXPECT_EQ(received[flow] + dropped[flow], flows.Integer(row, "pkts_sent")) << flow;
      if (flows.Integer(row, "hops") == 2) {
        EXPECT_EQ(taken[flow], 0);
      }
    }
    EXPECT_EQ(RunExperiment(experiment, 3).files, run.files);
  }
}

}  // namespace heddle::packet_meters_test
