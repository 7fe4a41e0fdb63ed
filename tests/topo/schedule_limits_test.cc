// SPDX-License-Identifier: Apache-2.0
// Scheduled changes that are refused, and the limits of their settings.

#include "topo/schedule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/limits.h"
#include "tests/support/schedule_kit.h"

namespace heddle::schedule_limits_test {

using namespace std::string_literals;

using namespace schedule_kit;

// --- What is refused when the network is known ---

std::string RefusedIn(const std::vector<std::string>& entries) {
  Diagnostics diagnostics;
  Resolve(Changes(entries), 1, "schedule", SmallFabric(), diagnostics);
  ResolveFaults(Changes(entries), 1, "schedule", SmallFabric(), diagnostics);
  return diagnostics.ok() ? "" : diagnostics.Report();
}

// The message comes once, whether the entry is for links or for switches.
void ExpectRefused(const std::string& entry, const std::string& message) {
  const std::string refused = RefusedIn({entry});
  const size_t found = refused.find("schedule[0]" + message);
  EXPECT_NE(found, std::string::npos) << entry << ": " << refused;
  EXPECT_EQ(refused.rfind("schedule[0]" + message), found) << entry << ": " << refused;
}

// The links of the topology have 10 Gbps and 1 us.
TEST(ScheduleResolveTest, NoChangeMakesALinkBetter) {
  const std::string at = "{at: 0ps, links: [leaf0-spine0], ";
  for (const char* fine : {"rate: 10Gbps}", "rate: 1Mbps}", "delay: 1us}", "delay: 1s}"}) {
    EXPECT_EQ(RefusedIn({at + fine}), "") << fine;
  }
  ExpectRefused(at + "rate: 10000000001bps}",
                ".rate: leaf0-spine0 has 10Gbps in the topology, and a change must not make a link "
                "better");
  ExpectRefused(at + "delay: 999999ps}", ".delay: leaf0-spine0 has 1us in the topology");
}

// The slower direction of a link counts, and the longer one.
TEST(ScheduleResolveTest, NoChangeMakesADirectionOfALinkBetter) {
  for (const bool a_is_worse : {false, true}) {
    Graph graph = SmallFabric();
    (a_is_worse ? graph.links[4].a_to_b : graph.links[4].b_to_a) = {4_Gbps, 3_us};
    const auto refused = [&](const std::string& setting) {
      Diagnostics diagnostics;
      Resolve(Changes({"{at: 0ps, links: [leaf0-spine0], " + setting + "}"}), 1, "schedule", graph,
              diagnostics);
      return !diagnostics.ok();
    };
    EXPECT_FALSE(refused("rate: 4Gbps"));
    EXPECT_TRUE(refused("rate: 5Gbps"));
    EXPECT_FALSE(refused("delay: 3us"));
    EXPECT_TRUE(refused("delay: 2us"));
  }
}

// Hosts do not count packets, nor bits: only switches lose packets in patterns.
TEST(ScheduleResolveTest, PatternsOfLossNeedASwitchThatReceives) {
  const std::pair<std::string, std::string> patterns[] = {{"bit_errors", "bit_errors: 0.001"},
                                                          {"lose_every", "lose_every: 5"},
                                                          {"bursts", "bursts: {to_bad: 0.1}"}};
  for (const auto& [key, pattern] : patterns) {
    const std::string end = ", " + pattern + "}";
    EXPECT_EQ(RefusedIn({"{at: 0ps, links: [leaf0-spine0]" + end}), "");
    EXPECT_EQ(RefusedIn({"{at: 0ps, links: [leaf0-spine0], direction: down" + end}), "");
    EXPECT_EQ(RefusedIn({"{at: 0ps, links: [host1-leaf0], direction: up" + end}), "");
    const std::string message = "." + key + ": packets over host1-leaf0 arrive at a host; use loss";
    ExpectRefused("{at: 0ps, links: [host1-leaf0]" + end, message);
    ExpectRefused("{at: 0ps, links: [host1-leaf0], direction: down" + end, message);
  }
  EXPECT_EQ(RefusedIn({"{at: 0ps, links: [host1-leaf0], loss: 0.1}"}), "");
  // A custom topology may list the ends of a link the other way round.
  Graph graph = SmallFabric();
  std::swap(graph.links[1].a, graph.links[1].b);
  for (const auto& [direction, refused] :
       {std::pair("both", true), std::pair("up", true), std::pair("down", false)}) {
    Diagnostics diagnostics;
    Resolve(Changes({std::string("{at: 0ps, links: [host1-leaf0], lose_every: 5, direction: ") +
                     direction + "}"}),
            1, "schedule", graph, diagnostics);
    EXPECT_EQ(!diagnostics.ok(), refused) << direction;
  }
}

TEST(ScheduleResolveTest, ABlackholeNamesHostsAndLinksThatExist) {
  const std::string at = "{at: 0ps, switches: [leaf0, spine1], blackhole: ";
  EXPECT_EQ(RefusedIn({at + "{from: [3], to: [0]}}"}), "");
  ExpectRefused(at + "{from: [3, 4]}}", ".blackhole.from[1]: there is no host 4; hosts are 0 to 3");
  ExpectRefused(at + "{to: [9, 3]}}", ".blackhole.to[0]: there is no host 9; hosts are 0 to 3");
  ExpectRefused(at + "{links: [leaf0-spine9]}}", ".blackhole.links[0]: no link is called");
  EXPECT_EQ(RefusedIn({at + "{links: [leaf0-spine1]}}"}), "") << "it leads to both";
  ExpectRefused(
      at + "{links: [leaf0-spine0]}}",
      ".blackhole.links: none of these links leads to spine1, so no packet arrives there");
  ExpectRefused(at + "{links: [leaf1-spine1]}}",
                ".blackhole.links: none of these links leads to leaf0");
}

TEST(ScheduleResolveTest, EntriesNameSwitchesThatExist) {
  ExpectRefused("{at: 0ps, switches: [leaf0, leaf7], loss: 0.1}",
                ".switches[1]: no switch with links is called \"leaf7\"");
  ExpectRefused("{at: 0ps, switches: [leaf7], drop: 0.1}",
                ".switches[0]: no switch with links is called \"leaf7\"");
  EXPECT_EQ(RefusedIn({"{at: 0ps, random_switches: 2, drop: 0.1}"}), "");
  ExpectRefused("{at: 0ps, random_switches: 3, drop: 0.1}",
                ".random_switches: 3 are to be chosen, but there are only 2");
  EXPECT_EQ(RefusedIn({"{at: 0ps, random_links: 4, loss: 0.1}"}), "");
  ExpectRefused("{at: 0ps, random_links: 5, loss: 0.1}",
                ".random_links: 5 are to be chosen, but there are only 4");
}

// --- Limits ---

TEST(ScheduledChangeTest, EachSettingHasItsLimits) {
  const std::string at = "{at: 0ps, links: [x], ";
  const std::string spine = "{at: 0ps, switches: [x], ";
  ExpectLimits<ScheduledChange>({
      {"{links: [x], state: up, at: %}", "0ps", "-1ps"},
      {"{links: [x], state: up, at: %}", "1000000s", "1000000000000000001ps"},
      {at + "state: up, random_links: %}", "0", "-1"},
      {at + "state: up, random_switches: %}", "0", "-1"},
      {at + "state: up, share_of_links: %}", "0", "-0.01"},
      {at + "state: up, share_of_links: %}", "1", "1.01"},
      {at + "rate: %}", "1Mbps", "999999bps"},
      {at + "rate: %}", "10Tbps", "10000000000001bps"},
      {at + "delay: %}", "1ps", "0ps"},
      {at + "delay: %}", "1s", "1000000000001ps"},
      {at + "loss: %}", "0", "-0.01"},
      {at + "loss: %}", "1", "1.01"},
      {at + "bit_errors: %}", "0", "-0.01"},
      {at + "bit_errors: %}", "0.1", "0.101"},
      {at + "lose_every: %}", "0", "-1"},
      {at + "bursts: {to_bad: %}}", "0", "-0.01"},
      {at + "bursts: {to_bad: %}}", "1", "1.01"},
      {at + "bursts: {to_bad: 1, to_good: %}}", "0.001", "0"},
      {at + "bursts: {to_bad: 1, to_good: %}}", "1", "1.01"},
      {at + "bursts: {to_bad: 1, bad: %}}", "0.001", "0"},
      {at + "bursts: {to_bad: 1, bad: %}}", "1", "1.01"},
      {at + "flap: {down: 1s, up: 1s, until: 9s, jitter: %}}", "0", "-0.01"},
      {at + "flap: {down: 1s, up: 1s, until: 9s, jitter: %}}", "0.9", "0.91"},
      {at + "flap: {down: %, up: 1s, until: 9s}}", "1ps", "-1ps"},
      {at + "flap: {down: %, up: 1s, until: 9s}}", "1000s", "1000000000000001ps"},
      {at + "flap: {down: 1s, up: %, until: 9s}}", "1ps", "-1ps"},
      {at + "flap: {down: 1s, up: %, until: 9s}}", "1000s", "1000000000000001ps"},
      {at + "flap: {down: 1s, up: 1s, until: %}}", "1ps", "-1ps"},
      {at + "flap: {down: 9s, up: 9s, until: %}}", "1000000s", "1000000000000000001ps"},
      {spine + "drop: %}", "0", "-0.01"},
      {spine + "drop: %}", "1", "1.01"},
      {spine + "blackhole: {from: [%]}}", "0", "-1"},
      {spine + "blackhole: {to: [%]}}", "0", "-1"},
      {spine + "blackhole: {share_of_pairs: %}}", "0.001", "0"},
      {spine + "blackhole: {from: [1], share_of_pairs: %}}", "1", "1.01"},
      {spine + "blackhole: {from: [1], hash_from: %}}", "0", "-0.01"},
      {spine + "blackhole: {hash_to: %}}", "0.001", "-0.01"},
      {spine + "blackhole: {from: [1], hash_to: %}}", "1", "1.01"},
      {spine + "blackhole: {from: [1], until: %}}", "1ps", "0ps"},
      {spine + "blackhole: {from: [1], until: %}}", "1000000s", "1000000000000000001ps"},
  });
}

TEST(ScheduledChangeTest, RefusesWhatDoesNotGoTogether) {
  const std::string at = "{at: 5us, links: [x], ";
  const std::string spine = "{at: 5us, switches: [x], ";
  const std::string nothing = "nothing changes";
  ExpectClashes<ScheduledChange>({
      {"{links: [x], loss: 0}", "at", ""},
      {"{at: 5us, loss: 0}", "links", "names no link"},
      {"{at: 5us, random_links: 0, random_switches: 0, loss: 0}", "links", "names no link"},
      {at + "state: up, flap: {down: 1us, up: 1us, until: 9us}}", "state", "remove state or flap"},
      {at + "flap: {down: 1us, up: 1us, until: 5us}}", "flap", "ends when it begins"},
      {at + "flap: {down: 1us, up: 1us}}", "flap", "ends when it begins"},
      {at + "flap: {down: 1us, until: 9us}}", "flap.up", "how long the link is up"},
      // A million times 2 ps are 2 us.
      {"{at: 0ps, links: [x], flap: {down: 1ps, up: 1ps, until: 2us}}", "flap.until",
       "more than a million times"},
      {at + "loss: 0, silent: true}", "silent", "only state and flap"},
      {at + "rate: 1Gbps, direction: up}", "direction", "change in both directions"},
      {at + "delay: 1us, direction: down}", "direction", "change in both directions"},
      {"{at: 5us, links: [x]}", "state", nothing},
      {at + "flap: {up: 1us, until: 9us}}", "state", nothing},
      {at + "bursts: {to_good: 0.5}}", "state", nothing},
      {spine + "drop: 0, loss: 0}", "drop", "make two entries"},
      {spine + "blackhole: {to: [1]}, state: up}", "blackhole", "make two entries"},
      {spine + "blackhole: {until: 9us}}", "blackhole.until", "no packet falls into it"},
      {"{at: 5us, links: [x], switches: [y], drop: 0}", "links", "blackhole.links"},
      {"{at: 5us, random_links: 1, switches: [y], drop: 0}", "random_links", "blackhole.links"},
      {"{at: 5us, share_of_links: 0.5, switches: [y], drop: 0}", "share_of_links",
       "blackhole.links"},
      {spine + "blackhole: {hash_from: 0.5, hash_to: 0.5}}", "blackhole.hash_to",
       "not above hash_from"},
      {spine + "blackhole: {to: [1], until: 5us}}", "blackhole", "ends when it begins"},
      {spine + "blackhole: {to: [1], until: 4us}}", "blackhole", "ends when it begins"},
  });
  for (const std::string& fine :
       {at + "flap: {down: 1us, up: 1us, until: 6us}}", at + "state: up, silent: true}",
        at + "silent: true, flap: {down: 1us, up: 1us, until: 6us}}",
        "{at: 0ps, links: [x], flap: {down: 1ps, up: 1ps, until: 1999999ps}}"s,
        at + "loss: 0, direction: up}", at + "rate: 1Gbps, direction: both}",
        "{at: 5us, random_links: 1, loss: 0}"s, "{at: 5us, random_switches: 1, loss: 0}"s,
        "{at: 5us, random_switches: 1, drop: 0}"s, "{at: 5us, share_of_links: 0, loss: 0}"s,
        spine + "loss: 0}", spine + "drop: 0, blackhole: {to: [1]}}",
        spine + "blackhole: {to: [1], until: 5000001ps}}",
        spine + "blackhole: {hash_from: 0.5, hash_to: 0.501}}", at + "bursts: {to_bad: 0}}",
        at + "lose_every: 0}", at + "bit_errors: 0}"}) {
    EXPECT_EQ(MistakesIn<ScheduledChange>(fine), "") << fine;
  }
}

}  // namespace heddle::schedule_limits_test
