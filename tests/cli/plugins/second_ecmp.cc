// SPDX-License-Identifier: Apache-2.0
// A plug-in with a name that is taken.

#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

class SecondEcmp final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {}
  SwitchPolicyPtr ForSwitch(SwitchId /*id*/, uint64_t /*seed*/) const override { return nullptr; }
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<SecondEcmp>({"ecmp", "Is never made.", ""});

}  // namespace
}  // namespace heddle
