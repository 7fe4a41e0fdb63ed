// SPDX-License-Identifier: Apache-2.0
// Tests settings of load balancers that no other test checks by numbers: another value changes the
// result of an experiment in which the setting matters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "measure/delivery_tap.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"

namespace heddle::settings_test {

// --- What an experiment delivers, and when ---

enum class Traffic { kDctcp, kLossless, kIrn, kLossy, kIrnLossy };

// Three leaves and three spines, one of which has slower links; more is sent than these carry.
std::string YamlOf(const std::string& lb, Traffic traffic) {
  const bool is_lossless = traffic == Traffic::kLossless;
  const bool is_irn = traffic == Traffic::kIrn || traffic == Traffic::kIrnLossy;
  const std::string port =
      is_lossless ? "{buffer: unlimited, ecn_above: 20KB, pfc: {classes: [3], xoff: 15KB}}"
                  : "{buffer: 60KB, ecn_above: 20KB}";
  std::string transport = "{kind: dctcp, min_rto: 1ms}";
  if (is_lossless) transport = "{kind: rocev2, cc: none}";
  if (is_irn) transport = "{kind: rocev2, recovery: irn, cc: dcqcn}";
  std::string yaml =
      "seed: 7\ntopology: {kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 3, host_link: "
      "{rate: 10Gbps, delay: 500ns}, fabric_link: {rate: 10Gbps, delay: 1us}, asymmetry: "
      "[{spines: [2], rate: 3Gbps, delay: 20us}], port: " +
      port + "}\ntransport: " + transport + "\nlb: " + lb +
      "\nworkload:\n"
      "  - {kind: poisson, sizes: small, load: 0.6, flows: 30}\n"
      "  - {kind: permutation, size: 300KB, cross_rack: true, start: 50us}\n"
      "  - {kind: incast, fan_in: 5, bytes_each: 30KB, queries: 2, period: 200us}\n"
      "measure: {warm_up: 0ps, t_max: 1s}\n";
  if (traffic == Traffic::kLossy || traffic == Traffic::kIrnLossy) {
    yaml += "schedule: [{at: 0ps, switches: [spine1], drop: 0.02}]\n";
  }
  return yaml;
}

Fingerprint FingerprintOf(const std::string& lb, Traffic traffic) {
  return FingerprintOf(ExperimentFrom(YamlOf(lb, traffic)));
}

struct Setting {
  std::string lb;  // Its kind, and what else is set in both runs.
  std::string other;
  Traffic traffic = Traffic::kDctcp;
};

const std::string kConga = "kind: conga, gap: 30us";
const std::string kHermes = "kind: hermes, sent_above: 0B, probe_interval: 50us";
const std::string kClove = "kind: clove_ecn, gap: 20us";

std::vector<Setting> Settings() {
  return {
      {kConga, "bits: 1"},
      {kConga, "dre_period: 1ms"},
      {kConga, "dre_alpha: 1"},
      {kConga, "age: 1us"},
      {"kind: tr", "bits: 1"},
      {"kind: tr", "idle: 10ms"},
      {"kind: tr", "buffer: 2KB"},
      {kHermes, "rtt_low: 1ps"},
      {kHermes, "rtt_high: 1ps"},
      {kHermes, "rtt_better: 10s"},
      {kHermes, "ecn_high: 1"},
      {kHermes, "ecn_better: 1"},
      {kHermes, "rate_below: 0"},
      {kHermes, "rtt_gain: 1"},
      {kHermes, "ecn_gain: 1"},
      {kHermes, "rate_tau: 1ns"},
      {kHermes, "epoch: 200us", Traffic::kLossy},
      {kHermes + ", epoch: 200us", "retransmitted: 1", Traffic::kLossy},
      {kHermes + ", epoch: 200us", "failed_for: 100us", Traffic::kLossy},
      {"kind: hedera, period: 100us", "large_above: 1"},
      {"kind: flowbender", "marked_above: 1"},
      {"kind: flowbender", "values: 2"},
      {kClove, "cut: 1"},
      {kClove, "recent: 10ms"},
      {kClove, "relay_every: 1ps"},
      {kClove, "paths: 1"},
      {"kind: clove_int, gap: 20us", "stale: 1us"},
      {"kind: clove_int, gap: 20us", "dre_period: 1ms"},
      {"kind: clove_int, gap: 20us", "dre_alpha: 1"},
      {"kind: wcmp, entries: 10", "oversubscription: 100"},
      {"kind: pdlb", "theta: 1000"},
      {"kind: pdlb", "initial: 44"},
      {"kind: pdlb", "stale: 1us"},
      {"kind: pdlb", "min_samples: 512"},
      {"kind: reps", "freeze_below: 1000000", Traffic::kLossy},
      {"kind: conweave", "reply_within: 1ms", Traffic::kIrn},
      {"kind: conweave", "busy_for: 10ms", Traffic::kIrn},
      {"kind: conweave", "inactive: 1us", Traffic::kIrn},
      {"kind: conweave", "samples: 100", Traffic::kIrn},
      {"kind: conweave", "queues: 1", Traffic::kIrn},
      {"kind: conweave", "queue_packets: 1", Traffic::kIrn},
      {"kind: proteus", "wait_light: 1ps", Traffic::kLossless},
      {"kind: proteus", "wait_heavy: 1ps", Traffic::kLossless},
      {"kind: proteus", "use_light: 0", Traffic::kLossless},
      {"kind: proteus", "use_heavy: 0", Traffic::kLossless},
      {"kind: proteus", "notice_above: 1ps", Traffic::kLossless},
      {"kind: proteus", "heavy_for: 10ms", Traffic::kLossless},
      {"kind: proteus", "stale: 1us", Traffic::kLossless},
  };
}

std::string KindOf(const Setting& setting) {
  const std::string kind = setting.lb.substr(std::string("kind: ").size());
  return kind.substr(0, kind.find(','));
}

std::set<std::string> Kinds() {
  std::set<std::string> kinds;
  for (const Setting& setting : Settings()) kinds.insert(KindOf(setting));
  return kinds;
}

class LbSettingsTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, LbSettingsTest, testing::ValuesIn(Kinds()),
                         [](const auto& its) { return its.param; });

