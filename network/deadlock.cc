// SPDX-License-Identifier: Apache-2.0

#include "network/deadlock.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace heddle {
namespace {

// One class of one port of a switch.
struct Queue {
  SwitchId at;
  PortIndex port;
  size_t cls;

  friend bool operator==(const Queue&, const Queue&) = default;
};

class Search {
 public:
  Search(Network& network, Time now, Duration patience)
      : network_(network), now_(now), patience_(patience), adjacency_(network.graph()) {}

  std::vector<Queue> Run() {
    for (const std::unique_ptr<Switch>& s : network_.switches()) {
      if (s->queued() == nullptr) continue;
      for (PortIndex port = 0; port < s->queued()->size(); ++port) {
        for (size_t cls = 1; cls < kClasses; ++cls) {
          path_.clear();
          if (Visit({s->id(), port, cls})) return path_;
        }
      }
    }
    return {};
  }

 private:
  bool IsStuck(const Queue& queue) const {
    const QueuedPort& port = PortOf(queue);
    return (port.paused() & port.backlogged() & 1u << queue.cls) != 0 &&
           now_ - port.paused_since(queue.cls) >= patience_;
  }

  // Returns true if a circle of waiting queues can be reached from `queue`; then path_ is that
  // circle.
  bool Visit(const Queue& queue) {
    if (!IsStuck(queue) || std::ranges::find(done_, queue) != done_.end()) return false;
    const auto before = std::ranges::find(path_, queue);
    if (before != path_.end()) {
      path_.erase(path_.begin(), before);
      return true;
    }
    path_.push_back(queue);
    for (const Queue& next : WaitsFor(queue)) {
      if (Visit(next)) return true;
    }
    path_.pop_back();
    done_.push_back(queue);
    return false;
  }

  // Returns the queues of the next switch that hold packets that came through `queue`.
  std::vector<Queue> WaitsFor(const Queue& queue) const {
    const Graph& graph = network_.graph();
    const Adjacency::Port& out = adjacency_.Of(graph.VertexOfSwitch(queue.at))[queue.port];
    std::vector<Queue> next;
    if (graph.IsHost(out.peer)) return next;
    const SwitchId peer = graph.SwitchAt(out.peer);
    const std::vector<Adjacency::Port>& back = adjacency_.Of(out.peer);
    const PortIndex in = static_cast<PortIndex>(
        std::ranges::find(back, out.link, &Adjacency::Port::link) - back.begin());
    QueuedPorts& ports = *network_.switches()[peer]->queued();
    for (PortIndex port = 0; port < ports.size(); ++port) {
      for (size_t i = 0; i < ports[port].waiting(queue.cls); ++i) {
        if (ports[port].WaitsFrom(queue.cls, i) != in) continue;
        next.push_back({peer, port, queue.cls});
        break;
      }
    }
    return next;
  }

  const QueuedPort& PortOf(const Queue& queue) const {
    return (*network_.switches()[queue.at]->queued())[queue.port];
  }

  Network& network_;
  const Time now_;
  const Duration patience_;
  const Adjacency adjacency_;
  std::vector<Queue> path_;
  std::vector<Queue> done_;  // Queues from which no circle can be reached.
};

}  // namespace

std::vector<std::string> FindDeadlock(Network& network, Time now, Duration patience) {
  std::vector<std::string> names;
  for (const Queue& queue : Search(network, now, patience).Run()) {
    names.push_back(fmt::format("{} port {}", network.graph().switches[queue.at].name, queue.port));
  }
  return names;
}

}  // namespace heddle
