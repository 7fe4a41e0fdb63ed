// SPDX-License-Identifier: Apache-2.0
// Permutations and incast.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/workload_limits.h"
#include "workload/derangement.h"

namespace heddle::patterns_test {

using testing::HasSubstr;

// W5.
TEST(DerangementTest, EveryHostReceivesOnceAndNoneFromItself) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (const auto& [leaves, per_leaf] : std::vector<std::pair<size_t, size_t>>{
             {1, 2}, {2, 1}, {2, 8}, {2, 11}, {2, 13}, {3, 3}, {5, 1}, {8, 16}}) {
      for (const bool cross_rack : {false, true}) {
        if (cross_rack && leaves < 2) continue;
        Stage stage = StageOf(leaves, per_leaf);
        stage.seed = seed;
        const std::vector<HostId> destinations = Derangement(stage, cross_rack);
        EXPECT_EQ(std::set<HostId>(destinations.begin(), destinations.end()).size(), stage.hosts);
        for (size_t h = 0; h < stage.hosts; ++h) {
          EXPECT_NE(destinations[h], h);
          if (cross_rack) {
            EXPECT_NE(stage.leaf_of_host[destinations[h]], stage.leaf_of_host[h]);
          }
        }
      }
    }
  }
}

// With large racks, no draw avoids all pairs within a rack. The pairs are random all the same: they
// differ by seed, and a rack sends to many racks.
TEST(DerangementTest, LargeRacksHaveRandomPairsToo) {
  std::set<std::vector<HostId>> seen;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Stage stage = StageOf(16, 16);
    stage.seed = seed;
    const std::vector<HostId> destinations = Derangement(stage, true);
    EXPECT_TRUE(seen.insert(destinations).second);
    std::set<int> racks;
    for (size_t h = 0; h < 16; ++h) racks.insert(stage.leaf_of_host[destinations[h]]);
    EXPECT_GT(racks.size(), 5u);
  }
}

TEST(PermutationTest, ShiftSendsFromRacksToRacks) {
  const Stage stage = StageOf(4, 4);
  const auto permutation =
      WorkloadFrom("{kind: permutation, size: 30KB, cross_rack: true, pattern: shift}", stage);
  for (const FlowRequest& flow : FlowsOf(*permutation.settings)) {
    EXPECT_EQ(flow.dst, (flow.src + 8) % 16);
  }
}

