// SPDX-License-Identifier: Apache-2.0

#include "topo/port_rule.h"

#include <gtest/gtest.h>

#include "tests/support/lab.h"

namespace heddle::port_rule_test {

PortSettings PortAt(BitRate rate, const std::string& rule = "{}") {
  return PortRuleFrom(rule).SwitchPort({rate, 1_us}, 20_B);
}

// Marking thresholds of ports by their rates, as the DCTCP guideline has them.
TEST(PortRuleTest, MarksByDefaultFromTheThresholdOfTheRate) {
  const std::pair<int64_t, int64_t> kinds[] = {
      {100, 30'000},        {1'000, 30'000},     {10'000, 97'500},   {25'000, 97'500},
      {40'000, 120'000},    {50'000, 150'000},   {100'000, 300'000}, {200'000, 600'000},
      {400'000, 1'200'000}, {800'000, 2'400'000}};
  for (const auto& [mbps, k] : kinds) {
    EXPECT_EQ(PortAt({mbps * 1'000'000}).mark_above, k) << mbps << " Mbps";
  }
  EXPECT_EQ(PortAt({5'500'000'000}).mark_above, 63'750) << "half way between 1 and 10 Gbps";
}

TEST(PortRuleTest, BuffersByDefault250FramesPer10GbpsAndTwiceTheThreshold) {
  EXPECT_EQ(PortAt(10_Gbps).buffer, 250 * 1'518);
  EXPECT_EQ(PortAt(40_Gbps).buffer, 1'000 * 1'518);
  EXPECT_EQ(PortAt(100_Gbps).buffer, 2'500 * 1'518);
  EXPECT_EQ(PortAt(1_Gbps).buffer, 2 * 30'000);  // More than its 25 frames.
  EXPECT_EQ(PortAt(10_Gbps, "{ecn_above: 300KB}").buffer, 600'000);
  EXPECT_EQ(PortAt(10_Gbps, "{ecn_above: 65pkts}").buffer, 250);
}

TEST(PortRuleTest, CountsInTheUnitItIsGiven) {
  const PortSettings bytes = PortAt(10_Gbps, "{buffer: 375KB, ecn_above: 100KB}");
  EXPECT_FALSE(bytes.count_packets);
  EXPECT_EQ(bytes.buffer, 375'000);
  EXPECT_EQ(bytes.mark_above, 100'000);
  const PortSettings packets = PortAt(10_Gbps, "{buffer: 250pkts}");
  EXPECT_TRUE(packets.count_packets);
  EXPECT_EQ(packets.buffer, 250);
  EXPECT_EQ(packets.mark_above, 65);
  const PortSettings neither = PortAt(10_Gbps, "{buffer: unlimited, ecn_above: unlimited}");
  EXPECT_EQ(neither.buffer, kUnlimited);
  EXPECT_EQ(neither.mark_above, kUnlimited);
  EXPECT_EQ(neither.rate, 10_Gbps);
  EXPECT_EQ(neither.delay, 1_us);
  EXPECT_EQ(neither.wire_overhead, 20_B);
}

TEST(PortRuleTest, LimitsNoNic) {
  const PortSettings nic = PortRule::Nic({10_Gbps, 1_us}, 20_B);
  EXPECT_EQ(nic.buffer, kUnlimited);
  EXPECT_EQ(nic.mark_above, kUnlimited);
}

TEST(QueueSizeTest, ReadsBackAsItIsWritten) {
  for (const char* text : {"375KB", "250pkts", "unlimited", "1B"}) {
    QueueSize size;
    EXPECT_FALSE(ParseQuantity(text, size)) << text;
    EXPECT_EQ(FormatQuantity(size), text);
  }
  for (const char* text : {"0pkts", "-3pkts", "375", "many", "1.5pkts", "0B"}) {
    QueueSize size;
    EXPECT_TRUE(ParseQuantity(text, size)) << text;
  }
}

}  // namespace heddle::port_rule_test
