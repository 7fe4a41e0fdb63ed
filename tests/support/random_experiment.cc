// SPDX-License-Identifier: Apache-2.0

#include "tests/support/random_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/background.h"
#include "lb/parts/load_balancer.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/random_settings.h"
#include "topo/port_rule.h"
#include "transport/transports.h"

namespace heddle {
namespace {

// The path of a file of this repository.
std::string Data(std::string_view file) { return fmt::format("{}/{}", HEDDLE_SOURCE_DIR, file); }

// Draws experiments that are sound. In the order of their calls, the functions draw from one
// stream.
class TameDrawer {
 public:
  explicit TameDrawer(uint64_t seed) : rng_(Rng::Stream(seed, "test", 0)) {}

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
    // Hosts with two links may make all switches of a custom network one rack.
    const std::string pairs = yaml.find("kind: custom") == std::string::npos
                                  ? Pick({"any", "inter_rack", "client_server", "permutation"})
                                  : Pick({"any", "permutation"});
    yaml += fmt::format(
        "workload:\n  - {{kind: poisson, sizes: {}, max_size: 300KB, load: 0.{}, flows: {}, pairs: "
        "{}, overload: true}}\n",
        Pick({"small", "websearch", "fixed:3KB", "hadoop", "solar"}), 1 + rng_.Below(8),
        20 + rng_.Below(80), pairs);
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
        Pick({"rocev2", "ns3_rdma", "ip1500"}), Pick({"gbn", "irn", "sr"}), 1 + rng_.Below(4),
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

// Draws any kind and value of nearly every setting. Names of links and switches are those of the
// network that it has drawn.
class WildDrawer {
 public:
  WildDrawer(uint64_t seed, double share)
      : rng_(Rng::Stream(seed, "wild", 0)), rule_{.share = share} {}

  std::string Experiment() {
    const uint32_t seed = rng_.Below(1'000'000);
    const std::string topology = Topology();
    network_ = ExperimentFrom("topology: {" + topology +
                              "}\nlb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n")
                   .graph;
    std::string yaml = fmt::format("seed: {}\ntopology: {{{}{}}}\n", seed, topology, Port());
    yaml += "transport: " + Transport() + "\n";
    yaml += "lb: " + DrawKind(LoadBalancers(), AnyOf(LoadBalancers().Names()), rule_, rng_) + "\n";
    if (Happens(0.2)) yaml += "ack_path: " + Pick({"policy", "ecmp", "symmetric", "spray"}) + "\n";
    yaml += "workload:\n" + Lines(1 + rng_.Below(3), &WildDrawer::Workload);
    if (Happens(0.3)) yaml += "background:\n" + Lines(1 + rng_.Below(2), &WildDrawer::Background);
    if (Happens(0.5)) yaml += "schedule:\n" + Lines(1 + rng_.Below(5), &WildDrawer::Change);
    if (Happens(0.3)) {
      yaml += fmt::format("routing: {{convergence: {}, detect: {}, hold_up: {}}}\n",
                          Pick({"0ps", "3us", "50us", "1ms"}), Pick({"convergence", "0ps", "2us"}),
                          Pick({"0ps", "0ps", "30us"}));
    }
    return yaml + "measure: {" + Measure() + "}\n";
  }

 private:
  // --- The network ---

  std::string Topology() {
    switch (rng_.Below(5)) {
      case 0:
        return fmt::format(
            "kind: leaf_spine, leaves: {}, spines: {}, hosts_per_leaf: {}, links_per_pair: {}, "
            "host_link: {}, fabric_link: {}{}",
            2 + rng_.Below(3), 1 + rng_.Below(4), 1 + rng_.Below(4), Happens(0.2) ? 2 : 1,
            HostLink(), FabricLink(), Asymmetry({"random_spines", "random_links"}));
      case 1:
        return fmt::format("kind: fat_tree, k: {}, host_link: {}, edge_link: {}, core_link: {}{}{}",
                           Happens(0.8) ? 4 : 2, HostLink(), FabricLink(), FabricLink(),
                           Happens(0.3) ? ", core_links_per_agg: 1" : "",
                           Asymmetry({"random_cores", "random_links"}));
      case 2:
        return fmt::format(
            "kind: rail, pods: {}, servers: {}, rails: {}, spines: {}, host_link: {}, "
            "fabric_link: {}",
            1 + rng_.Below(2), 1 + rng_.Below(3), 2 + rng_.Below(3), 1 + rng_.Below(3), HostLink(),
            FabricLink());
      case 3:
        return fmt::format(
            "kind: planes, planes: {}, leaves: {}, spines: {}, hosts_per_leaf: {}, host_link: {}, "
            "fabric_link: {}",
            2 + rng_.Below(2), 1 + rng_.Below(3), 1 + rng_.Below(3), 2 + rng_.Below(2), HostLink(),
            FabricLink());
      default:
        return Custom();
    }
  }

