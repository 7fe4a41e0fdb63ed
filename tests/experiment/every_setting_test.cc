// SPDX-License-Identifier: Apache-2.0
// Every setting of transports, load balancers and ports is given other values in a small network:
// either something comes out differently, or the user is warned that it changes nothing.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiment/results.h"
#include "lb/parts/load_balancer.h"
#include "tests/support/experiment_kit.h"
#include "topo/port_rule.h"
#include "transport/congestion_controls.h"
#include "transport/transports.h"

namespace heddle::every_setting_test {

struct Setting {
  std::string path;  // "cc.rp"
  std::vector<std::string> others;
};

// Other values than `preset`, of which many will be out of range.
std::vector<std::string> OtherValues(const ScalarShape& shape, const std::string& preset) {
  using Type = ScalarShape::Type;
  std::vector<std::string> values;
  switch (shape.type) {
    case Type::kBoolean:
      values = {"true", "false"};
      break;
    case Type::kWord:
      values = shape.words;
      break;
    case Type::kDuration:
      values = {"1us", "20us", "100ns", "300us", "5ms", "1s"};
      break;
    case Type::kRate:
      values = {"100Mbps", "1Gbps", "5Gbps"};
      break;
    case Type::kSize:
      values = {"3KB", "40KB", "100B", "1MB", "1B"};
      break;
    case Type::kInteger:
      values = {"1", "2", "5", "40", "300", "2000"};
      break;
    case Type::kNumber:
      values = {"0.05", "0.9", "1", "0", "3", "100"};
      break;
    case Type::kPattern:  // Sizes or packets of ports.
      values = {"20KB", "200KB", "4KB"};
      break;
    case Type::kText:
      break;
  }
  std::erase(values, preset);
  return values;
}

// Lists the declared settings; of nested settings, those of the chosen kind.
class Lister final : public Fields {
 public:
  Lister(std::string prefix, std::vector<Setting>& settings)
      : prefix_(std::move(prefix)), settings_(settings) {}

 protected:
  void OnScalar(std::string_view name, const Scalar& scalar, Presence /*presence*/,
                std::string_view /*meaning*/) override {
    settings_.push_back({prefix_ + std::string(name), OtherValues(scalar.shape, scalar.text())});
  }
  void OnScalars(std::string_view /*name*/, size_t /*count*/,
                 const std::function<void(size_t)>& /*resize*/,
                 const std::function<Scalar(size_t)>& /*at*/, Presence /*presence*/,
                 std::string_view /*meaning*/, const std::string& /*type*/) override {}
  void OnBlock(std::string_view name, const Block& block, Presence /*presence*/,
               std::string_view /*meaning*/) override {
    Lister inner(prefix_ + std::string(name) + ".", settings_);
    block.declare(inner);
  }
  void OnBlocks(std::string_view /*name*/, size_t /*count*/,
                const std::function<void(size_t)>& /*resize*/,
                const std::function<Block(size_t)>& /*at*/, Presence /*presence*/,
                std::string_view /*meaning*/) override {}

