// SPDX-License-Identifier: Apache-2.0
// Tests the forecasts of workloads, and the defaults of their requests.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "settings/files_read.h"
#include "tests/support/experiment_kit.h"

namespace heddle::forecast_test {

TEST(ForecastTest, ForetellsNothingByDefault) {
  const Forecast forecast;
  for (const double number :
       {forecast.flows, forecast.bytes, forecast.packets, static_cast<double>(forecast.large_flow),
        forecast.host_load, forecast.fabric_load, forecast.host_load_with_headers,
        static_cast<double>(forecast.flows_per_query)}) {
    EXPECT_EQ(number, 0);
  }
  EXPECT_FALSE(forecast.most_flows);
  EXPECT_FALSE(forecast.crossing);
  EXPECT_EQ(forecast.first, Time{});
  EXPECT_EQ(forecast.last, Time{});
  EXPECT_FALSE(forecast.open_loop || forecast.overload || forecast.gives_ids ||
               forecast.pins_flows);
  EXPECT_TRUE(forecast.to_host_bps.empty() && forecast.from_host_bps.empty());
}

// A load of 0.02 on the links of 16 hosts; the answers come from any host alike.
TEST(ForecastTest, OfAnIncastHasItsLoadAtItsReceivers) {
  const Stage stage = StageOf(4, 4);
  const double link = 0.02 * static_cast<double>(stage.downlink_rate[0].bps);
  const std::string incast =
      "{kind: incast, fan_in: 3, bytes_each: 9KB, load: 0.02, duration: 10ms";
  const auto workload = WorkloadFrom(incast + ", receiver: 5}", stage);
  const Forecast one = workload.settings->Expect();
  ASSERT_EQ(one.to_host_bps.size(), 16u);
  for (size_t h = 0; h < 16; ++h) {
    EXPECT_NEAR(one.to_host_bps[h], h == 5 ? 16 * link : 0, 1e-6 * link) << h;
    EXPECT_NEAR(one.from_host_bps[h], link, 1e-6 * link) << h;
  }
  EXPECT_TRUE(one.open_loop);
  EXPECT_EQ(one.flows_per_query, 3);
  EXPECT_NEAR(one.bytes, 16 * link * 0.01 / 8, 1e-6 * one.bytes);  // In 10 ms.
  EXPECT_NEAR(one.flows, one.bytes / 9'000, 1e-6 * one.flows);
  EXPECT_NEAR(one.packets, 7 * one.flows, 1e-6 * one.packets);  // 9000 bytes are 6.2 packets.
  const auto to_any = WorkloadFrom(incast + "}", stage);
  const Forecast any = to_any.settings->Expect();
  for (size_t h = 0; h < 16; ++h) {
    EXPECT_NEAR(any.to_host_bps[h], link, 1e-6 * link) << h;
    EXPECT_NEAR(any.from_host_bps[h], link, 1e-6 * link) << h;
  }
}

// Queries of a receiver that come too fast are warned of: 27 KB at 10 Gbps take 21.6 us.
TEST(ForecastTest, OfAnIncastWithAPeriodWarnsBeyondTheLink) {
  const auto warnings = [](const std::string& more) {
    Stage stage = StageOf(4, 4);
    stage.downlink_rate.assign(16, 10_Gbps);
    const auto workload =
        WorkloadFrom("{kind: incast, fan_in: 3, bytes_each: 9KB, queries: 5, " + more + "}", stage);
    return WarningsOf(*workload.settings, stage).size();
  };
  EXPECT_EQ(warnings("receiver: 0, period: 21600ns"), 0u);
  EXPECT_EQ(warnings("receiver: 0, period: 21599ns"), 1u);
  EXPECT_EQ(warnings("receiver: 0, period: 21599ns, overload: true"), 0u);
  // Random receivers share the load: a sixteenth of the period is enough.
  EXPECT_EQ(warnings("period: 1350ns"), 0u);
  EXPECT_EQ(warnings("period: 1349ns"), 1u);
}

// Ports are those of docs/metrics.md: 100, and 200 for the answers to queries.
TEST(RequestTest, GoesToPort100OrOfAQueryTo200) {
  EXPECT_EQ(FlowRequest{}.dport, 100);
  EXPECT_FALSE(FlowRequest{}.sport);
  EXPECT_FALSE(FlowRequest{}.id);
  EXPECT_EQ(FlowRequest{}.job, 0u);
  EXPECT_EQ(FlowRequest{}.size, 1);
  EXPECT_EQ(FlowRequest{}.asked, Time{});
  const Stage stage = StageOf(4, 4);
  const std::map<std::string, uint16_t> kinds = {
      {"{kind: permutation, size: 30KB}", 100},
      {"{kind: poisson, sizes: fixed:3KB, load: 0.2, flows: 50}", 100},
      {"{kind: incast, fan_in: 3, bytes_each: 9KB, queries: 2, period: 1ms}", 200}};
  for (const auto& [settings, port] : kinds) {
    SCOPED_TRACE(settings);
    const auto workload = WorkloadFrom(settings, stage);
    const std::vector<FlowRequest> flows = FlowsOf(*workload.settings);
    EXPECT_GE(flows.size(), 6u);
    for (const FlowRequest& flow : flows) EXPECT_EQ(flow.dport, port);
  }
}

}  // namespace heddle::forecast_test
