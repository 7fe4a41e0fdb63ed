// SPDX-License-Identifier: Apache-2.0
// Who sends to whom, against the definition of each pattern, in networks whose hosts are in any
// order and whose leaves have any number of hosts, as custom topologies have.

#include "workload/partners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "core/random.h"

namespace heddle::partners_test {

// Each leaf has between 1 and 4 hosts; their numbers are shuffled.
Stage OddStage(Rng& rng) {
  Stage stage;
  stage.leaves = 2 + rng.Below(4);
  for (uint16_t leaf = 0; leaf < stage.leaves; ++leaf) {
    stage.leaf_of_host.insert(stage.leaf_of_host.end(), 1 + rng.Below(4), leaf);
  }
  stage.hosts = stage.leaf_of_host.size();
  rng.MoveToFront(stage.leaf_of_host, stage.hosts);
  stage.seed = rng.Next();
  return stage;
}

using Destinations = std::vector<std::set<HostId>>;  // By sender; empty: it does not send.

Destinations Defined(Pairs pairs, const Stage& stage) {
  Destinations all(stage.hosts);
  const auto& leaf = stage.leaf_of_host;
  const auto sends_to = [&](size_t src, size_t dst) {
    if (pairs == Pairs::kAny) return src != dst;
    if (pairs == Pairs::kInterRack) return leaf[src] != leaf[dst];
    return leaf[src] >= stage.leaves / 2 && leaf[dst] < stage.leaves / 2;  // kClientServer.
  };
  for (size_t src = 0; src < stage.hosts; ++src) {
    for (size_t dst = 0; dst < stage.hosts; ++dst) {
      if (sends_to(src, dst)) all[src].insert(static_cast<HostId>(dst));
    }
  }
  return all;
}

// Draws often enough to meet every destination, and to see that none is preferred.
void ExpectDrawsEvenly(const Partners& partners, size_t src, const std::set<HostId>& defined,
                       Rng& rng) {
  const size_t draws = 400 * defined.size();
  std::vector<int> drawn(1'000, 0);
  for (size_t i = 0; i < draws; ++i) ++drawn[partners.Draw(src, rng)];
  for (HostId dst = 0; dst < 1'000; ++dst) {
    if (defined.contains(dst)) {
      EXPECT_NEAR(drawn[dst], 400, 6 * 20) << src << " to " << dst;
    } else {
      EXPECT_EQ(drawn[dst], 0) << src << " to " << dst;
    }
  }
}

void ExpectShares(const Partners& partners, const Stage& stage, const Destinations& defined,
                  Rng& rng) {
  std::vector<double> sent(stage.hosts);
  std::vector<double> received(stage.hosts, 0);
  for (size_t src = 0; src < stage.hosts; ++src) {
    sent[src] = rng.Uniform();
    double leaving = 0;
    for (const HostId dst : defined[src]) {
      const double share = 1.0 / static_cast<double>(defined[src].size());
      received[dst] += sent[src] * share;
      if (stage.leaf_of_host[dst] != stage.leaf_of_host[src]) leaving += share;
    }
    if (!defined[src].empty()) {
      EXPECT_NEAR(partners.Leaving(src), leaving, 1e-9) << src;
    }
  }
  const std::vector<double> told = partners.Received(sent);
  for (size_t dst = 0; dst < stage.hosts; ++dst) EXPECT_NEAR(told[dst], received[dst], 1e-9);
}

void ExpectAsDefined(const Partners& partners, const Stage& stage, const Destinations& defined,
                     Rng& rng) {
  for (size_t src = 0; src < stage.hosts; ++src) {
    ASSERT_EQ(partners.Sends(src), !defined[src].empty()) << src;
    if (defined[src].empty()) continue;
    ASSERT_EQ(partners.Choices(src), defined[src].size()) << src;
    ExpectDrawsEvenly(partners, src, defined[src], rng);
  }
  ExpectShares(partners, stage, defined, rng);
}

TEST(PartnersTest, AreThoseOfTheDefinitionWhereHostsAreInAnyOrder) {
  Rng rng = Rng::Stream(1, "partners", 0);
  for (int round = 0; round < 20; ++round) {
    const Stage stage = OddStage(rng);
    for (const Pairs pairs : {Pairs::kAny, Pairs::kInterRack, Pairs::kClientServer}) {
      SCOPED_TRACE(testing::Message() << "round " << round << ", " << static_cast<int>(pairs));
      ExpectAsDefined(Partners(pairs, stage), stage, Defined(pairs, stage), rng);
    }
  }
}

TEST(PartnersTest, OfListsAreTheListedHostsButTheSenderItself) {
  Rng rng = Rng::Stream(2, "partners", 0);
  for (int round = 0; round < 20; ++round) {
    const Stage stage = OddStage(rng);
    std::vector<HostId> from;
    std::vector<HostId> to;
    for (size_t h = 0; h < stage.hosts; ++h) {
      if (rng.Below(2) == 0) from.push_back(static_cast<HostId>(h));
      if (rng.Below(2) == 0) to.push_back(static_cast<HostId>(h));
    }
    if (to.size() < 2) continue;
    rng.MoveToFront(to, to.size());
    Destinations defined(stage.hosts);
    for (const HostId src : from) {
      defined[src] = std::set<HostId>(to.begin(), to.end());
      defined[src].erase(src);
    }
    ExpectAsDefined(Partners(from, to, stage), stage, defined, rng);
  }
}

TEST(PartnersTest, OfRandomHalvesAreTheOtherHalf) {
  Rng rng = Rng::Stream(3, "partners", 0);
  std::set<std::vector<bool>> halves;
  for (int round = 0; round < 20; ++round) {
    const Stage stage = OddStage(rng);
    const Partners partners(Pairs::kRandomHalves, stage);
    std::set<HostId> receivers;
    std::vector<bool> sends;
    for (size_t h = 0; h < stage.hosts; ++h) {
      sends.push_back(partners.Sends(h));
      if (!partners.Sends(h)) receivers.insert(static_cast<HostId>(h));
    }
    halves.insert(sends);
    EXPECT_EQ(receivers.size(), stage.hosts - stage.hosts / 2);
    Destinations defined(stage.hosts);
    for (size_t h = 0; h < stage.hosts; ++h) {
      if (sends[h]) defined[h] = receivers;
    }
    ExpectAsDefined(partners, stage, defined, rng);
  }
  EXPECT_GT(halves.size(), 10u);  // Drawn anew for each experiment.
}

TEST(PartnersTest, OfAPermutationAreOneForEachHost) {
  Rng rng = Rng::Stream(4, "partners", 0);
  for (int round = 0; round < 20; ++round) {
    const Stage stage = OddStage(rng);
    const Partners partners(Pairs::kPermutation, stage);
    Destinations defined(stage.hosts);
    std::set<HostId> receivers;
    for (size_t h = 0; h < stage.hosts; ++h) {
      const HostId dst = partners.Draw(h, rng);
      EXPECT_NE(dst, h);
      defined[h] = {dst};
      receivers.insert(dst);
    }
    EXPECT_EQ(receivers.size(), stage.hosts);
    ExpectAsDefined(partners, stage, defined, rng);
  }
}

}  // namespace heddle::partners_test
