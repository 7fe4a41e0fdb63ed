// SPDX-License-Identifier: Apache-2.0
// FLB's isolation at the leaf where flows begin (Hu et al., USENIX ATC 2025, section 3.2). The
// flows that congest a queue share as few uplinks as can carry them; other flows avoid these
// uplinks. With three tiers they share one path over each isolated uplink, so that few links
// further up see them. The leaf's policy calls Add() and Remove() on notices, Find() for each
// packet, and Review() periodically.
//
// Paths are numbered as in lb/parts/leaf_paths.h: those over one uplink have the same first digit.

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
#include "lb/parts/expiring_table.h"

namespace heddle {

class FlbIsolation {
 public:
  struct Flow {
    uint16_t flows_there = 1;  // n: the flows in the queue that it congests.
    uint16_t scope = 0;
    uint16_t path = 0;
  };

  // Flows of one scope share isolated paths. The first digit of a path is below `radix`; `above`
  // paths share each first digit.
  FlbIsolation(size_t flows, size_t scopes, size_t radix, size_t above)
      : radix_(radix),
        flows_(flows),
        scopes_(scopes, Scope{std::vector<uint16_t>(radix, kNoPath),
                              std::vector<bool>(radix * above, false), 0}),
        load_(radix * above) {}

  // Returns true if the path's uplink is isolated: flows that are not isolated stay off the path.
  bool IsClosed(size_t scope, uint16_t path) const { return scopes_[scope].closed[path]; }
  bool IsIsolated(size_t scope, uint16_t path) const {
    return scopes_[scope].over[path % radix_] == path;
  }

  bool Has(uint64_t flow) const { return flows_.Find(flow) != nullptr; }

  // Returns null if the flow is not isolated. A packet or a notice keeps it isolated for `age`.
  Flow* Find(uint64_t flow, Time now) {
    if (flows_.Find(flow) == nullptr) return nullptr;
    return &flows_.Touch(flow, now, [](uint64_t, const Flow&) {}).state;
  }

  // Isolates a flow that congests a queue with `flows_there` flows and has used `path` so far.
  // `live`: the paths that it may take, in ascending order.
  void Add(uint64_t flow, size_t scope, uint16_t flows_there, uint16_t path,
           std::span<const uint16_t> live, Time now, Rng& rng) {
    const auto touched = flows_.Touch(flow, now, [](uint64_t, const Flow&) {});
    Flow& its = touched.state;
    if (touched.is_new) its.path = path;
    its.flows_there = std::max<uint16_t>(flows_there, 1);
    its.scope = static_cast<uint16_t>(scope);
    Grow(scope, live, rng);
    its.path = IsolatedFor(its, live, rng);
  }

  // The flow does not congest any queue any more.
  void Remove(uint64_t flow) { flows_.Erase(flow); }

  // Called periodically: forgets flows that have been silent since `since`, frees uplinks that are
  // not needed, and replaces failed ones.
  void Review(Time since, std::span<const uint16_t> live, Rng& rng) {
    flows_.ExpireBefore(since, [](uint64_t, const Flow&) {});
    for (size_t scope = 0; scope < scopes_.size(); ++scope) {
      if (scopes_[scope].count > 0) Adapt(scope, live, rng);
    }
  }

  // Returns a random isolated path over the uplinks of `live`; any path of `live` if there is none.
  uint16_t AnyOf(size_t scope, std::span<const uint16_t> live, Rng& rng) const {
    const std::vector<uint16_t>& over = scopes_[scope].over;
    const std::span<const uint16_t> uplinks = OneForEachUplink(live);
    const auto n = std::ranges::count_if(uplinks, [&](uint16_t u) { return over[u] != kNoPath; });
    if (n == 0) return live[rng.Below(static_cast<uint32_t>(live.size()))];
    uint32_t skip = rng.Below(static_cast<uint32_t>(n));
    for (const uint16_t uplink : uplinks) {
      if (over[uplink] != kNoPath && skip-- == 0) return over[uplink];
    }
    return live.front();
  }

  size_t size() const { return flows_.size(); }
  size_t isolated_uplinks(size_t scope) const { return scopes_[scope].count; }
  size_t isolated_uplinks() const { return isolated_; }  // Over all scopes.
  bool is_idle() const { return flows_.size() == 0 && isolated_ == 0; }
  int64_t evictions() const { return flows_.evictions(); }
  size_t memory_bytes() const {
    const size_t of_scope = radix_ * sizeof(uint16_t) + (load_.size() + 7) / 8;
    return flows_.memory_bytes() + scopes_.size() * of_scope + load_.size() * sizeof(load_[0]);
  }

