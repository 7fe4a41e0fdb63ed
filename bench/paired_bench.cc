// SPDX-License-Identifier: Apache-2.0
// What queues, priorities, pauses and shared memory cost per packet-hop, beside FIFO ports that
// carry the same traffic.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "bench/paired.h"
#include "bench/scenario.h"

namespace heddle {
namespace {

double NanosecondsPerHop(const Scenario& scenario) {
  const SimulationResult result = RunScenario(scenario).result;
  return result.run_seconds * 1e9 / static_cast<double>(result.packets.hops);
}

// The same traffic through FIFO ports, through queues of two classes, and with memory and pauses.
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
       {"DCTCP, FIFO's work by eager queues", with("dctcp", "{}", NetworkPlan::Ports::kEager)},
       {"RoCE, FIFO", with(rdma + ", control_priority: 3}", "{marking: step}")},
       {"RoCE, ACKs in a class of their own", with(rdma + "}", "{marking: step}")},
       {"RoCE, PFC and shared memory",
        with(rdma + "}",
             "{marking: step, memory: {model: broadcom_mmu, size: 32MB}, pfc: {classes: [3]}}")}},
      rounds);
  fmt::print("  two classes: {:.2f} times FIFO with DCTCP, {:.2f} with RoCE; PFC {:.2f}\n",
             RatioOf(times[1], times[0]), RatioOf(times[4], times[3]), RatioOf(times[5], times[3]));
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  using namespace heddle;
  const bool smoke = IsSmoke(argc, argv);
  const int rounds = smoke ? 1 : 9;
  const std::string t_max = smoke ? "30us" : "1ms";
  const std::string small = "leaves: 8, spines: 8, hosts_per_leaf: 16";
  const std::string large = "leaves: 32, spines: 32, hosts_per_leaf: 32";
  MeasurePorts("Permutation, 128 hosts", {small, "{kind: permutation, size: 1GB}", t_max}, rounds);
  MeasurePorts("Permutation, 1024 hosts",
               {large, "{kind: permutation, size: 1GB}", smoke ? "10us" : "200us"}, rounds);
}
