// SPDX-License-Identifier: Apache-2.0
// Rules between settings, on both sides of their boundary: what is just allowed, and what is not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"

namespace heddle::setting_rules_test {

struct Rule {
  std::string allowed;
  std::string refused;
  std::string message;
};

const std::string kFabric =
    "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n";
const std::string kRest = "lb: ecmp\nworkload: [{kind: permutation, size: 1MB}]\n";

void ExpectRules(const std::vector<Rule>& rules, const std::string& before,
                 const std::string& after) {
  for (const Rule& rule : rules) {
    EXPECT_EQ(ErrorsOf(before + rule.allowed + after), "") << rule.allowed;
    EXPECT_THAT(ErrorsOf(before + rule.refused + after), testing::HasSubstr(rule.message))
        << rule.refused;
  }
}

TEST(SettingRulesTest, OfTransports) {
  ExpectRules(
      {{"{kind: tcp, min_rto: 20ms, max_rto: 20ms}", "{kind: tcp, min_rto: 20ms, max_rto: 19ms}",
        "max_rto: is less than min_rto"},
       {"{kind: tcp, loss: rack, tlp: true}", "{kind: tcp, tlp: true}", "tlp: needs loss: rack"},
       {"{kind: tcp, recovery: newreno}", "{kind: tcp, recovery: newreno, rescue: true}",
        "recovery: loss: rack, tlp"},
       {"{kind: tcp, prr: true}", "{kind: tcp, recovery: newreno, prr: true}",
        "recovery: loss: rack, tlp"},
       {"{kind: tcp, undo: dsack}", "{kind: tcp, recovery: newreno, undo: dsack}",
        "recovery: loss: rack, tlp"},
       {"{kind: tcp, reordering_adapt: true}",
        "{kind: tcp, recovery: newreno, reordering_adapt: true}", "recovery: loss: rack, tlp"},
       {"{kind: rocev2, recovery: irn, rto_low: 90us, rto_high: 90us}",
        "{kind: rocev2, recovery: irn, rto_low: 90us, rto_high: 89us}",
        "rto_high: is less than rto_low"},
       {"{kind: rocev2, cc: {kind: timely, t_low: 50us, t_high: 50us}}",
        "{kind: rocev2, cc: {kind: timely, t_low: 50us, t_high: 49us}}",
        "t_high: is less than t_low"},
       {"{kind: tcp, resequencing: {kind: juggler, inseq_timeout: 9us, ofo_timeout: 9us}}",
        "{kind: tcp, resequencing: {kind: juggler, inseq_timeout: 9us, ofo_timeout: 8us}}",
        "ofo_timeout: is less than inseq_timeout"}},
      kFabric + "transport: ", "\n" + kRest);
}

TEST(SettingRulesTest, OfPorts) {
  const std::string pfc = "pfc: {classes: [3], allow_loss: true, ";
  ExpectRules(
      {{"{" + pfc + "watchdog: {detect: 5ms, poll: 5ms}}}",
        "{" + pfc + "watchdog: {detect: 5ms, poll: 6ms}}}", "poll: is longer than detect"},
       {"{" + pfc + "quanta: 60000, refresh: never}}", "{" + pfc + "refresh: never}}",
        "refresh: needs pauses that expire"},
       {"{" + pfc + "quanta: 60000, refresh_interval: 1us}}",
        "{" + pfc + "quanta: 60000, refresh: never, refresh_interval: 1us}}",
        "refresh_interval: is only for refresh: timer"},
       {"{red: {min: 90KB, max: 90KB}}", "{red: {min: 90KB, max: 89KB}}", "max: is less than min"},
       {"{quanta: [1KB, 1KB, 1KB, 1KB, 1KB, 1KB, 1KB, 1KB]}",
        "{quanta: [1KB, 1KB, 1KB, 1KB, 1KB, 1KB, 1KB, 1KB, 1KB]}", "there are 8 classes"},
       {"{buffer: 100pkts, ecn_above: 20pkts}", "{buffer: 100pkts, ecn_above: 20KB}",
        "counts in another unit than buffer"}},
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2, port: ",
      "}\ntransport: {kind: rocev2, cc: dcqcn}\n" + kRest);
}

TEST(SettingRulesTest, OfTopologies) {
  ExpectRules({{"{kind: leaf_spine, leaves: 1, spines: 1, hosts_per_leaf: 2}",
                "{kind: leaf_spine, leaves: 1, spines: 1, hosts_per_leaf: 1}",
                "at least two hosts are needed"},
               {"{kind: leaf_spine, leaves: 3, spines: 1, hosts_per_leaf: 1, links_per_pair: 2}",
                "{kind: leaf_spine, leaves: 2000, spines: 2001, hosts_per_leaf: 1}",
                "more than 4000000 links in all"},
               {"{kind: fat_tree, k: 4}", "{kind: fat_tree, k: 5}", "k: is 5, which is odd"}},
              "topology: ", "\n" + kRest);
}

// 1 host and 2 * 32768 uplinks are one port too many.
TEST(SettingRulesTest, OfPortsOfALeaf) {
  EXPECT_THAT(ErrorsOf("topology: {kind: leaf_spine, leaves: 2, spines: 32768, hosts_per_leaf: 1, "
                       "links_per_pair: 2}\n" +
                       kRest),
              testing::HasSubstr("a switch would have more than 65535 ports"));
}

TEST(SettingRulesTest, OfHostsWithoutLinks) {
  const auto errors = [](const std::string& links) {
    return ErrorsOf("topology: {kind: custom, hosts: 5, switches: [{name: s}], links: [" + links +
                    "]}\n" + kRest);
  };
  const std::string three = "{a: host0, b: s}, {a: host1, b: s}, {a: host3, b: s}";
  EXPECT_THAT(errors(three), testing::HasSubstr("host2 has no link, nor have 1 more"));
  EXPECT_THAT(errors(three + ", {a: host4, b: s}"), testing::HasSubstr("host2 has no link\n"));
  EXPECT_EQ(errors(three + ", {a: host4, b: s}, {a: host2, b: s}"), "");
}

TEST(SettingRulesTest, OfWorkloads) {
  const std::string poisson = "[{kind: poisson, sizes: small, load: 0.2, ";
  ExpectRules(
      {{poisson + "flows: 10}]", "[{kind: poisson, sizes: small, load: 0.2}]",
        "set duration, flows or both"},
       {poisson + "duration: 1ms, from: [0], to: [1]}]",
        poisson + "duration: 1ms, from: [0], to: [1], pairs: inter_rack}]",
        "from and to say who sends to whom"},
       {"[{kind: incast, fan_in: 3, bytes_total: 3B}]",
        "[{kind: incast, fan_in: 3, bytes_total: 2B}]", "is less than a byte for each sender"},
       {"[{kind: incast, fan_in: 3, bytes_each: 3KB}]",
        "[{kind: incast, fan_in: 3, bytes_each: 3KB, bytes_total: 9KB}]",
        "set either bytes_each or bytes_total"},
       {"[{kind: incast, fan_in: 3, bytes_each: 3KB, queries: 2, period: 1ms}]",
        "[{kind: incast, fan_in: 3, bytes_each: 3KB, queries: 2}]",
        "several queries need a period or a load"},
       {"[{kind: incast, fan_in: 3, bytes_each: 3KB, load: 0.1, duration: 1ms}]",
        "[{kind: incast, fan_in: 3, bytes_each: 3KB, load: 0.1}]", "is needed with load"}},
      kFabric + "lb: ecmp\nworkload: ", "\n");
}

// At a load of exactly 1 a link carries everything; headers come on top.
TEST(SettingRulesTest, OfLoads) {
  const auto poisson = [](const std::string& more) {
    return kFabric + "lb: ecmp\nworkload: [{kind: poisson, sizes: fixed:1460B, duration: 1ms, " +
           "pairs: inter_rack, " + more + "}]\n";
  };
  EXPECT_EQ(ErrorsOf(poisson("load: 0.9")), "");
  EXPECT_EQ(ErrorsOf(poisson("load: 1")), "");
  EXPECT_THAT(ErrorsOf(poisson("load: 1.01")), testing::HasSubstr("queues grow without end"));
  EXPECT_EQ(ErrorsOf(poisson("load: 1.01, overload: true")), "");
}

TEST(SettingRulesTest, OfSchedules) {
  ExpectRules(
      {{"{switches: [spine0], blackhole: {hash_from: 0.5, hash_to: 0.6}, at: 1ms}",
        "{switches: [spine0], blackhole: {hash_from: 0.6, hash_to: 0.6}, at: 1ms}",
        "hash_to: is not above hash_from"},
       {"{switches: [spine0], blackhole: {from: [0], until: 2ms}, at: 1ms}",
        "{switches: [spine0], blackhole: {from: [0], until: 1ms}, at: 1ms}",
        "ends when it begins, or before"},
       {"{random_links: 1, state: down, at: 1ms}", "{state: down, at: 1ms}", "names no link"},
       {"{random_switches: 1, drop: 0.5, at: 1ms}", "{random_links: 1, drop: 0.5, at: 1ms}",
        "drop and blackhole concern switches"},
       {"{links: [leaf0-spine0], loss: 0.5, at: 1ms}", "{links: [leaf0-spine0], at: 1ms}",
        "nothing changes"},
       {"{switches: [spine0], drop: 0.5, at: 1ms}",
        "{switches: [spine0], drop: 0.5, state: down, at: 1ms}", "make two entries"}},
      kFabric + kRest + "schedule: [", "]\n");
}

TEST(SettingRulesTest, OfLoadBalancers) {
  ExpectRules(
      {{"{kind: tdlb, congested_above: 50KB, clear_below: 50KB}",
        "{kind: tdlb, congested_above: 50KB, clear_below: 51KB}", "is above congested_above"},
       {"{kind: tdlb, clear_below: 51KB}", "{kind: tdlb, congested_above: 0B}", "congested_above"},
       {"{kind: tdlb, congested_above: 50KB}", "{kind: tdlb, clear_below: 0B}", "clear_below"},
       {"{kind: flb, release_below: 51KB}", "{kind: flb, release_below: 0B}", "release_below"},
       {"{kind: tdlb, probe_every: 99us, stale: 99us}",
        "{kind: tdlb, probe_every: 99us, stale: 98us}", "is less than probe_every"},
       {"{kind: flb, isolate_above: 50KB, release_below: 50KB}",
        "{kind: flb, isolate_above: 50KB, release_below: 51KB}", "is above isolate_above"},
       {"{kind: flb, isolate_above: 50KB}", "{kind: flb, isolate_above: 50KB, isolate_share: 0.5}",
        "isolate_above is set already"}},
      kFabric + "lb: ", "\nworkload: [{kind: permutation, size: 1MB}]\n");
}

}  // namespace heddle::setting_rules_test
