// SPDX-License-Identifier: Apache-2.0
// Whole experiments drawn at random, on networks of all kinds. A simulation checks on its own that
// no packet is lost track of and that no flow is faster than it can be.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/experiment_kit.h"

namespace heddle {
namespace {

class Drawer {
 public:
  explicit Drawer(uint64_t seed) : rng_(Rng::Stream(seed, "test", 0)) {}

  std::string Experiment() {
    std::string yaml = fmt::format("seed: {}\ntopology:\n", rng_.Below(1'000'000));
    switch (rng_.Below(4)) {
      case 0:
        yaml += FatTree();
        break;
      case 1:
        yaml += Custom();
        break;
      default:
        yaml += LeafSpine();
    }
    const std::string queues = Queues();
    yaml += fmt::format("  port: {{buffer: {}{}}}\n",
                        queues.empty() ? Pick({"auto", "8pkts", "30KB", "unlimited", "1MB"})
                                       : Pick({"auto", "1MB", "unlimited"}),
                        queues);
    yaml += "transport: " + (rng_.Below(3) == 0 ? Roce() : Tcp());
    yaml += "lb: " + Pick({"ecmp", "rps", "presto", "{kind: letflow, gap: 20us}"}) + "\n";
    yaml += fmt::format(
        "workload:\n  - {{kind: poisson, sizes: {}, max_size: 300KB, load: 0.{}, flows: {}, pairs: "
        "{}, overload: true}}\n",
        Pick({"small", "websearch", "fixed:3KB", "hadoop", "solar"}), 1 + rng_.Below(8),
        20 + rng_.Below(80), Pick({"any", "inter_rack", "client_server", "permutation"}));
    if (rng_.Below(2) == 0) {
      yaml += fmt::format(
          "  - {{kind: incast, fan_in: {}, bytes_each: {}B, queries: 3, period: 100us}}\n",
          1 + rng_.Below(3), 1 + rng_.Below(60'000));
    }
    if (rng_.Below(2) == 0) {
      yaml += fmt::format("  - {{kind: permutation, size: {}B, start: 50us}}\n",
                          1 + rng_.Below(100'000));
    }
    return yaml + "measure: {warm_up: 0ps, t_max: 30s}\n" + Background() + Losses();
  }

 private:
  // Pins are left out: not every network has paths to choose. What may overload links ends, so that
  // flows can.
  std::string Background() {
    if (rng_.Below(2) == 0) return "";
    return fmt::format(
        "background:\n  - {{hosts: 0.{}, load: 0.{}, overload: true, pattern: {}, payload: {}, "
        "stop: {}}}\n  - {{from: [0], to: [1, 2], rate: {}, jitter: {}, start: 20us}}\n",
        1 + rng_.Below(9), 1 + rng_.Below(3), Pick({"cbr", "poisson", "onoff"}),
        Pick({"auto", "12B", "400B", "8KB"}), Pick({"100us", "1ms", "3ms"}),
        Pick({"100Mbps", "1Gbps"}), Pick({"0", "0.1"}));
  }

  std::string Losses() {
    if (rng_.Below(3) != 0) return "";
    return fmt::format(
        "schedule:\n  - {{at: {}, random_links: 1, loss: 0.0{}}}\n"
        "  - {{at: 20us, random_links: 1, loss: {}}}\n  - {{at: 1ms, random_links: 1, loss: 0}}\n",
        Pick({"0ps", "50us"}), 1 + rng_.Below(5), Pick({"0.002", "0.1"}));
  }

  std::string LeafSpine() {
    const std::string yaml = fmt::format(
        "  kind: leaf_spine\n  leaves: {}\n  spines: {}\n  hosts_per_leaf: {}\n"
        "  links_per_pair: {}\n  host_link: {}\n  fabric_link: {}\n",
        2 + rng_.Below(3), 1 + rng_.Below(4), 2 + rng_.Below(4), 1 + rng_.Below(2), HostLink(),
        FabricLink());
    return yaml + Asymmetry({"random_spines", "random_links"});
  }

  std::string FatTree() {
    const std::string yaml = fmt::format(
        "  kind: fat_tree\n  k: {}\n  hosts_per_edge: {}\n  core_links_per_agg: {}\n"
        "  host_link: {}\n  edge_link: {}\n  core_link: {}\n",
        2 + 2 * rng_.Below(2), 2 + rng_.Below(2), 1 + rng_.Below(3), HostLink(), FabricLink(),
        FabricLink());
    return yaml + Asymmetry({"random_cores", "random_links"});
  }

  // A tree of switches with some links more, and hosts on at least two of them.
  std::string Custom() {
    const uint32_t switches = 2 + rng_.Below(7);
    const uint32_t hosts = 4 + rng_.Below(9);
    std::string names = "{name: s0}";
    std::string links = "{a: host0, b: s0}, {a: host1, b: s1}";
    for (uint32_t h = 2; h < hosts; ++h) {
      links += fmt::format(", {{a: host{}, b: s{}}}", h, rng_.Below(switches));
      if (rng_.Below(4) == 0)
        links += fmt::format(", {{a: s{}, b: host{}}}", rng_.Below(switches), h);
    }
    const auto connect = [&](uint32_t a, uint32_t b) {
      links += fmt::format(", {{a: s{}, b: s{}, rate: {}, delay: {}}}", a, b,
                           Pick({"10Gbps", "40Gbps"}), Pick({"1us", "500ns", "3us"}));
    };
    for (uint32_t s = 1; s < switches; ++s) {
      names += fmt::format(", {{name: s{}}}", s);
      connect(s, rng_.Below(s));
    }
    for (uint32_t more = rng_.Below(7); more > 0; --more) {
      const uint32_t b = 1 + rng_.Below(switches - 1);
      connect(rng_.Below(b), b);
    }
    return fmt::format("  kind: custom\n  hosts: {}\n  switches: [{}]\n  links: [{}]\n  link: {}\n",
                       hosts, names, links, HostLink());
  }

  std::string HostLink() {
    return fmt::format("{{rate: {}, delay: {}}}", Pick({"10Gbps", "25Gbps", "100Gbps", "7Gbps"}),
                       Pick({"1us", "25ns", "300ns"}));
  }
  std::string FabricLink() {
    return fmt::format("{{rate: {}, delay: {}}}", Pick({"10Gbps", "40Gbps", "100Gbps"}),
                       Pick({"1us", "500ns", "3us"}));
  }
  std::string Asymmetry(std::initializer_list<const char*> which) {
    if (rng_.Below(2) == 0) return "";
    return fmt::format("  asymmetry: [{{{}: 1, rate: {}, direction: {}}}]\n", Pick(which),
                       Pick({"4Gbps", "20Gbps"}), Pick({"both", "up", "down"}));
  }

  std::string Tcp() {
    return fmt::format(
        "{{kind: {}, recovery: {}, iw: {}, dupthresh: {}, min_rto: {}, delack_count: "
        "{}, "
        "setup: {}, framing: {}, mtu: {}, limited_transmit: {}, control_priority: {}}}\n",
        Pick({"dctcp", "tcp"}), Pick({"sack", "newreno"}), 1 + rng_.Below(16),
        Pick({"3", "1", "10", "inf"}), Pick({"500us", "1ms", "5ms"}), 1 + rng_.Below(3),
        Pick({"none", "handshake", "persistent"}), Pick({"eth", "ip1500"}),
        Pick({"1500", "9000", "512"}), Pick({"true", "false"}), Pick({"data", "data", "0"}));
  }

  std::string Roce() {
    return fmt::format(
        "{{kind: rocev2, framing: {}, recovery: {}, ack_interval: {}, rto: {}, nack: {}, window: "
        "{}, cc: {}}}\n",
        Pick({"rocev2", "ns3_rdma", "ip1500"}), Pick({"gbn", "irn"}), 1 + rng_.Below(4),
        Pick({"200us", "1ms"}), Pick({"per_gap", "timer"}), Pick({"none", "bdp", "bdp_var"}),
        Pick({"none", "dcqcn", "{kind: dcqcn, rp: nic}", "swift", "hpcc"}));
  }

  // Two thirds have PFC for the class of RoCE's data, which TCP may use as well.
  std::string Memory() {
    return fmt::format(", memory: {{model: {}, size: {}}}, pfc: {{classes: [{}], response: {}}}",
                       Pick({"static", "dt", "hpcc_mmu", "broadcom_mmu"}), Pick({"9MB", "20MB"}),
                       Pick({"3", "3", ""}), Pick({"0ps", "500ns"}));
  }

  std::string Queues() {
    if (rng_.Below(2) == 0) return "";
    if (rng_.Below(2) == 0) return Memory();
    return fmt::format(", marking: {}, mark_at: {}, scheduler: {}", Pick({"auto", "red", "step"}),
                       Pick({"auto", "enqueue", "dequeue", "departure"}),
                       Pick({"strict0_rr", "dwrr"}));
  }

  std::string Pick(std::initializer_list<const char*> words) {
    return words.begin()[rng_.Below(static_cast<uint32_t>(words.size()))];
  }

  Rng rng_;
};

// `repeats`: RoCE may ask for the same packet twice.
void CheckInvariants(const Experiment& experiment, const FinishedRun& run, bool repeats) {
  const SimulationResult& result = run.result;
  const std::string& lb = experiment.settings.lb.kind;
  EXPECT_FALSE(result.reached_t_max);
  EXPECT_EQ(result.unfinished, 0);
  EXPECT_EQ(result.flows_finished, result.flows_started);
  EXPECT_EQ(result.measured, result.flows_started);
  EXPECT_EQ(result.payload_finished, result.payload_started);
  double expected = 0;
  for (const Forecast& forecast : experiment.forecasts) expected += forecast.flows;
  EXPECT_EQ(static_cast<double>(result.flows_started), expected);
  const PacketCounts& packets = result.packets;
  EXPECT_EQ(packets.sent(),
            packets.received + packets.consumed + packets.dropped_total() + packets.in_flight);

  const CsvTable flows(run.files.flows);
  ASSERT_EQ(static_cast<int64_t>(flows.rows.size()), result.flows_started);
  int64_t sent = 0;
  int64_t resent = 0;
  int64_t bytes = 0;
  const bool single_path = lb == "ecmp";
  for (size_t f = 0; f < flows.rows.size(); ++f) {
    ASSERT_EQ(flows.At(f, "finished"), "1");
    sent += flows.Integer(f, "pkts_sent");
    resent += flows.Integer(f, "retx");
    bytes += flows.Integer(f, "size_bytes");
    EXPECT_EQ(flows.Integer(f, "pkts_sent"), flows.Integer(f, "pkts") + flows.Integer(f, "retx"));
    EXPECT_EQ(flows.Integer(f, "retx"),
              flows.Integer(f, "retx_spurious") + flows.Integer(f, "retx_loss"));
    EXPECT_LE(flows.Integer(f, "rx_done_ps"), flows.Integer(f, "tx_done_ps"));
    EXPECT_GE(flows.Integer(f, "fast_retx"), flows.Integer(f, "dupack3_reorder"));
    if (single_path) {
      EXPECT_GE(flows.Real(f, "slowdown"), 1);  // M2.
      EXPECT_EQ(flows.Integer(f, "reordered_net"), 0);
      // After a timeout, or a NACK that repeats, there may be copies that were not needed.
      if (flows.Integer(f, "rto") == 0 && !repeats) {
        EXPECT_EQ(flows.Integer(f, "dupack3_reorder"), 0);
      }
      EXPECT_LE(flows.Integer(f, "paths_used"), 1);
    }
  }
  EXPECT_EQ(bytes, result.payload_started);
  EXPECT_LE(sent, packets.data_sent);  // A handshake may count as data.
  // Copies that arrive after both ends have forgotten the flow are not received.
  const int64_t received = CsvTable(run.files.reorder).Integer(0, "n_pkts");
  EXPECT_LE(received, sent);
  if (packets.dropped_total() == 0) {
    EXPECT_GE(received, sent - resent);
  }
}

// Without a background there is no udp.csv, nor a datagram.
void CheckBackground(const FinishedRun& run) {
  const CsvTable udp(run.files.udp.empty() ? "source\n" : run.files.udp);
  int64_t sent = 0;
  int64_t received = 0;
  for (size_t s = 0; s < udp.rows.size(); ++s) {
    sent += udp.Integer(s, "pkts_sent");
    received += udp.Integer(s, "pkts_received");
    EXPECT_LE(udp.Integer(s, "pkts_received") + udp.Integer(s, "pkts_lost"),
              udp.Integer(s, "pkts_sent"));
  }
  EXPECT_EQ(sent, run.result.packets.datagrams_sent);
  EXPECT_EQ(received, run.result.packets.datagrams_received);
  EXPECT_LE(run.result.load.background_carried, run.result.load.background_offered);
}

TEST(RandomExperimentTest, KeepsEveryInvariantWithAnyNumberOfThreads) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const std::string yaml = Drawer(seed).Experiment();
    SCOPED_TRACE(fmt::format("seed {}:\n{}", seed, yaml));
    const Experiment experiment = ExperimentFrom(yaml);
    const FinishedRun run = RunExperiment(experiment, 1);
    CheckInvariants(experiment, run, yaml.find("nack: timer") != std::string::npos);
    CheckBackground(run);
    EXPECT_EQ(run.files, RunExperiment(experiment, 2).files);
    // Ports of another kind do the same work.
    EXPECT_EQ(run.files, RunExperiment(experiment, 1, NetworkPlan::Ports::kQueued).files);
    EXPECT_EQ(run.files, RunExperiment(experiment, 2, NetworkPlan::Ports::kEager).files);
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace heddle
