// SPDX-License-Identifier: Apache-2.0
// Failures that the network notices late, or never: how many packets they cost, and until when.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "tests/support/experiment_kit.h"
#include "tests/support/thread_counts.h"

namespace heddle::unannounced_faults_test {

using testing::HasSubstr;

int64_t Lost(const FinishedRun& run, DropReason reason) {
  return run.result.packets.dropped[static_cast<size_t>(reason)];
}

// Datagrams from leaf0 to leaf1, sprayed over two spines, one each 2460.8 ns from 0 to 20 ms.
std::string Sprayed(const std::string& schedule, const std::string& routing = "{}",
                    const std::string& from = "[0]", const std::string& to = "[2]") {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\nlb: rps\n"
         "workload: [{kind: permutation, size: 1B, start: 21ms}]\n"
         "measure: {t_max: 40ms, unfinished: drop}\n"
         "background: [{from: " +
         from + ", to: " + to + ", rate: 5Gbps, jitter: 0, stop: 20ms}]\nrouting: " + routing +
         "\nschedule: [" + schedule + "]\n";
}

constexpr double kEachNs = 2'460.8;

void ExpectHalfOf(int64_t lost, Duration time) {
  const double sent = static_cast<double>(time.ps) / 1'000 / kEachNs;
  EXPECT_NEAR(static_cast<double>(lost), sent / 2, 4 * std::sqrt(sent / 4) + 2);
}

// The leaf notices after 50 us that its own uplink is down.
TEST(DetectTest, AnUplinkLosesPacketsUntilItsLeafNotices) {
  const FinishedRun run =
      RunExperiment(ExperimentFrom(Sprayed("{at: 5ms, links: [leaf0-spine1], state: down}, "
                                           "{at: 20500us, links: [leaf0-spine1], state: up}",
                                           "{detect: 500us, convergence: 5ms}")));
  ExpectHalfOf(Lost(run, DropReason::kLinkDown), 500_us);
  EXPECT_EQ(Lost(run, DropReason::kNoRoute), 0);
}

// The spine notices that its link down is dead, and has no other. The leaf sends on to this spine
// until routing has converged.
TEST(DetectTest, ALinkDownLosesPacketsUntilRoutingHasConverged) {
  const FinishedRun run =
      RunExperiment(ExperimentFrom(Sprayed("{at: 5ms, links: [leaf1-spine1], state: down}, "
                                           "{at: 20500us, links: [leaf1-spine1], state: up}",
                                           "{detect: 500us, convergence: 5ms}")));
  ExpectHalfOf(Lost(run, DropReason::kLinkDown), 500_us);
  ExpectHalfOf(Lost(run, DropReason::kNoRoute), 4'500_us);
}

TEST(DetectTest, AsLateAsConvergenceIsTheDefault) {
  const std::string schedule = "{at: 5ms, links: [leaf0-spine1], state: down}";
  const FinishedRun usual = RunExperiment(ExperimentFrom(Sprayed(schedule, "{convergence: 5ms}")));
  const FinishedRun same =
      RunExperiment(ExperimentFrom(Sprayed(schedule, "{detect: 5ms, convergence: 5ms}")));
  EXPECT_EQ(same.files.flows, usual.files.flows);
  EXPECT_EQ(same.files.udp, usual.files.udp);
  ExpectHalfOf(Lost(usual, DropReason::kLinkDown), 5_ms);
}

// A link of host 1, which takes no part, fails at 1 ms, so routes change at 6 ms. By then, routing
// has not heard of the uplink; the leaf may have.
TEST(DetectTest, AnEarlierFailureTellsRoutingNothingOfALaterOne) {
  const std::string schedule =
      "{at: 1ms, links: [host1-leaf0], state: down}, {at: 5ms, links: [leaf0-spine1], state: "
      "down}, {at: 20500us, links: [host1-leaf0, leaf0-spine1], state: up}";
  const FinishedRun all = RunExperiment(ExperimentFrom(Sprayed(schedule, "{convergence: 5ms}")));
  ExpectHalfOf(Lost(all, DropReason::kLinkDown), 5_ms);
  const FinishedRun leaf =
      RunExperiment(ExperimentFrom(Sprayed(schedule, "{detect: 500us, convergence: 5ms}")));
  ExpectHalfOf(Lost(leaf, DropReason::kLinkDown), 500_us);
}

TEST(DetectTest, MustNotBeAboveConvergence) {
  EXPECT_THAT(ErrorsOf(Sprayed("", "{detect: 2us, convergence: 1us}")),
              HasSubstr("is above convergence"));
}

// A scheme that weighs next hops is given descriptions of the remaining ones.
TEST(DetectTest, SchemesThatWeighNextHopsKnowTheRest) {
  for (const char* lb : {"wcmp", "drill", "{kind: rps, weights: capacity}", "presto"}) {
    SCOPED_TRACE(lb);
    std::string yaml = Sprayed(
        "{at: 5ms, links: [leaf0-spine1], state: down}, "
        "{at: 20500us, links: [leaf0-spine1], state: up}",
        "{detect: 100us, convergence: 10ms}");
    yaml.replace(yaml.find("lb: rps"), 7, "lb: " + std::string(lb));
    const FinishedRun run = RunExperiment(ExperimentFrom(yaml));
    EXPECT_EQ(run.result.unfinished, 0);
    EXPECT_LT(Lost(run, DropReason::kLinkDown), 60);
  }
}

TEST(SilentFailureTest, LosesPacketsForEver) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom(Sprayed("{at: 5ms, links: [leaf0-spine1], state: down, silent: true}, "
                             "{at: 20500us, links: [leaf0-spine1], state: up, silent: true}",
                             "{detect: 50us, convergence: 50us}")));
  ExpectHalfOf(Lost(run, DropReason::kLinkDown), 15_ms);
  EXPECT_EQ(run.result.unfinished, 0);
}

