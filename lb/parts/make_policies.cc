// SPDX-License-Identifier: Apache-2.0

#include "lb/parts/make_policies.h"

#include <fmt/format.h>

#include <exception>
#include <new>

#include "settings/status.h"

namespace heddle {
namespace {

absl::Status Fault(const std::string& name, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("load balancer \"{}\": {}", name, what));
}

// Returns the result of `function`, or an error if it throws.
template <class Function>
auto Caught(const std::string& name, const char* what, const Function& function)
    -> absl::StatusOr<decltype(function())> {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    throw;  // Not the scheme's fault.
  } catch (const std::exception& error) {
    return Fault(name, fmt::format("{} has thrown: {}", what, error.what()));
  } catch (...) {
    return Fault(name, fmt::format("{} has thrown something that is not a std::exception", what));
  }
}

}  // namespace

absl::StatusOr<SwitchPolicyPtr> MakeSwitchPolicy(const LoadBalancer& balancer,
                                                 const std::string& name, SwitchId id,
                                                 uint64_t seed) {
  auto policy = Caught(name, "ForSwitch()", [&] { return balancer.ForSwitch(id, seed); });
  if (!policy.ok() || *policy != nullptr) return policy;
  return Fault(name, "ForSwitch() has returned no policy; every switch needs one");
}

absl::StatusOr<HostPolicyPtr> MakeHostPolicy(const LoadBalancer& balancer, const std::string& name,
                                             HostId id, uint64_t seed) {
  return Caught(name, "ForHost()", [&] { return balancer.ForHost(id, seed); });
}

absl::StatusOr<std::unique_ptr<Controller>> MakeController(const LoadBalancer& balancer,
                                                           const std::string& name,
                                                           const FabricView& fabric,
                                                           uint64_t seed) {
  return Caught(name, "ForFabric()", [&] { return balancer.ForFabric(fabric, seed); });
}

void PrepareBalancer(LoadBalancer& balancer, const std::string& name, const FabricShape& fabric,
                     std::string_view path, Diagnostics& diagnostics) {
  const absl::Status status = Caught(name, "Prepare()", [&] {
                                balancer.Prepare(fabric, path, diagnostics);
                                return true;
                              }).status();
  if (!status.ok()) diagnostics.ErrorAt(path, MessageOf(status));
}

}  // namespace heddle
