// SPDX-License-Identifier: Apache-2.0
// The ratios that docs/validation.md and docs/architecture.md promise: Heddle against a
// conventional engine, two threads against one, kinds of ports against FIFO, waiting flows and idle
// hosts against none. The cases of one ratio are timed in turns within this one process
// (bench/paired.h). With --smoke it runs just enough of each to show that it works.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/forwarding.h"
#include "bench/paired.h"
#include "bench/scenario.h"

namespace heddle {
namespace {

// --- Forwarding ---

using forwarding::ConventionalNetwork;
using forwarding::Counts;
using forwarding::HeddleNetwork;
using forwarding::Shape;

// Runs two independent networks of half the size, which shows how much faster two threads can be on
// this machine. Returns wall-clock nanoseconds per hop of both together.
double NanosecondsSideBySide(const Shape& shape, Time end) {
  const Shape half{shape.leaves / 2, shape.hosts_per_leaf, shape.spines / 2};
  HeddleNetwork first(half, 1);
  HeddleNetwork second(half, 1);
  const double seconds = SecondsOf([&] {
    const std::jthread other([&] { second.Run(end); });
    first.Run(end);
  });
  return seconds * 1e9 / static_cast<double>(first.counts().hops + second.counts().hops);
}

void CompareForwarding(const std::string& name, const Shape& shape, Time end, int rounds) {
  Counts expected;
  const auto measure = [&](auto&& network) {
    const double seconds = SecondsOf([&] { network.Run(end); });
    const Counts counts = network.counts();
    if (expected.hops == 0) expected = counts;
    if (counts != expected) {
      fmt::print(stderr, "the two engines disagree: {} and {} hops, {} and {} drops\n", counts.hops,
                 expected.hops, counts.dropped, expected.dropped);
      std::exit(1);
    }
    return seconds * 1e9 / static_cast<double>(counts.hops);
  };
  fmt::print("{}: forwarding, per packet-hop\n", name);
  const std::vector<PairedTimes> times = MeasureInTurns(
      {{"binary heap, pooled packets", [&] { return measure(ConventionalNetwork(shape)); }},
       {"Heddle, 1 thread", [&] { return measure(HeddleNetwork(shape, 1)); }},
       {"Heddle, 2 threads", [&] { return measure(HeddleNetwork(shape, 2)); }},
       {"two halves side by side, no common clock",
        [&] { return NanosecondsSideBySide(shape, end); }}},
      rounds);
  fmt::print("  {} hops, {} drops, {} marks each\n", expected.hops, expected.dropped,
             expected.marked);
  fmt::print("  Heddle is {:.2f} times as fast as the heap\n", times[0].median / times[1].median);
  fmt::print(
      "  two threads are {:.2f} times as fast as one; the machine gives two independent threads "
      "{:.2f}\n",
      times[1].median / times[2].median, times[1].median / times[3].median);
}

// --- Whole runs ---

void MeasureRuns(const std::string& name, const Scenario& scenario, int rounds) {
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

// A flow list: flows of 1 GB from each of 16 hosts on leaf 0 to one on leaf 1.
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
  const Scenario busy{LeafSpine(2, 8, 16), fmt::format("{{kind: flows, file: {}}}", flows.path()),
                      t_max};
  Scenario waiting = busy;
  waiting.workload +=
      ", {kind: poisson, sizes: small, load: 0.5, start: 10ms, flows: 1000000, measured: false}";
  Scenario idle = busy;
  idle.shape = LeafSpine(128, 8, 16);
  fmt::print("Waiting flows and idle hosts, per packet-hop\n");
  const std::vector<PairedTimes> times = MeasureInTurns(
      {{"32 busy hosts", [&] { return NanosecondsPerHop(busy, 1); }},
       {"and a million flows that start later", [&] { return NanosecondsPerHop(waiting, 1); }},
       {"and 2016 hosts that do nothing", [&] { return NanosecondsPerHop(idle, 1); }}},
      rounds);
  fmt::print("  waiting flows cost {:.2f} times, idle hosts {:.2f} times as much\n",
             times[1].median / times[0].median, times[2].median / times[0].median);
}

// --- Kinds of ports ---

// The same traffic through FIFO ports, through queues of two classes, with a shared buffer and
// pauses, and with trimming.
void MeasurePorts(const std::string& name, const Scenario& scenario, int rounds) {
  const auto with = [&](const std::string& transport, const std::string& port,
                        NetworkPlan::Ports ports = NetworkPlan::Ports::kCheapest) {
    Scenario changed = scenario;
    changed.transport = transport;
    changed.port = port;
    changed.ports = ports;
    return [changed] { return NanosecondsPerHop(changed); };
  };
  fmt::print("{}, kinds of ports, per packet-hop\n", name);
  const std::string rdma = "{kind: rocev2, cc: {kind: dcqcn, rp: nic}";
  const std::vector<PairedTimes> times = MeasureInTurns(
      {{"DCTCP, FIFO", with("dctcp", "{}")},
       {"DCTCP, ACKs in a class of their own", with("{kind: dctcp, control_priority: 0}", "{}")},
       {"DCTCP, eager queues in place of FIFO ports",
        with("dctcp", "{}", NetworkPlan::Ports::kEager)},
       {"RoCE, FIFO", with(rdma + ", control_priority: 3}", "{marking: step}")},
       {"RoCE, ACKs in a class of their own", with(rdma + "}", "{marking: step}")},
       {"RoCE, PFC and a shared buffer",
        with(rdma + "}",
             "{marking: step, memory: {model: broadcom_mmu, size: 32MB}, pfc: {classes: [3]}}")},
       {"RoCE with IRN, trimming", with(rdma + ", recovery: irn}", kTrimming)},
       {"Ultra Ethernet, trimming", with("uet", kTrimming)},
       {"RoCE with IRN and packets as large, trimming",
        with(rdma + ", recovery: irn, mtu: 4096}", kTrimming)}},
      rounds);
  fmt::print("  two classes: {:.2f} times FIFO with DCTCP, {:.2f} with RoCE; PFC {:.2f}\n",
             RatioOf(times[1], times[0]), RatioOf(times[4], times[3]), RatioOf(times[5], times[3]));
  fmt::print(
      "  trimming: {:.2f} times PFC with RoCE; Ultra Ethernet: {:.2f} times RoCE with trimming, "
      "{:.2f} times with packets as large\n",
      RatioOf(times[6], times[5]), RatioOf(times[7], times[6]), RatioOf(times[7], times[8]));
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  using namespace heddle;
  const bool smoke = IsSmoke(argc, argv);
  const int rounds = smoke ? 1 : 5;
  CompareForwarding("128 hosts", forwarding::k128Hosts, Time{} + (smoke ? 20_us : 5_ms), rounds);
  CompareForwarding("1024 hosts", forwarding::k1024Hosts, Time{} + (smoke ? 10_us : 1_ms), rounds);
  const std::string permutation = "{kind: permutation, size: 1GB}";
  const std::string websearch = "{kind: poisson, sizes: websearch, load: 0.5, duration: 1ms}";
  MeasureRuns("128 hosts, permutation", {k128Hosts, permutation, smoke ? "30us" : "1ms"}, rounds);
  MeasureRuns("128 hosts, web search at 50 %", {k128Hosts, websearch, smoke ? "30us" : "2ms"},
              rounds);
  MeasureRuns("1024 hosts, permutation", {k1024Hosts, permutation, smoke ? "20us" : "300us"},
              rounds);
  MeasureRuns("1024 hosts, web search at 50 %", {k1024Hosts, websearch, smoke ? "20us" : "500us"},
              rounds);
  MeasureIdle(smoke, rounds);
  const int port_rounds = smoke ? 1 : 9;
  MeasurePorts("Permutation, 128 hosts", {k128Hosts, permutation, smoke ? "30us" : "1ms"},
               port_rounds);
  MeasurePorts("Permutation, 1024 hosts", {k1024Hosts, permutation, smoke ? "10us" : "200us"},
               port_rounds);
  return 0;
}