TEST(SilentFailureTest, OfOneDirectionSparesTheOther) {
  const std::string down =
      "{at: 5ms, links: [leaf0-spine1], direction: down, state: down, "
      "silent: true}, {at: 20500us, links: [leaf0-spine1], state: up}";
  EXPECT_EQ(Lost(RunExperiment(ExperimentFrom(Sprayed(down))), DropReason::kLinkDown), 0);
  const FinishedRun back = RunExperiment(ExperimentFrom(Sprayed(down, "{}", "[2]", "[0]")));
  ExpectHalfOf(Lost(back, DropReason::kLinkDown), 15_ms);
}

// When another link fails, routing learns of that one alone.
TEST(SilentFailureTest, IsNotToldWithAnotherFailure) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom(Sprayed("{at: 5ms, links: [leaf0-spine1], state: down, silent: true}, "
                             "{at: 6ms, links: [host3-leaf1], state: down}, "
                             "{at: 7ms, links: [host3-leaf1], state: up}, "
                             "{at: 20500us, links: [leaf0-spine1], state: up}")));
  ExpectHalfOf(Lost(run, DropReason::kLinkDown), 15_ms);
}

// Ten times 100 us down, each too short to be noticed.
TEST(FlapTest, ShorterThanDetectionChangesNoRoute) {
  const std::string flap =
      "{at: 5ms, links: [leaf0-spine1], flap: {down: 100us, up: 900us, until: 15ms}}";
  const FinishedRun run =
      RunExperiment(ExperimentFrom(Sprayed(flap, "{detect: 200us, convergence: 400us}")));
  ExpectHalfOf(Lost(run, DropReason::kLinkDown), 1_ms);
  // Noticed after 20 us, the leaf loses a fifth of it.
  const FinishedRun noticed =
      RunExperiment(ExperimentFrom(Sprayed(flap, "{detect: 20us, convergence: 20us}")));
  ExpectHalfOf(Lost(noticed, DropReason::kLinkDown), 200_us);
}

// A link that is up for less than hold_up is not used again.
TEST(FlapTest, HoldUpKeepsTheLinkUnused) {
  const std::string flap =
      "{at: 5ms, links: [leaf0-spine1], flap: {down: 100us, up: 900us, until: 15ms}}";
  const FinishedRun run = RunExperiment(
      ExperimentFrom(Sprayed(flap, "{detect: 20us, convergence: 20us, hold_up: 2ms}")));
  ExpectHalfOf(Lost(run, DropReason::kLinkDown), 20_us);
}

TEST(FlapTest, JitterVariesItsTimesByTheSeed) {
  const auto lost = [](const std::string& seed) {
    return Lost(RunExperiment(ExperimentFrom(
                    Sprayed("{at: 5ms, links: [leaf0-spine1], silent: true, "
                            "flap: {down: 100us, up: 900us, jitter: 0.9, until: 15ms}}") +
                    "seed: " + seed + "\n")),
                DropReason::kLinkDown);
  };
  EXPECT_NE(lost("1"), lost("2"));
}