 private:
  const std::string prefix_;
  std::vector<Setting>& settings_;
};

template <class S>
std::vector<Setting> SettingsOf(S& declared) {
  std::vector<Setting> settings;
  Lister lister("", settings);
  declared.Declare(lister);
  return settings;
}

// Uneven and overloaded, with a failure and lost packets: flows of all sizes, and two incasts.
constexpr const char* kLossy = "buffer: 60KB, ecn_above: 15KB";
constexpr const char* kTrimming =
    "buffer: 60KB, ecn_above: 15KB, trim: {when: port, threshold: 20KB}";
constexpr const char* kLossless = "memory: {model: dt, size: 300KB}, pfc: {classes: [3]}";

std::string Network(const std::string& transport, const std::string& lb,
                    const std::string& port = kLossy) {
  return fmt::format(
      "topology: {{kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 3,\n"
      "  asymmetry: [{{spines: [0], rate: 4Gbps}}, {{spines: [1], delay: 15us}}],\n"
      "  port: {{{}}}}}\n"
      "transport: {}\nlb: {}\n"
      "workload:\n"
      "  - {{kind: poisson, sizes: websearch, max_size: 300KB, load: 0.7, flows: 40}}\n"
      "  - {{kind: incast, fan_in: 5, bytes_each: 30KB, queries: 2, period: 300us}}\n"
      "schedule:\n"
      "  - {{at: 200us, links: [leaf0-spine1], state: down}}\n"
      "  - {{at: 600us, links: [leaf0-spine1], state: up}}\n"
      "  - {{at: 0s, links: [leaf1-spine2], loss: 0.02}}\n"
      "measure: {{warm_up: 0s, t_max: 4ms, unfinished: inf}}\n",
      port, transport, lb);
}

bool IsWarned(const Experiment& experiment) {
  return std::ranges::any_of(experiment.warnings, [](const std::string& warning) {
    return warning.find("changes nothing") != std::string::npos;
  });
}

// Tries other values of a setting in a network: they must show in its results or in a warning.
class Trial {
 public:
  Trial(std::string yaml, std::string prefix)
      : yaml_(std::move(yaml)),
        prefix_(std::move(prefix)),
        before_(RunExperiment(ExperimentFrom(yaml_)).files) {}

  bool Shows(const Setting& setting) const {
    return std::ranges::any_of(setting.others, [&](const std::string& value) {
      const std::vector<std::string> sets = {prefix_ + setting.path + "=" + value};
      if (!ErrorsOf(yaml_, sets).empty()) return false;
      const Experiment experiment = ExperimentFrom(yaml_, sets);
      return IsWarned(experiment) || RunExperiment(experiment).files != before_;
    });
  }

