// SPDX-License-Identifier: Apache-2.0
// FLB's isolation at the leaf where flows begin (Hu et al., USENIX ATC 2025, section 3.2): flows
// that congest a queue somewhere share as few uplinks as carry them, and no others use those.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/packet.h"
#include "core/random.h"
#include "core/units.h"
#include "fabric/switch_policy.h"
#include "lb/expiring_table.h"

namespace heddle {

class FlbIsolation {
 public:
  struct Flow {
    uint16_t flows_there = 1;  // n: those in the queue that it congests.
    uint16_t scope = 0;
    PortIndex port = 0;
  };

  // Flows of one scope share isolated uplinks; `ports` are those of the switch.
  FlbIsolation(size_t flows, size_t scopes, size_t ports)
      : flows_(flows), scopes_(scopes, Scope{std::vector<bool>(ports, false), 0}), load_(ports) {}

  bool IsIsolated(size_t scope, PortIndex port) const { return scopes_[scope].ports[port]; }

  // Null if the flow is not isolated. A packet or a notification keeps it so for `age`.
  Flow* Find(uint64_t flow, Time now) {
    if (flows_.Find(flow) == nullptr) return nullptr;
    return &flows_.Touch(flow, now, [](uint64_t, const Flow&) {}).state;
  }

  // It congests a queue with `flows_there` flows; until now it went by `port`. `uplinks`: that
  // live.
  void Add(uint64_t flow, size_t scope, uint16_t flows_there, PortIndex port,
           std::span<const PortIndex> uplinks, Time now, Rng& rng) {
    const auto touched = flows_.Touch(flow, now, [](uint64_t, const Flow&) {});
    Flow& its = touched.state;
    if (touched.is_new) its.port = port;
    its.flows_there = std::max<uint16_t>(flows_there, 1);
    its.scope = static_cast<uint16_t>(scope);
    Grow(scope, uplinks, rng);
    if (!IsIsolated(scope, its.port)) its.port = AnyOf(scope, uplinks, rng);
  }

  // It congests nothing any more.
  void Remove(uint64_t flow) { flows_.Erase(flow); }

  // From time to time: forgets flows that have been silent since `since`, lets uplinks go that are
  // not needed, and replaces those that have failed.
  void Review(Time since, std::span<const PortIndex> uplinks, Rng& rng) {
    flows_.ExpireBefore(since, [](uint64_t, const Flow&) {});
    for (size_t scope = 0; scope < scopes_.size(); ++scope) {
      if (scopes_[scope].count > 0) Adapt(scope, uplinks, rng);
    }
  }

  // One of the isolated uplinks that live; any uplink if none does.
  PortIndex AnyOf(size_t scope, std::span<const PortIndex> uplinks, Rng& rng) const {
    const auto is_isolated = [&](PortIndex port) { return IsIsolated(scope, port); };
    const auto n = std::ranges::count_if(uplinks, is_isolated);
    if (n == 0) return uplinks[rng.Below(static_cast<uint32_t>(uplinks.size()))];
    uint32_t skip = rng.Below(static_cast<uint32_t>(n));
    for (const PortIndex port : uplinks) {
      if (is_isolated(port) && skip-- == 0) return port;
    }
    return uplinks.front();
  }

  size_t size() const { return flows_.size(); }
  size_t isolated_ports(size_t scope) const { return scopes_[scope].count; }
  // Of all scopes.
  size_t isolated_ports() const {
    size_t ports = 0;
    for (const Scope& scope : scopes_) ports += scope.count;
    return ports;
  }
  bool is_idle() const {
    return flows_.size() == 0 &&
           std::ranges::all_of(scopes_, [](const Scope& scope) { return scope.count == 0; });
  }
  int64_t evictions() const { return flows_.evictions(); }
  size_t memory_bytes() const { return flows_.memory_bytes() + scopes_.size() * load_.size(); }

