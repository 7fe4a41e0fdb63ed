// SPDX-License-Identifier: Apache-2.0
// The settings of the schemes that measure queues and delays, at their limits: the last value on
// each side is taken, the next one beyond is refused, with the setting's name. And their defaults.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "lb/parts/load_balancer.h"
#include "settings/writer.h"
#include "tests/support/limits.h"

namespace heddle::telemetry_limits_test {

void ExpectLimits(const std::string& kind, std::vector<SettingValues> all) {
  // All of them remember flows.
  if (kind != "pdlb") {
    all.push_back({"table_entries", {"1", "16777216"}, {"0", "16777217"}});
    all.push_back({"table_bits", {"0", "24", "none"}, {"-1", "25"}});
    all.push_back({"table_age", {"1ps", "1000s"}, {"0ps", "1000000000000001ps"}});
  }
  ExpectTakenAndRefused(
      all,
      [&](const SettingValues& its, const std::string& value) {
        const Diagnostics diagnostics = KindDiagnostics(
            fmt::format("{{kind: {}, {}: {}{}}}", kind, its.setting, value, its.beside),
            LoadBalancers());
        return diagnostics.ok() ? "" : diagnostics.Report();
      },
      [](const SettingValues& its, const std::string&) { return "." + its.setting + ": "; });
}

TEST(TelemetryLimitsTest, OfTdlb) {
  ExpectLimits("tdlb", {{"congested_above", {"1B", "auto"}, {"0B"}},
                        {"clear_below", {"1B", "auto"}, {"0B"}},
                        {"check_every", {"1ns", "1s"}, {"999ps", "1000000000001ps"}},
                        {"notification_age", {"1ns", "1000s"}, {"999ps", "1000000000000001ps"}},
                        {"queue_flows", {"1", "65536"}, {"0", "65537"}},
                        {"probe_every", {"1us", "1s"}, {"999999ps", "1000000000001ps"}},
                        {"stale", {"1000s", "auto"}, {"1000000000000001ps"}},
                        {"stale", {"1us"}, {"999999ps"}, ", probe_every: 1us"},
                        {"clock_spread", {"0ps", "1s"}, {"-1ps", "1000000000001ps"}}});
}

TEST(TelemetryLimitsTest, OfFlb) {
  ExpectLimits("flb", {{"stamp_every", {"1ns", "1s", "auto"}, {"999ps", "1000000000001ps"}},
                       {"gap_tick", {"1ns", "1ms", "none"}, {"999ps", "1000000001ps"}},
                       {"isolate_above", {"1B", "auto"}, {"0B"}},
                       {"isolate_share", {"1e-9", "1", "none"}, {"0", "1.001"}},
                       {"isolate_share", {}, {"0.5"}, ", isolate_above: 10KB"},
                       {"release_below", {"1B", "auto"}, {"0B"}},
                       {"rate_control", {"true", "false"}, {}},
                       {"rate_control", {"false"}, {"true"}, ", isolate: false"},
                       {"clock_spread", {"0ps", "1s"}, {"-1ps", "1000000000001ps"}},
                       {"queue_flows", {"1", "65536"}, {"0", "65537"}},
                       {"held_age", {"1ps", "1000s"}, {"0ps", "1000000000000001ps"}}});
}

TEST(TelemetryLimitsTest, OfTr) {
  ExpectLimits("tr", {{"long_above", {"1B"}, {"0B"}},
                      {"bits", {"1", "8"}, {"0", "9"}},
                      {"idle", {"1ns", "1000s", "auto"}, {"999ps", "1000000000000001ps"}},
                      {"buffer", {"1B", "auto"}, {"0B"}}});
}

TEST(TelemetryLimitsTest, OfPdlb) {
  ExpectLimits("pdlb", {{"granularity", {"1", "1000000000", "adaptive"}, {"0", "1000000001"}},
                        {"initial", {"1", "44"}, {"0", "45"}},
                        {"period", {"1us", "1s"}, {"999999ps", "1000000000001ps"}},
                        {"theta", {"1.001", "1000"}, {"1", "1000.001"}},
                        {"min_samples", {"1", "512"}, {"0", "513"}},
                        {"stale", {"1ps", "1000s"}, {"0ps", "1000000000000001ps"}},
                        {"model_packets", {"1", "10000000"}, {"0", "10000001"}},
                        {"model_paths", {"1", "65535", "auto"}, {"0", "65536"}},
                        {"model_rate", {"1bps", "auto"}, {"0bps"}},
                        {"model_queue", {"0", "1000000", "auto"}, {"-1", "1000001"}}});
}

TEST(TelemetryLimitsTest, OfBestNexthop) {
  ExpectLimits("best_nexthop",
               {{"gap", {"1ps", "10s", "auto"}, {"0ps", "10000000000001ps"}},
                {"dre_period", {"1ns", "10s", "auto"}, {"999ps", "10000000000001ps"}},
                {"dre_alpha", {"1e-9", "1"}, {"0", "1.001"}},
                {"probe_every", {"1us", "10s", "auto"}, {"999999ps", "10000000000001ps"}},
                {"stale", {"1ns", "1000s", "auto"}, {"999ps", "1000000000000001ps"}},
                {"latency_range", {"1ps", "auto"}, {"0ps"}},
                {"queue_range", {"1", "auto"}, {"0"}},
                {"utilisation_range", {"1e-9", "auto"}, {"0"}}});
}

// Packets of a burst may take different paths, so transports that need order are warned.
TEST(TelemetryLimitsTest, PerPacketSchemesReorder) {
  for (const char* kind : {"flb", "tr", "pdlb"}) {
    EXPECT_TRUE(LoadBalancers().Make(kind).settings->reorders()) << kind;
  }
}

// docs/policies.md gives these defaults.
TEST(TelemetryLimitsTest, DefaultsAreThoseOfTheDocumentation) {
  const std::map<std::string, std::string> expected = {
      {"tdlb",
       "congested_above: auto, clear_below: auto, detect_at: leaf_all, check_every: 10us, reroute: "
       "marked, place: delay, notification_age: 1ms, queue_flows: 512, probe_every: 100us, probe: "
       "echo, table: full, stale: auto, clock_spread: 0ps, table_age: 5ms"},
      {"flb",
       "stamp_every: auto, compare: raw, gap_tick: none, isolate: true, rate_control: false, "
       "isolate_above: auto, isolate_share: none, release_below: auto, evict: force, scope: "
       "uplink, clock_spread: 0ps, queue_flows: 512, table_age: 1ms, held_age: 100ms"},
      {"tr",
       "long_above: 100KB, bits: 5, idle: auto, buffer: auto, telemetry: ack5, decay: false, "
       "own_serialization: true, table_age: 100ms"},
      {"pdlb",
       "granularity: adaptive, initial: 1, sizes: all, cell_route: hash, period: 100us, slow_if: "
       "min_theta, theta: 1.4, min_samples: 8, stale: 10ms, estimate_per: leaf, signal: rtt, "
       "collect: piggyback, form: corrected, model_packets: 10000, model_paths: auto, model_rate: "
       "auto, model_queue: auto"},
      {"best_nexthop",
       "scale: datacenter, gap: auto, dre_period: auto, dre_alpha: 0.5, probes: true, probe_every: "
       "auto, stale: auto, apply_at: edge, direction: toward_source, key: host, latency_range: "
       "auto, queue_range: auto, utilisation_range: auto, table_age: 5ms"}};
  for (const auto& [kind, settings] : expected) {
    const Chosen<LoadBalancer> made = LoadBalancers().Make(kind);
    std::string found;
    for (const FieldInfo& info :
         DescribeFields([&](Fields& fields) { made.settings->Declare(fields); })) {
      if (info.path == "table_entries" || info.path == "table_bits") continue;
      found += (found.empty() ? "" : ", ") + info.path + ": " + info.preset;
    }
    EXPECT_EQ(found, settings) << kind;
  }
}

}  // namespace heddle::telemetry_limits_test
