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
    fmt::print("{:16} refuses such a fabric\n", name);
    return;
  }
  fmt::print("{:16} {:>9.1f} {:>6.2f} {:>9.1f} {:>6.2f} {:>8} {:>8} {:>10} {:>10} {:>8}\n", name,
             cost->decide_ns, cost->decide_ns / rps.decide_ns, cost->switch_ns,
             cost->switch_ns / rps.switch_ns, Cell(cost->send_ns, 1), Cell(cost->host_ns, 1),
             cost->switch_bytes, cost->host_ns ? fmt::format("{}", cost->host_bytes) : "-",
             Cell(cost->misses, 2));
  std::fflush(stdout);
}

// Prints RPS, the reference of all others, and then the others.
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
    fmt::print(stderr, "heddle: this is a Debug build; its times say nothing\n");
  }
  if (!CountsCacheMisses()) {
    fmt::print(stderr, "heddle: this machine does not tell of cache misses (perf_event_open)\n");
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
      "decide_ns: the question to the switch's policy; switch_ns: all that a leaf does with a "
      "packet\nfrom or to its hosts, queues, timers and arriving telemetry included; send_ns: the "
      "question to the\nsending host's policy; host_ns: all that the hosts' policies do with a "
      "packet of data and its ACK;\nx rps: over random spraying in this run; B: bytes of state; "
      "misses: of the last cache per decision.\n");
  return kExitDone;
}

}  // namespace

void AddBenchCommand(CLI::App& app, std::function<int()>& command) {
  CLI::App* bench = app.add_subcommand("bench", "Measure what load balancers cost on this machine");
  bench->require_subcommand(1);
  CLI::App* lb = bench->add_subcommand("lb", "What one decision costs, against random spraying");
  const auto arguments = std::make_shared<BenchArguments>();
  lb->add_option("names", arguments->balancers,
                 "Load balancers (default: all; minutes), as an experiment's lb has them: tr or "
                 "'{kind: tr, table_entries: 131072}'");
  lb->add_option("--candidates", arguments->candidates, "Numbers of next hops to choose among")
      ->delimiter(',')
      ->check(CLI::Range(2, 1'024))
      ->capture_default_str();
  lb->add_option("--flows", arguments->flows, "Numbers of live flows")
      ->delimiter(',')
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  lb->add_option("--rounds", arguments->rounds, "Measurements, of which the least counts")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  lb->callback([&command, arguments] { command = [arguments] { return BenchLb(*arguments); }; });
}

}  // namespace heddle
