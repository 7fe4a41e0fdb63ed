// SPDX-License-Identifier: Apache-2.0
// The ids of a connection's subflows (MPTCP). Each subflow is a flow to switches, load balancers
// and timers: its id is that of its connection, with the subflow's number in the top bits. So the
// first subflow has the id of the connection, and a flow of another transport is its own only
// subflow.

#pragma once

#include <cstdint>

#include "core/packet.h"

namespace heddle {

inline constexpr int kConnectionBits = 28;
inline constexpr uint32_t kMostSubflows = uint32_t{1} << (32 - kConnectionBits);
inline constexpr FlowId kMostConnections = FlowId{1} << kConnectionBits;

constexpr FlowId SubflowId(FlowId connection, uint32_t subflow) {
  return subflow << kConnectionBits | connection;
}
constexpr FlowId ConnectionOf(FlowId subflow) { return subflow & (kMostConnections - 1); }
constexpr uint32_t SubflowOf(FlowId subflow) { return subflow >> kConnectionBits; }

}  // namespace heddle
