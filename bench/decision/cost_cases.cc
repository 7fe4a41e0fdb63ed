// SPDX-License-Identifier: Apache-2.0

#include "bench/decision/cost_cases.h"

#include <fmt/format.h>

#include <map>

namespace heddle {
namespace {

const char* NameOf(CostPart part) {
  switch (part) {
    case CostPart::kDecide:
      return "decide";
    case CostPart::kSwitch:
      return "switch";
    case CostPart::kSend:
      return "send";
    case CostPart::kHost:
      return "host";
  }
  return "";
}

std::vector<CostPart> PartsOf(const std::string& balancer) {
  const auto prepared = PreparedBalancer(balancer, kCostCandidates.front());
  if (!prepared || !ActsAtHosts(*prepared->settings)) return {CostPart::kDecide, CostPart::kSwitch};
  return {CostPart::kDecide, CostPart::kSwitch, CostPart::kSend, CostPart::kHost};
}

}  // namespace

std::string CostCase::Name() const {
  return fmt::format("{}/{}/candidates:{}/flows:{}", NameOf(part), balancer, candidates, flows);
}

std::vector<CostCase> AllCostCases() {
  std::map<std::string, std::vector<CostPart>> parts;
  for (const std::string& balancer : LoadBalancers().Names()) parts[balancer] = PartsOf(balancer);
  std::vector<CostCase> cases;
  for (const size_t flows : kCostFlows) {
    for (const size_t candidates : kCostCandidates) {
      for (const auto& [balancer, parts_of_it] : parts) {
        for (const CostPart part : parts_of_it) {
          cases.push_back({part, balancer, candidates, flows});
        }
      }
    }
  }
  return cases;
}

}  // namespace heddle
