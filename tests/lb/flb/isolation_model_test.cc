// SPDX-License-Identifier: Apache-2.0
// FLB's isolation of flows (Hu et al., USENIX ATC 2025, section 3.2) beside plain lists, over
// random notices, releases, silences and failures of uplinks. Where several paths would do, it may
// take any of them, and the lists follow.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/random.h"
#include "lb/flb/isolation.h"

namespace heddle::flb_isolation_model_test {

struct Rules {
  uint16_t radix = 4;
  uint16_t above = 1;
  uint16_t scopes = 1;
  size_t entries = 64;
};

using Paths = std::vector<uint16_t>;

class Comparison {
 public:
  Comparison(const Rules& rules, uint64_t seed)
      : rules_(rules),
        isolation_(rules.entries, rules.scopes, rules.radix, rules.above),
        random_(Rng::Stream(seed, "isolation", 0)),
        rng_(Rng::Stream(seed, "draws", 0)) {}

  void Step() {
    now_ += 1_us * Below(3);
    switch (Below(8)) {
      case 0:
        Remove();
        break;
      case 1:
        Review();
        break;
      case 2:
        Touch();
        break;
      case 3:
        AnyOf();
        break;
      default:
        Add();
    }
    CheckAll();
  }

  int grown = 0;
  int shrunk = 0;
  int64_t evictions = 0;

 private:
  struct Flow {
    uint64_t id = 0;
    int there = 1;
    uint16_t scope = 0;
    uint16_t path = 0;
    Time last;
  };
  using Flows = std::list<Flow>;  // The longest silent one first.

  uint16_t Below(uint32_t n) { return static_cast<uint16_t>(random_.Below(n)); }
  uint16_t paths() const { return static_cast<uint16_t>(rules_.radix * rules_.above); }
  uint16_t UplinkOf(uint16_t path) const { return path % rules_.radix; }
  uint64_t AnyFlow() { return 1 + Below(14); }
  Flows::iterator Find(uint64_t id) { return std::ranges::find(flows_, id, &Flow::id); }

  // All paths over some of the uplinks; to a near leaf, the first over each.
  Paths AnyLive() {
    std::set<uint16_t> uplinks;
    while (uplinks.empty()) {
      for (uint16_t uplink = 0; uplink < rules_.radix; ++uplink) {
        if (Below(4) > 0) uplinks.insert(uplink);
      }
    }
    const uint16_t count = Below(4) == 0 ? rules_.radix : paths();
    Paths live;
    for (uint16_t path = 0; path < count; ++path) {
      if (uplinks.contains(UplinkOf(path))) live.push_back(path);
    }
    return live;
  }

  std::map<uint16_t, uint16_t>& IsolatedOf(size_t scope) { return isolated_[scope]; }

  // Each flow needs the n-th part of a link. One uplink must remain for others.
  size_t Needed(size_t scope, const Paths& live) {
    double share = 0;
    for (const Flow& flow : flows_) share += flow.scope == scope ? 1.0 / flow.there : 0;
    std::set<uint16_t> uplinks;
    for (const uint16_t path : live) uplinks.insert(UplinkOf(path));
    if (uplinks.size() < 2 || share == 0) return 0;
    const size_t links = static_cast<size_t>(std::lround(std::ceil(share - 1e-6)));
    return std::min(std::max<size_t>(links, 1), uplinks.size() - 1);
  }
  int LoadOf(size_t scope, uint16_t path) const {
    return static_cast<int>(std::ranges::count_if(
        flows_, [&](const Flow& flow) { return flow.scope == scope && flow.path == path; }));
  }

  // Returns the isolated path of each uplink that has one, as the class under test shows it.
  std::map<uint16_t, uint16_t> Seen(size_t scope) const {
    std::map<uint16_t, uint16_t> seen;
    for (uint16_t path = 0; path < paths(); ++path) {
      if (isolation_.IsIsolated(scope, path)) seen[UplinkOf(path)] = path;
    }
    return seen;
  }

