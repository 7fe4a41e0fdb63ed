// SPDX-License-Identifier: Apache-2.0
// When the ends of a link and all others learn of its failures and repairs, and what a switch
// leaves out of its routes then.

#include "network/link_news.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "core/random.h"
#include "tests/support/printers.h"

namespace heddle::link_news_test {

struct Noticed {
  Time at;
  uint32_t link;
  bool up;
  Time routes;

  friend bool operator==(const Noticed&, const Noticed&) = default;
};

// Plays 60 changes of four links. At one instant changes come before news, as Network has it.
// A change is noticed if nothing about its link was reported until then, that instant included.
void ExpectNews(const RoutingTimes& times, Rng& rng) {
  struct Change {
    Time at;
    uint32_t link;
    bool up;
  };
  std::vector<Change> changes;
  Time now;
  for (int i = 0; i < 60; ++i) {
    now += Duration{int64_t{1 + rng.Below(40)}};
    changes.push_back({now, rng.Below(4), rng.Below(2) == 0});
  }
  std::vector<Noticed> expected;
  for (size_t i = 0; i < changes.size(); ++i) {
    const auto& [at, link, up] = changes[i];
    const Duration hold = up ? times.hold_up : Duration{0};
    const Time notice = at + (up ? times.hold_up : times.detect.value_or(Duration{0}));
    const bool lasts =
        std::none_of(changes.begin() + static_cast<int64_t>(i) + 1, changes.end(),
                     [&](const Change& c) { return c.link == link && c.at <= notice; });
    if (lasts) expected.push_back({notice, link, up, at + hold + times.convergence});
  }
  std::ranges::stable_sort(expected, {}, &Noticed::at);
  LinkNews news(times, 4);
  std::vector<Noticed> seen;
  const auto take = [&](Time until) {
    while (news.Next() <= until) {
      const Time at = news.Next();
      if (const auto one = news.Take(at)) seen.push_back({at, one->link, one->up, one->routes});
    }
  };
  for (const Change& change : changes) {
    take(change.at - 1_ps);
    news.Report(change.link, change.up, change.at);
    take(change.at);
  }
  take(now + 1_us);
  EXPECT_EQ(news.Next(), kNever);
  EXPECT_FALSE(news.Take(kNever - 1_ps));
  ASSERT_EQ(seen.size(), expected.size());
  EXPECT_TRUE(seen == expected);
}

TEST(LinkNewsTest, ComesAfterItsTimeUnlessTheLinkChangesBefore) {
  for (const Duration convergence : {0_ps, 90_ps}) {
    for (const Duration hold_up : {0_ps, 50_ps}) {
      for (const std::optional<Duration> detect :
           {std::optional<Duration>(), std::optional(0_ps), std::optional(30_ps)}) {
        for (uint64_t seed = 0; seed < 20; ++seed) {
          Rng rng = Rng::Stream(seed, "news", 0);
          ExpectNews({.convergence = convergence, .detect = detect, .hold_up = hold_up}, rng);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Random routes of a switch with six ports, to 20 hosts; host h is on leaf h / 2.
struct Routes {
  RoutingTable table;
  NextHopTable next_hops;
  std::vector<HostId> first_hosts;
};

Routes RandomRoutes(Rng& rng) {
  Routes routes;
  std::vector<uint16_t> set_of_host;
  for (uint16_t leaf = 0; leaf < 10; ++leaf) {
    routes.table.sets.push_back({static_cast<uint32_t>(routes.table.ports.size()), 0});
    std::vector<NextHop> hops;
    for (PortIndex port = 0; port < 6; ++port) {
      if (rng.Below(2) == 0) continue;
      routes.table.ports.push_back(port);
      ++routes.table.sets.back().count;
      // A number that tells the leaf and the port.
      hops.push_back({.capacity = 100 * leaf + port, .kind = port});
    }
    for (int host = 0; host < 2; ++host) set_of_host.push_back(leaf);
    routes.first_hosts.push_back(static_cast<HostId>(2 * leaf));
    routes.next_hops.set_of_leaf.push_back(leaf);
    routes.next_hops.sets.push_back(hops);
  }
  routes.table.SetSetsOfHosts(set_of_host);
  routes.table.uplinks = {3, 4, 5};
  routes.table.path_divisor = 3;
  routes.table.version = 7;
  return routes;
}

TEST(WithoutPortTest, TakesThePortOutOfAllSetsAndNothingElse) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng = Rng::Stream(seed, "routes", 0);
    const auto [table, next_hops, first_hosts] = RandomRoutes(rng);
    for (PortIndex gone = 0; gone < 6; ++gone) {
      const RoutingTable without = WithoutPort(table, gone);
      const NextHopTable hops = WithoutPort(next_hops, table, gone, first_hosts);
      EXPECT_EQ(without.uplinks, table.uplinks);
      EXPECT_EQ(without.path_divisor, 3u);
      EXPECT_EQ(without.version, 7u);
      ASSERT_EQ(hops.set_of_leaf.size(), 10u);
      for (HostId host = 0; host < 20; ++host) {
        std::vector<PortIndex> rest(table.Towards(host).begin(), table.Towards(host).end());
        std::erase(rest, gone);
        const auto left = without.Towards(host);
        ASSERT_EQ(std::vector<PortIndex>(left.begin(), left.end()), rest);
        std::vector<NextHop> expected;
        for (const PortIndex port : rest) expected.push_back({100 * (host / 2) + port, port});
        ASSERT_EQ(hops.sets[hops.set_of_leaf[host / 2]], expected);
      }
    }
  }
}

}  // namespace heddle::link_news_test
