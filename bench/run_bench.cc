// SPDX-License-Identifier: Apache-2.0
// What a whole simulation costs per packet-hop: DCTCP, ECMP, statistics and rows of flows.csv, on a
// leaf-spine of 100 Gbps links with 1 us of delay.

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/paired.h"
#include "bench/scenario.h"

namespace heddle {
namespace {

double NanosecondsPerHop(const Scenario& scenario, int threads) {
  const SimulationResult result = RunScenario(scenario, threads).result;
  return result.run_seconds * 1e9 / static_cast<double>(result.packets.hops);
}

void Measure(const std::string& name, const Scenario& scenario, int rounds) {
  Scenario short_hosts = scenario;
  short_hosts.host_delay = "25ns";
  fmt::print("{}, per packet-hop\n", name);
  const std::vector<PairedTimes> times = MeasureInTurns(
      {{"1 thread", [&] { return NanosecondsPerHop(scenario, 1); }},
       {"2 threads", [&] { return NanosecondsPerHop(scenario, 2); }},
       {"host links of 25 ns, 1 thread", [&] { return NanosecondsPerHop(short_hosts, 1); }}},
      rounds);
  fmt::print(
      "  two threads are {:.2f} times as fast as one; short host links cost {:.2f} times as "
      "much\n",
      times[0].median / times[1].median, times[2].median / times[0].median);
}

// A file of flows of 1 GB from each of 16 hosts on leaf 0 to one on leaf 1.
class FlowFile {
 public:
  FlowFile() {
    std::ofstream file(path_);
    file << "src,dst,size_bytes,start_ps\n";
    for (int h = 0; h < 16; ++h) file << h << "," << h + 16 << ",1000000000,0\n";
  }
  ~FlowFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / fmt::format("heddle_bench_{}.csv", getpid());
};

// Neither flows that wait to start nor hosts that do nothing may cost anything.
void MeasureIdle(bool smoke, int rounds) {
  const std::string t_max = smoke ? "30us" : "2ms";
  const FlowFile flows;
  const Scenario busy{"leaves: 2, spines: 8, hosts_per_leaf: 16",
                      fmt::format("{{kind: flows, file: {}}}", flows.path()), t_max};
  Scenario waiting = busy;
  waiting.workload +=
      ", {kind: poisson, sizes: small, load: 0.5, start: 10ms, flows: 1000000, measured: false}";
  Scenario idle = busy;
  idle.shape = "leaves: 128, spines: 8, hosts_per_leaf: 16";
  fmt::print("What waits or idles, per packet-hop\n");
  const std::vector<PairedTimes> times = MeasureInTurns(
      {{"32 busy hosts", [&] { return NanosecondsPerHop(busy, 1); }},
       {"and a million flows that start later", [&] { return NanosecondsPerHop(waiting, 1); }},
       {"and 2016 hosts that do nothing", [&] { return NanosecondsPerHop(idle, 1); }}},
      rounds);
  fmt::print("  waiting flows cost {:.2f} times, idle hosts {:.2f} times as much\n",
             times[1].median / times[0].median, times[2].median / times[0].median);
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  using namespace heddle;
  const bool smoke = IsSmoke(argc, argv);
  const int rounds = smoke ? 1 : 5;
  const std::string small = "leaves: 8, spines: 8, hosts_per_leaf: 16";
  const std::string large = "leaves: 32, spines: 32, hosts_per_leaf: 32";
  const std::string permutation = "{kind: permutation, size: 1GB}";
  const std::string websearch = "{kind: poisson, sizes: websearch, load: 0.5, duration: 1ms}";
  Measure("128 hosts, permutation", {small, permutation, smoke ? "30us" : "1ms"}, rounds);
  Measure("128 hosts, web search at 50 %", {small, websearch, smoke ? "30us" : "2ms"}, rounds);
  Measure("1024 hosts, permutation", {large, permutation, smoke ? "20us" : "300us"}, rounds);
  Measure("1024 hosts, web search at 50 %", {large, websearch, smoke ? "20us" : "500us"}, rounds);
  MeasureIdle(smoke, rounds);
  return 0;
}
