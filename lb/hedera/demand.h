// SPDX-License-Identifier: Apache-2.0
// Hedera's demand estimate: what large flows would send if only the links of hosts limited them
// (Al-Fares et al., NSDI 2010, section 4.2). The controller calls EstimateDemands() once a period.
// Each source divides its link among its flows, each overloaded destination caps its flows to an
// equal share of its own link, and this repeats until nothing changes. The result is max-min fair.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/packet.h"

namespace heddle {

struct FlowDemand {
  HostId src;
  HostId dst;
  double demand = 0;  // Share of a host's link.
  bool is_settled = false;
};

namespace hedera {

// The flows of each host, by index.
using FlowsOfHost = std::map<HostId, std::vector<size_t>>;

// Smaller differences are rounding errors.
inline constexpr double kNothing = 1e-9;

// A source divides what its settled flows leave equally among its other flows. Returns whether any
// demand has changed.
inline bool ShareAtSource(std::vector<FlowDemand>& flows, const std::vector<size_t>& own) {
  double left = 1;
  size_t open = 0;
  for (const size_t i : own) {
    left -= flows[i].is_settled ? flows[i].demand : 0;
    open += flows[i].is_settled ? 0 : 1;
  }
  bool changed = false;
  for (const size_t i : own) {
    if (flows[i].is_settled) continue;
    const double share = left / static_cast<double>(open);
    changed = changed || share > flows[i].demand + kNothing || share < flows[i].demand - kNothing;
    flows[i].demand = share;
  }
  return changed;
}

// A destination that is asked for more than its link grants small flows, below an equal share, all
// they ask for, and gives all others an equal share of the rest.
inline bool CapAtDestination(std::vector<FlowDemand>& flows, const std::vector<size_t>& own) {
  double asked = 0;
  for (const size_t i : own) asked += flows[i].demand;
  if (asked <= 1 + kNothing) return false;
  std::vector<bool> is_small(own.size(), false);
  double share = 1.0 / static_cast<double>(own.size());
  for (bool found = true; found;) {
    found = false;
    double left = 1;
    size_t large = 0;
    for (size_t k = 0; k < own.size(); ++k) {
      if (!is_small[k] && flows[own[k]].demand < share - kNothing) is_small[k] = found = true;
      left -= is_small[k] ? flows[own[k]].demand : 0;
      large += is_small[k] ? 0 : 1;
    }
    if (large > 0) share = left / static_cast<double>(large);
  }
  bool changed = false;
  for (size_t k = 0; k < own.size(); ++k) {
    if (is_small[k]) continue;
    FlowDemand& flow = flows[own[k]];
    changed = changed || !flow.is_settled || flow.demand > share + kNothing;
    flow.demand = share;
    flow.is_settled = true;
  }
  return changed;
}

}  // namespace hedera

inline void EstimateDemands(std::vector<FlowDemand>& flows) {
  hedera::FlowsOfHost of_source;
  hedera::FlowsOfHost of_destination;
  for (size_t i = 0; i < flows.size(); ++i) {
    of_source[flows[i].src].push_back(i);
    of_destination[flows[i].dst].push_back(i);
  }
  // Each round but the last settles a flow, so there are at most as many rounds as flows, plus one.
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [host, own] : of_source) {
      changed = hedera::ShareAtSource(flows, own) || changed;
    }
    for (const auto& [host, own] : of_destination) {
      changed = hedera::CapAtDestination(flows, own) || changed;
    }
  }
}

}  // namespace heddle