  // How many uplinks so many flows need, each of which converges to 1/n of a link; one must remain
  // for all others.
  static size_t Needed(double share, size_t uplinks) {
    if (uplinks < 2) return 0;
    constexpr double kRounding = 1e-9;  // 15 times 1/15 is 1.
    const double links = std::ceil(share - kRounding);
    return static_cast<size_t>(std::clamp(links, 1.0, static_cast<double>(uplinks - 1)));
  }

 private:
  struct Scope {
    std::vector<bool> ports;  // Isolated.
    size_t count = 0;
  };

  // Of the flows of one scope: the links that they need, and load_, how many are at each port.
  double Count(size_t scope) {
    std::ranges::fill(load_, 0);
    double share = 0;
    flows_.ForEach([&](uint64_t, const Flow& flow) {
      if (flow.scope != scope) return;
      share += 1.0 / flow.flows_there;
      ++load_[flow.port];
    });
    return share;
  }

  void Grow(size_t scope, std::span<const PortIndex> uplinks, Rng& rng) {
    GrowTo(scope, Needed(Count(scope), uplinks.size()), uplinks, rng);
  }
  void GrowTo(size_t scope, size_t needed, std::span<const PortIndex> uplinks, Rng& rng) {
    while (scopes_[scope].count < needed) {
      const int most = Extreme(scope, uplinks, false, std::ranges::greater());
      Set(scope, Draw(scope, uplinks, false, most, rng), true);
    }
  }

  void Adapt(size_t scope, std::span<const PortIndex> uplinks, Rng& rng) {
    const double share = Count(scope);
    const size_t needed = share == 0 ? 0 : Needed(share, uplinks.size());
    DropDead(scope, uplinks);
    GrowTo(scope, needed, uplinks, rng);
    while (scopes_[scope].count > needed) {
      const int least = Extreme(scope, uplinks, true, std::ranges::less());
      Set(scope, Draw(scope, uplinks, true, least, rng), false);
    }
    flows_.ForEach([&](uint64_t, Flow& flow) {
      if (flow.scope == scope && !IsIsolated(scope, flow.port)) {
        flow.port = AnyOf(scope, uplinks, rng);
      }
    });
  }

  // A failed uplink is isolated no more.
  void DropDead(size_t scope, std::span<const PortIndex> uplinks) {
    for (size_t port = 0; port < load_.size(); ++port) {
      const PortIndex p = static_cast<PortIndex>(port);
      if (IsIsolated(scope, p) && !IsAmong(uplinks, p)) Set(scope, p, false);
    }
  }

  // The least or most flows at any uplink that is isolated, or is not.
  template <class Better>
  int Extreme(size_t scope, std::span<const PortIndex> uplinks, bool isolated,
              const Better& better) const {
    int best = -1;
    for (const PortIndex port : uplinks) {
      if (IsIsolated(scope, port) != isolated) continue;
      if (best < 0 || better(load_[port], best)) best = load_[port];
    }
    return best;
  }

  // One of those with so many flows.
  PortIndex Draw(size_t scope, std::span<const PortIndex> uplinks, bool isolated, int load,
                 Rng& rng) const {
    const auto fits = [&](PortIndex port) {
      return IsIsolated(scope, port) == isolated && load_[port] == load;
    };
    uint32_t skip = rng.Below(static_cast<uint32_t>(std::ranges::count_if(uplinks, fits)));
    for (const PortIndex port : uplinks) {
      if (fits(port) && skip-- == 0) return port;
    }
    return uplinks.front();
  }

  void Set(size_t scope, PortIndex port, bool isolated) {
    scopes_[scope].ports[port] = isolated;
    scopes_[scope].count += isolated ? 1 : size_t(-1);
  }

  ExpiringTable<Flow> flows_;
  std::vector<Scope> scopes_;
  std::vector<int> load_;  // Scratch, by port.
};

}  // namespace heddle
