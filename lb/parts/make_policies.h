// SPDX-License-Identifier: Apache-2.0
// Functions that make a load balancer's policies and its controller. The experiment calls them
// instead of LoadBalancer's own: schemes may come from plug-ins, so exceptions and missing policies
// are caught here and become a status.

#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lb/parts/load_balancer.h"

namespace heddle {

// Like the functions of LoadBalancer; `name` is the scheme's name in experiments. Return
// InvalidArgument if the load balancer throws, or gives no policy for a switch.
absl::StatusOr<SwitchPolicyPtr> MakeSwitchPolicy(const LoadBalancer& balancer,
                                                 const std::string& name, SwitchId id,
                                                 uint64_t seed);
absl::StatusOr<HostPolicyPtr> MakeHostPolicy(const LoadBalancer& balancer, const std::string& name,
                                             HostId id, uint64_t seed);
absl::StatusOr<std::unique_ptr<Controller>> MakeController(const LoadBalancer& balancer,
                                                           const std::string& name,
                                                           const FabricView& fabric, uint64_t seed);
// Reports an exception as an error at `path`.
void PrepareBalancer(LoadBalancer& balancer, const std::string& name, const FabricShape& fabric,
                     std::string_view path, Diagnostics& diagnostics);

}  // namespace heddle
