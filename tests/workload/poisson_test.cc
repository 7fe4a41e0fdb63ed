// SPDX-License-Identifier: Apache-2.0

#include "workload/poisson.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "settings/files_read.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/workload_limits.h"

namespace heddle::poisson_test {

using testing::HasSubstr;
using testing::Not;

double TotalBytes(const std::vector<FlowRequest>& flows) {
  return std::accumulate(flows.begin(), flows.end(), 0.0, [](double sum, const FlowRequest& flow) {
    return sum + static_cast<double>(flow.size);
  });
}

// W3.
TEST(PoissonTest, GapsOfOneHostAreExponential) {
  const auto poisson = WorkloadFrom("{kind: poisson, sizes: fixed:10KB, load: 0.5, flows: 300000}",
                                    StageOf(2, 1, 10_Gbps, 10_Gbps));
  const std::vector<FlowRequest> flows = FlowsOf(*poisson.settings);
  ASSERT_EQ(flows.size(), 300'000u);
  std::vector<double> gaps;
  std::map<HostId, Time> last;
  std::map<int64_t, double> in_window;
  const Duration window = 100_us;
  for (const FlowRequest& flow : flows) {
    gaps.push_back(static_cast<double>((flow.start - last[flow.src]).ps));
    last[flow.src] = flow.start;
    ++in_window[(flow.start - Time{}) / window];
  }
  const double n = static_cast<double>(gaps.size());
  const double mean = std::accumulate(gaps.begin(), gaps.end(), 0.0) / n;
  // 0.5 * 10 Gbps / 80 kbit = 62,500 a second: 16 us.
  EXPECT_NEAR(mean, 16e6, 16e6 * 4 / std::sqrt(n));
  double squares = 0;
  for (const double gap : gaps) squares += (gap - mean) * (gap - mean);
  EXPECT_NEAR(std::sqrt(squares / n) / mean, 1, 0.01);
  // 12.5 flows in a window on average; the last window is cut.
  const double windows = static_cast<double>(in_window.rbegin()->first);
  double count = 0;
  double count_squares = 0;
  for (int64_t w = 0; w < in_window.rbegin()->first; ++w) {
    count += in_window[w];
    count_squares += in_window[w] * in_window[w];
  }
  const double mean_count = count / windows;
  const double variance = count_squares / windows - mean_count * mean_count;
  EXPECT_NEAR(variance / mean_count, 1, 0.05);
}

TEST(PoissonTest, SizesGapsAndDestinationsAreIndependent) {
  const auto poisson = WorkloadFrom(
      "{kind: poisson, sizes: uniform:1KB:9KB, load: 0.5, flows: 40000}", StageOf(1, 8));
  std::map<HostId, Time> last;
  std::vector<std::array<double, 3>> draws;
  for (const FlowRequest& flow : FlowsOf(*poisson.settings)) {
    const Duration gap = flow.start - last[flow.src];
    last[flow.src] = flow.start;
    const int offset = (flow.dst + 8 - flow.src) % 8;
    draws.push_back({static_cast<double>(gap.ps), static_cast<double>(flow.size), 1.0 * offset});
  }
  const double n = static_cast<double>(draws.size());
  const auto mean = [&](const auto& of) {
    double sum = 0;
    for (const auto& draw : draws) sum += of(draw);
    return sum / n;
  };
  for (const auto& [i, j] : {std::pair<size_t, size_t>{0, 1}, {0, 2}, {1, 2}}) {
    const double mean_i = mean([i = i](const auto& d) { return d[i]; });
    const double mean_j = mean([j = j](const auto& d) { return d[j]; });
    const auto product = [&](size_t a, double mean_a, size_t b, double mean_b) {
      return mean([&](const auto& d) { return (d[a] - mean_a) * (d[b] - mean_b); });
    };
    const double correlation =
        product(i, mean_i, j, mean_j) /
        std::sqrt(product(i, mean_i, i, mean_i) * product(j, mean_j, j, mean_j));
    EXPECT_NEAR(correlation, 0, 4 / std::sqrt(n)) << i << " " << j;
  }
}

// W4.
TEST(PoissonTest, OffersTheLoadOnHostLinks) {
  const auto poisson = WorkloadFrom("{kind: poisson, sizes: small, load: 0.5, duration: 5ms}",
                                    StageOf(8, 16, 100_Gbps, 1600_Gbps));
  const std::vector<FlowRequest> flows = FlowsOf(*poisson.settings);
  const double offered = TotalBytes(flows) * 8 / (128 * 100e9 * 5e-3);
  // The variance of a compound Poisson sum is n (mean^2 + variance).
  const double error = 0.5 * std::sqrt((1 + 2.32 * 2.32) / static_cast<double>(flows.size()));
  EXPECT_NEAR(offered, 0.5, 3 * error);
  EXPECT_LT(flows.back().start, Time{} + 5_ms);
}

// A worked example.
TEST(PoissonTest, ForecastsTheWorkedExample) {
  const auto poisson = WorkloadFrom("{kind: poisson, sizes: websearch, load: 0.5, duration: 1s}",
                                    StageOf(8, 16, 100_Gbps, 1600_Gbps));
  const Forecast forecast = poisson.settings->Expect();
  EXPECT_NEAR(forecast.flows, 467'494.5, 0.1);
  EXPECT_NEAR(forecast.host_load, 0.5, 1e-12);
  EXPECT_NEAR(forecast.host_load_with_headers, 0.527, 0.0005);
  // A share of 1 - 15 / 127 leaves the rack if destinations are any to any.
  EXPECT_NEAR(forecast.fabric_load, 0.5 * (1 - 15.0 / 127), 1e-12);
}

TEST(PoissonTest, FabricLoadIsThatOfTheUplinks) {
  // 4:1 oversubscribed.
  const Stage stage = StageOf(4, 8, 100_Gbps, 200_Gbps);
  for (const std::string pairs :
       {"any", "inter_rack", "permutation", "client_server", "random_halves"}) {
    SCOPED_TRACE(pairs);
    const auto poisson = WorkloadFrom(
        fmt::format("{{kind: poisson, sizes: fixed:20KB, load: 0.8, load_ref: fabric, pairs: {}, "
                    "duration: 20ms}}",
                    pairs),
        stage);
    const std::vector<FlowRequest> flows = FlowsOf(*poisson.settings);
    const double senders_leaves = pairs == "client_server" ? 2 : 4;
    double crossing = 0;
    for (const FlowRequest& flow : flows) {
      if (stage.leaf_of_host[flow.src] != stage.leaf_of_host[flow.dst]) {
        crossing += static_cast<double>(flow.size);
      }
    }
    const double load = crossing * 8 / (senders_leaves * 200e9 * 20e-3);
    EXPECT_NEAR(load, 0.8, 0.8 * 4 / std::sqrt(static_cast<double>(flows.size())));
    // The forecast is a share of all uplinks.
    EXPECT_NEAR(poisson.settings->Expect().fabric_load, 0.8 * senders_leaves / 4, 1e-9);
  }
}

TEST(PoissonTest, HostsOfferLoadInProportionToTheirLinks) {
  Stage stage = StageOf(2, 2, 10_Gbps, 100_Gbps);
  stage.host_rate[3] = 40_Gbps;
  const auto poisson =
      WorkloadFrom("{kind: poisson, sizes: fixed:10KB, load: 0.7, flows: 70000}", stage);
  std::vector<double> bytes(4);
  const std::vector<FlowRequest> flows = FlowsOf(*poisson.settings);
  for (const FlowRequest& flow : flows) bytes[flow.src] += static_cast<double>(flow.size);
  const double seconds = Seconds(flows.back().start - Time{});
  for (size_t h = 0; h < 4; ++h) {
    const double rate = static_cast<double>(stage.host_rate[h].bps);
    EXPECT_NEAR(bytes[h] * 8 / seconds / rate, 0.7, 0.03) << h;
  }
  EXPECT_NEAR(poisson.settings->Expect().host_load, 0.7, 1e-12);
}

TEST(PoissonTest, LoadWithHeadersIsLessPayload) {
  const std::string yaml =
      "{{kind: poisson, sizes: fixed:1460B, load: 0.6, load_headers: {}, duration: 1s}}";
  const Stage stage = StageOf(2, 4);
  const auto with = WorkloadFrom(fmt::format(fmt::runtime(yaml), true), stage);
  const auto without = WorkloadFrom(fmt::format(fmt::runtime(yaml), false), stage);
  EXPECT_NEAR(with.settings->Expect().host_load_with_headers, 0.6, 1e-12);
  EXPECT_NEAR(with.settings->Expect().host_load, 0.6 * 1460 / 1538, 1e-12);
  EXPECT_NEAR(without.settings->Expect().host_load, 0.6, 1e-12);
  EXPECT_NEAR(without.settings->Expect().host_load_with_headers, 0.6 * 1538 / 1460, 1e-12);
}

TEST(PoissonTest, ForecastsWhatItYields) {
  const Stage stage = StageOf(4, 4, 25_Gbps, 100_Gbps);
  for (const std::string settings :
       {"sizes: small, load: 0.4, duration: 20ms", "sizes: small, load: 0.4, flows: 20000",
        "sizes: hadoop, max_size: 100KB, load: 0.4, duration: 50ms, start: 3ms",
        "sizes: fixed:3KB, load: 0.2, flows: 1000000, duration: 3ms, pairs: client_server"}) {
    SCOPED_TRACE(settings);
    const auto poisson = WorkloadFrom("{kind: poisson, " + settings + "}", stage);
    const Forecast forecast = poisson.settings->Expect();
    const std::vector<FlowRequest> flows = FlowsOf(*poisson.settings);
    const double n = static_cast<double>(flows.size());
    EXPECT_NEAR(n, forecast.flows, 4 * std::sqrt(n) + 1);
    EXPECT_NEAR(TotalBytes(flows), forecast.bytes, 0.06 * forecast.bytes);
    double packets = 0;
    for (const FlowRequest& flow : flows)
      packets += std::ceil(static_cast<double>(flow.size) / 1460);
    EXPECT_NEAR(packets, forecast.packets, 0.06 * forecast.packets);
    EXPECT_GE(flows.front().start, forecast.first);
    EXPECT_NEAR(Seconds(flows.back().start - Time{}), Seconds(forecast.last - Time{}),
                0.03 * Seconds(forecast.last - Time{}));
    EXPECT_TRUE(forecast.open_loop);
  }
}

TEST(PoissonTest, EndsAfterAsManyFlowsAsAsked) {
  const auto poisson = WorkloadFrom(
      "{kind: poisson, sizes: small, load: 0.4, flows: 37, duration: 1s}", StageOf(2, 2));
  EXPECT_EQ(FlowsOf(*poisson.settings).size(), 37u);
}

TEST(PoissonTest, PicksDestinationsAsAsked) {
  const Stage stage = StageOf(3, 4);
  const auto flows_of = [&](const std::string& pairs) {
    return FlowsOf(
        *WorkloadFrom("{kind: poisson, sizes: small, load: 0.3, flows: 5000, pairs: " + pairs + "}",
                      stage)
             .settings);
  };
  const auto leaf = [&](HostId host) { return stage.leaf_of_host[host]; };
  std::set<std::pair<HostId, HostId>> met;
  for (const FlowRequest& flow : flows_of("any")) {
    EXPECT_NE(flow.src, flow.dst);
    met.insert({flow.src, flow.dst});
  }
  EXPECT_EQ(met.size(), 12u * 11u);
  met.clear();
  for (const FlowRequest& flow : flows_of("inter_rack")) {
    EXPECT_NE(leaf(flow.src), leaf(flow.dst));
    met.insert({flow.src, flow.dst});
  }
  EXPECT_EQ(met.size(), 12u * 8u);
  met.clear();
  for (const FlowRequest& flow : flows_of("client_server")) {
    EXPECT_EQ(leaf(flow.dst), 0);
    EXPECT_GE(leaf(flow.src), 1);
    met.insert({flow.src, flow.dst});
  }
  EXPECT_EQ(met.size(), 8u * 4u);
  met.clear();
  std::set<HostId> receivers;
  for (const FlowRequest& flow : flows_of("permutation")) {
    EXPECT_NE(flow.src, flow.dst);
    met.insert({flow.src, flow.dst});
    receivers.insert(flow.dst);
  }
  EXPECT_EQ(met.size(), 12u);
  EXPECT_EQ(receivers.size(), 12u);
}

std::set<HostId> SendersOf(const std::vector<FlowRequest>& flows) {
  std::set<HostId> hosts;
  for (const FlowRequest& flow : flows) hosts.insert(flow.src);
  return hosts;
}

std::set<HostId> ReceiversOf(const std::vector<FlowRequest>& flows) {
  std::set<HostId> hosts;
  for (const FlowRequest& flow : flows) hosts.insert(flow.dst);
  return hosts;
}

TEST(PoissonTest, DrawsSendersAndReceiversFromLists) {
  const auto poisson = WorkloadFrom(
      "{kind: poisson, sizes: fixed:10KB, load: 0.4, flows: 30000, from: [9, 0, 4], to: [4, 10, "
      "9]}",
      StageOf(3, 4));
  std::map<std::pair<HostId, HostId>, double> met;
  for (const FlowRequest& flow : FlowsOf(*poisson.settings)) ++met[{flow.src, flow.dst}];
  // Host 0 has three to choose from, hosts 4 and 9 two each: a third of the flows over as many.
  ASSERT_EQ(met.size(), 7u);
  for (const auto& [pair, flows] : met) {
    const double expected = pair.first == 0 ? 30'000.0 / 9 : 30'000.0 / 6;
    EXPECT_NEAR(flows, expected, 4 * std::sqrt(expected)) << pair.first << " " << pair.second;
    EXPECT_NE(pair.first, pair.second);
  }
}

TEST(PoissonTest, OneListLeavesTheOtherSideToAllHosts) {
  const Stage stage = StageOf(2, 3);
  const auto flows_of = [&](const std::string& lists) {
    return FlowsOf(*WorkloadFrom("{kind: poisson, sizes: small, load: 0.1, overload: true, flows: "
                                 "2000, " +
                                     lists + "}",
                                 stage)
                        .settings);
  };
  const std::vector<FlowRequest> from_one = flows_of("from: [2]");
  EXPECT_EQ(SendersOf(from_one), std::set<HostId>({2}));
  EXPECT_EQ(ReceiversOf(from_one), std::set<HostId>({0, 1, 3, 4, 5}));
  const std::vector<FlowRequest> to_two = flows_of("to: [2, 5]");
  EXPECT_EQ(SendersOf(to_two).size(), 6u);
  EXPECT_EQ(ReceiversOf(to_two), std::set<HostId>({2, 5}));
}

// Lists that name every host ask for what is asked for without them.
TEST(PoissonTest, ListsOfAllHostsChangeNothing) {
  const Stage stage = StageOf(2, 2);
  const std::string yaml = "{kind: poisson, sizes: small, load: 0.4, flows: 500";
  const auto flows = [&](const std::string& more) {
    std::vector<std::tuple<Time, HostId, HostId, int64_t>> all;
    for (const FlowRequest& flow : FlowsOf(*WorkloadFrom(yaml + more, stage).settings)) {
      all.emplace_back(flow.start, flow.src, flow.dst, flow.size);
    }
    return all;
  };
  EXPECT_EQ(flows("}"), flows(", from: [0, 1, 2, 3], to: [0, 1, 2, 3]}"));
}

// Ten hosts on leaf 0 send to ten on leaf 1: 10 of 20 links, and the uplinks of one leaf of two.
TEST(PoissonTest, LoadOfListsIsThatOfTheirSendersLinks) {
  const Stage stage = StageOf(2, 10, 10_Gbps, 80_Gbps);
  const std::string lists =
      "from: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], to: [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]";
  const auto expect = [&](const std::string& load) {
    return WorkloadFrom("{kind: poisson, sizes: fixed:10KB, duration: 1s, " + load + lists + "}",
                        stage)
        .settings->Expect();
  };
  const Forecast of_hosts = expect("load: 0.5, load_ref: host, ");
  EXPECT_NEAR(of_hosts.flows, 0.5 * 10 * 10e9 / 80e3, 1e-6);
  // The forecast is a share of all links.
  EXPECT_NEAR(of_hosts.host_load, 0.5 / 2, 1e-12);
  EXPECT_NEAR(of_hosts.fabric_load, 0.5 * 100 / 80 / 2, 1e-12);
  EXPECT_EQ(of_hosts.crossing, 1);
  const Forecast of_fabric = expect("load: 0.5, load_ref: fabric, ");
  EXPECT_NEAR(of_fabric.flows, 0.5 * 80e9 / 80e3, 1e-6);
  EXPECT_NEAR(of_fabric.fabric_load, 0.5 / 2, 1e-12);
  for (size_t h = 0; h < 20; ++h) {
    EXPECT_NEAR(of_fabric.from_host_bps[h], h < 10 ? 4e9 : 0, 1) << h;
    EXPECT_NEAR(of_fabric.to_host_bps[h], h < 10 ? 0 : 4e9, 1) << h;
  }
}

TEST(PoissonTest, ForecastsWhatEachHostReceives) {
  const Stage stage = StageOf(3, 3);
  for (const std::string pairs :
       {"pairs: any", "pairs: inter_rack", "pairs: client_server", "pairs: permutation",
        "pairs: random_halves", "from: [1, 2, 3, 7], to: [2, 8, 1]"}) {
    SCOPED_TRACE(pairs);
    const auto poisson = WorkloadFrom(
        "{kind: poisson, sizes: fixed:10KB, load: 0.5, duration: 20ms, " + pairs + "}", stage);
    std::vector<double> received(9, 0);
    for (const FlowRequest& flow : FlowsOf(*poisson.settings)) received[flow.dst] += 10'000;
    const Forecast forecast = poisson.settings->Expect();
    for (size_t h = 0; h < 9; ++h) {
      const double expected = forecast.to_host_bps[h] / 8 * 20e-3;
      EXPECT_NEAR(received[h], expected, 4 * std::sqrt(expected * 10'000)) << h;
    }
  }
}

TEST(PoissonTest, HalvesAreDrawnBySeed) {
  Stage stage = StageOf(3, 3);
  std::set<std::set<HostId>> halves;
  for (stage.seed = 1; stage.seed <= 20; ++stage.seed) {
    const std::vector<FlowRequest> flows =
        FlowsOf(*WorkloadFrom("{kind: poisson, sizes: small, load: 0.4, flows: 1000, pairs: "
                              "random_halves}",
                              stage)
                     .settings);
    const std::set<HostId> senders = SendersOf(flows);
    const std::set<HostId> receivers = ReceiversOf(flows);
    EXPECT_EQ(senders.size(), 4u);
    EXPECT_EQ(receivers.size(), 5u);
    for (const HostId host : senders) EXPECT_FALSE(receivers.contains(host)) << host;
    halves.insert(senders);
  }
  EXPECT_GT(halves.size(), 15u);  // There are 126.
}

TEST(PoissonTest, RefusesListsThatCannotBeMeant) {
  const Stage stage = StageOf(2, 2);
  const auto errors = [&](const std::string& lists) {
    return WorkloadErrors("{kind: poisson, sizes: small, load: 0.1, flows: 9, " + lists + "}",
                          stage);
  };
  EXPECT_THAT(errors("from: [0], pairs: inter_rack"),
              HasSubstr("workload.pairs: from and to say who sends to whom"));
  EXPECT_THAT(errors("to: [0], pairs: permutation"), HasSubstr("workload.pairs: from and to say"));
  EXPECT_THAT(errors("to: [0, 4]"), HasSubstr("workload.to[1]: there is no host 4; there are 4"));
  EXPECT_THAT(errors("from: [65536]"), HasSubstr("workload.from[0]: there is no host 65536"));
  EXPECT_THAT(errors("from: [1, 0, 1]"), HasSubstr("workload.from[2]: host 1 is named twice"));
  EXPECT_THAT(errors("from: [0, 3], to: [3]"), HasSubstr("workload.from[1]: host 3 has none"));
  EXPECT_THAT(errors("to: [2]"), HasSubstr("workload.to: host 2 has none"));
  EXPECT_EQ(errors("from: [0, 1], to: [3]"), "");
}

// A process for each leaf, whose flows come from any of its hosts, is what the hosts' own
// processes make together: gaps are exponential, and who sends next does not depend on who did.
TEST(PoissonTest, HostsOfALeafMakeOnePoissonProcess) {
  const auto poisson = WorkloadFrom(
      "{kind: poisson, sizes: fixed:10KB, load: 0.5, flows: 200000, from: [0, 1, 2, 3], to: [4, 5, "
      "6, 7]}",
      StageOf(2, 4, 10_Gbps));
  std::vector<double> gaps;
  std::array<std::array<double, 4>, 4> next{};
  FlowRequest last;
  for (const FlowRequest& flow : FlowsOf(*poisson.settings)) {
    gaps.push_back(Seconds(flow.start - last.start));
    ++next[last.src][flow.src];
    last = flow;
  }
  const double n = static_cast<double>(gaps.size());
  const double mean = 80e3 / (0.5 * 40e9);
  EXPECT_NEAR(std::accumulate(gaps.begin(), gaps.end(), 0.0) / n, mean, 4 * mean / std::sqrt(n));
  // P(gap > k mean) = exp(-k).
  for (const double k : {0.5, 1.0, 2.0, 4.0}) {
    const double share =
        static_cast<double>(std::ranges::count_if(gaps, [&](double g) { return g > k * mean; })) /
        n;
    const double p = std::exp(-k);
    EXPECT_NEAR(share, p, 4 * std::sqrt(p * (1 - p) / n)) << k;
  }
  for (const auto& row : next) {
    for (const double count : row) EXPECT_NEAR(count, n / 16, 4 * std::sqrt(n / 16));
  }
}

TEST(PoissonTest, RefusesMoreLoadThanThereIsCapacityUnlessToldTo) {
  const Stage stage = StageOf(2, 8, 100_Gbps, 100_Gbps);
  const std::string yaml = "{kind: poisson, sizes: small, load: 0.5, duration: 1ms";
  EXPECT_THAT(WorkloadErrors(yaml + "}", stage), HasSubstr("of the leaves' uplinks"));
  EXPECT_EQ(WorkloadErrors(yaml + ", overload: true}", stage), "");
  EXPECT_EQ(WorkloadErrors(yaml + ", load_ref: fabric}", stage), "");
  // The remedies are those that help: the load that just fits does, and load_ref: fabric is named
  // where the same figure fits as a share of the uplinks.
  EXPECT_THAT(WorkloadErrors(yaml + "}", stage), HasSubstr("set load_ref: fabric"));
  const std::string error = WorkloadErrors(yaml + "}", stage);
  const std::string lower = "lower it to ";
  const size_t at = error.find(lower);
  ASSERT_NE(at, std::string::npos) << error;
  const std::string fitting = error.substr(at + lower.size(), 5);
  const std::string with_fitting = "{kind: poisson, sizes: small, duration: 1ms, load: ";
  EXPECT_EQ(WorkloadErrors(with_fitting + std::to_string(std::stod(fitting)) + "}", stage), "")
      << error;
  // No share of anything above 1 fits.
  EXPECT_THAT(WorkloadErrors(with_fitting + "1.5}", stage), Not(HasSubstr("load_ref: fabric")));
}

TEST(PoissonTest, NeedsRacksForTrafficBetweenRacks) {
  const Stage stage = StageOf(1, 8);
  const std::string yaml = "{kind: poisson, sizes: small, load: 0.5, flows: 10, ";
  EXPECT_THAT(WorkloadErrors(yaml + "pairs: inter_rack}", stage), HasSubstr("workload.pairs"));
  EXPECT_THAT(WorkloadErrors(yaml + "load_ref: fabric}", stage), HasSubstr("no flow crosses"));
}

TEST(PoissonTest, SettingsHaveLimits) {
  const Stage stage = StageOf(2, 4);
  const std::map<std::string, std::string> others = {
      {"sizes", "fixed:9B"}, {"load", "0.1"}, {"flows", "5"}, {"overload", "true"}};
  ExpectWorkloadLimits("poisson", others,
                       {{"load", {"0.000001", "10"}, {"0", "10.001", "-1"}},
                        {"start", {"0s", "1000s"}, {"-1ps", "1000000000000001ps"}},
                        {"duration", {"1ps", "1000s"}, {"0s", "1000000000000001ps"}},
                        {"flows", {"1", "4000000000"}, {"0", "4000000001"}},
                        {"max_size", {"1B", "4TB"}, {"0B"}},
                        {"from", {"[0]", "[7, 0]"}, {"[-1]", "[0, 8]"}},
                        {"to", {"[0, 7]"}, {"[-1]", "[0, 8]"}}},
                       stage);
  EXPECT_THAT(WorkloadErrors("{kind: poisson, sizes: small, load: 0.1}", stage),
              HasSubstr("workload.duration: set duration, flows or both"));
  EXPECT_THAT(WorkloadErrors("{kind: poisson, load: 0.1, flows: 5}", stage), HasSubstr("sizes: "));
  EXPECT_FALSE(
      WorkloadFrom("{kind: poisson, sizes: small, load: 0.1, flows: 5, measured: false}", stage)
          .settings->measured);
}

TEST(PoissonTest, NeedsTwoHostsAndSizesThatTheTransportCanNumber) {
  const std::string fixed = "{kind: poisson, load: 0.1, flows: 5, sizes: fixed:";
  EXPECT_THAT(WorkloadErrors(fixed + "9B}", StageOf(1, 1)),
              HasSubstr("workload.pairs: needs at least two hosts"));
  EXPECT_EQ(WorkloadErrors(fixed + "9B}", StageOf(1, 2)), "");
  Stage stage = StageOf(2, 1);
  stage.max_flow_size = 1'000;
  for (const char* pairs : {"any", "inter_rack", "client_server", "permutation", "random_halves"}) {
    EXPECT_EQ(WorkloadErrors(fixed + "1000B, pairs: " + pairs + "}", stage), "") << pairs;
  }
  const std::string error = WorkloadErrors(fixed + "1001B}", stage);
  EXPECT_THAT(error,
              HasSubstr("workload.sizes: reaches 1001B, more than the transport can number"));
  EXPECT_EQ(WorkloadErrors(fixed + "1001B, max_size: 1000B}", stage), "");
}

TEST(PoissonTest, ReadsSizesFromTheExperimentsFolder) {
  const TemporaryFolder folder;
  Stage stage = StageOf(2, 4);
  stage.folder = folder.path();
  folder.Write("a.cdf", "100 0\n300 1\n");
  const auto mean = [&](const std::string& settings) {
    const auto poisson =
        WorkloadFrom("{kind: poisson, load: 0.1, flows: 10, " + settings + "}", stage);
    return poisson.settings->Expect().bytes / 10;
  };
  EXPECT_DOUBLE_EQ(mean("sizes: file:a.cdf"), 200);
  EXPECT_DOUBLE_EQ(mean("sizes: file:a.cdf, interpolation: linear"), 200);
  EXPECT_DOUBLE_EQ(mean("sizes: file:a.cdf, interpolation: step"), 300);
  EXPECT_DOUBLE_EQ(mean("sizes: file:a.cdf, max_size: 200B"), 0.5 * 150 + 0.5 * 200);
  EXPECT_DOUBLE_EQ(mean("sizes: 'mix:0.5:fixed:1KB:file:a.cdf'"), 600);
  folder.Write("a.cdf", "100 x\n300 y\n");
  const std::string errors =
      WorkloadErrors("{kind: poisson, load: 0.1, flows: 10, sizes: file:a.cdf}", stage);
  EXPECT_THAT(errors, HasSubstr("workload.sizes: " + (folder / "a.cdf").string() + ":1: "));
  EXPECT_THAT(errors, HasSubstr("workload.sizes: " + (folder / "a.cdf").string() + ":2: "));
  EXPECT_THAT(errors, HasSubstr("\n2 errors\n"));
}

// The load that just fits, in three digits that do not exceed it: a leaf's uplinks carry 200 of 300
// Gbps, and so on.
TEST(PoissonTest, TheLoadThatFitsIsRoundedDown) {
  const auto error = [](BitRate uplinks, const std::string& load) {
    return WorkloadErrors(
        "{kind: poisson, sizes: small, flows: 9, pairs: inter_rack, load: " + load + "}",
        StageOf(2, 3, 100_Gbps, uplinks));
  };
  for (const auto& [gbps, fits, offered] : {std::tuple{200, "0.666", "1.35"},
                                            {225, "0.75", "1.2"},
                                            {120, "0.4", "2.25"},
                                            {20, "0.0666", "13.5"},
                                            {3, "0.01", "90"}}) {
    EXPECT_THAT(error(BitRate{gbps * 1'000'000'000L}, "0.9"),
                HasSubstr(fmt::format("offers 0.9 of the hosts' links and {} of the leaves' "
                                      "uplinks, more than they carry, so queues grow without end; "
                                      "lower it to {} or less, set load_ref: fabric",
                                      offered, fits)));
  }
  // A share of 1 of the uplinks fits, too.
  EXPECT_THAT(error(200_Gbps, "1"), HasSubstr("set load_ref: fabric"));
  EXPECT_THAT(error(200_Gbps, "1.01"), Not(HasSubstr("load_ref")));
  EXPECT_EQ(error(300_Gbps, "1"), "");
}

// With load_ref: fabric it may be the hosts' links that carry too little.
TEST(PoissonTest, AShareOfTheFabricMayBeTooMuchForTheHosts) {
  const std::string yaml =
      "{kind: poisson, sizes: small, flows: 9, pairs: inter_rack, load_ref: fabric, load: ";
  const Stage stage = StageOf(2, 3, 100_Gbps, 600_Gbps);
  EXPECT_THAT(WorkloadErrors(yaml + "0.8}", stage),
              HasSubstr("offers 1.6 of the hosts' links and 0.8 of the leaves' uplinks"));
  EXPECT_THAT(WorkloadErrors(yaml + "0.8}", stage), Not(HasSubstr("set load_ref")));
  EXPECT_THAT(WorkloadErrors(yaml + "0.8}", stage), HasSubstr("lower it to 0.5 or less"));
  EXPECT_EQ(WorkloadErrors(yaml + "0.5}", stage), "");
}

// A packet of 1460 bytes has 1538 on the wire, 1.0534 times as many.
TEST(PoissonTest, WarnsOfHeadersThatTheLinksCannotCarry) {
  const auto warnings = [](BitRate uplinks, const std::string& settings) {
    const Stage stage = StageOf(2, 3, 100_Gbps, uplinks);
    const auto poisson = WorkloadFrom(
        "{kind: poisson, sizes: fixed:1460B, flows: 9, pairs: inter_rack, " + settings + "}",
        stage);
    return WarningsOf(*poisson.settings, stage);
  };
  EXPECT_THAT(warnings(600_Gbps, "load: 0.94"), testing::IsEmpty());
  const std::string of_hosts = "with headers the hosts' links are loaded to 1.01 times";
  EXPECT_THAT(warnings(600_Gbps, "load: 0.96"), testing::ElementsAre(HasSubstr(of_hosts)));
  EXPECT_THAT(warnings(600_Gbps, "load: 0.96, overload: true"), testing::IsEmpty());
  EXPECT_THAT(warnings(600_Gbps, "load: 1, load_headers: true"), testing::IsEmpty());
  const std::string of_uplinks = "with headers the leaves' uplinks are loaded to 1.05 times";
  EXPECT_THAT(warnings(150_Gbps, "load: 0.5"), testing::ElementsAre(HasSubstr(of_uplinks)));
}

// Host 0 has 10 Gbps and a third of its destinations on the other leaf, host 5 has 30 Gbps and two
// thirds.
TEST(PoissonTest, WhatCrossesTheFabricIsWeightedByRates) {
  Stage stage = StageOf(2, 4, 10_Gbps, 100_Gbps);
  stage.host_rate[5] = 30_Gbps;
  stage.uplink_bps[1] = 300'000'000'000;
  const Forecast forecast =
      WorkloadFrom(
          "{kind: poisson, sizes: fixed:1460B, load: 0.5, duration: 1s, from: [0, 5], to: "
          "[1, 2, 4]}",
          stage)
          .settings->Expect();
  EXPECT_NEAR(forecast.crossing.value(), (10.0 / 3 + 60.0 / 3) / 40, 1e-12);
  EXPECT_NEAR(forecast.flows, 0.5 * 40e9 / (8 * 1460), 1e-4);
  EXPECT_NEAR(forecast.packets, forecast.flows, 1e-6);
  EXPECT_NEAR(forecast.bytes, 0.5 * 40e9 / 8, 1);
  EXPECT_NEAR(forecast.host_load, 0.5 * 40 / 100, 1e-12);  // Of the links of all eight hosts.
  EXPECT_NEAR(forecast.host_load_with_headers, 0.5 * 40 / 100 * 1538 / 1460, 1e-12);
  EXPECT_NEAR(forecast.fabric_load, 0.5 * 40e9 * 7 / 12 / 400e9, 1e-12);
  EXPECT_EQ(forecast.large_flow, 1'460);
  EXPECT_NEAR(forecast.from_host_bps[0], 5e9, 1);
  EXPECT_NEAR(forecast.from_host_bps[5], 15e9, 1);
  EXPECT_NEAR(forecast.to_host_bps[1], 20e9 / 3, 1);
}

// Whichever of the two limits is reached first; at 62,500 flows a second.
TEST(PoissonTest, ForecastsTheEarlierEnd) {
  const auto expect = [](const std::string& limits) {
    return WorkloadFrom(
               "{kind: poisson, sizes: fixed:10KB, load: 0.25, start: 1ms, " + limits + "}",
               StageOf(2, 1, 10_Gbps, 10_Gbps))
        .settings->Expect();
  };
  const Forecast by_count = expect("flows: 625");
  EXPECT_NEAR(by_count.flows, 625, 1e-9);
  EXPECT_EQ(by_count.most_flows, 625);
  EXPECT_EQ(by_count.first, Time{} + 1_ms);
  EXPECT_NEAR(Seconds(by_count.last - Time{}), 11e-3, 1e-9);
  EXPECT_FALSE(by_count.overload);
  const Forecast by_time = expect("duration: 4ms, overload: true");
  EXPECT_NEAR(by_time.flows, 250, 1e-9);
  EXPECT_FALSE(by_time.most_flows);
  EXPECT_EQ(by_time.last, Time{} + 5_ms);
  EXPECT_TRUE(by_time.overload);
  const Forecast both = expect("duration: 4ms, flows: 625");
  EXPECT_NEAR(both.flows, 250, 1e-9);
  EXPECT_EQ(both.last, Time{} + 5_ms);
  const Forecast few = expect("duration: 40ms, flows: 625");
  EXPECT_NEAR(few.flows, 625, 1e-9);
  EXPECT_NEAR(Seconds(few.last - Time{}), 11e-3, 1e-9);
}

// Two hosts on one switch, which has no link to another.
TEST(PoissonTest, AFabricWithoutUplinksHasNoLoad) {
  const auto poisson = WorkloadFrom("{kind: poisson, sizes: small, load: 0.5, flows: 9}",
                                    StageOf(1, 2, 10_Gbps, BitRate{0}));
  EXPECT_EQ(poisson.settings->Expect().fabric_load, 0);
  EXPECT_EQ(poisson.settings->Expect().crossing, 0);
  EXPECT_THAT(WorkloadErrors("{kind: poisson, sizes: small, load: 1.5, flows: 9}",
                             StageOf(1, 2, 10_Gbps, BitRate{0})),
              HasSubstr("offers 1.5 of the hosts' links and 0 of the leaves' uplinks"));
}

}  // namespace heddle::poisson_test
