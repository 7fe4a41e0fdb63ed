// SPDX-License-Identifier: Apache-2.0
// Small experiments over all load balancers and transports, each summed up in one number: which
// packet came to which host when. tests/fingerprints.csv holds what they were. A change that moves
// one of them changes results: it explains itself in CHANGELOG.md, and is accepted by
// scripts/accept-fingerprints.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "lb/parts/load_balancer.h"
#include "measure/delivery_tap.h"
#include "tests/support/experiment_kit.h"

namespace heddle::fingerprints_test {

const std::string kFile = std::string(HEDDLE_SOURCE_DIR) + "/tests/fingerprints.csv";
constexpr const char* kHeader = "experiment,deliveries,hash\n";

struct Case {
  std::string name;
  std::string lb = "ecmp";
  std::string transport = "{kind: dctcp, min_rto: 1ms}";
  std::string port = "{buffer: 40KB, ecn_above: 20KB}";
  std::string more = "";
};

const std::string kPfc = "{buffer: 100KB, pfc: {classes: [3]}}";

// Every load balancer has its defaults, except where these would make it the same as ECMP here: a
// worst band that begins above the buffer, and a period longer than the run.
std::string SettingsOf(const std::string& lb) {
  if (lb == "ecmp_ar") return "{kind: ecmp_ar, full: 40KB}";
  if (lb == "hedera") return "{kind: hedera, period: 100us}";
  if (lb == "amr") return "{kind: amr, period: 100us, gap: 20us}";
  return lb;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const std::string& lb : LoadBalancers().Names()) {
    if (lb == "rlb") {  // Elsewhere it is what it wraps.
      cases.push_back({"lb rlb", "{kind: rlb, inner: drill}", "rocev2", kPfc});
    } else {
      cases.push_back({"lb " + lb, SettingsOf(lb)});
    }
  }
  const auto add = [&](const std::string& name, const std::string& transport,
                       const std::string& port = "{buffer: 40KB, ecn_above: 20KB}") {
    cases.push_back({name, "rps", transport, port});
  };
  add("tcp sack", "{kind: tcp, recovery: sack, min_rto: 1ms}");
  add("tcp newreno", "{kind: tcp, recovery: newreno, min_rto: 1ms}");
  add("dctcp newreno", "{kind: dctcp, recovery: newreno, min_rto: 1ms}");
  add("dctcp resequencing", "{kind: dctcp, min_rto: 1ms, resequencing: timeout}");
  const std::string trims = "{buffer: 40KB, ecn_above: 20KB, trim: {when: port, threshold: 24KB}}";
  // Packets of 4 KB are few, so datagrams keep the ports busy.
  const std::string busy = "background: [{hosts: 1, load: 0.4, stop: 2ms}]\n";
  for (const std::string lb : {"oblivious", "bitmap", "mixed", "reps"}) {
    cases.push_back({"uet trimming " + lb, lb, "{kind: uet}", trims, busy});
  }
  for (const std::string cc : {"nscc", "smartt", "dctcp_ack", "mprdma_ack"}) {
    cases.push_back({"uet sleek " + cc, "rps",
                     fmt::format("{{kind: uet, cc: {}, window: 30KB, ack_bytes: 1B}}", cc),
                     "{buffer: 40KB, marking: step, ecn_above: 3KB}", busy});
  }
  cases.push_back({"uet rccc", "mixed", "{kind: uet, receiver: rccc}", trims, busy});
  cases.push_back({"uet rccc none", "mixed", "{kind: uet, cc: none, receiver: rccc}", trims, busy});
  cases.push_back({"uet rccc fabric", "oblivious",
                   "{kind: uet, cc: none, receiver: rccc, rccc: {fabric: on}}", trims, busy});
  cases.push_back({"uet rccc sleek", "rps", "{kind: uet, cc: none, receiver: rccc}",
                   "{buffer: 40KB, marking: step, ecn_above: 3KB}", busy});
  cases.push_back({"uet eqds", "{kind: bitmap, most_points: 1, forgives: all}",
                   "{kind: uet, preset: eqds}", trims, busy});
  cases.push_back({"uet ndp", "oblivious", "{kind: uet, preset: ndp, rto: 1ms}", trims, busy});
  cases.push_back({"uet ndp back", "oblivious", "{kind: uet, preset: ndp, rto: 1ms}",
                   "{buffer: 40KB, ecn_above: 20KB, trim: {when: port, threshold: 24KB, "
                   "header_limit: 150B, overflow: back}}",
                   busy});
  add("mptcp lia", "{kind: mptcp, min_rto: 1ms}");
  add("mptcp olia min_rtt", "{kind: mptcp, min_rto: 1ms, cc: olia, scheduler: min_rtt, rwnd: 40}");
  add("mptcp dctcp join", "{kind: mptcp, min_rto: 1ms, cc: dctcp, setup: join}");
  cases.push_back({"mmptcp", "ecmp", "{kind: mmptcp, min_rto: 1ms, switch_bytes: 20KB}"});
  cases.push_back({"mmptcp join", "ecmp",
                   "{kind: mmptcp, min_rto: 1ms, switch_bytes: 20KB, setup: join, cc: olia}"});
  add("rocev2 ddp", "{kind: rocev2, recovery: ddp}");
  add("rocev2 sr", "{kind: rocev2, recovery: sr}");
  cases.push_back({"rocev2 sr themis", "themis", "{kind: rocev2, recovery: sr}"});
  const std::string lossy = "{buffer: 20KB, ecn_above: 10KB}";
  cases.push_back({"mprdma", "ecmp", "{kind: mprdma}"});
  cases.push_back({"mprdma nack", "ecmp", "{kind: mprdma, beyond: nack, message: 20KB}", lossy});
  add("rocev2 irn trimming", "{kind: rocev2, recovery: irn}", trims);
  add("rocev2 gbn trimming", "{kind: rocev2}", trims);
  for (const std::string cc : {"none", "dcqcn", "timely", "swift", "hpcc"}) {
    add("rocev2 gbn pfc " + cc, fmt::format("{{kind: rocev2, cc: {}}}", cc), kPfc);
    add("rocev2 irn " + cc, fmt::format("{{kind: rocev2, recovery: irn, cc: {}}}", cc));
  }
  add("control first", "{kind: dctcp, min_rto: 1ms, control_priority: 0}",
      "{buffer: 40KB, ecn_above: 20KB, mark_at: dequeue}");
  add("shared memory", "{kind: dctcp, min_rto: 1ms}",
      "{buffer: unlimited, ecn_above: 20KB, memory: {model: dt, size: 100KB}}");
  cases.push_back({.name = "failures",
                   .lb = "letflow",
                   .more = "schedule: [{at: 100us, links: [leaf0-spine0], state: down}, {at: "
                           "300us, links: [leaf0-spine0], state: up}, {at: 50us, links: "
                           "[leaf1-spine2], rate: 2Gbps}, {at: 0ps, random_links: 1, loss: 0.01}]\n"
                           "routing: {convergence: 50us}\n"});
  cases.push_back({.name = "background",
                   .lb = "drill",
                   .more = "background: [{hosts: 0.5, load: 0.2, pattern: onoff, stop: 500us}]\n"});
  return cases;
}