TEST_P(LbSettingsTest, EachChangesWhatHappens) {
  std::map<std::pair<std::string, Traffic>, Fingerprint> usual;
  for (const Setting& setting : Settings()) {
    if (KindOf(setting) != GetParam()) continue;
    const auto [found, is_new] = usual.try_emplace({setting.lb, setting.traffic});
    if (is_new) found->second = FingerprintOf("{" + setting.lb + "}", setting.traffic);
    EXPECT_GT(found->second.deliveries, 2'000);
    EXPECT_NE(FingerprintOf("{" + setting.lb + ", " + setting.other + "}", setting.traffic),
              found->second)
        << setting.lb << ": " << setting.other;
  }
}

TEST(LbSettingsControlTest, ADefaultThatIsWrittenOutChangesNothing) {
  const auto conga = [](const std::string& more) {
    return FingerprintOf("{" + kConga + more + "}", Traffic::kDctcp);
  };
  EXPECT_EQ(conga(", bits: 3, dre_period: 32us, dre_alpha: 0.2, age: 10ms"), conga(""));
}

// --- Settings that contradict each other ---

TEST(LbSettingsTest, ThresholdsThatContradictEachOtherAreRefused) {
  const std::pair<std::string, std::string> refused[] = {
      {"{kind: hermes, rtt_low: 50us, rtt_high: 40us}", "lb.rtt_high: is less than rtt_low"},
      {"{kind: flb, isolate_above: 10KB, release_below: 20KB}",
       "lb.release_below: is above isolate_above"},
      {"{kind: tdlb, congested_above: 10KB, clear_below: 50KB}",
       "lb.clear_below: is above congested_above"},
      {"{kind: tdlb, probe_every: 100us, stale: 99us}", "lb.stale: is less than probe_every"}};
  for (const auto& [lb, error] : refused) {
    EXPECT_THAT(ErrorsOf(YamlOf(lb, Traffic::kDctcp)), testing::HasSubstr(error));
  }
  for (const char* accepted : {"{kind: hermes, rtt_low: 50us, rtt_high: 50us}",
                               "{kind: flb, isolate_above: 20KB, release_below: 20KB}",
                               "{kind: tdlb, congested_above: 50KB, clear_below: 50KB}",
                               "{kind: tdlb, probe_every: 100us, stale: 100us}"}) {
    EXPECT_EQ(ErrorsOf(YamlOf(accepted, Traffic::kDctcp)), "") << accepted;
  }
}

// --- Tables whose entries flows share ---

// Returns the ports of flows that send one after another from a leaf without congestion.
std::set<PortIndex> UsedBy40Flows(const std::string& lb) {
  LbSwitch leaf("{" + lb + "}");
  std::set<PortIndex> used;
  for (FlowId flow = 1; flow <= 40; ++flow) {
    Packet packet = LbPacket(TupleHash(0, 1, static_cast<uint16_t>(flow), 80));
    packet.flow = flow;
    used.insert(leaf.PortFor(packet, Time{} + 1_us * flow));
  }
  return used;
}

TEST(LbTableBitsTest, FlowsThatShareAnEntryShareTheirPath) {
  for (const std::string lb :
       {"best_nexthop, probes: false", "flb", "luopan", "proteus", "tdlb", "qdaps", "tr"}) {
    EXPECT_EQ(UsedBy40Flows("kind: " + lb).size(), 4u) << lb;
    EXPECT_EQ(UsedBy40Flows("kind: " + lb + ", table_bits: 16").size(), 4u) << lb;
    EXPECT_EQ(UsedBy40Flows("kind: " + lb + ", table_bits: 0").size(), 1u) << lb;
  }
}

}  // namespace heddle::settings_test
