// SPDX-License-Identifier: Apache-2.0
// Which events a schedule resolves to.

#include "topo/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/settings_from.h"

namespace heddle::schedule_test {

// Links 0 to 3 lead to hosts, links 4 to 7 from leaf 0 and leaf 1 to both spines.
Graph SmallFabric() { return LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 2}"); }

std::vector<ScheduledChange> Changes(const std::vector<std::string>& entries) {
  std::vector<ScheduledChange> changes(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    ReadTestSettings(entries[i], [&](Fields& fields) { changes[i].Declare(fields); });
  }
  return changes;
}

std::vector<LinkEvent> Links(const std::vector<std::string>& entries, uint64_t seed = 1) {
  Diagnostics diagnostics;
  const auto events = Resolve(Changes(entries), seed, "schedule", SmallFabric(), diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  return events;
}
std::vector<SwitchEvent> Faults(const std::vector<std::string>& entries, uint64_t seed = 1) {
  Diagnostics diagnostics;
  const auto events = ResolveFaults(Changes(entries), seed, "schedule", SmallFabric(), diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  return events;
}

std::string Describe(const std::vector<LinkEvent>& events) {
  std::string text;
  for (const LinkEvent& event : events) {
    text += std::to_string((event.at - Time{}).ps / 1'000'000) + ":" + std::to_string(event.link);
    if (event.up) text += *event.up ? " up" : " down";
    if (event.rate) text += " rate " + std::to_string(event.rate->bps / 1'000'000'000);
    if (event.delay) text += " delay " + std::to_string(event.delay->ps / 1'000'000);
    if (event.loss) text += " loss " + std::to_string(static_cast<int>(*event.loss * 100));
    text += "; ";
  }
  return text;
}

// Each of the settings alone selects packets, and none of them together selects no packet.
TEST(BlackholeSettingsTest, AnyOneSettingIsEnough) {
  const auto is_set = [](auto set) {
    BlackholeSettings settings;
    set(settings);
    return settings.is_set();
  };
  using Settings = BlackholeSettings&;
  EXPECT_FALSE(is_set([](Settings) {}));
  EXPECT_TRUE(is_set([](Settings s) { s.from = {0}; }));
  EXPECT_TRUE(is_set([](Settings s) { s.to = {0}; }));
  EXPECT_TRUE(is_set([](Settings s) { s.share_of_pairs = 0.5; }));
  EXPECT_TRUE(is_set([](Settings s) { s.hash_from = 0.01; }));
  EXPECT_TRUE(is_set([](Settings s) { s.hash_to = 0.99; }));
  EXPECT_TRUE(is_set([](Settings s) { s.links = {"leaf0-spine0"}; }));
  EXPECT_FALSE(is_set([](Settings s) { s.until = 1_ms; }));
}

TEST(ScheduledChangeTest, ConcernsLinksOrSwitches) {
  const auto concerns = [](auto set) {
    ScheduledChange change;
    set(change);
    return std::string(change.concerns_links() ? "links" : "") +
           (change.concerns_switches() ? "switches" : "");
  };
  using Change = ScheduledChange&;
  EXPECT_EQ(concerns([](Change) {}), "");
  EXPECT_EQ(concerns([](Change c) { c.state = ScheduledChange::State::kUp; }), "links");
  EXPECT_EQ(concerns([](Change c) { c.state = ScheduledChange::State::kDown; }), "links");
  EXPECT_EQ(concerns([](Change c) { c.rate = 1_Gbps; }), "links");
  EXPECT_EQ(concerns([](Change c) { c.delay = 1_us; }), "links");
  EXPECT_EQ(concerns([](Change c) { c.loss = 0; }), "links");
  EXPECT_EQ(concerns([](Change c) { c.drop = 0; }), "switches");
  EXPECT_EQ(concerns([](Change c) { c.blackhole.share_of_pairs = 0.9; }), "switches");
}

TEST(ScheduleResolveTest, EventsAreInTheOrderOfTimeAndThenAsTheyAreListed) {
  EXPECT_EQ(Describe(Links({"{at: 5us, links: [leaf0-spine1], state: down}",
                            "{at: 2us, links: [leaf1-spine0, host0-leaf0], loss: 0.25}",
                            "{at: 5us, links: [leaf0-spine1], state: up}",
                            "{at: 3us, switches: [spine1], delay: 9us}",
                            "{at: 4us, switches: [leaf0, leaf0], rate: 1Gbps}",
                            "{at: 1us, switches: [spine0], drop: 1}"})),
            "2:0 loss 25; 2:6 loss 25; "
            "3:5 delay 9; 3:7 delay 9; "
            "4:0 rate 1; 4:1 rate 1; 4:4 rate 1; 4:5 rate 1; "
            "5:5 down; 5:5 up; ");
}

// Links to hosts are not drawn; switches are those of the highest tier.
TEST(ScheduleResolveTest, DrawsDifferentLinksBySeedAndEntry) {
  std::set<std::string> drawn;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const auto events = Links({"{at: 0ps, random_links: 2, loss: 0.5}"}, seed);
    ASSERT_EQ(events.size(), 2u);
    EXPECT_LT(events[0].link, events[1].link);
    for (const LinkEvent& event : events) EXPECT_GE(event.link, 4u);
    EXPECT_EQ(Describe(events), Describe(Links({"{at: 0ps, random_links: 2, loss: 0.5}"}, seed)));
    drawn.insert(Describe(events));
  }
  EXPECT_EQ(drawn.size(), 6u);  // All pairs of four links.
  std::set<std::string> of_entries;
  for (size_t entry = 0; entry < 20; ++entry) {
    std::vector<std::string> entries(entry + 1, "{at: 0ps, switches: [spine0], drop: 0.5}");
    entries.back() = "{at: 0ps, random_links: 2, loss: 0.5}";
    of_entries.insert(Describe(Links(entries)));
  }
  EXPECT_GT(of_entries.size(), 3u);
}

TEST(ScheduleResolveTest, DrawsSpinesForBothKindsOfEntries) {
  std::set<SwitchId> drawn;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto faults = Faults({"{at: 0ps, random_switches: 1, drop: 0.5}"}, seed);
    ASSERT_EQ(faults.size(), 1u);
    drawn.insert(faults[0].id);
    const auto links = Links({"{at: 0ps, random_switches: 1, loss: 0.5}"}, seed);
    const uint32_t first = faults[0].id == 2 ? 4 : 5;
    EXPECT_EQ(Describe(links), "0:" + std::to_string(first) +
                                   " loss 50; 0:" + std::to_string(first + 2) + " loss 50; ");
  }
  EXPECT_EQ(drawn, (std::set<SwitchId>{2, 3}));
  // One that is drawn and named counts once.
  EXPECT_EQ(Faults({"{at: 0ps, switches: [spine0, spine1], random_switches: 1, drop: 0.5}"}).size(),
            2u);
}

TEST(ScheduleResolveTest, SaysHowLinksAreCalled) {
  Diagnostics diagnostics;
  Resolve(Changes({"{at: 0ps, links: [leaf9-spine9], loss: 0.5}"}), 1, "schedule", SmallFabric(),
          diagnostics);
  EXPECT_NE(diagnostics.Report().find(
                "schedule[0].links[0]: no link is called \"leaf9-spine9\"; links are called "
                "host0-leaf0 to host3-leaf1 and leaf0-spine0 to leaf1-spine1"),
            std::string::npos)
      << diagnostics.Report();
}

// Where all switches have hosts, all are of the highest tier.
TEST(ScheduleResolveTest, DrawsAmongAllSwitchesOfAGraphWithOneTier) {
  Graph ring{.hosts = 3, .switches = {{"s0", 0}, {"s1", 0}, {"s2", 0}}, .links = {}};
  for (size_t s = 0; s < 3; ++s) {
    ring.Connect(ring.VertexOfHost(s), ring.VertexOfSwitch(s), {10_Gbps, 1_us});
    ring.Connect(ring.VertexOfSwitch(s), ring.VertexOfSwitch((s + 1) % 3), {10_Gbps, 1_us});
  }
  std::set<SwitchId> drawn;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Diagnostics diagnostics;
    const auto faults = ResolveFaults(Changes({"{at: 0ps, random_switches: 1, drop: 0.5}"}), seed,
                                      "schedule", ring, diagnostics);
    ASSERT_TRUE(diagnostics.ok()) << diagnostics.Report();
    ASSERT_EQ(faults.size(), 1u);
    drawn.insert(faults[0].id);
  }
  EXPECT_EQ(drawn, (std::set<SwitchId>{0, 1, 2}));
}

TEST(ScheduleResolveTest, ABlackholeHasWhatItsSettingsSay) {
  const auto faults =
      Faults({"{at: 7us, switches: [leaf0], blackhole: {from: [1, 3], to: [2], share_of_pairs: "
              "0.25, hash_from: 0.125, hash_to: 0.5, links: [leaf0-spine1, host1-leaf0], until: "
              "9us}}",
              "{at: 3us, switches: [spine1], drop: 0.75}"});
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].at, Time{} + 3_us);
  EXPECT_EQ(faults[0].id, 3u);
  EXPECT_EQ(faults[0].drop, 0.75);
  EXPECT_FALSE(faults[0].blackhole);
  EXPECT_EQ(faults[1].at, Time{} + 7_us);
  EXPECT_EQ(faults[1].id, 0u);
  EXPECT_FALSE(faults[1].drop);
  ASSERT_TRUE(faults[1].blackhole);
  const Blackhole& hole = *faults[1].blackhole;
  EXPECT_EQ(hole.from, (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(hole.to, (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(hole.pairs, Blackhole::kAll / 4);
  EXPECT_EQ(hole.hash_from, Blackhole::kAll / 8);
  EXPECT_EQ(hole.hash_to, Blackhole::kAll / 2);
  EXPECT_EQ(hole.until, Time{} + 9_us);
  // Ports of leaf 0: hosts 0 and 1, spines 0 and 1.
  EXPECT_EQ(hole.in_ports, (std::vector<bool>{false, true, false, true}));
  const auto plain = Faults({"{at: 0ps, switches: [leaf0], blackhole: {share_of_pairs: 0.5}}"});
  ASSERT_TRUE(plain[0].blackhole);
  EXPECT_TRUE(plain[0].blackhole->from.empty());
  EXPECT_TRUE(plain[0].blackhole->in_ports.empty());
  EXPECT_EQ(plain[0].blackhole->hash_from, 0u);
  EXPECT_EQ(plain[0].blackhole->hash_to, Blackhole::kAll);
  EXPECT_EQ(plain[0].blackhole->until, kNever);
}

// Which pairs fall into a hole differs between entries and seeds.
TEST(ScheduleResolveTest, EachBlackholeHasItsOwnSalt) {
  const std::string change =
      "{at: 0ps, switches: [leaf0, leaf1], blackhole: {share_of_pairs: 0.5}}";
  std::set<uint64_t> salts;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto faults = Faults({change, change}, seed);
    ASSERT_EQ(faults.size(), 4u);
    EXPECT_EQ(faults[0].blackhole->salt, faults[1].blackhole->salt);
    EXPECT_EQ(faults[2].blackhole->salt, faults[3].blackhole->salt);
    salts.insert({faults[0].blackhole->salt, faults[2].blackhole->salt});
  }
  EXPECT_EQ(salts.size(), 6u);
}

}  // namespace heddle::schedule_test
