// SPDX-License-Identifier: Apache-2.0
// The settings of TCP, of MPTCP and of their congestion controls at their limits: the last value on
// each side is taken, the next one beyond is refused, with the setting's name.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/limits.h"
#include "transport/transports.h"

namespace heddle::settings_limits_test {

std::string MistakesInTransport(const std::string& yaml) {
  const Diagnostics diagnostics = KindDiagnostics(yaml, Transports());
  return diagnostics.ok() ? "" : diagnostics.Report();
}

// `form` is the transport with a place for the setting.
void ExpectLimits(const std::string& form, const std::vector<SettingValues>& all) {
  ExpectTakenAndRefused(
      all,
      [&](const SettingValues& its, const std::string& value) {
        const std::string setting = fmt::format("{}: {}{}", its.setting, value, its.beside);
        return MistakesInTransport(fmt::format(fmt::runtime(form), setting));
      },
      [](const SettingValues& its, const std::string&) { return "." + its.setting + ": "; });
}

// A SACK block names no more than 65,535 segments. Class 0 is not for data.
std::vector<SettingValues> LimitsOfTcp() {
  const std::string longest = ", max_rto: 100s";
  return {
      {"dupthresh", {"1", "65535", "inf"}, {"0", "65536"}},
      {"iw", {"1", "65535"}, {"0", "65536"}},
      {"min_rto", {"1ps", "100s"}, {"0ps", "100000000000001ps"}, longest},
      {"rto_init", {"1ps", "100s", "min_rto"}, {"0ps", "100000000000001ps"}, longest},
      {"max_rto", {"1ps", "100s"}, {"0ps", "100000000000001ps"}, ", min_rto: 1ps"},
      {"max_rto", {"10ms"}, {"9999999999ps"}},  // min_rto is 10 ms.
      {"rto_granularity", {"0ps", "1s"}, {"-1ps", "1000000000001ps"}},
      {"delack_count", {"1", "1000"}, {"0", "1001"}},
      {"delack_timeout", {"1ps", "10s"}, {"0ps", "10000000000001ps"}},
      {"max_cwnd", {"1", "65535", "unlimited"}, {"0", "65536"}},
      {"rwnd", {"1", "65535", "unlimited"}, {"0", "65536"}},
      {"mtu", {"256", "9000"}, {"255", "9001"}},
      {"mtu", {"1500"}, {"1499", "9000"}, ", framing: {payload: 1000B, header: 40B, ack: 40B}"},
      {"priority", {"1", "7"}, {"0", "8"}},
      {"control_priority", {"0", "7", "data"}, {"-1", "8"}},
      {"recovery", {"sack", "newreno"}, {"fack"}},
      {"tlp", {"true", "false"}, {}, ", loss: rack"},
      {"tlp", {"false"}, {"true"}},
  };
}

TEST(SettingsLimitsTest, OfTcp) {
  ExpectLimits("{{kind: tcp, {}}}", LimitsOfTcp());
  ExpectLimits("{{kind: tcp, {}}}",
               {{"setup", {"none", "handshake", "persistent"}, {"instant", "join"}}});
}

TEST(SettingsLimitsTest, OfTheSubflowsOfMptcp) {
  ExpectLimits("{{kind: mptcp, {}}}", LimitsOfTcp());
  ExpectLimits("{{kind: mptcp, {}}}",
               {{"subflows", {"1", "16"}, {"0", "17"}},
                {"setup", {"instant", "join"}, {"none", "handshake", "persistent"}},
                {"scheduler", {"pull", "min_rtt", "round_robin", "redundant"}, {"random"}}});
}

// The subflow that sprays is the 16th. 1 TB is more than any flow.
TEST(SettingsLimitsTest, OfMmptcp) {
  ExpectLimits("{{kind: mmptcp, {}}}",
               {{"subflows", {"1", "15"}, {"0", "16"}},
                {"switch_bytes", {"0B", "1TB", "never"}, {"-1B", "1000000000001B"}},
                {"switch_window", {"1", "65535", "never"}, {"0", "65536"}},
                {"extra_dupacks", {"0", "65535", "auto"}, {"-1", "65536"}},
                {"scheduler", {"pull", "min_rtt", "round_robin"}, {"redundant"}}});
}

// The options that need to know which segments have arrived do not go with NewReno.
TEST(SettingsLimitsTest, NewRenoHasNoOptionThatNeedsTheScoreboard) {
  for (const std::string kind : {"tcp", "mptcp"}) {
    for (const std::string option :
         {"loss: rack", "rescue: true", "prr: true", "undo: dsack", "reordering_adapt: true"}) {
      SCOPED_TRACE(kind + " " + option);
      EXPECT_EQ(MistakesInTransport(fmt::format("{{kind: {}, {}}}", kind, option)), "");
      const std::string errors =
          MistakesInTransport(fmt::format("{{kind: {}, recovery: newreno, {}}}", kind, option));
      EXPECT_NE(errors.find("need sack"), std::string::npos) << errors;
    }
  }
}

TEST(SettingsLimitsTest, OfResequencing) {
  const std::vector<SettingValues> all = {
      {"flow_packets", {"1", "1000000000", "unlimited"}, {"0", "1000000001"}},
      {"host_bytes", {"1B", "1TB", "unlimited"}, {"0B", "1000000000001B"}}};
  const auto expect = [&](const std::string& kind, const std::vector<SettingValues>& own) {
    for (const std::string transport : {"tcp", "dctcp", "rocev2"}) {
      const std::string form =
          fmt::format("{{{{kind: {}, resequencing: {{{{kind: {}, {{}}}}}}}}}}", transport, kind);
      ExpectLimits(form, own);
      ExpectLimits(form, all);
    }
  };
  expect("timeout", {{"timeout", {"1ps", "100s", "never"}, {"0ps", "100000000000001ps"}}});
  expect("juggler",
         {{"inseq_timeout", {"0ps", "1s"}, {"-1ps", "1000000000001ps"}, ", ofo_timeout: 2s"},
          {"ofo_timeout", {"1ps", "100s"}, {"0ps", "100000000000001ps"}},
          {"ofo_timeout", {"5us"}, {"4999999ps"}, ", inseq_timeout: 5us"},
          {"flows", {"1", "1000000"}, {"0", "1000001"}}});
  expect("presto_gro", {{"alpha", {"1e-9", "1000"}, {"0", "1000.1"}},
                        {"beta", {"1e-9", "1000"}, {"0", "1000.1"}},
                        {"gain", {"1e-9", "1"}, {"0", "1.1"}},
                        {"initial", {"1ps", "1s"}, {"0ps", "1000000000001ps"}}});
}

TEST(SettingsLimitsTest, OfCongestionControls) {
  ExpectLimits("{{kind: tcp, cc: {{kind: cubic, {}}}}}",
               {{"beta", {"1e-9", "0.99"}, {"0", "0.991"}},
                {"c", {"1e-9", "1e9"}, {"0", "1.001e9"}},
                {"fast_convergence", {"true", "false"}, {}}});
  ExpectLimits("{{kind: dctcp, {}}}", {{"g", {"1e-9", "1"}, {"0", "1.001"}},
                                       {"alpha0", {"0", "1"}, {"-0.001", "1.001"}},
                                       {"min_cwnd", {"1", "100"}, {"0.999", "100.001"}},
                                       {"grow_in_cwr", {"true", "false"}, {}}});
  // The fixed rate may be any but none.
  ExpectLimits("{{kind: rocev2, cc: {{kind: none, {}}}}}",
               {{"rate", {"1bps", "10Gbps", "line"}, {"0bps"}}});
  // htsim's DCTCP has one weight to set, and htsim's TCP nothing.
  for (const char* rest : {"alpha0: 0.5", "min_cwnd: 1", "grow_in_cwr: true"}) {
    const std::string dctcp = fmt::format("{{kind: dctcp, variant: htsim, {}}}", rest);
    EXPECT_NE(MistakesInTransport(dctcp).find("variant"), std::string::npos) << rest;
  }
  EXPECT_EQ(MistakesInTransport("{kind: dctcp, variant: htsim, g: 0.5}"), "");
  for (const char* kind : {"tcp", "dctcp"}) {
    const std::string form = fmt::format("{{{{kind: {}, variant: htsim, {{}}}}}}", kind);
    ExpectLimits(form, {{"delack_count", {"1"}, {"2"}}});
  }
  ExpectLimits("{{kind: tcp, variant: htsim, {}}}", {{"ecn", {"off"}, {"rfc3168"}}});
}

}  // namespace heddle::settings_limits_test