TEST(PermutationTest, EveryHostSendsOneFlow) {
  const Stage stage = StageOf(4, 4);
  const auto permutation = WorkloadFrom(
      "{kind: permutation, size: 30KB, start: 1ms, jitter: 10us, cross_rack: true}", stage);
  const std::vector<FlowRequest> flows = FlowsOf(*permutation.settings);
  std::set<HostId> senders;
  std::set<HostId> receivers;
  for (const FlowRequest& flow : flows) {
    senders.insert(flow.src);
    receivers.insert(flow.dst);
    EXPECT_EQ(flow.size, 30'000);
    EXPECT_GE(flow.start, Time{} + 1_ms);
    EXPECT_LE(flow.start, Time{} + 1_ms + 10_us);
    EXPECT_NE(stage.leaf_of_host[flow.src], stage.leaf_of_host[flow.dst]);
  }
  EXPECT_EQ(senders.size(), 16u);
  EXPECT_EQ(receivers.size(), 16u);
  EXPECT_TRUE(std::ranges::is_sorted(flows, {}, &FlowRequest::start));
  const Forecast forecast = permutation.settings->Expect();
  EXPECT_EQ(forecast.flows, 16);
  EXPECT_EQ(forecast.bytes, 16 * 30'000);
  EXPECT_EQ(forecast.packets, 16 * 21);
  EXPECT_FALSE(forecast.open_loop);
}

using Queries = std::map<uint32_t, std::vector<FlowRequest>>;

Queries QueriesOf(const std::vector<FlowRequest>& flows) {
  Queries queries;
  for (const FlowRequest& flow : flows) queries[flow.job].push_back(flow);
  return queries;
}

// W9.
TEST(IncastTest, SendersAreDistinctAndNoneIsTheReceiver) {
  const Stage stage = StageOf(4, 8);
  for (const std::string senders : {"any", "other_racks"}) {
    const auto incast = WorkloadFrom(
        fmt::format("{{kind: incast, fan_in: 20, bytes_each: 14600B, queries: 200, period: 50us, "
                    "jitter: 120us, senders: {}}}",
                    senders),
        stage);
    const std::vector<FlowRequest> flows = FlowsOf(*incast.settings);
    EXPECT_TRUE(std::ranges::is_sorted(flows, {}, &FlowRequest::start));
    const Queries queries = QueriesOf(flows);
    ASSERT_EQ(queries.size(), 200u);
    EXPECT_EQ(queries.begin()->first, 1u);
    std::set<HostId> receivers;
    for (const auto& [job, answers] : queries) {
      std::set<HostId> hosts;
      for (const FlowRequest& flow : answers) {
        hosts.insert(flow.src);
        EXPECT_EQ(flow.dst, answers.front().dst);
        EXPECT_NE(flow.src, flow.dst);
        EXPECT_EQ(flow.size, 14'600);
        EXPECT_EQ(flow.dport, 200);
        EXPECT_EQ(flow.asked, Time{} + 50_us * static_cast<int64_t>(job - 1));
        EXPECT_GE(flow.start, flow.asked);
        EXPECT_LE(flow.start, flow.asked + 120_us);
        if (senders == "other_racks") {
          EXPECT_NE(stage.leaf_of_host[flow.src], stage.leaf_of_host[flow.dst]);
        }
      }
      EXPECT_EQ(hosts.size(), 20u);
      receivers.insert(answers.front().dst);
    }
    EXPECT_GT(receivers.size(), 25u);
  }
}

TEST(IncastTest, SplitsATotalToTheByte) {
  const auto incast =
      WorkloadFrom("{kind: incast, fan_in: 7, bytes_total: 1000B, receiver: 3}", StageOf(2, 8));
  const std::vector<FlowRequest> flows = FlowsOf(*incast.settings);
  ASSERT_EQ(flows.size(), 7u);
  int64_t total = 0;
  for (const FlowRequest& flow : flows) {
    total += flow.size;
    EXPECT_TRUE(flow.size == 142 || flow.size == 143);
    EXPECT_EQ(flow.dst, 3);
    EXPECT_EQ(flow.start, Time{});
  }
  EXPECT_EQ(total, 1000);
}

TEST(IncastTest, LoadSetsTheRateOfQueries) {
  const auto incast =
      WorkloadFrom("{kind: incast, fan_in: 10, bytes_total: 200KB, load: 0.02, duration: 100ms}",
                   StageOf(4, 8, 100_Gbps));
  const Queries queries = QueriesOf(FlowsOf(*incast.settings));
  const double expected = 0.02 * 32 * 100e9 / (8 * 200e3) * 0.1;
  EXPECT_NEAR(static_cast<double>(queries.size()), expected, 4 * std::sqrt(expected));
  EXPECT_GT(queries.at(1).front().asked, Time{});  // A Poisson process begins with a gap.
  const Forecast forecast = incast.settings->Expect();
  EXPECT_NEAR(forecast.flows, 10 * expected, 1e-6);
  EXPECT_NEAR(forecast.host_load, 0.02, 1e-12);
  EXPECT_TRUE(forecast.open_loop);
}

TEST(IncastTest, ForecastsWhatItYields) {
  for (const std::string settings :
       {"", "queries: 9, period: 10us", "queries: 9, period: 10us, jitter: 25us, start: 1ms",
        "queries: 100, period: 10us, duration: 100us", "queries: 100, period: 10us, duration: 95us",
        "queries: 3, period: 10us, duration: 1s"}) {
    SCOPED_TRACE(settings);
    const auto incast = WorkloadFrom("{kind: incast, fan_in: 3, bytes_each: 5KB" +
                                         (settings.empty() ? "" : ", " + settings) + "}",
                                     StageOf(2, 4));
    const std::vector<FlowRequest> flows = FlowsOf(*incast.settings);
    const Forecast forecast = incast.settings->Expect();
    EXPECT_EQ(forecast.flows, static_cast<double>(flows.size()));
    EXPECT_EQ(forecast.bytes, static_cast<double>(flows.size()) * 5'000);
    EXPECT_EQ(forecast.packets, static_cast<double>(flows.size()) * 4);
    EXPECT_GE(flows.front().start, forecast.first);
    EXPECT_LE(flows.back().start, forecast.last);
    EXPECT_EQ(forecast.flows_per_query, 3);
  }
}

// A query at the very end of the duration is not asked any more, one a picosecond before is.
TEST(IncastTest, AsksAsLongAsItsDurationLasts) {
  for (const auto& [duration, queries] :
       {std::pair{"99999999ps", 10}, {"100us", 10}, {"100000001ps", 11}, {"100000002ps", 11}}) {
    const auto incast = WorkloadFrom(
        std::string("{kind: incast, fan_in: 3, bytes_each: 5KB, queries: 100, period: 10us, "
                    "duration: ") +
            duration + "}",
        StageOf(2, 4));
    EXPECT_EQ(FlowsOf(*incast.settings).size(), 3u * queries) << duration;
    EXPECT_EQ(incast.settings->Expect().flows, 3 * queries) << duration;
  }
}

TEST(IncastTest, RefusesWhatCannotBe) {
  const Stage stage = StageOf(2, 4);
  const auto errors = [&](const std::string& settings) {
    return WorkloadErrors("{kind: incast, " + settings + "}", stage);
  };
  EXPECT_THAT(errors("fan_in: 8, bytes_each: 1KB"), HasSubstr("8 hosts are to answer, but only 7"));
  EXPECT_THAT(errors("fan_in: 5, bytes_each: 1KB, senders: other_racks"), HasSubstr("only 4 can"));
  EXPECT_THAT(errors("fan_in: 2, bytes_each: 1KB, receiver: 8"), HasSubstr("there is no host 8"));
  EXPECT_THAT(errors("fan_in: 2"), HasSubstr("either bytes_each or bytes_total"));
  EXPECT_THAT(errors("fan_in: 2, bytes_each: 1KB, bytes_total: 1KB"), HasSubstr("either"));
  EXPECT_THAT(errors("fan_in: 4, bytes_total: 3B"), HasSubstr("less than a byte for each"));
  EXPECT_THAT(errors("fan_in: 2, bytes_each: 1KB, queries: 2"), HasSubstr("need a period"));
  EXPECT_THAT(errors("fan_in: 2, bytes_each: 1KB, load: 0.1"), HasSubstr("duration"));
  EXPECT_THAT(errors("fan_in: 2, bytes_each: 2TB"), HasSubstr("transport can number"));
}

TEST(PermutationTest, OneLeafHasNoOtherRack) {
  EXPECT_THAT(WorkloadErrors("{kind: permutation, size: 1KB, cross_rack: true}", StageOf(1, 4)),
              HasSubstr("cross_rack: needs at least two leaves that have hosts"));
  EXPECT_EQ(WorkloadErrors("{kind: permutation, size: 1KB, cross_rack: true}", StageOf(2, 4)), "");
}

const std::vector<std::string> kTimes = {"0s", "1000s"};
const std::vector<std::string> kNoTimes = {"-1ps", "1000000000000001ps"};
const std::vector<std::string> kNoLengths = {"0s", "1000000000000001ps"};

TEST(PermutationTest, SettingsHaveLimits) {
  ExpectWorkloadLimits("permutation", {{"size", "9B"}},
                       {{"size", {"1B", "1TB"}, {"0B", "1000000000001B"}},
                        {"start", kTimes, kNoTimes},
                        {"jitter", kTimes, kNoTimes}},
                       StageOf(2, 4));
  EXPECT_FALSE(WorkloadFrom("{kind: permutation, size: 9B, measured: false}", StageOf(2, 4))
                   .settings->measured);
}

TEST(PermutationTest, ForecastsPacketsAndTimes) {
  const auto expect = [](const std::string& settings) {
    return WorkloadFrom("{kind: permutation, " + settings + "}", StageOf(2, 4)).settings->Expect();
  };
  for (const auto& [size, packets] : {std::pair{1, 1}, {1'460, 1}, {1'461, 2}, {2'920, 2}}) {
    const Forecast forecast = expect(fmt::format("size: {}B, start: 3us, jitter: 2us", size));
    EXPECT_EQ(forecast.packets, 8 * packets) << size;
    EXPECT_EQ(forecast.bytes, 8 * size);
    EXPECT_EQ(forecast.large_flow, size);
    EXPECT_EQ(forecast.most_flows, 8);
    EXPECT_EQ(forecast.first, Time{} + 3_us);
    EXPECT_EQ(forecast.last, Time{} + 5_us);
    EXPECT_FALSE(forecast.crossing);
  }
  EXPECT_EQ(expect("size: 1B, cross_rack: true").crossing, 1);
}

TEST(IncastTest, SettingsHaveLimits) {
  const Stage stage = StageOf(2, 4);
  ExpectWorkloadLimits("incast", {{"fan_in", "2"}, {"bytes_each", "9B"}},
                       {{"fan_in", {"1", "7"}, {"0", "8", "65536"}},
                        {"bytes_each", {"1B", "1TB"}, {"0B", "1000000000001B"}},
                        {"receiver", {"0", "7"}, {"-1", "8"}},
                        {"start", kTimes, kNoTimes},
                        {"jitter", kTimes, kNoTimes},
                        {"duration", {"1ps", "1000s"}, kNoLengths},
                        {"period", {"1ps", "1000s"}, kNoLengths}},
                       stage);
  ExpectWorkloadLimits("incast", {{"fan_in", "2"}},
                       {{"bytes_total", {"2B", "1TB"}, {"1B", "1000000000001B"}}}, stage);
  ExpectWorkloadLimits("incast", {{"fan_in", "1"}}, {{"bytes_total", {"1B"}, {"0B"}}}, stage);
  ExpectWorkloadLimits("incast", {{"fan_in", "2"}, {"bytes_each", "9B"}, {"period", "1s"}},
                       {{"queries", {"1", "1000000000"}, {"0", "1000000001"}}}, stage);
  ExpectWorkloadLimits("incast", {{"fan_in", "2"}, {"bytes_each", "9B"}, {"duration", "1s"}},
                       {{"load", {"0.000001", "1"}, {"0", "1.001"}}}, stage);
  EXPECT_THAT(WorkloadErrors("{kind: incast, fan_in: 2, bytes_each: 9B, load: 0.1, period: 1s, "
                             "duration: 1s}",
                             stage),
              HasSubstr("workload.period: set either period or load"));
  EXPECT_THAT(WorkloadErrors("{kind: incast, bytes_each: 9B}", stage), HasSubstr("fan_in: "));
  EXPECT_FALSE(WorkloadFrom("{kind: incast, fan_in: 2, bytes_each: 9B, measured: false}", stage)
                   .settings->measured);
}

// Leaves of one, two and four hosts: the hosts on other leaves than the receiver's, and those of
// any receiver.
TEST(IncastTest, OnlyHostsOfOtherRacksAnswerIfAskedFor) {
  Stage stage = StageOf(1, 7);
  stage.leaves = 3;
  stage.leaf_of_host = {0, 1, 1, 2, 2, 2, 2};
  const auto errors = [&](int fan_in, const std::string& more) {
    return WorkloadErrors(
        fmt::format("{{kind: incast, bytes_each: 9B, senders: other_racks, fan_in: {}{}}}", fan_in,
                    more),
        stage);
  };
  for (const auto& [receiver, most] :
       {std::pair{", receiver: 0", 6}, {", receiver: 2", 5}, {", receiver: 6", 3}, {"", 3}}) {
    EXPECT_EQ(errors(most, receiver), "") << receiver;
    EXPECT_THAT(errors(most + 1, receiver),
                HasSubstr(fmt::format("workload.fan_in: {} hosts are to answer, but only {} can",
                                      most + 1, most)));
  }
}

// A total of 10,001 bytes from three hosts: 3334, 3334 and 3333, of three packets each.
TEST(IncastTest, ForecastsATotalThatIsSplit) {
  const auto expect = [](const std::string& settings) {
    return WorkloadFrom(
               "{kind: incast, fan_in: 3, bytes_total: 10001B, receiver: 0, " + settings + "}",
               StageOf(2, 4))
        .settings->Expect();
  };
  const Forecast forecast = expect("queries: 4, period: 10us, start: 1us, jitter: 2us");
  EXPECT_EQ(forecast.flows, 12);
  EXPECT_EQ(forecast.most_flows, 12);
  EXPECT_NEAR(forecast.bytes, 4 * 10'001, 1e-9);
  EXPECT_EQ(forecast.packets, 12 * 3);
  EXPECT_EQ(forecast.large_flow, 3'334);  // Two of three flows.
  EXPECT_EQ(forecast.first, Time{} + 1_us);
  EXPECT_EQ(forecast.last, Time{} + 33_us);
  EXPECT_FALSE(forecast.open_loop);
  EXPECT_FALSE(forecast.crossing);
  EXPECT_TRUE(forecast.to_host_bps.empty());
  EXPECT_EQ(expect("senders: other_racks").crossing, 1);
}

// Half of each link, in 2 ms; a packet of 1460 bytes has 78 more on the wire.
TEST(IncastTest, ForecastsItsLoad) {
  const Forecast forecast =
      WorkloadFrom(
          "{kind: incast, fan_in: 3, bytes_total: 4380B, load: 0.5, duration: 2ms, start: "
          "1ms, jitter: 3us, overload: true}",
          StageOf(2, 4, 100_Gbps))
          .settings->Expect();
  EXPECT_NEAR(forecast.bytes, 0.5 * 8 * 100e9 / 8 * 2e-3, 1e-3);
  EXPECT_NEAR(forecast.flows, forecast.bytes / 1'460, 1e-6);
  EXPECT_FALSE(forecast.most_flows);
  EXPECT_EQ(forecast.host_load, 0.5);
  EXPECT_NEAR(forecast.host_load_with_headers, 0.5 * 1'538 / 1'460, 1e-12);
  EXPECT_TRUE(forecast.overload);
  EXPECT_TRUE(forecast.open_loop);
  EXPECT_EQ(forecast.first, Time{} + 1_ms);
  EXPECT_EQ(forecast.last, Time{} + 3_ms + 3_us);
}

// Without an order of their own, answers that start together go by their queries.
TEST(IncastTest, AnswersOfOneInstantAreInTheOrderOfQueries) {
  const auto incast = WorkloadFrom(
      "{kind: incast, fan_in: 2, bytes_each: 9B, queries: 50, period: 1ps, jitter: 3ps}",
      StageOf(2, 4));
  const std::vector<FlowRequest> flows = FlowsOf(*incast.settings);
  ASSERT_EQ(flows.size(), 100u);
  for (size_t i = 1; i < flows.size(); ++i) {
    ASSERT_LE(flows[i - 1].start, flows[i].start);
    if (flows[i - 1].start == flows[i].start) {
      EXPECT_LE(flows[i - 1].job, flows[i].job);
    }
  }
}

// All 100,000 answers at once would take megabytes. With AddressSanitizer, whose heap is its own,
// nothing is measured.
TEST(IncastTest, QueriesAreDrawnOnlyOnceTheyBegin) {
  const auto incast = WorkloadFrom(
      "{kind: incast, fan_in: 5, bytes_each: 9B, queries: 20000, period: 2us, jitter: 5us}",
      StageOf(2, 4));
  const size_t before = mallinfo2().uordblks;
  const auto source = incast.settings->Open();
  ASSERT_NE(source->Front(), nullptr);
  EXPECT_LT(mallinfo2().uordblks, before + 20'000);
}

}  // namespace heddle::patterns_test
