// SPDX-License-Identifier: Apache-2.0
// Makes a load balancer's policies and its controller. Schemes may come from plug-ins, which Heddle
// knows nothing of: what they throw is caught here, and becomes a status like a policy that is
// missing.

#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lb/parts/load_balancer.h"

namespace heddle {

// As the functions of LoadBalancer; `name` is what experiments call it. InvalidArgument, which is
// bad input, if the load balancer throws, or gives no policy for a switch.
absl::StatusOr<SwitchPolicyPtr> MakeSwitchPolicy(const LoadBalancer& balancer,
                                                 const std::string& name, SwitchId id,
                                                 uint64_t seed);
absl::StatusOr<HostPolicyPtr> MakeHostPolicy(const LoadBalancer& balancer, const std::string& name,
                                             HostId id, uint64_t seed);
absl::StatusOr<std::unique_ptr<Controller>> MakeController(const LoadBalancer& balancer,
                                                           const std::string& name,
                                                           const FabricView& fabric, uint64_t seed);
// What it throws is an error at `path`.
void PrepareBalancer(LoadBalancer& balancer, const std::string& name, const FabricShape& fabric,
                     std::string_view path, Diagnostics& diagnostics);

}  // namespace heddle
