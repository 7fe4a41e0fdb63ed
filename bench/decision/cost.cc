// SPDX-License-Identifier: Apache-2.0

#include "bench/decision/cost.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>
#include <utility>

#include "bench/decision/cache_misses.h"
#include "bench/decision/clock.h"
#include "bench/decision/host_cost.h"
#include "bench/decision/leaf_cost.h"
#include "core/check.h"
#include "lb/parts/make_policies.h"
#include "settings/fields.h"
#include "settings/reader.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

// Calls `visit` with one visit's packets after the other, and when the recording began: it goes
// round after round. Returns the least time of a round, per packet; the first only warms up.
using Visit = std::function<double(std::span<const RecordedPacket>, Time)>;

double LeastOfRounds(const std::vector<RecordedPacket>& packets, int rounds, const Visit& visit) {
  double least = 0;
  Time start;
  for (int round = 0; round <= rounds; ++round) {
    double ns = 0;
    for (size_t first = 0, last = 0; first < packets.size(); first = last) {
      while (last < packets.size() && packets[last].at < packets[first].at + kCostVisit) ++last;
      ns += visit({packets.data() + first, last - first}, start);
    }
    start = start + (packets.back().at - Time{}) + kCostLinkDelay * 4;
    if (round == 1 || (round > 1 && ns < least)) least = ns;
  }
  return least / static_cast<double>(packets.size());
}

std::vector<RecordedPacket> DataOf(const std::vector<RecordedPacket>& packets) {
  std::vector<RecordedPacket> data;
  std::ranges::copy_if(packets, std::back_inserter(data), [](const RecordedPacket& recorded) {
    return recorded.packet.kind == PacketKind::kData;
  });
  return data;
}

bool Refuses(LoadBalancer& balancer, size_t candidates) {
  FabricShape fabric;
  fabric.leaf_uplinks = candidates;
  fabric.host_rate = 25_Gbps;
  fabric.fabric_rate = 100_Gbps;
  Diagnostics diagnostics;
  balancer.Prepare(fabric, "lb", diagnostics);
  return !diagnostics.ok();
}

}  // namespace

Chosen<LoadBalancer> ReadBalancer(const std::string& yaml, Diagnostics& diagnostics) {
  Chosen<LoadBalancer> balancer;
  const std::optional<Value> value = ParseYaml(yaml, yaml, diagnostics);
  if (!value) return balancer;
  Value document;
  document.kind = Value::Kind::kMap;
  document.place = value->place;
  document.entries.push_back({"lb", value->place, *value});
  const auto declare = [&](Fields& fields) {
    fields.Kind("lb", balancer, LoadBalancers(), "", Fields::kRequired);
  };
  ReadSettings(document, declare, diagnostics);
  return balancer;
}

absl::StatusOr<DecisionCost> MeasureDecisions(const CostPlan& plan,
                                              const std::vector<RecordedPacket>& packets) {
  Diagnostics diagnostics;
  const Chosen<LoadBalancer> balancer = ReadBalancer(plan.balancer, diagnostics);
  HEDDLE_CHECK(diagnostics.ok(), "{}", diagnostics.Report());
  if (Refuses(*balancer.settings, plan.candidates)) {
    return absl::FailedPreconditionError("refuses such a fabric");
  }
  const auto made = MakeSwitchPolicy(*balancer.settings, balancer.kind, /*id=*/0, /*seed=*/1);
  if (!made.ok()) return made.status();
  DecisionCost cost;
  LeafPair asked(*balancer.settings, plan.candidates);
  MissCounter misses;
  cost.decide_ns = LeastOfRounds(packets, plan.rounds, [&](auto visit, Time start) {
    return asked.Ask(visit, start, nullptr);
  });
  cost.switch_bytes = asked.state_bytes();
  if (misses.works()) {
    LeafPair counted(*balancer.settings, plan.candidates);
    LeastOfRounds(packets, /*rounds=*/1, [&](auto visit, Time start) {
      return counted.Ask(visit, start, start == Time{} ? nullptr : &misses);
    });
    const auto count = misses.Count();
    if (count) cost.misses = static_cast<double>(*count) / static_cast<double>(packets.size());
  }
  LeafPair whole(*balancer.settings, plan.candidates);
  cost.switch_ns = LeastOfRounds(packets, plan.rounds, [&](auto visit, Time start) {
    return whole.Forward(visit, start) / 2;  // Both ways.
  });
  HostPair asking(*balancer.settings, plan.candidates);
  if (!asking.sends()) return cost;
  const std::vector<RecordedPacket> data = DataOf(packets);
  cost.send_ns = LeastOfRounds(
      data, plan.rounds, [&](auto visit, Time start) { return asking.Send(visit, start).send; });
  cost.host_bytes = asking.state_bytes();
  HostPair hosts(*balancer.settings, plan.candidates);
  cost.host_ns = LeastOfRounds(
      data, plan.rounds, [&](auto visit, Time start) { return hosts.Send(visit, start).all; });
  return cost;
}

bool CountsCacheMisses() { return MissCounter().works(); }

}  // namespace heddle
