// SPDX-License-Identifier: Apache-2.0

#include "cli/bench_command.h"

#include <absl/status/statusor.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/decision/cost.h"
#include "bench/decision/cost_cases.h"
#include "cli/commands.h"
#include "cli/failures.h"
#include "experiment/version.h"
#include "settings/status.h"

namespace heddle {
namespace {

struct BenchArguments {
  std::vector<std::string> balancers;
  std::vector<size_t> candidates = kCostCandidates;
  std::vector<size_t> flows = kCostFlows;
  int rounds = 3;
};

std::string Cell(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

void PrintRow(const std::string& name, const absl::StatusOr<DecisionCost>& cost,
              const DecisionCost& rps) {
  if (!cost.ok()) {
    fmt::print("{:16} does not support this fabric\n", name);
    return;
  }
  fmt::print("{:16} {:>9.1f} {:>6.2f} {:>9.1f} {:>6.2f} {:>8} {:>8} {:>10} {:>10} {:>8}\n", name,
             cost->decide_ns, cost->decide_ns / rps.decide_ns, cost->switch_ns,
             cost->switch_ns / rps.switch_ns, Cell(cost->send_ns, 1), Cell(cost->host_ns, 1),
             cost->switch_bytes, cost->host_ns ? fmt::format("{}", cost->host_bytes) : "-",
             Cell(cost->misses, 2));
  std::fflush(stdout);
}

// Prints one row for each load balancer. All ratios are to RPS, which is measured first.
absl::Status PrintTable(const BenchArguments& arguments, size_t candidates, size_t flows,
                        const std::vector<RecordedPacket>& packets) {
  fmt::print("{} candidates, {} live flows\n", candidates, flows);
  fmt::print("{:16} {:>9} {:>6} {:>9} {:>6} {:>8} {:>8} {:>10} {:>10} {:>8}\n", "", "decide_ns",
             "x rps", "switch_ns", "x rps", "send_ns", "host_ns", "switch_B", "host_B", "misses");
  const auto measure = [&](const std::string& name) {
    return MeasureDecisions(
        {.balancer = name, .candidates = candidates, .rounds = arguments.rounds}, packets);
  };
  const DecisionCost rps = measure("rps").value();
  for (const std::string& name : arguments.balancers) {
    const absl::StatusOr<DecisionCost> cost = name == "rps" ? rps : measure(name);
    if (absl::IsInvalidArgument(cost.status())) return cost.status();
    PrintRow(name, cost, rps);
  }
  fmt::print("\n");
  return absl::OkStatus();
}

int BenchLb(BenchArguments arguments) {
  Diagnostics diagnostics;
  for (const std::string& balancer : arguments.balancers) ReadBalancer(balancer, diagnostics);
  if (!diagnostics.ok()) return BadInput(diagnostics);
  if (arguments.balancers.empty()) arguments.balancers = LoadBalancers().Names();
  if (IsDebugBuild()) {
    fmt::print(stderr, "heddle: this is a Debug build; its times are not representative\n");
  }
  if (!CountsCacheMisses()) {
    fmt::print(stderr,
               "heddle: cache misses cannot be counted on this machine (perf_event_open)\n");
  }
  const std::vector<RecordedPacket> recorded = RecordLeaf();
  for (const size_t flows : arguments.flows) {
    const std::vector<RecordedPacket> packets = WithLiveFlows(recorded, flows);
    for (const size_t candidates : arguments.candidates) {
      const absl::Status status = PrintTable(arguments, candidates, flows, packets);
      if (status.ok()) continue;
      return BadInput(status);
    }
  }
  fmt::print(
      "decide_ns: the call of the switch's policy that chooses a next hop; switch_ns: all work of "
      "a leaf on a\npacket from or to its hosts, with queues, timers and arriving telemetry; "
      "send_ns: the call of the\nsending host's policy; host_ns: all work of both hosts' policies "
      "on a data packet and its ACK;\nx rps: the column before it, divided by that of random "
      "packet spraying (RPS) in this run; switch_B,\nhost_B: bytes of state; misses: last-level "
      "cache misses per decision.\n");
  return kExitDone;
}

}  // namespace

void AddBenchCommand(CLI::App& app, std::function<int()>& command) {
  CLI::App* bench =
      app.add_subcommand("bench", "Measure the cost of load balancers on this machine");
  bench->require_subcommand(1);
  CLI::App* lb = bench->add_subcommand(
      "lb", "Measure the time of one decision, and compare it with random packet spraying (RPS)");
  const auto arguments = std::make_shared<BenchArguments>();
  lb->add_option("names", arguments->balancers,
                 "Load balancers, written as an experiment's lb: tr or '{kind: tr, table_entries: "
                 "131072}' (default: all, which takes minutes)");
  lb->add_option("--candidates", arguments->candidates, "Numbers of next hops to choose from")
      ->delimiter(',')
      ->check(CLI::Range(2, 1'024))
      ->capture_default_str();
  lb->add_option("--flows", arguments->flows, "Numbers of live flows")
      ->delimiter(',')
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  lb->add_option("--rounds", arguments->rounds, "Repetitions; the fastest one counts")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  lb->callback([&command, arguments] { command = [arguments] { return BenchLb(*arguments); }; });
}

}  // namespace heddle
