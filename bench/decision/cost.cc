// SPDX-License-Identifier: Apache-2.0

#include "bench/decision/cost.h"

#include <algorithm>

#include "bench/decision/cache_misses.h"
#include "lb/parts/make_policies.h"

namespace heddle {
namespace {

// Returns nanoseconds per packet. The first round only warms up.
double LeastOfRounds(CostMeter& meter, int rounds) {
  meter.Round();
  double least = meter.Round();
  for (int round = 1; round < rounds; ++round) least = std::min(least, meter.Round());
  return least;
}

std::optional<double> CountMisses(const LoadBalancer& balancer, size_t candidates,
                                  const std::vector<RecordedPacket>& packets) {
  MissCounter misses;
  if (!misses.works()) return std::nullopt;
  CostMeter meter(balancer, candidates, CostPart::kDecide, packets);
  meter.Round();
  meter.CountMisses(&misses);
  meter.Round();
  const auto count = misses.Count();
  if (!count) return std::nullopt;
  return static_cast<double>(*count) / static_cast<double>(packets.size());
}

}  // namespace

absl::StatusOr<DecisionCost> MeasureDecisions(const CostPlan& plan,
                                              const std::vector<RecordedPacket>& packets) {
  const auto prepared = PreparedBalancer(plan.balancer, plan.candidates);
  if (!prepared) return absl::FailedPreconditionError("refuses such a fabric");
  const LoadBalancer& balancer = *prepared->settings;
  const auto made = MakeSwitchPolicy(balancer, prepared->kind, /*id=*/0, /*seed=*/1);
  if (!made.ok()) return made.status();
  DecisionCost cost;
  const auto measure = [&](CostPart part, size_t& state_bytes) {
    CostMeter meter(balancer, plan.candidates, part, packets);
    const double ns = LeastOfRounds(meter, plan.rounds);
    state_bytes = meter.state_bytes();
    return ns;
  };
  size_t ignored = 0;
  cost.decide_ns = measure(CostPart::kDecide, cost.switch_bytes);
  cost.misses = CountMisses(balancer, plan.candidates, packets);
  cost.switch_ns = measure(CostPart::kSwitch, ignored);
  if (!ActsAtHosts(balancer)) return cost;
  cost.send_ns = measure(CostPart::kSend, cost.host_bytes);
  cost.host_ns = measure(CostPart::kHost, ignored);
  return cost;
}

bool CountsCacheMisses() { return MissCounter().works(); }

}  // namespace heddle