  // Expects that the new paths have the most flows of all open ones.
  void FollowGrowth(size_t scope, size_t needed, const Paths& live) {
    std::map<uint16_t, uint16_t>& before = IsolatedOf(scope);
    Paths added;
    for (const auto& [uplink, path] : Seen(scope)) {
      if (!before.contains(uplink)) added.push_back(path);
    }
    std::ranges::sort(added, std::greater(), [&](uint16_t p) { return LoadOf(scope, p); });
    for (const uint16_t path : added) {
      if (before.size() >= needed) break;
      EXPECT_TRUE(std::ranges::count(live, path) > 0);
      for (const uint16_t other : live) {
        if (before.contains(UplinkOf(other))) continue;
        EXPECT_LE(LoadOf(scope, other), LoadOf(scope, path)) << other << " or " << path;
      }
      before[UplinkOf(path)] = path;
      ++grown;
    }
    EXPECT_GE(before.size(), needed);
  }
  // Expects that the paths that are isolated no more had the fewest flows.
  void FollowReleases(size_t scope, size_t needed) {
    std::map<uint16_t, uint16_t>& before = IsolatedOf(scope);
    const std::map<uint16_t, uint16_t> seen = Seen(scope);
    Paths gone;
    for (const auto& [uplink, path] : before) {
      if (!seen.contains(uplink)) gone.push_back(path);
    }
    std::ranges::sort(gone, std::less(), [&](uint16_t p) { return LoadOf(scope, p); });
    for (const uint16_t path : gone) {
      for (const auto& [uplink, other] : before) {
        EXPECT_GE(LoadOf(scope, other), LoadOf(scope, path)) << other << " or " << path;
      }
      before.erase(UplinkOf(path));
      ++shrunk;
    }
    EXPECT_LE(before.size(), needed);
  }

  // The isolated path over the flow's uplink, or any of those over a live uplink.
  std::set<uint16_t> PathsFor(const Flow& flow, const Paths& live) {
    const std::map<uint16_t, uint16_t>& isolated = IsolatedOf(flow.scope);
    const auto own = isolated.find(UplinkOf(flow.path));
    if (own != isolated.end()) return {own->second};
    return AnyIsolated(flow.scope, live);
  }
  std::set<uint16_t> AnyIsolated(size_t scope, const Paths& live) {
    std::set<uint16_t> any;
    for (const uint16_t path : live) {
      const auto over = IsolatedOf(scope).find(UplinkOf(path));
      if (over != IsolatedOf(scope).end()) any.insert(over->second);
    }
    return any.empty() ? std::set<uint16_t>(live.begin(), live.end()) : any;
  }
  // Looking at a flow is a sign of life, so only those are looked at whose path is not clear.
  void FollowPath(Flows::iterator flow, const std::set<uint16_t>& allowed) {
    if (allowed.size() == 1) {
      flow->path = *allowed.begin();
      return;
    }
    const FlbIsolation::Flow* its = isolation_.Find(flow->id, now_);
    ASSERT_NE(its, nullptr);
    EXPECT_TRUE(allowed.contains(its->path)) << its->path;
    flow->path = its->path;
    MakeLatest(flow);
  }
  void MakeLatest(Flows::iterator flow) {
    flow->last = now_;
    flows_.splice(flows_.end(), flows_, flow);
  }

  void Add() {
    const Paths live = AnyLive();
    const uint64_t id = AnyFlow();
    const uint16_t n = Below(7);  // A queue has one flow at least.
    const uint16_t path = live[Below(static_cast<uint32_t>(live.size()))];
    const uint16_t scope = static_cast<uint16_t>(id % rules_.scopes);
    if (Find(id) == flows_.end()) {
      if (flows_.size() == rules_.entries) {
        flows_.pop_front();
        ++evictions;
      }
      flows_.push_back({.id = id, .there = 1, .scope = scope, .path = path, .last = now_});
    }
    const Flows::iterator flow = Find(id);
    flow->there = std::max<int>(n, 1);
    MakeLatest(flow);
    isolation_.Add(id, scope, n, path, live, now_, rng_);
    FollowGrowth(scope, Needed(scope, live), live);
    FollowPath(flow, PathsFor(*flow, live));
    EXPECT_EQ(isolation_.Find(id, now_)->flows_there, flow->there);
    EXPECT_EQ(isolation_.Find(id, now_)->path, flow->path);
  }
  void Remove() {
    const uint64_t id = AnyFlow();
    isolation_.Remove(id);
    std::erase_if(flows_, [&](const Flow& flow) { return flow.id == id; });
  }
  void Touch() {
    const uint64_t id = AnyFlow();
    const FlbIsolation::Flow* its = isolation_.Find(id, now_);
    const Flows::iterator flow = Find(id);
    ASSERT_EQ(its != nullptr, flow != flows_.end());
    if (its == nullptr) return;
    EXPECT_EQ(its->path, flow->path);
    MakeLatest(flow);
  }
  void AnyOf() {
    const uint16_t scope = Below(rules_.scopes);
    const Paths live = AnyLive();
    const std::set<uint16_t> allowed = AnyIsolated(scope, live);
    std::set<uint16_t> drawn;
    for (int i = 0; i < 60; ++i) drawn.insert(isolation_.AnyOf(scope, live, rng_));
    EXPECT_TRUE(std::ranges::includes(allowed, drawn));
    if (allowed.size() <= 4) {
      EXPECT_EQ(drawn, allowed);
    }
  }

