// SPDX-License-Identifier: Apache-2.0
// The settings of TCP, MPTCP, RoCEv2, MP-RDMA and of their congestion controls at their limits: the
// last value on each side is taken, the next one beyond is refused, with the setting's name.

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

// Class 0 is not for data, and numbers of packets in a window have 16 bits. 1 GB is more than any
// network holds in flight.
std::vector<SettingValues> LimitsOfRdma() {
  return {
      {"mtu", {"256", "9000", "auto"}, {"255", "9001"}},
      {"mtu", {"auto"}, {"1000"}, ", framing: {payload: 1000B, header: 62B, ack: 64B}"},
      {"framing", {"rocev2", "ns3_rdma", "ip1500"}, {}},
      {"lb_header", {"0B", "256B"}, {"-1B", "257B"}},
      {"priority", {"1", "7"}, {"0", "8"}},
      {"control_priority", {"0", "7"}, {"-1", "8"}},
  };
}

const std::vector<std::string> kNotInHundredSeconds = {"0ps", "100000000000001ps"};

TEST(SettingsLimitsTest, OfRoce) {
  ExpectLimits("{{kind: rocev2, {}}}", LimitsOfRdma());
  ExpectLimits("{{kind: rocev2, {}}}",
               {{"recovery", {"gbn", "irn", "ddp", "sr"}, {"sack"}},
                {"nack", {"per_gap", "timer"}, {"never"}},
                {"nack_interval", {"1ps", "1s"}, {"0ps", "1000000000001ps"}},
                {"ack_interval", {"1", "1000"}, {"0", "1001"}},
                {"rto", {"1ps", "100s", "never"}, kNotInHundredSeconds},
                {"nack_threshold", {"1", "65535"}, {"0", "65536"}},
                {"rto_low", {"1ps", "100s"}, kNotInHundredSeconds, ", rto_high: 100s"},
                {"rto_high", {"1ps", "100s"}, kNotInHundredSeconds, ", rto_low: 1ps"},
                {"rto_high", {"100us"}, {"99999999ps"}},  // rto_low is 100 us.
                {"rto_low_packets", {"0", "65535"}, {"-1", "65536"}},
                {"ddp_loss", {"timeout", "threshold"}, {"never"}},
                {"ddp_rto", {"1ps", "100s", "auto"}, kNotInHundredSeconds},
                {"ddp_window", {"1B", "1GB", "auto"}, {"0B", "1000000001B"}},
                {"window", {"none", "bdp", "bdp_var"}, {"irn"}},
                {"bdp_scope", {"pair", "max"}, {"min"}},
                {"bdp", {"1B", "1GB", "auto"}, {"0B", "1000000001B"}},
                {"line_rate", {"1bps", "nic"}, {"0bps"}},
                {"gap_unit", {"1ps", "1ms", "exact"}, {"0ps", "1000000001ps"}},
                {"retime_on_rate_change", {"true", "false"}, {}},
                {"turns", {"from_end", "from_start"}, {"never"}}});
}

// The receiver's bitmap has 64 packets.
TEST(SettingsLimitsTest, OfMpRdma) {
  ExpectLimits("{{kind: mprdma, {}}}", LimitsOfRdma());
  ExpectLimits("{{kind: mprdma, {}}}", {{"first_window", {"1", "65535", "auto"}, {"0", "65536"}},
                                        {"delta", {"1", "64"}, {"0", "65"}},
                                        {"probe", {"0", "1"}, {"-0.001", "1.001"}},
                                        {"message", {"1B", "1GB", "none"}, {"0B", "1000000001B"}},
                                        {"beyond", {"drop", "nack"}, {"keep"}},
                                        {"rto", {"1ps", "100s", "auto"}, kNotInHundredSeconds}});
}