  // Switches on a line with some links more, and hosts with one or two links.
  std::string Custom() {
    const uint32_t switches = 1 + rng_.Below(7);
    const uint32_t hosts = 2 + rng_.Below(10);
    std::string names;
    std::string links;
    const auto link = [&](const std::string& a, const std::string& b, const std::string& channel) {
      links += fmt::format("{}{{a: {}, b: {}{}}}", links.empty() ? "" : ", ", a, b, channel);
    };
    const auto fabric = [&](uint32_t a, uint32_t b) {
      link(fmt::format("s{}", a), fmt::format("s{}", b),
           fmt::format(", rate: {}, delay: {}", Pick({"10Gbps", "25Gbps", "40Gbps"}),
                       Pick({"1us", "500ns", "3us"})));
    };
    for (uint32_t s = 0; s < switches; ++s) {
      names += fmt::format("{}{{name: s{}}}", s == 0 ? "" : ", ", s);
      if (s > 0) fabric(rng_.Below(s), s);
    }
    for (uint32_t more = switches > 1 ? rng_.Below(8) : 0; more > 0; --more) {
      const uint32_t b = 1 + rng_.Below(switches - 1);
      fabric(rng_.Below(b), b);
    }
    const bool may_have_two = Happens(0.3);
    for (uint32_t h = 0; h < hosts; ++h) {
      for (uint32_t n = may_have_two && Happens(0.5) ? 2 : 1; n > 0; --n) {
        link(fmt::format("host{}", h), fmt::format("s{}", rng_.Below(switches)), "");
      }
    }
    return fmt::format("kind: custom, hosts: {}, switches: [{}], links: [{}], link: {}", hosts,
                       names, links, HostLink());
  }

  std::string HostLink() {
    return fmt::format("{{rate: {}, delay: {}}}",
                       Pick({"10Gbps", "25Gbps", "100Gbps", "400Gbps", "7Gbps", "1Gbps"}),
                       Pick({"1us", "25ns", "300ns", "7us"}));
  }
  std::string FabricLink() {
    return fmt::format("{{rate: {}, delay: {}}}", Pick({"10Gbps", "40Gbps", "100Gbps", "3Gbps"}),
                       Pick({"1us", "500ns", "3us", "20us"}));
  }
  std::string Asymmetry(std::initializer_list<const char*> which) {
    std::string entries;
    for (uint32_t left = rng_.Below(3); left > 0; --left) {
      entries +=
          fmt::format("{}{{{}: 1, {}, direction: {}}}", entries.empty() ? "" : ", ", Pick(which),
                      Pick({"rate: 1Gbps", "rate: 4Gbps", "rate: 20Gbps", "delay: 9us",
                            "rate: 5Gbps, delay: 30us"}),
                      Pick({"both", "up", "down"}));
    }
    return entries.empty() ? "" : ", asymmetry: [" + entries + "]";
  }

  std::string Port() {
    DrawRule rule = rule_;
    if (Happens(0.4)) {
      rule.given["memory.model"] = Pick({"static", "dt", "hpcc_mmu", "broadcom_mmu"});
      rule.given["memory.size"] = Pick({"auto", "1MB", "9MB", "20MB"});
      rule.given["pfc.classes"] = Pick({"[3]", "[1]", "[1, 3]", ""});
      rule.given["pfc.deadlock_action"] = Pick({"report", "report", "abort"});
    }
    if (Happens(0.2)) rule.given["marking"] = Pick({"step", "red"});
    PortRule port;
    const std::string fields =
        DrawFields([&](Fields& declared) { port.Declare(declared); }, rule, rng_);
    return fields.empty() ? "" : ", port: {" + fields + "}";
  }

  // --- Who sends ---

  std::string Transport() {
    return DrawKind(Transports(), AnyOf(Transports().Names()), rule_, rng_);
  }

