// SPDX-License-Identifier: Apache-2.0
// What runs cost, by transport, ports and number of hosts: the table behind the estimates of
// experiment/estimate.h.
//
// Source: the table "Speed" of docs/validation.md, divided by its 50 ns for DCTCP's permutation,
// which the calibration run resembles. The FIFO row is web search; the other rows are the FIFO row
// times the ratios of two classes (1.37 and 1.39 with DCTCP, 1.26 and 1.34 with RoCE) and of PFC
// with a shared buffer (1.65 and 1.77). All are with ECMP; other load balancers cost up to twice as
// much. `build/release/estimate_bench` measures the whole table as ratios to the calibration run,
// and prints it as code: copy it here after a change of the engine's speed.

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
    {false, CostedPorts::kFifo, {1.0, 1.15, 1.7}},
    {false, CostedPorts::kQueues, {1.37, 1.58, 2.36}},
    {false, CostedPorts::kShared, {1.65, 1.9, 3.0}},
    {true, CostedPorts::kQueues, {1.26, 1.45, 2.28}},
    {true, CostedPorts::kShared, {1.65, 1.9, 3.0}},
}};

// The cost of a flow besides its packets: its start, its end and its row of flows.csv. Ten million
// flows of one packet take 26 s (docs/validation.md), 2.6 us each, of which 8 packet-hops are 0.4
// us.
inline constexpr double kTcpFlowCost = 43;
inline constexpr double kRoceFlowCost = 43;

}  // namespace heddle
