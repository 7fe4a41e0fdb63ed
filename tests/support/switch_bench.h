// SPDX-License-Identifier: Apache-2.0
// One switch with a peer at each port that does nothing but send what it is told, when it is told,
// and write down what reaches it.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "fabric/switch.h"
#include "tests/support/event_switch.h"

namespace heddle {

class SwitchBench {
 public:
  // Acts between windows, before everything else of its time.
  using Action = std::pair<Time, std::function<void(Switch&, Time)>>;

  // Windows are no longer than `window`, or than a link. No policy: packets have no choice.
  explicit SwitchBench(const SwitchPlan& plan, Duration window = 1_us,
                       SwitchPolicyPtr policy = nullptr);

  // Offers everything, from 1 us on, and runs until it is all through. Actions are in the order of
  // time. Checks the books.
  void Run(std::vector<Offer> offers, std::vector<Action> actions = {});

  Switch& node() { return switch_; }
  // What left through `port`, by arrival at its peer.
  const std::vector<Packet>& received(PortIndex port) const { return peers_[port]->received; }

 private:
  struct Peer final : Node {
    void Run(const Window& window) override;
    Time Due() const override;

    WireTail wire;
    Time last_arrival{-kNever.ps};
    std::vector<Offer> offers;
    size_t next = 0;
    std::vector<Packet> received;
  };

  Engine engine_;
  Switch switch_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<Node*> hosts_;
};

}  // namespace heddle