  // Returns the number of uplinks for flows that need `share` links in total, as each converges to
  // 1/n of a link. One uplink must remain for all other flows.
  static size_t Needed(double share, size_t uplinks) {
    if (uplinks < 2) return 0;
    constexpr double kRounding = 1e-9;  // 15 times 1/15 is 1.
    const double links = std::ceil(share - kRounding);
    return static_cast<size_t>(std::clamp(links, 1.0, static_cast<double>(uplinks - 1)));
  }

 private:
  struct Scope {
    std::vector<uint16_t> over;  // By first digit: the isolated path with this digit, or kNoPath.
    std::vector<bool> closed;    // By path.
    size_t count = 0;            // Isolated paths.
  };

  std::span<const uint16_t> OneForEachUplink(std::span<const uint16_t> live) const {
    const auto end = std::ranges::lower_bound(live, radix_);
    return live.first(static_cast<size_t>(end - live.begin()));
  }

  // Returns the isolated path over the flow's own uplink, if there is one: this changes least.
  uint16_t IsolatedFor(const Flow& flow, std::span<const uint16_t> live, Rng& rng) const {
    const uint16_t over = scopes_[flow.scope].over[flow.path % radix_];
    return over != kNoPath ? over : AnyOf(flow.scope, live, rng);
  }

  // Counts the flows of one scope on each path into load_, and returns the number of links they
  // need.
  double Count(size_t scope) {
    std::ranges::fill(load_, 0);
    double share = 0;
    flows_.ForEach([&](uint64_t, const Flow& flow) {
      if (flow.scope != scope) return;
      share += 1.0 / flow.flows_there;
      ++load_[flow.path];
    });
    return share;
  }

  void Grow(size_t scope, std::span<const uint16_t> live, Rng& rng) {
    GrowTo(scope, Needed(Count(scope), OneForEachUplink(live).size()), live, rng);
  }
  void GrowTo(size_t scope, size_t needed, std::span<const uint16_t> live, Rng& rng) {
    const auto is_open = [&](uint16_t path) { return !IsClosed(scope, path); };
    while (scopes_[scope].count < needed) {
      Set(scope, Extreme(live, is_open, std::ranges::greater(), rng), true);
    }
  }

  void Adapt(size_t scope, std::span<const uint16_t> live, Rng& rng) {
    const double share = Count(scope);
    const size_t needed = share == 0 ? 0 : Needed(share, OneForEachUplink(live).size());
    DropDead(scope, live);
    GrowTo(scope, needed, live, rng);
    const auto is_isolated = [&](uint16_t path) { return IsIsolated(scope, path); };
    while (scopes_[scope].count > needed) {
      Set(scope, Extreme(live, is_isolated, std::ranges::less(), rng), false);
    }
    flows_.ForEach([&](uint64_t, Flow& flow) {
      if (flow.scope == scope) flow.path = IsolatedFor(flow, live, rng);
    });
  }

  // A failed uplink is not isolated any more.
  void DropDead(size_t scope, std::span<const uint16_t> live) {
    for (const uint16_t path : scopes_[scope].over) {
      if (path != kNoPath && !IsAmong(live, path)) Set(scope, path, false);
    }
  }

  // Returns the path in `live` that fits and has the least or most flows.
  template <class Fits, class Better>
  uint16_t Extreme(std::span<const uint16_t> live, const Fits& fits, const Better& better,
                   Rng& rng) const {
    int best = -1;
    uint32_t ties = 0;
    for (const uint16_t path : live) {
      if (!fits(path)) continue;
      if (best < 0 || better(load_[path], best)) ties = 0;
      if (ties == 0) best = load_[path];
      ties += load_[path] == best ? 1 : 0;
    }
    uint32_t skip = rng.Below(ties);
    for (const uint16_t path : live) {
      if (fits(path) && load_[path] == best && skip-- == 0) return path;
    }
    return live.front();
  }

  void Set(size_t scope, uint16_t path, bool isolated) {
    Scope& its = scopes_[scope];
    const size_t first = path % radix_;
    its.over[first] = isolated ? path : kNoPath;
    for (size_t i = first; i < its.closed.size(); i += radix_) its.closed[i] = isolated;
    its.count += isolated ? 1 : size_t(-1);
    isolated_ += isolated ? 1 : size_t(-1);
  }

  const size_t radix_;
  ExpiringTable<Flow> flows_;
  std::vector<Scope> scopes_;
  size_t isolated_ = 0;    // Uplinks, over all scopes.
  std::vector<int> load_;  // Scratch, by path: flows.
};

}  // namespace heddle