 private:
  std::string yaml_;
  std::string prefix_;  // Leads to the settings in the document.
  RunFiles before_;
};

// Lists the settings that change nothing, without a warning, in all of these networks.
std::vector<std::string> IdleOnes(const std::vector<std::string>& networks,
                                  const std::string& prefix, const std::vector<Setting>& settings) {
  std::vector<Trial> trials;
  for (const std::string& yaml : networks) trials.emplace_back(yaml, prefix);
  std::vector<std::string> idle;
  for (const Setting& setting : settings) {
    const auto shows = [&](const Trial& trial) { return trial.Shows(setting); };
    if (std::ranges::none_of(trials, shows)) idle.push_back(setting.path);
  }
  return idle;
}

using Known = std::map<std::string, std::string>;  // Reasons, by setting.

void ExpectKnown(const std::string& kind, const std::vector<std::string>& idle,
                 const Known& known) {
  for (const std::string& path : idle) {
    EXPECT_TRUE(known.contains(kind + "." + path)) << kind << "." << path << " changes nothing";
  }
}

// A test of it needs another kind of network or run.
constexpr const char* kNotReached = "not reached in these networks";

TEST(EverySettingTest, OfLoadBalancersChangesSomethingOrWarns) {
  Known known = {{"aac.clock_spread", "delays are compared per path, less the least: by design"},
                 {"ag.clock_spread", "delays are compared per path, less the least: by design"},
                 {"tdlb.clock_spread", "only differences of delays count: by design"},
                 {"drill.per_class", "there is one class"},
                 {"lq.per_class", "there is one class"},
                 {"flb.rate_control", "refused with this transport"}};
  for (const char* path : {"amr.detector",
                           "amr.least",
                           "best_nexthop.table_age",
                           "bitmap.most_points",
                           "burstbalancer.draw",
                           "conga.detector",
                           "conweave.unseen_busy_for",
                           "ecmp_ar.refresh",
                           "ecmp_ar.move",
                           "flb.evict",
                           "flb.held_age",
                           "hedera.scheduler",
                           "hedera.large_above",
                           "hermes.rtt_better",
                           "hermes.ecn_better",
                           "hermes.rate_below",
                           "hermes.timeouts",
                           "hermes.retransmitted",
                           "hermes.failed_for",
                           "hermes.move",
                           "hermes.try_every",
                           "hermes.failures",
                           "letflow.detector",
                           "pdlb.form",
                           "plb.suspend",
                           "plb.move_every",
                           "proteus.heavy_for",
                           "reps.freeze",
                           "tdlb.table",
                           "tdlb.stale",
                           "themis.window_packets",
                           "themis.pass_for",
                           "wcmp.oversubscription",
                           "reps.freeze_for",
                           "reps.freeze_below",
                           "reps.rtt_window"}) {
    known[path] = kNotReached;
  }
  for (const std::string& kind : LoadBalancers().Names()) {
    const std::string inner = kind == "rlb" ? ", inner: {kind: letflow}" : "";
    const std::string yaml = Network("dctcp", "{kind: " + kind + inner + "}");
    if (!ErrorsOf(yaml).empty()) continue;
    const auto lb = LoadBalancers().Make(kind);
    ExpectKnown(kind, IdleOnes({yaml}, "lb.", SettingsOf(*lb.settings)), known);
  }
}

TEST(EverySettingTest, OfTransportsChangesSomethingOrWarns) {
  Known known = {{"rocev2.priority", "there is one class of data"},
                 {"rocev2.cc.rhai", kNotReached}};
  known["mprdma.priority"] = "there is one class of data";
  known["mprdma.probe"] = kNotReached;
  known["uet.planes"] = "refused without topology: planes";
  for (const std::string tcp : {"dctcp", "mmptcp", "mptcp", "tcp"}) {
    known[tcp + ".priority"] = "there is one class of data";
    known["uet.priority"] = "there is one class of data";
    known["uet.qa_gate"] = kNotReached;
    known[tcp + ".tlp"] = "refused without loss: rack";
    known[tcp + ".max_rto"] = known[tcp + ".rto_granularity"] = kNotReached;
  }
  for (const std::string& kind : Transports().Names()) {
    const auto transport = Transports().Make(kind);
    const std::string cc = kind == "rocev2" ? ", cc: {kind: dcqcn}" : "";
    ExpectKnown(kind,
                IdleOnes({Network("{kind: " + kind + cc + "}", "rps")}, "transport.",
                         SettingsOf(*transport.settings)),
                known);
  }
}

TEST(EverySettingTest, OfCongestionControlsOfTcpChangesSomethingOrWarns) {
  constexpr const char* kShort = "with round trips of microseconds CUBIC grows like Reno";
  const Known known = {{"cubic.c", kShort}, {"cubic.fast_convergence", kShort}};
  for (const std::string& kind : CongestionControls().windows().Names()) {
    const auto control = CongestionControls().windows().Make(kind);
    const std::string yaml = Network("{kind: tcp, cc: {kind: " + kind + "}}", "rps");
    ExpectKnown(kind, IdleOnes({yaml}, "transport.cc.", SettingsOf(*control.settings)), known);
  }
}

TEST(EverySettingTest, OfPortsChangesSomethingOrWarns) {
  constexpr const char* kNoDeadlock = "nothing deadlocks, nor is paused for long";
  const Known known = {{"port.scheduler", "data is of one class, and control packets go first"},
                       {"port.memory.limit_lossless", "refused without model: broadcom_mmu"},
                       {"port.pfc.refresh", "refused without quanta"},
                       {"port.pfc.refresh_interval", "refused without quanta"},
                       {"port.pfc.headroom", "enough in any case, or refused"},
                       {"port.pfc.allow_loss", "the headroom is enough"},
                       {"port.pfc.deadlock_check", kNoDeadlock},
                       {"port.pfc.deadlock_time", kNoDeadlock},
                       {"port.pfc.deadlock_action", kNoDeadlock},
                       {"port.pfc.watchdog.detect", kNoDeadlock}};
  PortRule port;
  ExpectKnown("port",
              IdleOnes({Network("dctcp", "rps"), Network("rocev2", "ecmp", kLossless),
                        Network("uet", "rps", kTrimming)},
                       "topology.port.", SettingsOf(port)),
              known);
}

}  // namespace heddle::every_setting_test
