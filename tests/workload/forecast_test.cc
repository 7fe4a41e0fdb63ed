// SPDX-License-Identifier: Apache-2.0
// What workloads foretell, and what their requests have by default.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/experiment_kit.h"

namespace heddle {
namespace {

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

}  // namespace
}  // namespace heddle
