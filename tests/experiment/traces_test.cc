// SPDX-License-Identifier: Apache-2.0
// Whole runs of traces: to the picosecond, on several threads, and beside other traffic.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/gzip.h"
#include "tests/support/halved_windows.h"
#include "tests/support/thread_counts.h"
#include "workload/jobs/job.h"

namespace heddle::traces_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPingPong =
    "num_ranks 2\n"
    "rank 0 {\nl1: calc 1000\nl2: send 10000b to 1 tag 7\nl2 requires l1\n"
    "l3: recv 2000b from 1 tag 8\n}\n"
    "rank 1 {\nl1: recv 10000b from 0 tag 7\nl2: calc 500\nl2 requires l1\n"
    "l3: send 2000b to 0 tag 8\nl3 requires l2\n}\n";

class TracesTest : public testing::Test {
 protected:
  // A file in a folder of this test; returns its path.
  std::string Write(const std::string& name, const std::string& text) {
    folder_.Write(name, text);
    return (folder_.path() / name).string();
  }

  TemporaryFolder folder_;
};

std::string TraceOnAStar(const std::string& job) { return OnAStar(3, "kind: trace, " + job); }

TEST_F(TracesTest, APingPongTakesTheTimeOfItsParts) {
  const std::string file = Write("a.goal", kPingPong);
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: goal, file: " + file)));
  EXPECT_EQ(run.result.unfinished, 0);
  const CsvTable iterations(run.files.series.at("iterations.csv"));
  ASSERT_EQ(iterations.rows.size(), 1u);
  EXPECT_EQ(iterations.Integer(0, "end_ps"), 6'673'760);
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  EXPECT_EQ(jobs.At(0, "kind"), "trace");
  EXPECT_EQ(jobs.Real(0, "slowdown"), 1);
  EXPECT_EQ(jobs.Integer(0, "messages"), 2);
}

TEST_F(TracesTest, AStartMayBeRequired) {
  std::string text = kPingPong;
  text.replace(text.find("l2 requires"), 11, "l2 irequires");
  const std::string file = Write("a.goal", text);
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: goal, file: " + file)));
  EXPECT_EQ(CsvTable(run.files.series.at("iterations.csv")).Integer(0, "end_ps"), 5'673'760);
}

