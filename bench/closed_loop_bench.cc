// SPDX-License-Identifier: Apache-2.0
// Measures what a closed loop costs, in which messages start each other: runs of collectives
// against runs of the same packets as an open loop, whose flows start at the times that the first
// run has written. The two are timed in turns (bench/paired.h). With --smoke it runs just enough of
// each to show that it works.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/paired.h"
#include "bench/scenario.h"

namespace heddle {
namespace {

// A flow list that is removed in the end.
class FlowFile {
 public:
  explicit FlowFile(std::string_view flows) { std::ofstream(path_) << flows; }
  ~FlowFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / fmt::format("heddle_loop_{}.csv", getpid());
};

// CPU time of the run itself, per packet-hop: a shared machine disturbs it less than the clock.
double CpuPerHop(const Scenario& scenario) {
  const SimulationResult result = RunScenario(scenario).result;
  return result.cpu_seconds * 1e9 / static_cast<double>(result.packets.hops);
}

void Compare(const std::string& name, const std::string& workload, int rounds) {
  const Scenario closed{.shape = LeafSpine(8, 8, 8),
                        .workload = fmt::format("{{kind: collective, {}}}", workload),
                        .transport = "{kind: rocev2, cc: dcqcn}"};
  std::string table;
  const Outcome first = RunScenario(closed, 1, &table);
  const FlowFile flows(table);
  Scenario open = closed;
  open.workload = fmt::format("{{kind: flows, file: {}}}", flows.path());
  const int64_t hops = RunScenario(open).result.packets.hops;
  if (hops != first.result.packets.hops) {
    fmt::print(stderr, "the loops differ: {} and {} hops\n", first.result.packets.hops, hops);
    std::exit(1);
  }
  fmt::print("{}, per packet-hop\n", name);
  const std::vector<PairedTimes> times =
      MeasureInTurns({{"closed loop", [&] { return CpuPerHop(closed); }},
                      {"the same flows as an open loop", [&] { return CpuPerHop(open); }}},
                     rounds);
  fmt::print("  {} hops of {} messages; the closed loop costs {:.3f} times as much\n", hops,
             first.result.flows_finished, RatioOf(times[0], times[1]));
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  using namespace heddle;
  const bool smoke = IsSmoke(argc, argv);
  const int rounds = smoke ? 1 : 11;
  Compare("Ring all-reduce of 64 ranks, messages of 125 kB",
          smoke ? "op: all_reduce, ranks: 64, size: 64KB" : "op: all_reduce, ranks: 64, size: 8MB",
          rounds);
  Compare("All-to-all of 64 ranks, messages of 100 kB",
          smoke ? "op: all_to_all, ranks: 64, window: 8, size: 64KB"
                : "op: all_to_all, ranks: 64, window: 8, size: 6400KB",
          rounds);
  Compare("All-to-all of 64 ranks, messages of 10 kB",
          smoke ? "op: all_to_all, ranks: 64, window: 8, size: 6400B"
                : "op: all_to_all, ranks: 64, window: 8, size: 640KB, iterations: 5",
          rounds);
  return 0;
}
