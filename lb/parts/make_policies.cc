// SPDX-License-Identifier: Apache-2.0

#include "lb/parts/make_policies.h"

#include <fmt/format.h>

#include <new>

namespace heddle {
namespace {

template <class Function>
auto Caught(const std::string& name, const char* what, Function function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    throw;  // Not the scheme's fault.
  } catch (const std::exception& error) {
    throw BalancerFault(
        fmt::format("load balancer \"{}\": {} has thrown: {}", name, what, error.what()));
  } catch (...) {
    throw BalancerFault(
        fmt::format("load balancer \"{}\": {} has thrown what is no std::exception", name, what));
  }
}

}  // namespace

SwitchPolicyPtr MakeSwitchPolicy(const LoadBalancer& balancer, const std::string& name, SwitchId id,
                                 uint64_t seed) {
  auto policy = Caught(name, "ForSwitch()", [&] { return balancer.ForSwitch(id, seed); });
  if (policy != nullptr) return policy;
  throw BalancerFault(fmt::format(
      "load balancer \"{}\": ForSwitch() has given no policy; every switch needs one", name));
}

HostPolicyPtr MakeHostPolicy(const LoadBalancer& balancer, const std::string& name, HostId id,
                             uint64_t seed) {
  return Caught(name, "ForHost()", [&] { return balancer.ForHost(id, seed); });
}

std::unique_ptr<Controller> MakeController(const LoadBalancer& balancer, const std::string& name,
                                           const FabricView& fabric, uint64_t seed) {
  return Caught(name, "ForFabric()", [&] { return balancer.ForFabric(fabric, seed); });
}

void PrepareBalancer(LoadBalancer& balancer, const std::string& name, const FabricShape& fabric,
                     std::string_view path, Diagnostics& diagnostics) {
  Caught(name, "Prepare()", [&] { balancer.Prepare(fabric, path, diagnostics); });
}

}  // namespace heddle