TEST_F(TracesTest, ATriggeredConnectionStartsWhenTheFirstHasArrived) {
  const std::string file = Write("a.cm",
                                 "Nodes 3\nConnections 2\nTriggers 1\n"
                                 "0->1 id 1 start 0 size 100000 recv_done_trigger 1\n"
                                 "1->2 id 2 trigger 1 size 100000\ntrigger id 1 oneshot\n");
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: htsim_cm, file: " + file)));
  const CsvTable flows(run.files.flows);
  ASSERT_EQ(flows.rows.size(), 2u);
  EXPECT_EQ(flows.Integer(1, "start_ps"), flows.Integer(0, "rx_done_ps"));
  EXPECT_EQ(flows.Integer(0, "rx_done_ps"), 2'083'840 + 100 * 83'840);
}

// --- Triggers at other hosts ---

constexpr int64_t X(int64_t packets) { return 2'083'840 + 83'840 * packets; }
constexpr int64_t kAckBack = 2'009'600;

// By connection, in the order of the file.
std::vector<int64_t> StartsOf(const std::string& yaml) {
  const FinishedRun run = RunExperiment(ExperimentFrom(yaml));
  EXPECT_EQ(run.result.unfinished, 0);
  EXPECT_FALSE(run.result.cut_short);
  EXPECT_GE(CsvTable(run.files.series.at("jobs.csv")).Real(0, "slowdown"), 1);
  const CsvTable flows(run.files.flows);
  std::map<int64_t, int64_t> starts;  // Ids are in the order of senders.
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    starts[flows.Integer(row, "flow_id")] = flows.Integer(row, "start_ps");
  }
  std::vector<int64_t> in_order;
  for (const auto& [id, start] : starts) in_order.push_back(start);
  return in_order;
}

// The news takes the time of the links: 2 us, as a packet of no bytes would.
TEST_F(TracesTest, ATriggerStartsConnectionsOfOtherHostsWhenTheNewsHasTravelled) {
  const std::string file = Write("a.cm",
                                 "Nodes 6\nConnections 4\nTriggers 2\n"
                                 "0->1 start 0 size 10000 recv_done_trigger 1 send_done_trigger 2\n"
                                 "1->5 trigger 1 size 500\n"
                                 "2->3 trigger 1 size 1000\n"
                                 "3->4 trigger 2 size 1000\n"
                                 "trigger id 1 oneshot\ntrigger id 2 oneshot\n");
  const std::string yaml = OnAStar(6, "kind: trace, format: htsim_cm, file: " + file);
  EXPECT_THAT(StartsOf(yaml),
              ElementsAre(0, X(10), X(10) + 2'000'000, X(10) + kAckBack + 2'000'000));
  const std::string sooner =
      OnAStar(6, "kind: trace, format: htsim_cm, release_delay: 300ns, file: " + file);
  EXPECT_THAT(StartsOf(sooner), ElementsAre(0, X(10), X(10) + 300'000, X(10) + kAckBack + 300'000));
}

// Two ranks of one host need no news, whatever it takes.
TEST_F(TracesTest, ATriggerStartsConnectionsOfItsOwnHostAtOnce) {
  const std::string file = Write("a.cm",
                                 "Nodes 4\nConnections 2\nTriggers 1\n"
                                 "0->2 start 0 size 10000 recv_done_trigger 1\n"
                                 "3->1 trigger 1 size 1000\ntrigger id 1 oneshot\n");
  EXPECT_THAT(
      StartsOf(OnAStar(2, "kind: trace, format: htsim_cm, ranks_per_host: 2, file: " + file)),
      ElementsAre(0, X(10)));
}

// A job repeats its connections. The sends that others wait for belong to an iteration.
TEST_F(TracesTest, TriggersActInEachIteration) {
  const std::string file = Write("a.cm",
                                 "Nodes 4\nConnections 2\nTriggers 1\n"
                                 "0->1 start 0 size 10000 send_done_trigger 1\n"
                                 "2->3 trigger 1 size 1000\ntrigger id 1 oneshot\n");
  const int64_t second = X(10) + kAckBack;
  EXPECT_THAT(StartsOf(OnAStar(
                  4, "kind: trace, format: htsim_cm, iterations: 3, warm_up: 1, file: " + file)),
              ElementsAre(0, second + 2'000'000, second, 2 * second + 2'000'000, 2 * second,
                          3 * second + 2'000'000));
}

constexpr const char* kTwoTiers =
    "topology: {kind: leaf_spine, leaves: 4, spines: 2, hosts_per_leaf: 4,\n"
    "  host_link: {rate: 100Gbps, delay: 100ns}, fabric_link: {rate: 100Gbps, delay: 500ns}}\n"
    "transport: {kind: rocev2, cc: dcqcn}\n"
    "lb: letflow\n";

// Hosts 0 to 3 are on one leaf. 200 ns within it, 1200 ns to another one.
TEST_F(TracesTest, TheNewsTakesTheShortestPath) {
  const std::string file = Write("a.cm",
                                 "Nodes 16\nConnections 3\nTriggers 1\n"
                                 "0->1 start 0 size 10000 recv_done_trigger 1\n"
                                 "2->3 trigger 1 size 1000\n"
                                 "9->8 trigger 1 size 1000\n"
                                 "trigger id 1 oneshot\n");
  const FinishedRun run = RunExperiment(
      ExperimentFrom(std::string(kTwoTiers) +
                     "workload: [{kind: trace, format: htsim_cm, file: " + file + "}]\n"));
  const CsvTable flows(run.files.flows);
  const int64_t fired = flows.Integer(flows.Find("src", "0"), "rx_done_ps");
  EXPECT_EQ(flows.Integer(flows.Find("src", "2"), "start_ps"), fired + 200'000);
  EXPECT_EQ(flows.Integer(flows.Find("src", "9"), "start_ps"), fired + 1'200'000);
}

// Sixteen hosts pass on tokens: each message starts one of another host.
std::string Tokens(int rounds) {
  std::string connections;
  std::string triggers;
  int count = 0;
  int trigger = 0;
  for (int token = 0; token < 8; ++token) {
    int src = token;
    for (int round = 0; round < rounds; ++round) {
      const int dst = (5 * src + 3 * token + 1 + (src == 15 - token ? 1 : 0)) % 16;
      const int other = dst == src ? (src + 1) % 16 : dst;
      connections += fmt::format("{}->{} size {} {}", src, other, 4'000 + 700 * token,
                                 round == 0 ? "start 0" : fmt::format("trigger {}", trigger));
      if (round + 1 < rounds) {
        connections +=
            fmt::format(" {}_done_trigger {}", round % 3 == 0 ? "send" : "recv", ++trigger);
        triggers += fmt::format("trigger id {} oneshot\n", trigger);
      }
      connections += "\n";
      ++count;
      src = (other + 7) % 16;
    }
  }
  return fmt::format("Nodes 16\nConnections {}\nTriggers {}\n{}{}", count, trigger, connections,
                     triggers);
}

TEST_F(TracesTest, NeitherThreadsNorWindowsChangeNews) {
  const std::string yaml = fmt::format(
      "{}workload:\n"
      "  - {{kind: trace, format: htsim_cm, file: {}, iterations: 2}}\n"
      "  - {{kind: poisson, sizes: small, load: 0.2, flows: 30}}\n"
      "measure: {{operations: true}}\n",
      kTwoTiers, Write("tokens.cm", Tokens(20)));
  const Experiment experiment = ExperimentFrom(yaml);
  const FinishedRun one = RunExperiment(experiment);
  EXPECT_EQ(one.result.unfinished, 0);
  EXPECT_EQ(CsvTable(one.files.flows).rows.size(), 2u * 160 + 30);
  for (const int threads : ThreadCounts({2, 3, 8})) {
    EXPECT_TRUE(RunExperiment(experiment, threads).files == one.files) << threads;
  }
  SimulationOptions three;
  three.threads = 3;
  EXPECT_TRUE(FingerprintOf(experiment) == FingerprintOf(experiment, three));
  for (const int threads : ThreadCounts({1, 3})) {
    HalvedWindows halved;
    SimulationOptions options;
    options.threads = threads;
    options.instruments = {&halved};
    const FinishedRun other = RunExperiment(experiment, options);
    EXPECT_GT(other.result.windows, one.result.windows);
    EXPECT_TRUE(other.files == one.files) << threads;
    DeliveryTaps taps;
    options.instruments = {&taps};
    EXPECT_TRUE(RunExperiment(experiment, options).files == one.files) << threads << ", taps";
  }
  EXPECT_TRUE(RunExperiment(ExperimentFrom(experiment.Resolved())).files == one.files);
}

// --- Hosts with several links, servers with several hosts ---

// Ranks 0 and 1 are on one host, 2 and 3 on another, each host on two planes. Rank 0 sends to both
// of the other host, rank 1 to rank 3; each message has a port of its own, so a hash would spread
// them.
TEST_F(TracesTest, RanksMayHaveLinksOfTheirOwn) {
  std::string to_both;
  std::string to_one;
  std::string at_two;
  std::string at_three;
  for (int i = 0; i < 8; ++i) {
    to_both += fmt::format("send 10000b to 2 tag {0}\nsend 20000b to 3 tag {0}\n", i);
    to_one += fmt::format("send 30000b to 3 tag {0}\n", i);
    at_two += fmt::format("recv 10000b from 0 tag {0}\n", i);
    at_three += fmt::format("recv 20000b from 0 tag {0}\nrecv 30000b from 1 tag {0}\n", i);
  }
  const std::string file =
      Write("a.goal",
            fmt::format("num_ranks 4\nrank 0 {{\n{}}}\nrank 1 {{\n{}}}\nrank 2 {{\n{}}}\nrank 3 "
                        "{{\n{}}}\n",
                        to_both, to_one, at_two, at_three));
  const auto links_with = [&file](const std::string& nic) {
    return CsvTable(
        RunExperiment(
            ExperimentFrom(
                "topology: {kind: planes, planes: 2, leaves: 2, spines: 2, hosts_per_leaf: 1}\n"
                "transport: {kind: rocev2, framing: ns3_rdma, cc: none}\nlb: ecmp\n"
                "workload: [{kind: trace, format: goal, ranks_per_host: 2, ports: message, nic: " +
                nic + ", file: " + file + "}]\n"))
            .files.links);
  };
  const auto sum = [](const CsvTable& links, const char* host, const char* port,
                      const char* column) {
    for (size_t row = 0; row < links.rows.size(); ++row) {
      if (links.At(row, "node") == host && links.At(row, "port") == port) {
        return links.Integer(row, column);
      }
    }
    return int64_t{-1};
  };
  const CsvTable by_rank = links_with("by_rank");
  EXPECT_EQ(sum(by_rank, "host0", "0", "payload_bytes"), 8 * 30'000);
  EXPECT_EQ(sum(by_rank, "host0", "1", "payload_bytes"), 8 * 30'000);
  // ACKs leave through the receiving rank's link.
  EXPECT_EQ(sum(by_rank, "host1", "0", "pkts"), 8 * 10);
  EXPECT_EQ(sum(by_rank, "host1", "1", "pkts"), 8 * 50);
  const CsvTable hashed = links_with("hash");
  EXPECT_NE(sum(hashed, "host1", "0", "pkts"), 8 * 10);
  EXPECT_EQ(sum(hashed, "host0", "0", "payload_bytes") + sum(hashed, "host0", "1", "payload_bytes"),
            8 * 60'000);
}

// A link's count in links.csv; -1 if there is no such link.
int64_t CountAt(const CsvTable& links, const std::string& host, const std::string& port,
                const std::string& column) {
  for (size_t row = 0; row < links.rows.size(); ++row) {
    if (links.At(row, "node") == host && links.At(row, "port") == port) {
      return links.Integer(row, column);
    }
  }
  return -1;
}

// Two hosts with a NIC in each of two planes. `more`: of the job.
std::string TraceOnTwoPlanes(const std::string& file, const std::string& more = "") {
  return "topology: {kind: planes, planes: 2, leaves: 2, spines: 2, hosts_per_leaf: 1}\n"
         "transport: {kind: rocev2, framing: ns3_rdma, cc: none}\nlb: ecmp\n"
         "workload: [{kind: trace, format: goal, ports: message, file: " +
         file + more + "}]\n";
}

std::string Warnings(const Experiment& experiment) {
  return fmt::format("{}", fmt::join(experiment.warnings, "\n"));
}

// ACKs leave through the receive's NIC.
TEST_F(TracesTest, GoalsNicsAreLinksOfTheHost) {
  const std::string file = Write("a.goal",
                                 "num_ranks 2\nrank 0 {\nsend 10000b to 1\n"
                                 "send 20000b to 1 tag 1 nic 1\nsend 40000b to 1 tag 2 nic 5\n}\n"
                                 "rank 1 {\nrecv 10000b from 0 nic 1\nrecv 20000b from 0 tag 1\n"
                                 "recv 40000b from 0 tag 2 nic 3\n}\n");
  for (const char* nic : {"", ", nic: by_rank"}) {
    const Experiment experiment = ExperimentFrom(TraceOnTwoPlanes(file, nic));
    EXPECT_THAT(Warnings(experiment),
                HasSubstr(file + ":5:1: 0:op2 has nic 5, but the host of rank 0 has 2 links, so "
                                 "this is its link 1: a nic is taken modulo the number of links"));
    EXPECT_EQ(Warnings(experiment).find("nic 3"), std::string::npos) << "one warning for a file";
    EXPECT_EQ(
        Warnings(experiment).find("the trace names the nic of each message") == std::string::npos,
        nic[0] == '\0');
    const FinishedRun run = RunExperiment(experiment);
    EXPECT_EQ(run.result.unfinished, 0);
    const CsvTable links(run.files.links);
    EXPECT_EQ(CountAt(links, "host0", "0", "payload_bytes"), 10'000);
    EXPECT_EQ(CountAt(links, "host0", "1", "payload_bytes"), 60'000);
    EXPECT_EQ(CountAt(links, "host1", "0", "pkts"), 20);
    EXPECT_EQ(CountAt(links, "host1", "1", "pkts"), 50);
  }
}

// The format's default is nic 0, and a trace that never says otherwise lets `nic` decide.
TEST_F(TracesTest, NicsThatAreAllZeroLetTheHashChoose) {
  const auto links_of = [this](const std::string& nic) {
    std::string sends;
    std::string receives;
    for (int i = 0; i < 16; ++i) {
      sends += fmt::format("send 10000b to 1 tag {}{}\n", i, nic);
      receives += fmt::format("recv 10000b from 0 tag {}{}\n", i, nic);
    }
    const std::string file =
        Write("a.goal", "num_ranks 2\nrank 0 {\n" + sends + "}\nrank 1 {\n" + receives + "}\n");
    const Experiment experiment = ExperimentFrom(TraceOnTwoPlanes(file));
    EXPECT_EQ(Warnings(experiment).find("nic"), std::string::npos);
    return RunExperiment(experiment).files.links;
  };
  EXPECT_EQ(links_of(" nic 0"), links_of(""));
  EXPECT_GT(CountAt(CsvTable(links_of("")), "host0", "0", "payload_bytes"), 0);
  EXPECT_GT(CountAt(CsvTable(links_of("")), "host0", "1", "payload_bytes"), 0);
  // All named, and all the same.
  EXPECT_EQ(CountAt(CsvTable(links_of(" nic 1")), "host0", "0", "payload_bytes"), 0);
}

TEST_F(TracesTest, AHostWithOneLinkHasNoOtherNic) {
  const std::string file = Write("a.goal",
                                 "num_ranks 2\nrank 0 {\nl1: send 10000b to 1 nic 1\n}\n"
                                 "rank 1 {\nrecv 10000b from 0 nic 1\n}\n");
  const Experiment experiment = ExperimentFrom(TraceOnAStar("format: goal, file: " + file));
  EXPECT_THAT(Warnings(experiment),
              HasSubstr(":3:1: 0:l1 has nic 1, but the host of rank 0 has 1 link, so this is its "
                        "link 0"));
  EXPECT_EQ(CsvTable(RunExperiment(experiment).files.flows).Integer(0, "rx_done_ps"), X(10));
}

// The link between three hosts of a server: 100 kB take 1 us to leave and to arrive, and 1 us on
// the way. Two messages that arrive together are received one after the other: by the time at which
// they begin to arrive, then by their sender.
TEST_F(TracesTest, ALocalLinkReceivesMessagesInTheOrderOfTheirArrival) {
  const auto ends = [this](const std::string& calc) {
    const std::string file = Write(
        "a.goal", "num_ranks 3\nrank 0 {\nc: calc " + calc +
                      "\ns: send 100000b to 2\ns requires c\n}\nrank 1 {\nsend 50000b to 2\n}\n"
                      "rank 2 {\nrecv 100000b from 0\nrecv 50000b from 1\n}\n");
    const FinishedRun run = RunExperiment(ExperimentFrom(
        OnAStar(3,
                "kind: trace, format: goal, domain_hosts: 3, local_rate: 800Gbps, file: " + file) +
        "measure: {operations: true}\n"));
    EXPECT_EQ(CsvTable(run.files.flows).rows.size(), 0u);
    const CsvTable ops(run.files.series.at("operations.csv"));
    EXPECT_EQ(CsvTable(run.files.series.at("jobs.csv")).Integer(0, "bytes_local"), 150'000);
    return std::vector<int64_t>{ops.Integer(3, "end_ps"), ops.Integer(4, "end_ps")};
  };
  EXPECT_THAT(ends("0"), ElementsAre(2'000'000, 2'500'000));
  EXPECT_THAT(ends("1"), ElementsAre(2'500'000, 1'500'000));
  EXPECT_THAT(ends("700"), ElementsAre(2'700'000, 1'500'000));
}

// --- Windowed all-to-all ---

// In the form of uet-htsim's gen_serialn_alltoall.py, for one group: in round d, a node sends to
// those d, d + rounds, d + 2 rounds, ... behind it, `window` at a time. Each flow that ends fires a
// trigger that starts one of the next round.
std::string WindowedAllToAll(int nodes, int window, int bytes) {
  const int rounds = (nodes - 1) / window;
  const int left = (nodes - 1) % window;
  std::string connections;
  int trigger = 0;
  int id = 0;
  for (int src = 0; src < nodes; ++src) {
    for (int round = 1; round <= rounds + (left > 0 ? 1 : 0); ++round) {
      const bool is_last = round == rounds + (left > 0 ? 1 : 0);
      const int waits_for = trigger;
      if (!is_last) ++trigger;
      for (int i = 0; i < (round > rounds ? left : window); ++i) {
        const int step = round > rounds ? window * rounds + i + 1 : round + i * rounds;
        connections +=
            fmt::format("{}->{} id {} {} size {}", src, (src + step) % nodes, ++id,
                        round == 1 ? "start 0" : fmt::format("trigger {}", waits_for), bytes);
        if (!is_last) connections += fmt::format(" send_done_trigger {}", trigger);
        connections += "\n";
      }
    }
  }
  std::string text =
      fmt::format("Nodes {}\nConnections {}\nTriggers {}\n{}", nodes, id, trigger, connections);
  for (int t = 1; t <= trigger; ++t) text += fmt::format("trigger id {} multishot\n", t);
  return text;
}

// Each end of a flow starts one flow of the same host at the same instant, so that the ends of the
// first eleven are the starts of those behind the first four.
TEST_F(TracesTest, AWindowedAllToAllKeepsItsWindow) {
  const std::string file = Write("a.cm", WindowedAllToAll(16, 4, 20'000));
  const FinishedRun run = RunExperiment(
      ExperimentFrom(std::string(kTwoTiers) +
                     "workload: [{kind: trace, format: htsim_cm, file: " + file + "}]\n"));
  EXPECT_EQ(run.result.unfinished, 0);
  const CsvTable flows(run.files.flows);
  ASSERT_EQ(flows.rows.size(), 16u * 15);
  std::map<std::string, std::multiset<int64_t>> starts;
  std::map<std::string, std::multiset<int64_t>> ends;
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    starts[flows.At(row, "src")].insert(flows.Integer(row, "start_ps"));
    ends[flows.At(row, "src")].insert(flows.Integer(row, "tx_done_ps"));
  }
  for (auto& [host, its] : starts) {
    EXPECT_EQ(its.count(0), 4u) << host;
    its.erase(0);
    ASSERT_EQ(its.size(), 11u) << host;
    for (const int64_t start : its) EXPECT_TRUE(ends[host].contains(start)) << host;
  }
}

TEST_F(TracesTest, FlowsOfAListMayBePlacedElsewhere) {
  const std::string file = Write("flow.txt", "2\n0 1 3 100 5000 2.000001\n1 0 3 100 700 2\n");
  const FinishedRun run = RunExperiment(ExperimentFrom(TraceOnAStar(
      "format: hpcc, placement: list, placement_list: [2, 0], connections: free, file: " + file)));
  const CsvTable flows(run.files.flows);
  ASSERT_EQ(flows.rows.size(), 2u);
  const size_t late = flows.Find("start_ps", "1000000");
  EXPECT_EQ(flows.Integer(late, "src"), 2);
  EXPECT_EQ(flows.Integer(late, "dst"), 0);
  EXPECT_EQ(flows.Integer(late, "size_bytes"), 5'000);
}

// Two ranks compute and then reduce 20 kB round a ring: two steps of ten packets, and an ACK before
// the second one.
TEST_F(TracesTest, AChakraTraceRunsItsCollectives) {
  const std::string node =
      "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 4, \"runtime\": 2, \"data_deps\": []},\n"
      "{\"Id\": 2, \"NodeType\": 7, \"data_deps\": [1], \"comm_type\": 0, \"comm_size\": 20000}]}";
  Write("app.0.json", node);
  Write("app.1.json", node);
  const std::string file = (folder_.path() / "app").string();
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: chakra_json, ranks: 2, file: " + file)));
  EXPECT_EQ(CsvTable(run.files.flows).rows.size(), 4u);
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  const int64_t steps = 2 * (2'083'840 + 10 * 83'840);
  EXPECT_EQ(jobs.Integer(0, "end_ps"), 2'000'000 + steps + 4'800);
  EXPECT_EQ(jobs.Real(0, "compute_us"), 2);
  const CsvTable collectives(run.files.series.at("collectives.csv"));
  ASSERT_EQ(collectives.rows.size(), 1u);
  EXPECT_EQ(collectives.Integer(0, "seq"), 0);
  EXPECT_EQ(collectives.At(0, "group"), "0");
  EXPECT_EQ(collectives.At(0, "op"), "all_reduce");
  EXPECT_EQ(collectives.At(0, "algorithm"), "ring");
  EXPECT_EQ(collectives.Integer(0, "ranks"), 2);
  EXPECT_EQ(collectives.Integer(0, "bytes"), 20'000);
  EXPECT_EQ(collectives.Integer(0, "start_ps"), 2'000'000);
  EXPECT_EQ(collectives.Integer(0, "end_ps"), 2'000'000 + steps + 4'800);
  // The ACKs are not in the ideal time.
  EXPECT_DOUBLE_EQ(collectives.Real(0, "ideal_us"), static_cast<double>(steps) * 1e-6);
  EXPECT_EQ(collectives.Integer(0, "messages"), 4);
  EXPECT_EQ(collectives.Integer(0, "retx"), 0);
}

// One trace as it is and compressed, with its groups in a file.
TEST_F(TracesTest, TracesAndGroupsMayBeCompressed) {
  const std::string node =
      "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 7, \"comm_type\": 0, \"comm_size\": "
      "20000, \"pg_name\": \"tp\"}]}";
  const std::string empty = "{\"workload_graph\": []}";
  const auto times_of = [&](const std::string& name, auto&& pack) {
    for (const char* rank : {"0", "2"}) Write(name + "." + rank + ".json", pack(node));
    Write(name + ".1.json", pack(empty));
    const std::string groups = Write(name + ".groups", pack("{\"tp\": [2, 0]}"));
    const std::string file = (folder_.path() / name).string();
    return RunExperiment(
               ExperimentFrom(TraceOnAStar(fmt::format(
                   "format: chakra_json, ranks: 3, file: {}, comm_groups: {}", file, groups))))
        .files.series.at("collectives.csv");
  };
  const std::string plain = times_of("plain", [](const std::string& text) { return text; });
  EXPECT_EQ(CsvTable(plain).At(0, "group"), "tp");
  EXPECT_EQ(times_of("packed", Gzipped), plain);
  const std::string file = Write("cut.goal", Gzipped(kPingPong).substr(0, 30));
  EXPECT_THAT(ErrorsOf(TraceOnAStar("format: goal, file: " + file)),
              HasSubstr(file + " is compressed by gzip, and cut off"));
  const std::string goal = Write("a.goal", Gzipped(kPingPong));
  EXPECT_EQ(ErrorsOf(TraceOnAStar("format: goal, file: " + goal)), "");
}

TEST_F(TracesTest, AlgorithmsPerformTheCollectivesOfATrace) {
  const std::string node =
      "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 7, \"comm_type\": 0, \"comm_size\": "
      "20000, \"comm_priority\": 3}]}";
  for (int rank = 0; rank < 2; ++rank) Write(fmt::format("app.{}.json", rank), node);
  const std::string file = (folder_.path() / "app").string();
  const Experiment experiment = ExperimentFrom(
      TraceOnAStar("format: chakra_json, ranks: 2, algorithms: {all_reduce: recursive_doubling}, "
                   "file: " +
                   file));
  EXPECT_THAT(experiment.warnings,
              testing::Contains(HasSubstr("ignored: attributes comm_priority")));
  const CsvTable collectives(RunExperiment(experiment).files.series.at("collectives.csv"));
  EXPECT_EQ(collectives.At(0, "algorithm"), "recursive_doubling");
  EXPECT_EQ(collectives.Integer(0, "end_ps"), 2'083'840 + 20 * 83'840);
}

// A tenth of the bytes and of the computations: one packet there, and one of 200 B back.
TEST_F(TracesTest, ATraceMayBeScaled) {
  const std::string file = Write("a.goal", kPingPong);
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: goal, scale: 1/10, file: " + file)));
  const CsvTable flows(run.files.flows);
  EXPECT_EQ(flows.Integer(0, "size_bytes"), 1'000);
  EXPECT_EQ(flows.Integer(1, "size_bytes"), 200);
  const int64_t there = 2'083'840 + 83'840;
  const int64_t back = 2'000'000 + 2 * (200 + 48) * 80;
  EXPECT_EQ(CsvTable(run.files.series.at("iterations.csv")).Integer(0, "end_ps"),
            100'000 + there + 50'000 + back);
}

// The graph is made once, when the file is read; all jobs that are made of it share its schedule.
TEST_F(TracesTest, JobsShareTheScheduleOfATrace) {
  const std::string file = Write("a.goal", kPingPong);
  const auto jobs = [](const std::string& yaml) {
    const Experiment experiment = ExperimentFrom(yaml);
    const Workload& workload = *experiment.settings.workload[0].settings;
    std::vector<std::unique_ptr<Job>> made;
    for (uint32_t number : {1, 2}) made.push_back(workload.MakeJob(number));
    return &made[0]->schedule() == &made[1]->schedule();
  };
  EXPECT_TRUE(jobs(TraceOnAStar("format: goal, file: " + file)));
  EXPECT_TRUE(jobs(OnAStar(3, "kind: training, ranks: 3, model: {layers: 3}")));
  EXPECT_TRUE(jobs(OnAStar(3, "kind: collective, op: all_reduce, size: 3KB, ranks: 3")));
  // Its order depends on the job's number.
  EXPECT_FALSE(
      jobs(OnAStar(3, "kind: collective, op: all_to_all, size: 3KB, ranks: 3, peers: random")));
}

// Each rank has a file of its own.
TEST_F(TracesTest, MistakesOfAChakraTraceNameFileAndNode) {
  const auto errors = [this](const std::string& zero, const std::string& one) {
    const std::string begin = "{\"workload_graph\": [\n";
    Write("app.0.json", begin + zero + "\n]}");
    Write("app.1.json", begin + one + "\n]}");
    return ErrorsOf(
        TraceOnAStar("format: chakra_json, ranks: 2, file: " + (folder_.path() / "app").string()));
  };
  const std::string sum =
      "{\"Id\": 7, \"Name\": \"sum\", \"NodeType\": 7, \"comm_type\": 0, \"comm_size\": 20}";
  EXPECT_THAT(errors("", sum),
              HasSubstr("app.1.json:2:1: all_reduce 1 of group 0 needs an operation of each of its "
                        "2 ranks; rank 0 has none, unlike node 7 of rank 1"));
  const std::string send = "{\"Id\": 3, \"NodeType\": 5, \"comm_dst\": 1, \"comm_size\": 20}";
  EXPECT_THAT(errors(send, "{\"Id\": 4, \"NodeType\": 6, \"comm_src\": 0, \"comm_size\": 30}"),
              HasSubstr("app.0.json:2:1: send node 3 of rank 0 has 20 bytes, recv node 4 of rank 1 "
                        "30"));
  EXPECT_THAT(errors("",
                     "{\"Id\": 1, \"NodeType\": 4, \"data_deps\": [2]},\n"
                     "{\"Id\": 2, \"NodeType\": 4, \"data_deps\": [1]}"),
              HasSubstr("app.1.json:2:1: operations wait for each other: node 1 of rank 1 -> node "
                        "2 of rank 1 -> node 1 of rank 1"));
  EXPECT_THAT(errors("", "{\"Id\": 5, \"Name\": \"load\", \"NodeType\": 2}"),
              HasSubstr("app.1.json:2:1: node 5 (load): accesses memory"));
}

TEST_F(TracesTest, MistakesOfJsonAreThoseOfJson) {
  const std::string file = (folder_.path() / "app").string();
  const auto errors = [&](const std::string& text, const std::string& groups) {
    for (const char* rank : {"0", "1"}) Write(std::string("app.") + rank + ".json", text);
    return ErrorsOf(
        TraceOnAStar(fmt::format("format: chakra_json, ranks: 2, file: {}, "
                                 "comm_groups: {}",
                                 file, Write("groups.json", groups))));
  };
  EXPECT_THAT(errors("{\"workload_graph\": [\n{\"Id\": 1,}]}", "{}"),
              HasSubstr(file + ".0.json:2:10: not valid JSON: syntax error"));
  EXPECT_THAT(errors("{\"workload_graph\": []}", "{\"a\": [0 1]}"),
              HasSubstr("groups.json:1:10: not valid JSON: syntax error"));
  EXPECT_EQ(errors("{\"workload_graph\": []}", "{\"a\": [0 1]}").find("YAML"), std::string::npos);
}

// A trace of 20,000 nodes has more values than settings may have.
TEST_F(TracesTest, ATraceInJsonMayBeLarge) {
  std::string nodes;
  for (int i = 0; i < 20'000; ++i) {
    nodes += fmt::format("{}{{\"Id\": {}, \"NodeType\": 4, \"runtime\": 1,\t\"data_deps\": [{}]}}",
                         i == 0 ? "" : ",\n\t", i, i == 0 ? "" : fmt::to_string(i - 1));
  }
  for (const char* rank : {"0", "1"}) {
    Write(std::string("app.") + rank + ".json", "{\"workload_graph\": [" + nodes + "]}");
  }
  const FinishedRun run = RunExperiment(ExperimentFrom(
      TraceOnAStar("format: chakra_json, ranks: 2, file: " + (folder_.path() / "app").string())));
  EXPECT_EQ(CsvTable(run.files.series.at("iterations.csv")).Integer(0, "end_ps"),
            int64_t{20'000} * 1'000'000);
}

TEST_F(TracesTest, RefusesSettingsOfOtherFormats) {
  const std::string goal = Write("a.goal", kPingPong);
  const auto errors = [&](const std::string& setting) {
    return ErrorsOf(TraceOnAStar("format: goal, " + setting + ", file: " + goal));
  };
  for (const char* setting : {"memory: ignore", "ctrl_deps: true", "streams: free",
                              "comm_groups: groups.json", "algorithms: {all_reduce: tree}"}) {
    const std::string name(setting, std::string_view(setting).find(':'));
    EXPECT_THAT(errors(setting), HasSubstr(name + ": has no effect on format: goal; it goes with "
                                                  "chakra and chakra_json"));
  }
  for (const char* setting : {"cm_time: us", "cross_host: refuse"}) {
    EXPECT_THAT(errors(setting), HasSubstr("it goes with htsim_cm"));
  }
  EXPECT_THAT(errors("t0: 2s"), HasSubstr("t0: has no effect on format: goal; it goes with hpcc"));
  EXPECT_EQ(errors("goal: {o: 1ns}, memory: refuse, streams: astra"), "");
  const std::string matrix =
      Write("a.cm", "Nodes 3\nConnections 1\n0->1 id 1 start 0 size 100000\n");
  EXPECT_THAT(ErrorsOf(TraceOnAStar("format: htsim_cm, goal: {S: 1KB}, file: " + matrix)),
              HasSubstr("goal: has no effect on format: htsim_cm; it goes with goal and "
                        "goal_binary"));
}

TEST_F(TracesTest, RefusesWhatItCannotRun) {
  const std::string file = Write("a.goal", "num_ranks 2\nrank 0 {\ncalc 1x\n}\nrank 1 {\n}\n");
  EXPECT_THAT(ErrorsOf(TraceOnAStar("format: goal, file: " + file)),
              HasSubstr(file + ":3:1: expected the end of the line, found \"x\""));
  EXPECT_THAT(ErrorsOf(TraceOnAStar("format: goal, file: missing.goal")),
              HasSubstr("missing.goal"));
  const std::string good = Write("b.goal", kPingPong);
  EXPECT_THAT(ErrorsOf(TraceOnAStar("format: goal, ranks: 3, file: " + good)),
              HasSubstr("ranks: is 3; " + good + " has 2"));
}

// --- Ranks that wait for ever ---

// Each rank waits for a message of any rank before it sends its own.
TEST_F(TracesTest, ADeadlockIsReportedWithItsCycle) {
  std::string text = "num_ranks 3\n";
  for (int rank = 0; rank < 3; ++rank) {
    text += fmt::format("rank {} {{\nr: recv 10b from -1\ns: send 10b to {}\ns requires r\n}}\n",
                        rank, (rank + 1) % 3);
  }
  const std::string file = Write("a.goal", text);
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: goal, file: " + file)));
  EXPECT_TRUE(run.result.cut_short);  // The exit code is 1.
  ASSERT_EQ(run.result.notes.warnings.size(), 1u);
  EXPECT_EQ(run.result.notes.warnings.front(),
            "job 1: 3 of 3 ranks have not finished; 6 of their operations are unfinished: 0:r "
            "waits for a message from any rank with tag 0; 0:s waits for 0:r; 1:r waits for a "
            "message from any rank with tag 0; 1:s waits for 1:r; 2:r waits for a message from any "
            "rank with tag 0; 2:s waits for 2:r; operations wait for each other: 0:r -> 2:s -> 2:r "
            "-> 1:s -> 1:r -> 0:s -> 0:r");
}

// A message that nobody sends is no cycle.
TEST_F(TracesTest, AReceiveThatGetsNothingIsNamed) {
  const std::string file =
      Write("a.goal", "num_ranks 2\nrank 0 {\nrecv 10b from -1 tag 4\n}\nrank 1 {\ncalc 5\n}\n");
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: goal, file: " + file)));
  EXPECT_EQ(run.result.notes.warnings.front(),
            "job 1: 1 of 2 ranks have not finished; 1 of their operations are unfinished: 0:op0 "
            "waits for a message from any rank with tag 4");
}

// --- operations.csv ---

TEST_F(TracesTest, OperationsHaveTheirTimes) {
  const std::string file = Write("a.goal", kPingPong);
  const FinishedRun run = RunExperiment(ExperimentFrom(TraceOnAStar("format: goal, file: " + file) +
                                                       "measure: {operations: true}\n"));
  const CsvTable ops(run.files.series.at("operations.csv"));
  ASSERT_EQ(ops.rows.size(), 6u);
  EXPECT_EQ(ops.At(0, "kind"), "compute");
  EXPECT_EQ(ops.At(0, "peer"), "");
  EXPECT_EQ(ops.Integer(0, "end_ps"), 1'000'000);
  EXPECT_EQ(ops.At(1, "label"), "l2");
  EXPECT_EQ(ops.Integer(1, "ready_ps"), 1'000'000);
  EXPECT_EQ(ops.Integer(1, "start_ps"), 1'000'000);
  EXPECT_EQ(ops.Integer(1, "bytes"), 10'000);
  EXPECT_EQ(ops.Integer(1, "tag"), 7);
  EXPECT_EQ(ops.Integer(1, "flow_id"), 0);
  EXPECT_EQ(ops.Integer(2, "posted_ps"), 0);
  EXPECT_EQ(ops.Integer(2, "end_ps"), 6'673'760);
  EXPECT_EQ(ops.At(2, "flow_id"), "");
  EXPECT_EQ(ops.Integer(3, "rank"), 1);
  EXPECT_EQ(ops.Integer(3, "end_ps"), 3'922'240);
  EXPECT_EQ(ops.Integer(5, "start_ps"), 4'422'240);
}

// --- Beside other traffic ---

// Each rank computes, sends to the next one, and waits for its own message; ten times.
std::string RingOf(int ranks) {
  std::string text = fmt::format("num_ranks {}\n", ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    text += fmt::format("rank {} {{\n", rank);
    for (int i = 0; i < 10; ++i) {
      text += fmt::format(
          "c{}: calc {}\ns{}: send 30000b to {} tag {}\nr{}: recv 30000b from {} tag "
          "{}\ns{} requires c{}\n",
          i, 500 + 100 * rank, i, (rank + 1) % ranks, i, i, (rank + ranks - 1) % ranks, i, i, i);
      if (i > 0) text += fmt::format("c{} requires r{}\n", i, i - 1);
    }
    text += "}\n";
  }
  return text;
}

TEST_F(TracesTest, ThreadsDoNotChangeResults) {
  const std::string yaml = fmt::format(
      "{}workload:\n"
      "  - {{kind: trace, format: goal, file: {}, placement: random, iterations: 2, warm_up: 1,\n"
      "     goal: {{o: 200ns, O: 1ps, g: 5ns}}}}\n"
      "  - {{kind: poisson, sizes: small, load: 0.2, flows: 30}}\n"
      "measure: {{operations: true}}\n",
      kTwoTiers, Write("ring.goal", RingOf(16)));
  const Experiment experiment = ExperimentFrom(yaml);
  const FinishedRun one = RunExperiment(experiment);
  EXPECT_EQ(one.result.unfinished, 0);
  EXPECT_EQ(CsvTable(one.files.flows).rows.size(), 2u * 160 + 30);
  EXPECT_GE(CsvTable(one.files.series.at("jobs.csv")).Real(0, "slowdown"), 1);
  for (const int threads : ThreadCounts({2, 3})) {
    EXPECT_TRUE(RunExperiment(experiment, threads).files == one.files) << threads;
  }
}

}  // namespace heddle::traces_test