  std::string Workload() {
    DrawRule rule = rule_;
    rule.given["start"] = Pick({"", "", "50us", "300us"});
    switch (rng_.Below(8)) {
      case 7:
        return Flows(rule);
      case 6:
        return Trace(rule);
      case 5:
        return Training(rule);
      case 4:
        return Collective(rule);
      case 0:
        rule.given["fan_in"] = fmt::to_string(1 + rng_.Below(4));
        rule.given["bytes_each"] = fmt::format("{}B", 1 + rng_.Below(100'000));
        rule.given["queries"] = fmt::to_string(1 + rng_.Below(4));
        rule.given["period"] = Pick({"20us", "100us", "400us"});
        for (const char* name : {"bytes_total", "load", "duration"}) rule.given[name] = "";
        return DrawKind(Workloads(), "incast", rule, rng_);
      case 1:
        rule.given["size"] = fmt::format("{}B", 1 + rng_.Below(200'000));
        return DrawKind(Workloads(), "permutation", rule, rng_);
      default:
        rule.given["sizes"] =
            Pick({"small", "websearch", "datamining", "fixed:3KB", "hadoop", "solar"});
        rule.given["max_size"] = Pick({"100KB", "300KB", "1MB"});
        rule.given["load"] = fmt::format("0.{}", 1 + rng_.Below(9));
        rule.given["flows"] = fmt::to_string(5 + rng_.Below(60));
        rule.given["overload"] = Pick({"", "true"});
        rule.given["duration"] = Pick({"", "", "1ms"});
        return DrawKind(Workloads(), "poisson", rule, rng_);
    }
  }

  // Leaves out the settings that a collective does not use, which it would refuse.
  static void GiveOwn(DrawRule& rule, std::string_view op, std::string_view algorithm) {
    const bool is_ring = algorithm == "ring" || algorithm == "bidirectional";
    const bool reduces = op == "all_reduce" || op == "reduce_scatter";
    if (op == "barrier") rule.given["size"] = "";
    if (!is_ring) rule.given["ring_order"] = "";
    if (!reduces) rule.given["reduce_rate"] = "";
    if (algorithm != "direct") {
      for (const char* name : {"window", "peers"}) rule.given[name] = "";
    }
    if (algorithm != "shift") rule.given["wait"] = "";
    for (const char* name : {"merge", "protocol"}) rule.given[name] = "";
  }

  std::string Collective(DrawRule rule) {
    const std::vector<std::pair<const char*, const char*>> ways = {
        {"all_reduce", "ring"},
        {"all_reduce", "bidirectional"},
        {"all_reduce", "double_tree"},
        {"all_reduce", "tree"},
        {"all_reduce", "halving_doubling"},
        {"all_reduce", "recursive_doubling"},
        {"all_reduce", "hierarchical"},
        {"all_gather", "ring"},
        {"all_gather", "pat"},
        {"all_gather", "bruck"},
        {"reduce_scatter", "ring"},
        {"reduce_scatter", "pat"},
        {"all_to_all", "direct"},
        {"all_to_all", "direct"},
        {"all_to_all", "pairwise"},
        {"all_to_all", "shift"},
        {"all_to_all", "bruck"},
        {"all_to_all", "rail"},
        {"broadcast", "chain"},
        {"broadcast", "binomial"},
        {"broadcast", "tree"},
        {"barrier", "auto"}};
    const auto& [op, algorithm] = ways[rng_.Below(static_cast<uint32_t>(ways.size()))];
    rule.given["op"] = op;
    rule.given["algorithm"] = algorithm;
    rule.given["size"] = fmt::format("{}B", 1 + rng_.Below(300'000));
    rule.given["ranks"] = fmt::to_string(2 + rng_.Below(4));
    rule.given["matrix"] = "";
    rule.given["moe"] = "";
    if (algorithm == std::string_view("direct") && Happens(0.5)) MakeUneven(rule);
    rule.given["ranks_per_host"] = Pick({"2", "2", "1", "3"});
    rule.given["domain_hosts"] = Pick({"1", "1", "2", "3"});
    rule.given["local_latency"] = Pick({"", "100ns", "3us"});
    rule.given["iterations"] = fmt::to_string(1 + rng_.Below(4));
    rule.given["channels"] = algorithm == std::string_view("direct") ? "" : Pick({"", "", "2"});
    rule.given["preset"] = Pick({"", "", "", "nccl"});
    rule.given["chunk"] = Pick({"", "", "20KB"});
    for (const char* name : {"warm_up", "aggregate", "root", "group_size", "unfinished"}) {
      rule.given[name] = "";
    }
    GiveOwn(rule, op, algorithm);
    GiveJob(rule);
    rule.given["overhead"] = Pick({"", "", "300ns"});
    return DrawKind(Workloads(), "collective", rule, rng_);
  }

  // Messages that the ranks' settings give, instead of a size.
  void MakeUneven(DrawRule& rule) {
    rule.given["size"] = "";
    if (Happens(0.5)) {
      rule.given["moe"] =
          fmt::format("{{tokens: {}, top_k: {}, hidden: 64, experts: {}, skew: {}, routing: {}}}",
                      1 + rng_.Below(300), 1 + rng_.Below(3), 3 + rng_.Below(6),
                      Pick({"0", "0.7", "2"}), Pick({"expected", "sampled"}));
      return;
    }
    rule.given["ranks"] = "3";
    rule.given["matrix"] = Data("tests/fuzz/corpus/traffic_matrix/uneven.csv");
  }

  // Draws the settings that all kinds of jobs have.
  void GiveJob(DrawRule& rule) {
    rule.given["share_hosts"] = "true";
    rule.given["between"] = Pick({"none", "barrier", "ideal"});
    rule.given["placement"] = Pick({"packed", "cyclic", "spread", "random"});
  }

  // Small enough for the hosts of any network, and of some 100 KB, once they are scaled.
  std::string Trace(DrawRule rule) {
    rule.given["ranks"] = "";
    rule.given["ranks_per_host"] = Pick({"2", "4", "3"});
    rule.given["domain_hosts"] = Pick({"1", "1", "2"});
    rule.given["local_latency"] = Pick({"", "100ns", "3us"});
    rule.given["iterations"] = fmt::to_string(1 + rng_.Below(2));
    rule.given["scale"] = Pick({"0.1", "1/20", "0.01"});
    for (const char* name : {"warm_up", "unfinished", "memory"}) rule.given[name] = "";
    GiveJob(rule);
    switch (rng_.Below(6)) {
      case 0:
        rule.given["format"] = "goal";
        rule.given["file"] = Data("configs/traces/halo.goal");
        break;
      case 1:
        rule.given["format"] = "goal_binary";
        rule.given["file"] = Data("tests/fuzz/corpus/goal_binary/ping.bin");
        break;
      case 2:
        rule.given["format"] = "hpcc";
        rule.given["file"] =
            Data("tests/fuzz/corpus/flow_txt/") + Pick({"hpcc.txt", "conweave.txt"});
        break;
      case 3:
        rule.given["format"] = "htsim_cm";
        rule.given["file"] = Data("configs/traces/relay.cm");
        break;
      default:
        rule.given["format"] = Pick({"chakra", "chakra_json"});
        rule.given["file"] = Data("configs/traces/step");
        rule.given["comm_groups"] = Data("configs/traces/step.groups.json");
        rule.given["ranks"] = "4";
    }
    return DrawKind(Workloads(), "trace", rule, rng_);
  }

  // Between hosts that every network has.
  std::string Flows(DrawRule rule) {
    rule.given["file"] = Data("tests/support/two_hosts.csv");
    return DrawKind(Workloads(), "flows", rule, rng_);
  }

  // Models of a few layers, so that an iteration sends some 100 KB.
  std::string Training(DrawRule rule) {
    const uint32_t tensor = 1 + rng_.Below(2);
    const uint32_t pipeline = 1 + rng_.Below(2);
    const uint32_t data = 1 + rng_.Below(2);
    rule.given["ranks"] = fmt::to_string(std::max(tensor * pipeline * data, 2u));
    rule.given["parallel.tensor"] = fmt::to_string(tensor);
    rule.given["parallel.pipeline"] = fmt::to_string(pipeline);
    rule.given["parallel.data"] = "";
    rule.given["parallel.expert"] = "";
    rule.given["model.layers"] = fmt::to_string(2 * (1 + rng_.Below(3)));
    rule.given["model.hidden"] = Pick({"32", "64"});
    rule.given["model.ffn"] = Pick({"64", "128"});
    rule.given["model.kv_hidden"] = "32";
    rule.given["model.vocab"] = Pick({"100", "300"});
    rule.given["model.seq"] = Pick({"16", "64"});
    rule.given["model.micro_batches"] = Pick({"1", "2", "4"});
    rule.given["ranks_per_host"] = Pick({"2", "2", "1", "3"});
    rule.given["domain_hosts"] = Pick({"1", "1", "2", "3"});
    rule.given["local_latency"] = Pick({"", "100ns", "3us"});
    rule.given["iterations"] = fmt::to_string(1 + rng_.Below(3));
    for (const char* name : {"warm_up", "moe.experts", "unfinished", "scale"}) {
      rule.given[name] = "";
    }
    GiveJob(rule);
    return DrawKind(Workloads(), "training", rule, rng_);
  }

  std::string Background() {
    DrawRule rule = rule_;
    for (const char* name : {"from", "to", "hosts", "rate", "load"}) rule.given[name] = "";
    if (Happens(0.5)) {
      rule.given["hosts"] = Pick({"0.2", "0.7", "1"});
      rule.given["load"] = Pick({"0.1", "0.3", "0.9"});
    } else {
      rule.given["from"] = "[0]";
      rule.given["to"] = Pick({"[1]", "[1]", "[1, 2]"});
      rule.given["rate"] = Pick({"100Mbps", "1Gbps", "5Gbps"});
    }
    rule.given["overload"] = Pick({"true", "true", ""});
    rule.given["stop"] = Pick({"300us", "1ms", ""});
    rule.given["via"] = Happens(0.2) ? AnySwitch() : "";
    BackgroundSettings settings;
    return "{" + DrawFields([&](Fields& declared) { settings.Declare(declared); }, rule, rng_) +
           "}";
  }

  // --- What happens meanwhile ---

  std::string Change() {
    const std::string at = Pick({"0ps", "20us", "100us", "150us", "400us", "1ms"});
    if (Happens(0.2)) {
      return fmt::format("{{at: {}, switches: [{}], {}}}", at, AnySwitch(),
                         Pick({"drop: 0.01", "drop: 0.3", "drop: 0", "blackhole: {hash_to: 0.3}",
                               "blackhole: {share_of_pairs: 0.2, until: 700us}",
                               "blackhole: {from: [0], to: [1]}", "drop: 1"}));
    }
    return fmt::format("{{at: {}, {}, {}}}", at, Links(),
                       Pick({"state: down",
                             "state: down",
                             "state: up",
                             "state: up",
                             "rate: 1Gbps",
                             "rate: 300Mbps, delay: 30us",
                             "delay: 40us",
                             "loss: 0.01",
                             "loss: 0.2",
                             "loss: 0",
                             "loss: 1",
                             "state: down, rate: 2Gbps",
                             "state: down, silent: true",
                             "state: down, direction: up",
                             "flap: {down: 5us, up: 40us, jitter: 0.3, until: 1ms}",
                             "flap: {down: 60us, up: 200us, until: 900us}, direction: down",
                             "bit_errors: 1e-6",
                             "lose_every: 50",
                             "lose_every: 0",
                             "bursts: {to_bad: 0.02, to_good: 0.3, bad: 0.5}"}));
  }
  std::string Links() {
    switch (rng_.Below(5)) {
      case 0:
        return fmt::format("random_links: {}", 1 + rng_.Below(3));
      case 3:
        return fmt::format("share_of_links: 0.{}", 1 + rng_.Below(5));
      case 1:
        return fmt::format("switches: [{}]", AnySwitch());
      case 2:
        return "random_switches: 1";
      default:
        return fmt::format("links: [{}]", AnyOf(network_.links).name);
    }
  }
  std::string AnySwitch() {
    const uint32_t s = rng_.Below(static_cast<uint32_t>(network_.switches.size()));
    return network_.NameOf(network_.VertexOfSwitch(static_cast<SwitchId>(s)));
  }

  std::string Measure() {
    DrawRule rule = rule_;
    rule.share = std::max(rule.share, 0.08);
    rule.durations = {"5us", "20us", "100us", "1ms"};
    rule.given["warm_up"] = Pick({"0ps", "0ps", "100us", ""});
    rule.given["cool_down"] = Pick({"", "", "", "50us"});
    rule.given["t_max"] = Pick({"500us", "2ms", "4ms"});
    rule.given["unfinished"] = Pick({"error", "inf", "drop"});
    rule.given["classes"] = Pick({"", "[all]", "[all, sml, smlxl]", "[all, conga, pias, bdp]"});
    MeasureSettings measure;
    return DrawFields([&](Fields& declared) { measure.Declare(declared); }, rule, rng_);
  }

  // --- Drawing ---

  std::string Lines(uint32_t count, std::string (WildDrawer::*draw)()) {
    std::string lines;
    for (; count > 0; --count) lines += "  - " + (this->*draw)() + "\n";
    return lines;
  }
  bool Happens(double probability) { return rng_.Uniform() < probability; }
  std::string Pick(std::initializer_list<const char*> words) {
    return words.begin()[rng_.Below(static_cast<uint32_t>(words.size()))];
  }
  template <class T>
  T AnyOf(const std::vector<T>& values) {
    return values[rng_.Below(static_cast<uint32_t>(values.size()))];
  }

  Rng rng_;
  const DrawRule rule_;
  Graph network_;
};

}  // namespace

std::string DrawTameExperiment(uint64_t seed) { return TameDrawer(seed).Experiment(); }

std::string DrawWildExperiment(uint64_t seed, double share) {
  return WildDrawer(seed, share).Experiment();
}

}  // namespace heddle
