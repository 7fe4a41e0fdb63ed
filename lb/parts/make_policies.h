// SPDX-License-Identifier: Apache-2.0
// Makes a load balancer's policies and its controller. Exceptions and null policies become a
// BalancerFault: schemes may come from plug-ins, which Heddle knows nothing of.

#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lb/parts/load_balancer.h"

namespace heddle {

// A load balancer has thrown, or given nothing where it must give something: bad input.
class BalancerFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// As the functions of LoadBalancer, but for BalancerFault. `name` is what experiments call it.
SwitchPolicyPtr MakeSwitchPolicy(const LoadBalancer& balancer, const std::string& name, SwitchId id,
                                 uint64_t seed);
HostPolicyPtr MakeHostPolicy(const LoadBalancer& balancer, const std::string& name, HostId id,
                             uint64_t seed);
std::unique_ptr<Controller> MakeController(const LoadBalancer& balancer, const std::string& name,
                                           const FabricView& fabric, uint64_t seed);
void PrepareBalancer(LoadBalancer& balancer, const std::string& name, const FabricShape& fabric,
                     std::string_view path, Diagnostics& diagnostics);

}  // namespace heddle