TEST(LossPatternsTest, LoseTheirShares) {
  const auto lost = [](const std::string& key) {
    return Lost(RunExperiment(ExperimentFrom(
                    Sprayed("{at: 0ps, links: [leaf0-spine0, leaf0-spine1], direction: up, " + key +
                            "}, {at: 20500us, links: [leaf0-spine0, leaf0-spine1], bit_errors: 0, "
                            "lose_every: 0, bursts: {to_bad: 0}}"))),
                DropReason::kCorrupt);
  };
  EXPECT_NEAR(static_cast<double>(lost("lose_every: 10")), 812.8, 2);
  const double share = 1 - std::pow(1 - 1e-5, 8 * 1'538);
  EXPECT_NEAR(static_cast<double>(lost("bit_errors: 1e-5")), 8'128 * share,
              4 * std::sqrt(8'128 * share));
  EXPECT_NEAR(static_cast<double>(lost("bursts: {to_bad: 0.01, to_good: 0.1, bad: 0.5}")),
              8'128 * (0.1 / 1.1) * 0.5, 150);
}

TEST(LossPatternsTest, AreForPacketsThatSwitchesReceive) {
  EXPECT_THAT(ErrorsOf(Sprayed("{at: 0ps, links: [host0-leaf0], lose_every: 10}")),
              HasSubstr("arrive at a host"));
  EXPECT_EQ(ErrorsOf(Sprayed("{at: 0ps, links: [host0-leaf0], direction: up, lose_every: 10}")),
            "");
}

TEST(UnannouncedFaultsTest, GiveTheSameBytesForAnyNumberOfThreads) {
  const Experiment experiment = ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 4}\nlb: wcmp\n"
      "workload: [{kind: poisson, sizes: websearch, load: 0.6, duration: 2ms}]\n"
      "schedule:\n"
      "  - {at: 0ps, share_of_links: 0.2, bit_errors: 1e-6}\n"
      "  - {at: 0ps, links: [leaf1-spine0], bursts: {to_bad: 0.01, to_good: 0.1}}\n"
      "  - {at: 300us, links: [leaf0-spine1], direction: up, state: down, silent: true}\n"
      "  - {at: 400us, links: [leaf2-spine2], flap: {down: 70us, up: 90us, jitter: 0.5, until: "
      "2ms}}\n"
      "  - {at: 500us, links: [leaf1-spine1], lose_every: 10}\n"
      "  - {at: 700us, switches: [spine0], state: down}\n"
      "  - {at: 900us, switches: [spine0], state: up}\n"
      "routing: {detect: 30us, convergence: 100us, hold_up: 20us}\n"
      "measure: {unfinished: drop, t_max: 50ms}\n");
  const FinishedRun one = RunExperiment(experiment, 1);
  EXPECT_GT(Lost(one, DropReason::kLinkDown), 0);
  EXPECT_GT(Lost(one, DropReason::kCorrupt), 0);
  for (const int threads : ThreadCounts({2, 3})) {
    EXPECT_EQ(RunExperiment(experiment, threads).files, one.files) << threads;
  }
}

TEST(UnannouncedFaultsTest, SayWhatDoesNotFit) {
  const auto errors = [](const std::string& entry) { return ErrorsOf(Sprayed(entry)); };
  EXPECT_THAT(errors("{at: 0ps, links: [leaf0-spine0], loss: 0.1, silent: true}"),
              HasSubstr("only state and flap can be silent"));
  EXPECT_THAT(errors("{at: 0ps, links: [leaf0-spine0], direction: up, rate: 1Gbps}"),
              HasSubstr("rate and delay change in both directions"));
  EXPECT_THAT(errors("{at: 5ms, links: [leaf0-spine0], flap: {down: 1us, up: 1us, until: 1ms}}"),
              HasSubstr("ends when it begins"));
  EXPECT_THAT(errors("{at: 0ps, links: [leaf0-spine0], flap: {down: 1us, until: 1ms}}"),
              HasSubstr("set how long the link is up"));
  EXPECT_THAT(errors("{at: 0ps, links: [leaf0-spine0], flap: {down: 1ps, up: 1ps, until: 1s}}"),
              HasSubstr("more than a million times"));
}

// Repeated news of one state changes nothing.
TEST(DetectTest, AFailureThatIsReportedAgainIsNoticedAtItsTime) {
  const std::string down = "{at: 5ms, links: [leaf0-spine1], state: down}, ";
  const std::string up = "{at: 20500us, links: [leaf0-spine1], state: up}";
  const std::string times = "{detect: 500us, convergence: 5ms}";
  const int64_t once =
      Lost(RunExperiment(ExperimentFrom(Sprayed(down + up, times))), DropReason::kLinkDown);
  for (const char* again : {"{at: 5400us, links: [leaf0-spine1], state: down}, ",
                            "{at: 5400us, links: [leaf0-spine1], state: down, direction: up}, "}) {
    EXPECT_EQ(Lost(RunExperiment(ExperimentFrom(Sprayed(down + again + up, times))),
                   DropReason::kLinkDown),
              once)
        << again;
  }
}

// The other direction is silently down, so both directions count as up when the first one is back.
TEST(DetectTest, ALinkComesBackWhoseOtherDirectionHasFailedSilently) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      Sprayed("{at: 1ms, links: [leaf0-spine1], state: down, direction: down, silent: true}, "
              "{at: 2ms, links: [leaf0-spine1], state: down, direction: up}, "
              "{at: 3ms, links: [leaf0-spine1], state: up, direction: up}")));
  const CsvTable links(run.files.links);
  const size_t row = [&] {
    for (size_t i = 0; i < links.rows.size(); ++i) {
      if (links.At(i, "node") == "leaf0" && links.At(i, "peer") == "spine1") return i;
    }
    return links.rows.size();
  }();
  EXPECT_NEAR(links.Real(row, "pkts"), 19e-3 / kEachNs * 1e9 / 2, 200);
}

}  // namespace heddle::unannounced_faults_test