// Call this before other tests add load balancers of their own.
const std::vector<Case>& AllCases() {
  static const std::vector<Case> cases = Cases();
  return cases;
}

std::string YamlOf(const Case& c) {
  return fmt::format(
      "seed: 7\ntopology: {{kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 2, host_link: "
      "{{rate: 10Gbps, delay: 500ns}}, asymmetry: [{{spines: [2], rate: 5Gbps}}], port: {}}}\n"
      "transport: {}\nlb: {}\nworkload:\n"
      "  - {{kind: poisson, sizes: small, load: 0.5, flows: 60}}\n"
      "  - {{kind: permutation, size: 80KB, cross_rack: true, start: 100us}}\n"
      "  - {{kind: incast, fan_in: 4, bytes_each: 30KB, queries: 2, period: 200us}}\n"
      "measure: {{warm_up: 0ps, t_max: 100ms}}\n{}",
      c.port, c.transport, c.lb, c.more);
}

std::string RowOf(const Case& c) {
  const Fingerprint print = FingerprintOf(ExperimentFrom(YamlOf(c)));
  return fmt::format("{},{},{:016x}", c.name, print.deliveries, print.hash);
}

std::map<std::string, std::string> RecordedRows() {
  std::map<std::string, std::string> rows;
  std::ifstream file(kFile);
  for (std::string line; std::getline(file, line);) rows[line.substr(0, line.find(','))] = line;
  return rows;
}

TEST(FingerprintsTest, AreThoseOnRecord) {
  const bool accept = std::getenv("HEDDLE_ACCEPT_FINGERPRINTS") != nullptr;
  std::map<std::string, std::string> recorded = RecordedRows();
  recorded.erase("experiment");
  std::string all = kHeader;
  std::string changed;
  for (const Case& c : AllCases()) {
    const std::string row = RowOf(c);
    all += row + "\n";
    const auto before = recorded.find(c.name);
    if (before == recorded.end()) {
      changed += fmt::format("  new: {}\n", row);
    } else if (before->second != row) {
      changed += fmt::format("  was: {}\n  now: {}\n", before->second, row);
    }
    recorded.erase(c.name);
  }
  for (const auto& [name, row] : recorded) changed += fmt::format("  gone: {}\n", row);
  if (accept) {
    std::ofstream(kFile) << all;
    return;
  }
  EXPECT_EQ(changed, "")
      << "Results have changed. If that is meant, say why in CHANGELOG.md and run "
         "scripts/accept-fingerprints BUILD_FOLDER.";
}

// If two agreed, one of them would have no visible effect here.
TEST(FingerprintsTest, NoTwoAreAlike) {
  std::map<std::string, std::string> names;
  for (const auto& [name, row] : RecordedRows()) {
    const auto [same, is_new] = names.emplace(row.substr(row.rfind(',') + 1), name);
    EXPECT_TRUE(is_new) << name << " does the same as " << same->second;
  }
}

class FingerprintTest : public testing::TestWithParam<size_t> {};

// A fingerprint must not depend on the threads, or on the kind of ports.
TEST_P(FingerprintTest, DependsOnWhatIsSimulatedAlone) {
  const std::string yaml = YamlOf(AllCases()[GetParam()]);
  const Experiment experiment = ExperimentFrom(yaml);
  SimulationOptions options;
  const Fingerprint one = FingerprintOf(experiment, options);
  EXPECT_GT(one.deliveries, 1'500);
  options.threads = 3;
  EXPECT_EQ(FingerprintOf(experiment, options), one);
  options.ports = NetworkPlan::Ports::kEager;
  EXPECT_EQ(FingerprintOf(experiment, options), one);
  EXPECT_FALSE(FingerprintOf(ExperimentFrom(yaml, {"seed=8"}), options) == one);
}

// Some of them; other tests compare threads and ports for all.
INSTANTIATE_TEST_SUITE_P(Some, FingerprintTest,
                         testing::Range(size_t{0}, AllCases().size(), size_t{6}));

}  // namespace heddle::fingerprints_test
