// SPDX-License-Identifier: Apache-2.0
// One switch with a peer at each port. A peer sends what a test tells it to, when it tells it, and
// records what reaches it.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "fabric/letters.h"
#include "fabric/switch.h"
#include "tests/support/event_switch.h"

namespace heddle {

// A switch whose ports are all alike.
inline SwitchPlan EqualPorts(size_t ports, const PortSettings& port, const QueueSettings& queues) {
  return {.ports = std::vector<PortSettings>(ports, port),
          .queues = queues,
          .queueing = {},
          .shares = std::vector<SharedMemory::Port>(ports, {.buffer = port.buffer})};
}

// A link fails in both directions.
inline void Fail(Switch& node, PortIndex port, Time now) {
  node.TakeDown(port, now);
  node.VoidPauses(port, now);
}

class SwitchBench {
 public:
  // An action runs between windows, before everything else of its time.
  using Action = std::pair<Time, std::function<void(Switch&, Time)>>;

  // No window is longer than `window` or than a link. Without a policy packets have no choice, and
  // the peers are hosts; with one they are switches, as it chooses among ports to switches alone.
  explicit SwitchBench(const SwitchPlan& plan, Duration window = 1_us,
                       SwitchPolicyPtr policy = nullptr, SwitchId id = 0);

  // Offers everything, from 1 us on, and runs until it has all passed, or to `end`. Actions must be
  // in the order of time. Checks that all packets and bytes are accounted for.
  void Run(std::vector<Offer> offers, std::vector<Action> actions = {}, Time end = kNever);

  Switch& node() { return switch_; }
  // The packets that left through `port`, by arrival at its peer.
  const std::vector<Packet>& received(PortIndex port) const { return peers_[port]->received; }
  // What the switch has told the host behind `port` of its packets that were dropped.
  const std::vector<DropNotice>& notices(PortIndex port) const { return peers_[port]->notices; }

 private:
  struct Peer final : Node {
    void Run(const Window& window) override;
    Time Due() const override;
    void OnLetter(const Letter& letter) override { notices.push_back(letter.Body<DropNotice>()); }

    WireTail wire;
    Time last_arrival{-kNever.ps};
    std::vector<Offer> offers;
    size_t next = 0;
    std::vector<Packet> received;
    std::vector<DropNotice> notices;
  };

  Engine engine_;
  const bool has_policy_;
  Switch switch_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<Node*> hosts_;
};

}  // namespace heddle
