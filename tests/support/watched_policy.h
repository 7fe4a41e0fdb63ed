// SPDX-License-Identifier: Apache-2.0
// Wraps a load balancer's policies in a lab: a test looks at every packet before they do.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "fabric/around_policy.h"
#include "fabric/switch.h"
#include "tests/support/lb_bench.h"

namespace heddle {

using PacketWatcher = std::function<void(SwitchView&, const Packet&, PortIndex in_port)>;

class WatchedPolicy final : public AroundSwitchPolicy {
 public:
  WatchedPolicy(SwitchPolicyPtr scheme, PacketWatcher watcher)
      : AroundSwitchPolicy(std::move(scheme)), watcher_(std::move(watcher)) {}

  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    watcher_(view, packet, in_port);
    if (!AsksAbout(candidates)) return Decision::Forward(candidates.ports.front());
    return AroundSwitchPolicy::OnPacket(view, packet, in_port, candidates);
  }

 private:
  const PacketWatcher watcher_;
};

// Set Lab::Plan::switch_policy to the result.
inline std::function<SwitchPolicyPtr(SwitchId)> Watched(const std::string& balancer,
                                                        PacketWatcher watcher,
                                                        const FabricShape& fabric = {}) {
  const auto chosen = std::make_shared<Chosen<LoadBalancer>>(BalancerFrom(balancer, fabric));
  return [chosen, watcher](SwitchId id) {
    return std::make_unique<WatchedPolicy>(chosen->settings->ForSwitch(id, /*seed=*/1), watcher);
  };
}

}  // namespace heddle
