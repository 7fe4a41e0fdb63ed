// SPDX-License-Identifier: Apache-2.0
// Receiver-driven congestion control (RCCC): threads, memory, and settings that do not go with it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/rccc_kit.h"
#include "transport/uet/uet_credit.h"
#include "transport/uet/uet_pacer.h"

namespace heddle::rccc_settings_test {

using rccc::kBoth;
using rccc::kCreditAlone;
using rccc::kDeep;
using rccc::kLink;
using rccc::kTrims;

// --- Determinism, memory, settings ---

TEST(RcccTest, ResultsDoNotDependOnThreads) {
  for (const std::string& transport :
       {kCreditAlone, kBoth,
        std::string("{kind: uet, cc: none, receiver: rccc, rccc: {fabric: on}}")}) {
    const auto text = [&](int threads) {
      return RecordsOfSixteenHosts({.graph = {},
                                    .transport = transport,
                                    .balancer = "{kind: mixed}",
                                    .port = kTrims,
                                    .threads = threads});
    };
    const std::string one = text(1);
    EXPECT_EQ(one, text(2));
    EXPECT_EQ(one, text(3));
  }
}

// A flow takes 24 bytes more at its sender and 20 at its receiver, and two places of four bytes in
// the lists of its receiver's pacer.
TEST(RcccTest, TakesFewBytesPerFlow) {
  EXPECT_EQ(sizeof(UetCredit), 24u);
  EXPECT_LE(sizeof(UetDemand), 16u);
  const auto bytes = [](const std::string& more) {
    Lab lab({.graph = Star(33, kLink),
             .transport = "{kind: uet, cc: constant, window: 8300B, ack_bytes: 1B" + more + "}",
             .port = kDeep});
    for (HostId h = 0; h < 32; ++h) lab.AddFlow(h, 32, 1'000'000);
    lab.Run(Time{} + 200_us);
    return lab.network().host(32).transport().memory_bytes();
  };
  const size_t without = bytes("");
  const size_t with = bytes(", receiver: rccc");
  EXPECT_GT(with, without + sizeof(UetPacer));
  EXPECT_LE(with, without + sizeof(UetPacer) + 2 * 32 * sizeof(FlowId));
}

std::string Errors(const std::string& transport, const std::string& rest = "") {
  return ErrorsOf(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
      "transport: " +
      transport + "\nlb: ecmp\nworkload: [{kind: permutation, size: 10KB}]\n" + rest);
}

TEST(RcccSettingsTest, RefusesWhatDoesNotGoTogether) {
  EXPECT_EQ(Errors("{kind: uet, receiver: rccc}"), "");
  EXPECT_EQ(Errors("{kind: uet, receiver: none}"), "");
  EXPECT_EQ(Errors("{kind: uet, cc: none, receiver: rccc, rccc: {fabric: off}}"), "");
  const std::vector<std::vector<std::string>> refused = {
      {"{kind: uet, cc: none}", "transport.cc", "set receiver: rccc"},
      {"{kind: uet, cc: none, receiver: none}", "transport.cc", "set receiver: rccc"},
      {"{kind: uet, receiver: rccc, rccc: {fabric: maybe}}", "transport.rccc.fabric", "auto"},
      {"{kind: uet, receiver: eqds}", "transport.receiver", "rccc"},
      {"{kind: uet, preset: strack, receiver: rccc}", "transport.receiver", "receiver: none"},
      {"{kind: rocev2, receiver: rccc}", "transport.receiver", "kind: uet"},
      {"{kind: tcp, receiver: rccc}", "transport.receiver", "kind: uet"},
      {"{kind: dctcp, receiver: rccc}", "transport.receiver", "kind: uet"},
      {"{kind: mptcp, receiver: rccc}", "transport.receiver", "kind: uet"},
      {"{kind: mprdma, receiver: rccc}", "transport.receiver", "kind: uet"},
  };
  for (const std::vector<std::string>& words : refused) {
    const std::string errors = Errors(words[0]);
    EXPECT_NE(errors.find(words[1]), std::string::npos) << words[0] << ": " << errors;
    EXPECT_NE(errors.find(words[2]), std::string::npos) << words[0] << ": " << errors;
  }
  const std::string queueing = Errors("{kind: uet, receiver: rccc}", "measure: {queueing: true}\n");
  EXPECT_NE(queueing.find("measure.queueing"), std::string::npos) << queueing;
  EXPECT_NE(queueing.find("transport.receiver: none"), std::string::npos) << queueing;
  EXPECT_EQ(Errors("{kind: uet}", "measure: {queueing: true}\n"), "");
}

TEST(RcccSettingsTest, WarnsOfWhatHasNoEffect) {
  for (const auto& [transport, path] :
       {std::pair("{kind: uet, rccc: {fabric: on}}", "transport.rccc.fabric"),
        std::pair("{kind: uet, cc: none, receiver: rccc, window: 10KB}", "transport.window"),
        std::pair("{kind: uet, cc: none, receiver: rccc, rcv_pen: 3}", "transport.rcv_pen")}) {
    const Experiment experiment = ExperimentFrom(
        fmt::format("topology: {{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}}\n"
                    "transport: {}\nlb: ecmp\nworkload: [{{kind: permutation, size: 10KB}}]\n",
                    transport));
    const auto names_it = [&](const std::string& warning) {
      return warning.find(path) != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(experiment.warnings, names_it)) << path;
  }
}

}  // namespace heddle::rccc_settings_test