  void Review() {
    const Paths live = AnyLive();
    const Time since = now_ - 1_us * Below(60);
    isolation_.Review(since, live, rng_);
    std::erase_if(flows_, [&](const Flow& flow) { return flow.last < since; });
    for (uint16_t scope = 0; scope < rules_.scopes; ++scope) {
      std::map<uint16_t, uint16_t>& isolated = IsolatedOf(scope);
      if (isolated.empty()) continue;
      std::erase_if(isolated,
                    [&](const auto& its) { return std::ranges::count(live, its.second) == 0; });
      const size_t needed = Needed(scope, live);
      FollowGrowth(scope, needed, live);
      FollowReleases(scope, needed);
      std::vector<Flows::iterator> all;
      for (auto flow = flows_.begin(); flow != flows_.end(); ++flow) {
        if (flow->scope == scope) all.push_back(flow);
      }
      for (const auto flow : all) FollowPath(flow, PathsFor(*flow, live));
    }
  }

  void CheckAll() {
    size_t total = 0;
    for (uint16_t scope = 0; scope < rules_.scopes; ++scope) {
      const std::map<uint16_t, uint16_t>& isolated = IsolatedOf(scope);
      ASSERT_EQ(Seen(scope), isolated);
      ASSERT_EQ(isolation_.isolated_uplinks(scope), isolated.size());
      for (uint16_t path = 0; path < paths(); ++path) {
        ASSERT_EQ(isolation_.IsClosed(scope, path), isolated.contains(UplinkOf(path)));
      }
      total += isolated.size();
    }
    ASSERT_EQ(isolation_.isolated_uplinks(), total);
    ASSERT_EQ(isolation_.size(), flows_.size());
    ASSERT_EQ(isolation_.is_idle(), flows_.empty() && total == 0);
    ASSERT_EQ(isolation_.evictions(), evictions);
    for (uint64_t id = 0; id < 16; ++id) {
      ASSERT_EQ(isolation_.Has(id), Find(id) != flows_.end()) << id;
    }
  }

  const Rules rules_;
  FlbIsolation isolation_;
  Rng random_;
  Rng rng_;
  Flows flows_;
  std::map<size_t, std::map<uint16_t, uint16_t>> isolated_;  // By scope, then uplink: the path.
  Time now_{Time{} + 1_ms};
};

TEST(FlbIsolationModelTest, IsolatesAsPlainListsDo) {
  for (const Rules& rules :
       {Rules{}, Rules{.radix = 2}, Rules{.radix = 3, .above = 3}, Rules{.scopes = 3},
        Rules{.radix = 5, .above = 2, .scopes = 2, .entries = 6}, Rules{.radix = 1}}) {
    int grown = 0;
    int shrunk = 0;
    int64_t evictions = 0;
    for (uint64_t seed = 1; seed <= 12; ++seed) {
      SCOPED_TRACE(testing::Message() << rules.radix << " times " << rules.above << ", " << seed);
      Comparison comparison(rules, seed);
      for (int step = 0; step < 400; ++step) {
        comparison.Step();
        ASSERT_FALSE(HasFailure()) << "step " << step;
      }
      grown += comparison.grown;
      shrunk += comparison.shrunk;
      evictions += comparison.evictions;
    }
    EXPECT_EQ(grown > 100, rules.radix > 1);
    EXPECT_EQ(shrunk > 50, rules.radix > 1);
    EXPECT_EQ(evictions > 100, rules.entries < 14);
  }
}

}  // namespace heddle::flb_isolation_model_test
