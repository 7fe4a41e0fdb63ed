// SPDX-License-Identifier: Apache-2.0
// The table behind the estimates of experiment/estimate.h: the cost of runs by transport, ports and
// number of hosts.
//
// Measured with `build/release/estimate_bench`, which prints the table as code: measure it again,
// and copy it here, after a change of the engine's speed. Web search at load 0.5 with ECMP; other
// load balancers cost up to twice as much.

#pragma once

#include <array>
#include <cstddef>

namespace heddle {

inline constexpr std::array<double, 3> kCostedHosts = {16, 128, 1024};

// The ports of a network, by their cost: FIFO ports, ports with queues, and ports of switches with
// a shared buffer or PFC.
enum class CostedPorts { kFifo, kQueues, kShared };

// The cost of a packet-hop in a network of so many hosts, in packet-hops of the calibration run.
struct HopCost {
  bool is_roce;  // kind: rocev2; the other transports are TCP.
  CostedPorts ports;
  std::array<double, kCostedHosts.size()> by_hosts;
};

inline constexpr std::array<HopCost, 5> kHopCosts = {{
    {false, CostedPorts::kFifo, {0.94, 1.01, 1.41}},
    {false, CostedPorts::kQueues, {1.11, 1.23, 1.67}},
    {false, CostedPorts::kShared, {1.65, 1.84, 2.40}},
    {true, CostedPorts::kQueues, {0.99, 1.08, 1.39}},
    {true, CostedPorts::kShared, {1.32, 1.47, 1.85}},
}};

// The cost of a flow besides its packets: its start, its end and its row of flows.csv.
inline constexpr double kTcpFlowCost = 28;
inline constexpr double kRoceFlowCost = 30;

}  // namespace heddle
