// SPDX-License-Identifier: Apache-2.0
// Which events a schedule resolves to.

#include "topo/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/schedule_kit.h"

namespace heddle::schedule_test {

using namespace std::string_literals;

using namespace schedule_kit;

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

TEST(ScheduleResolveTest, KnowsLinksWhoseEndsAreSwapped) {
  Diagnostics diagnostics;
  Resolve(Changes({"{at: 0ps, links: [spine1-leaf0], loss: 0.5}"}), 1, "schedule", SmallFabric(),
          diagnostics);
  EXPECT_NE(diagnostics.Report().find(
                "no link is called \"spine1-leaf0\"; did you mean \"leaf0-spine1\"?"),
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

// --- Links that flap ---

std::vector<Time> TimesOf(const std::vector<LinkEvent>& events, bool up) {
  std::vector<Time> times;
  for (const LinkEvent& event : events) {
    if (event.up == up) times.push_back(event.at);
  }
  return times;
}

TEST(FlapTest, WithoutJitterTheTimesAreThoseThatAreSet) {
  const auto flaps = [](const std::string& until) {
    return Describe(Links(
        {"{at: 10us, links: [leaf0-spine1], flap: {down: 2us, up: 5us, until: " + until + "}}"}));
  };
  EXPECT_EQ(flaps("25us"), "10:5 down; 12:5 up; 17:5 down; 19:5 up; 24:5 down; 25:5 up; ");
  EXPECT_EQ(flaps("24us"), "10:5 down; 12:5 up; 17:5 down; 19:5 up; ") << "the end excludes itself";
  EXPECT_EQ(flaps("11us"), "10:5 down; 11:5 up; ") << "it is up from the end on";
  EXPECT_EQ(flaps("12us"), "10:5 down; 12:5 up; ");
}

// Each time is drawn evenly from those that differ by up to the jitter.
TEST(FlapTest, EachTimeVariesByUpToTheJitterEitherWay) {
  const auto events =
      Links({"{at: 1ms, links: [leaf0-spine1], flap: {down: 100us, up: 10us, jitter: 0.5, until: "
             "1s}}"});
  const std::vector<Time> down = TimesOf(events, false);
  const std::vector<Time> up = TimesOf(events, true);
  ASSERT_EQ(down.size(), up.size());
  ASSERT_GT(down.size(), 5'000u);
  EXPECT_EQ(down[0], Time{} + 1_ms);
  double sum_down = 0;
  double sum_up = 0;
  Duration least_down = 1_s, most_down{0}, least_up = 1_s, most_up{0};
  const size_t whole = down.size() - 1;  // The last time may have been cut.
  for (size_t i = 0; i < whole; ++i) {
    const Duration was_down = up[i] - down[i];
    const Duration was_up = down[i + 1] - up[i];
    sum_down += static_cast<double>(was_down.ps);
    sum_up += static_cast<double>(was_up.ps);
    least_down = std::min(least_down, was_down);
    most_down = std::max(most_down, was_down);
    least_up = std::min(least_up, was_up);
    most_up = std::max(most_up, was_up);
  }
  EXPECT_GE(least_down, 50_us);
  EXPECT_LT(least_down, 51_us);
  EXPECT_LE(most_down, 150_us);
  EXPECT_GT(most_down, 149_us);
  EXPECT_GE(least_up, 5_us);
  EXPECT_LT(least_up, 5'100_ns);
  EXPECT_LE(most_up, 15_us);
  EXPECT_GT(most_up, 14'900_ns);
  EXPECT_NEAR(sum_down / static_cast<double>(whole), 100e6, 2e6);
  EXPECT_NEAR(sum_up / static_cast<double>(whole), 10e6, 0.2e6);
  EXPECT_LE(up.back(), Time{} + 1_s);
}

// Even the shortest times end.
TEST(FlapTest, ATimeIsOnePicosecondAtLeast) {
  const auto events =
      Links({"{at: 0ps, links: [leaf0-spine1], flap: {down: 1ps, up: 1ps, jitter: 0.9, until: "
             "100ps}}"});
  ASSERT_GT(events.size(), 40u);
  for (size_t i = 1; i < events.size(); ++i) {
    EXPECT_GE((events[i].at - events[i - 1].at).ps, 1);
    EXPECT_LE((events[i].at - events[i - 1].at).ps, 2);
  }
}

TEST(FlapTest, EachLinkSeedAndEntryHasItsOwnTimes) {
  const std::string entry =
      "{at: 1us, links: [leaf0-spine1, leaf1-spine0], flap: {down: 9us, up: 9us, jitter: 0.5, "
      "until: 11us}}";
  std::set<int64_t> ends;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const auto events = Links({entry, entry}, seed);
    ASSERT_EQ(events.size(), 8u);
    for (const LinkEvent& event : events) {
      if (*event.up) ends.insert(event.at.ps);
    }
  }
  EXPECT_GT(ends.size(), 4u) << "all but those that until has cut differ";
}

TEST(FlapTest, ItsEventsHaveTheDirectionAndSilenceOfTheEntry) {
  using Direction = LinkChange::Direction;
  const std::string flap = ", flap: {down: 2us, up: 5us, until: 9us}}";
  for (const LinkEvent& event : Links({"{at: 1us, links: [leaf0-spine1]" + flap})) {
    EXPECT_EQ(event.direction, Direction::kBoth);
    EXPECT_FALSE(event.silent);
  }
  for (const LinkEvent& event :
       Links({"{at: 1us, links: [leaf0-spine1], direction: up, silent: true" + flap})) {
    EXPECT_EQ(event.direction, Direction::kUp);
    EXPECT_TRUE(event.concerns_up());
    EXPECT_FALSE(event.concerns_down());
    EXPECT_TRUE(event.silent);
    EXPECT_FALSE(event.loses());
  }
}

// An entry may change the link beside, when it first goes down.
TEST(FlapTest, AnEntryThatFlapsMayChangeTheRateToo) {
  EXPECT_EQ(Describe(Links({"{at: 1us, links: [leaf0-spine1], rate: 3Gbps, flap: {down: 2us, up: "
                            "5us, until: 4us}}"})),
            "1:5 down; 1:5 rate 3; 3:5 up; ");
}

// --- What events say ---

TEST(ScheduleResolveTest, AnEventSaysNothingThatItsEntryDoesNot) {
  const auto one = [](const std::string& settings) {
    const auto events = Links({"{at: 4us, links: [leaf0-spine0], " + settings + "}"});
    EXPECT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].at, Time{} + 4_us);
    EXPECT_EQ(events[0].link, 4u);
    return events[0];
  };
  const auto set = [](const LinkEvent& event) {
    return std::string(event.up ? "up " : "") + (event.rate ? "rate " : "") +
           (event.delay ? "delay " : "") + (event.loss ? "loss " : "") +
           (event.bit_errors ? "bit_errors " : "") + (event.lose_every ? "lose_every " : "") +
           (event.bursts ? "bursts " : "") + (event.loses() ? "loses " : "");
  };
  EXPECT_EQ(set(one("state: up")), "up ");
  EXPECT_EQ(one("state: up").up, true);
  EXPECT_EQ(one("state: down").up, false);
  EXPECT_EQ(set(one("rate: 1Gbps")), "rate ");
  EXPECT_EQ(one("rate: 1Gbps").rate, 1_Gbps);
  EXPECT_EQ(set(one("delay: 9us")), "delay ");
  EXPECT_EQ(one("delay: 9us").delay, 9_us);
  EXPECT_EQ(set(one("loss: 0")), "loss loses ");
  EXPECT_EQ(one("loss: 0.25").loss, 0.25);
  EXPECT_EQ(set(one("bit_errors: 0")), "bit_errors loses ");
  EXPECT_EQ(one("bit_errors: 0.01").bit_errors, 0.01);
  EXPECT_EQ(set(one("lose_every: 0")), "lose_every loses ");
  EXPECT_EQ(one("lose_every: 7").lose_every, 7);
  const LinkEvent bursts = one("bursts: {to_bad: 0.25, to_good: 0.5, bad: 0.75}");
  EXPECT_EQ(set(bursts), "bursts loses ");
  EXPECT_EQ(bursts.bursts->to_bad, 0.25);
  EXPECT_EQ(bursts.bursts->to_good, 0.5);
  EXPECT_EQ(bursts.bursts->bad, 0.75);
  EXPECT_EQ(one("bursts: {to_bad: 0}").bursts->to_good, 1);
  EXPECT_EQ(one("bursts: {to_bad: 0}").bursts->bad, 1);
  EXPECT_TRUE(one("state: down, silent: true").silent);
  EXPECT_FALSE(one("state: down").silent);
  EXPECT_TRUE(one("loss: 0.5").concerns_up());
  EXPECT_TRUE(one("loss: 0.5").concerns_down());
  EXPECT_TRUE(one("loss: 0.5, direction: up").concerns_up());
  EXPECT_FALSE(one("loss: 0.5, direction: up").concerns_down());
  EXPECT_FALSE(one("loss: 0.5, direction: down").concerns_up());
  EXPECT_TRUE(one("loss: 0.5, direction: down").concerns_down());
}

TEST(ScheduleResolveTest, AShareOfTheLinksIsDrawnBySeedAndEntry) {
  const std::string half = "{at: 0ps, share_of_links: 0.5, loss: 0.5";
  std::set<std::string> drawn;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const auto events = Links({half + ", keep_connected: false}"}, seed);
    ASSERT_EQ(events.size(), 2u);
    for (const LinkEvent& event : events) EXPECT_GE(event.link, 4u);
    drawn.insert(Describe(events));
    // Leaf 0 has links 4 and 5, leaf 1 has 6 and 7, and one spine must keep both of its links.
    const std::string kept = Describe(Links({half + "}"}, seed));
    EXPECT_TRUE(kept == "0:4 loss 50; 0:6 loss 50; " || kept == "0:5 loss 50; 0:7 loss 50; " ||
                std::ranges::count(kept, ';') == 1)
        << kept;
  }
  EXPECT_EQ(drawn.size(), 6u) << "all pairs of four links";
  EXPECT_EQ(Links({"{at: 0ps, share_of_links: 0, links: [leaf0-spine0], loss: 1}"}).size(), 1u);
  EXPECT_EQ(Links({"{at: 0ps, share_of_links: 1, keep_connected: false, loss: 1}"}).size(), 4u);
  EXPECT_EQ(Links({"{at: 0ps, share_of_links: 1, keep_connected: false, links: [host0-leaf0], "
                   "random_links: 2, loss: 1}"})
                .size(),
            5u)
      << "each link once";
  std::set<std::string> of_entries;
  for (size_t entry = 0; entry < 20; ++entry) {
    std::vector<std::string> entries(entry + 1, "{at: 0ps, switches: [spine0], drop: 0.5}");
    entries.back() = half + ", keep_connected: false}";
    of_entries.insert(Describe(Links(entries)));
  }
  EXPECT_GT(of_entries.size(), 3u);
}

TEST(ScheduleResolveTest, FaultsAreInTheOrderOfTimeAndThenAsTheyAreListed) {
  std::string order;
  for (const SwitchEvent& event :
       Faults({"{at: 5us, switches: [spine1, leaf0], drop: 0.5}",
               "{at: 2us, switches: [leaf1], blackhole: {to: [0]}}",
               "{at: 5us, switches: [spine0], drop: 0, blackhole: {from: [1]}}"})) {
    order += std::to_string((event.at - Time{}).ps / 1'000'000) + ":" + std::to_string(event.id) +
             (event.drop ? " drop" : "") + (event.blackhole ? " hole" : "") + "; ";
  }
  EXPECT_EQ(order, "2:1 hole; 5:3 drop; 5:0 drop; 5:2 drop hole; ");
}

TEST(ScheduleResolveTest, ABlackholeTakesAllThatItsSettingsDoNotExclude) {
  const Blackhole hole =
      *Faults({"{at: 0ps, switches: [leaf0], blackhole: {from: [2]}}"})[0].blackhole;
  EXPECT_EQ(hole.pairs, Blackhole::kAll);
  EXPECT_EQ(hole.hash_from, 0u);
  EXPECT_EQ(hole.hash_to, Blackhole::kAll);
  EXPECT_TRUE(hole.to.empty());
  EXPECT_TRUE(hole.in_ports.empty());
  EXPECT_EQ(hole.until, kNever);
}

}  // namespace heddle::schedule_test