TEST(SettingsLimitsTest, OfDcqcn) {
  const std::vector<std::string> beyond = {"0ps", "10000000000001ps"};
  ExpectLimits("{{kind: rocev2, cc: {{kind: dcqcn, {}}}}}",
               {{"rp", {"paper", "nic"}, {"cx4"}},
                {"g", {"1e-9", "1"}, {"0", "1.001"}},
                {"alpha_interval", {"1ps", "10s", "auto"}, beyond},
                {"increase_interval", {"1ps", "10s", "auto"}, beyond},
                {"decrease_interval", {"1ps", "10s"}, beyond},
                {"byte_counter", {"1000B", "1TB"}, {"999B"}},
                {"threshold", {"0", "1000", "auto"}, {"-1", "1001"}},
                {"rai", {"1bps", "auto"}, {"0bps"}},
                {"rhai", {"1bps", "auto"}, {"0bps"}},
                {"min_rate", {"1bps", "auto"}, {"0bps"}},
                {"clamp_target", {"true", "false"}, {}},
                {"rate_on_first_cnp", {"1e-9", "1"}, {"0", "1.001"}},
                {"cnp_mode", {"packet", "ack_flag"}, {"none"}},
                {"cnp_interval", {"0ps", "10s", "auto"}, {"-1ps", "10000000000001ps"}},
                {"cnp_trailing", {"true", "false"}, {}},
                {"cnp_on_ooo", {"true", "false"}, {}}});
}

TEST(SettingsLimitsTest, OfHpcc) {
  ExpectLimits("{{kind: rocev2, cc: {{kind: hpcc, {}}}}}",
               {{"eta", {"1e-9", "1"}, {"0", "1.001"}},
                {"max_stage", {"0", "1000"}, {"-1", "1001"}},
                {"base_rtt", {"1ps", "1s", "auto"}, {"0ps", "1000000000001ps"}},
                {"rtt_scope", {"max", "pair"}, {"min"}},
                {"w_ai", {"0B", "1GB", "auto"}, {"-1B", "1000000001B"}},
                {"ai_rate", {"1bps", "none"}, {"0bps"}},
                {"flows", {"1", "1000000"}, {"0", "1000001"}},
                {"min_rate", {"1bps", "auto"}, {"0bps"}}});
}

TEST(SettingsLimitsTest, OfTimely) {
  const std::vector<std::string> beyond = {"0ps", "1000000000001ps"};
  ExpectLimits("{{kind: rocev2, cc: {{kind: timely, {}}}}}",
               {{"alpha", {"1e-9", "1"}, {"0", "1.001"}},
                {"beta", {"1e-9", "1"}, {"0", "1.001"}},
                {"t_low", {"1ps", "1s"}, beyond, ", t_high: 1s"},
                {"t_high", {"1ps", "1s"}, beyond, ", t_low: 1ps"},
                {"t_high", {"50us"}, {"49999999ps"}},  // t_low is 50 us.
                {"min_rtt", {"1ps", "1s"}, beyond},
                {"delta", {"1bps", "auto"}, {"0bps"}},
                {"hyperactive_after", {"1", "1000"}, {"0", "1001"}},
                {"hyperactive_factor", {"1", "1000"}, {"0", "1001"}},
                {"segment", {"1B", "1MB"}, {"0B", "1000001B"}},
                {"min_rate", {"1bps", "auto"}, {"0bps"}}});
}

TEST(SettingsLimitsTest, OfSwift) {
  const std::vector<std::string> beyond = {"-1ps", "1000000000001ps"};
  ExpectLimits("{{kind: rocev2, cc: {{kind: swift, {}}}}}",
               {{"ai", {"1e-9", "1000"}, {"0", "1000.001"}},
                {"beta", {"1e-9", "1"}, {"0", "1.001"}},
                {"max_mdf", {"1e-9", "1"}, {"0", "1.001"}},
                {"base", {"1ps", "1s"}, {"0ps", "1000000000001ps"}},
                {"per_hop", {"0ps", "1s", "auto"}, beyond},
                {"fs_range", {"0ps", "1s", "auto"}, beyond},
                {"fs_min", {"1e-9", "999999"}, {"0", "1000001"}, ", fs_max: 1e6"},
                {"fs_max", {"1e-8", "1e6"}, {"0", "1000001"}, ", fs_min: 1e-9"},
                {"fs_max", {"0.101"}, {"0.1"}},  // fs_min is 0.1.
                {"min_cwnd", {"1e-9", "1e6"}, {"0", "1000001"}, ", max_cwnd: 1e6"},
                {"max_cwnd", {"1e-9", "1e6"}, {"0", "1000001"}, ", min_cwnd: 1e-9"},
                {"max_cwnd", {"0.001"}, {"0.0009"}},  // min_cwnd is 0.001.
                {"initial_cwnd", {"1e-9", "1e6", "auto"}, {"0", "1000001"}},
                {"retx_reset", {"1", "1000"}, {"0", "1001"}}});
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
