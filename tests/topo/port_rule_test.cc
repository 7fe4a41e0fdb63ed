// SPDX-License-Identifier: Apache-2.0

#include "topo/port_rule.h"

#include <gtest/gtest.h>

#include "tests/support/lab.h"
#include "tests/support/limits.h"

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

// At least ten frames. Rates count in whole frames: 25 per Gbps, rounded down.
TEST(PortRuleTest, BuffersInWholeFramesAtLeastTen) {
  EXPECT_EQ(PortAt({410'000'000}, "{ecn_above: 1B}").buffer, 10 * 1'518);
  EXPECT_EQ(PortAt({100'000'000}, "{ecn_above: 1B}").buffer, 10 * 1'518);
  EXPECT_EQ(PortAt({450'000'000}, "{ecn_above: 1B}").buffer, 11 * 1'518);
  EXPECT_EQ(PortAt({439'000'000}, "{ecn_above: 1B}").buffer, 10 * 1'518);
  EXPECT_EQ(PortAt({100'000'000}, "{ecn_above: 1pkts}").buffer, 10);
  EXPECT_EQ(PortAt({100'000'000}, "{ecn_above: 7pkts}").buffer, 14);
  EXPECT_EQ(PortAt({100'000'000}, "{ecn_above: unlimited}").buffer, 10 * 1'518);
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

// uet-htsim derives these lengths for 100 Gbps and a round trip of 14.02272 us with packets of 4150
// bytes, and a quarter of them for links of 25 Gbps.
TEST(PortRuleTest, MarksByTheBandwidthDelayProduct) {
  const int64_t packets = BandwidthDelayPackets(14'022'720_ps, 100_Gbps, 4'150);
  EXPECT_EQ(packets, 43);
  const UsualMarking usual{
      .is_red = true, .probability = 1, .bdp_packets = packets, .packet = 4'150, .nic = 100_Gbps};
  const Marking fast = PortRuleFrom("{}").MarkingAt({100_Gbps, 1_us}, usual);
  EXPECT_EQ(fast.above, 37'350);
  EXPECT_EQ(fast.all, 145'250);
  EXPECT_EQ(fast.at_all, 1);
  EXPECT_TRUE(fast.at_dequeue);
  const Marking slow = PortRuleFrom("{}").MarkingAt({25_Gbps, 1_us}, usual);
  EXPECT_EQ(slow.above, 37'350 / 4);
  EXPECT_EQ(slow.all, 145'250 / 4);
  const Marking counted = PortRuleFrom("{buffer: 100pkts}").MarkingAt({100_Gbps, 1_us}, usual);
  EXPECT_EQ(counted.above, 9);
  EXPECT_EQ(counted.all, 35);
  const Marking set =
      PortRuleFrom("{red: {min: 5KB, probability: 0.5}}").MarkingAt({100_Gbps, 1_us}, usual);
  EXPECT_EQ(set.above, 5'000);
  EXPECT_EQ(set.all, 145'250);
  EXPECT_EQ(set.at_all, 0.5);
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

TEST(PauseRuleTest, HasTheDefaultsOfTheSettingsPage) {
  const PauseRule pfc = PortRuleFrom("{}").pfc;
  EXPECT_EQ(pfc.response, 0_ps);
  EXPECT_EQ(pfc.deadlock_check, 1_ms);
  EXPECT_EQ(pfc.deadlock_time, 10_ms);
  EXPECT_TRUE(pfc.deadlock_ends_run);
  EXPECT_FALSE(pfc.scan_all);
  EXPECT_FALSE(pfc.allow_loss);
  EXPECT_EQ(pfc.watchdog.restore, 200_ms);
  EXPECT_EQ(pfc.watchdog.poll, 100_ms);
  EXPECT_TRUE(pfc.watchdog.drops);
  EXPECT_FALSE(pfc.watchdog.detect);
  EXPECT_EQ(PortRuleFrom("{}").red.probability, std::nullopt);
  EXPECT_EQ(PortRuleFrom("{}").memory.reserve, 4'000_B);
  EXPECT_EQ(PortRuleFrom("{}").memory.alpha_in, 1.0 / 16);
  EXPECT_EQ(PortRuleFrom("{}").scheduler, Scheduler::kRoundRobin);
}

// --- Limits ---

TEST(PortRuleTest, EachSettingHasItsLimits) {
  ExpectLimits<PortRule>({
      {"{buffer: %}", "1B", "0B"},
      {"{buffer: %}", "1pkts", "0pkts"},
      {"{ecn_above: %}", "1B", "0B"},
      {"{ecn_above: %}", "1pkts", "0pkts"},
      {"{quanta: [%]}", "1B", "0B"},
      {"{quanta: [%]}", "1GB", "1000000001B"},
      {"{red: {min: %}}", "1B", "0B"},
      {"{red: {min: %}}", "1TB", "1000000000001B"},
      {"{red: {max: %}}", "1B", "0B"},
      {"{red: {max: %}}", "1TB", "1000000000001B"},
      {"{red: {probability: %}}", "0", "-0.001"},
      {"{red: {probability: %}}", "1", "1.001"},
      {"{memory: {size: %}}", "1B", "0B"},
      {"{memory: {size: %}}", "1TB", "1000000000001B"},
      {"{memory: {alpha: %}}", "0.0001", "0"},
      {"{memory: {alpha: %}}", "1024", "1024.5"},
      {"{memory: {alpha_in: %}}", "0.0001", "0"},
      {"{memory: {alpha_in: %}}", "1024", "1024.5"},
      {"{memory: {reserve: %}}", "0B", "-1B"},
      {"{memory: {reserve: %}}", "1MB", "1000001B"},
  });
}

TEST(PauseRuleTest, EachSettingHasItsLimits) {
  ExpectLimits<PauseRule>({
      {"{classes: [%]}", "1", "0"},
      {"{classes: [%]}", "7", "8"},
      {"{xoff: %}", "1B", "0B"},
      {"{xoff: %}", "1TB", "1000000000001B"},
      {"{headroom: %}", "1B", "0B"},
      {"{headroom: %}", "1TB", "1000000000001B"},
      {"{resume_offset: %}", "1B", "0B"},
      {"{resume_offset: %}", "1TB", "1000000000001B"},
      {"{response: %}", "0ps", "-1ps"},
      {"{response: %}", "1ms", "1000000001ps"},
      {"{quanta: %}", "1", "0"},
      {"{quanta: %}", "65535", "65536"},
      {"{quanta: 1, refresh_interval: %}", "1ps", "0ps"},
      {"{quanta: 1, refresh_interval: %}", "1000s", "1000000000000001ps"},
      {"{frame: %}", "1B", "0B"},
      {"{frame: %}", "1518B", "1519B"},
      {"{deadlock_check: %}", "1ps", "0ps"},
      {"{deadlock_check: %}", "1000s", "1000000000000001ps"},
      {"{deadlock_time: %}", "1ps", "0ps"},
      {"{deadlock_time: %}", "1000s", "1000000000000001ps"},
      {"{watchdog: {poll: 1ps, detect: %}}", "1ps", "0ps"},
      {"{watchdog: {poll: 1ps, detect: %}}", "1000s", "1000000000000001ps"},
      {"{watchdog: {restore: %}}", "1ps", "0ps"},
      {"{watchdog: {restore: %}}", "1000s", "1000000000000001ps"},
      {"{watchdog: {poll: %}}", "1ps", "0ps"},
      {"{watchdog: {poll: %}}", "1000s", "1000000000000001ps"},
  });
}

TEST(TrimRuleTest, EachSettingHasItsLimits) {
  ExpectLimits<TrimRule>({
      {"{threshold: %}", "1B", "0B"},
      {"{threshold: %}", "1GB", "1000000001B"},
      {"{header: %}", "40B", "39B"},
      {"{header: %}", "1024B", "1025B"},
      {"{header_limit: %}", "1B", "0B"},
      {"{header_limit: %}", "1GB", "1000000001B"},
      {"{classes: [%]}", "1", "0"},
      {"{classes: [%]}", "7", "8"},
  });
}

TEST(PortRuleTest, RefusesWhatDoesNotGoTogether) {
  ExpectClashes<PortRule>({
      {"{quanta: [1B, 1B, 1B, 1B, 1B, 1B, 1B, 1B, 1B]}", "quanta", "there are 8 classes"},
      {"{buffer: 9pkts, ecn_above: 9B}", "ecn_above", "another unit"},
      {"{buffer: 9B, ecn_above: 9pkts}", "ecn_above", "another unit"},
      {"{red: {min: 2B, max: 1B}}", "red.max", "less than min"},
      {"{memory: {limit_lossless: true}}", "memory.limit_lossless", "model: broadcom_mmu"},
      {"{memory: {model: dt, limit_lossless: true}}", "memory.limit_lossless", "broadcom_mmu"},
      {"{pfc: {refresh: arrivals}}", "pfc.refresh", "set quanta"},
      {"{pfc: {refresh: never}}", "pfc.refresh", "set quanta"},
      {"{pfc: {refresh_interval: 1us}}", "pfc.refresh_interval", "set quanta"},
      {"{pfc: {quanta: 9, refresh: arrivals, refresh_interval: 1us}}", "pfc.refresh_interval",
       "only for refresh: timer"},
      {"{pfc: {watchdog: {detect: 9us, poll: 10us}}}", "pfc.watchdog.poll", "longer than detect"},
  });
  for (const char* fine :
       {"{quanta: [1B, 1B, 1B, 1B, 1B, 1B, 1B, 1B]}", "{buffer: 9pkts, ecn_above: 9pkts}",
        "{buffer: 9B, ecn_above: 9B}", "{buffer: unlimited, ecn_above: 9pkts}",
        "{buffer: 9pkts, ecn_above: unlimited}", "{buffer: 9pkts}", "{ecn_above: 9pkts}",
        "{red: {min: 2B, max: 2B}}", "{red: {min: 2B}}", "{red: {max: 1B}}",
        "{memory: {model: broadcom_mmu, limit_lossless: true}}", "{pfc: {quanta: 9}}",
        "{pfc: {quanta: 9, refresh: arrivals}}", "{pfc: {quanta: 9, refresh: never}}",
        "{pfc: {quanta: 9, refresh: timer, refresh_interval: 1us}}", "{pfc: {refresh: timer}}",
        "{pfc: {watchdog: {detect: 9us, poll: 9us}}}", "{pfc: {watchdog: {poll: 10s}}}"}) {
    EXPECT_EQ(MistakesIn<PortRule>(fine), "") << fine;
  }
}

// --- Values of rules ---

TEST(PortRuleTest, WordsOfTheSettingsMeanWhatTheySay) {
  EXPECT_EQ(PortRuleFrom("{memory: {model: static}}").memory.model,
            MemorySettings::Model::kPrivate);
  EXPECT_EQ(PortRuleFrom("{memory: {model: dt}}").memory.model, MemorySettings::Model::kDynamic);
  EXPECT_EQ(PortRuleFrom("{memory: {model: hpcc_mmu}}").memory.model, MemorySettings::Model::kHpcc);
  EXPECT_EQ(PortRuleFrom("{memory: {model: broadcom_mmu}}").memory.model,
            MemorySettings::Model::kBroadcom);
  EXPECT_EQ(PortRuleFrom("{scheduler: strict}").scheduler, Scheduler::kStrict);
  EXPECT_EQ(PortRuleFrom("{scheduler: strict0_rr}").scheduler, Scheduler::kRoundRobin);
  EXPECT_EQ(PortRuleFrom("{scheduler: dwrr}").scheduler, Scheduler::kDeficit);
  EXPECT_TRUE(PortRuleFrom("{pfc: {resume_scan: all}}").pfc.scan_all);
  EXPECT_FALSE(PortRuleFrom("{pfc: {resume_scan: self}}").pfc.scan_all);
  EXPECT_TRUE(PortRuleFrom("{pfc: {deadlock_action: abort}}").pfc.deadlock_ends_run);
  EXPECT_FALSE(PortRuleFrom("{pfc: {deadlock_action: report}}").pfc.deadlock_ends_run);
  EXPECT_TRUE(PortRuleFrom("{pfc: {watchdog: {action: drop}}}").pfc.watchdog.drops);
  EXPECT_FALSE(PortRuleFrom("{pfc: {watchdog: {action: forward}}}").pfc.watchdog.drops);
  EXPECT_FALSE(PortRuleFrom("{pfc: {deadlock_check: off}}").pfc.deadlock_check);
  EXPECT_EQ(PortRuleFrom("{pfc: {classes: [1, 7]}}").pfc.mask(), 0b10000010);
  EXPECT_TRUE(PortRuleFrom("{pfc: {classes: [1]}}").pfc.on());
  EXPECT_FALSE(PortRuleFrom("{}").pfc.on());
  EXPECT_EQ(PortRuleFrom("{}").pfc.quanta_or_none(), 0);
  EXPECT_EQ(PortRuleFrom("{pfc: {quanta: 65535}}").pfc.quanta_or_none(), 65'535);
}

// A pause frame has 64 bytes, 84 with preamble and gap. One of another size is given as buffered.
TEST(PauseRuleTest, AFrameTakesItsSizeAndTheOverheadOnTheWire) {
  EXPECT_EQ(PortRuleFrom("{}").pfc.FrameOnWire(20), 84);
  EXPECT_EQ(PortRuleFrom("{}").pfc.FrameOnWire(0), 84);
  EXPECT_EQ(PortRuleFrom("{pfc: {frame: 100B}}").pfc.FrameOnWire(20), 120);
  EXPECT_EQ(PortRuleFrom("{pfc: {frame: 100B}}").pfc.FrameOnWire(0), 100);
}

TEST(TrimRuleTest, SettingsAreThoseThatAreGiven) {
  const TrimSettings usual = PortRuleFrom("{}").trim.settings();
  EXPECT_EQ(usual.when, TrimSettings::When::kOff);
  EXPECT_EQ(usual.header, 64);
  EXPECT_EQ(usual.classes, 0b1000);
  const PortRule rule = PortRuleFrom(
      "{trim: {when: mark, victim: newest, overflow: back, header: 80B, classes: [1, 3, 7]}}");
  EXPECT_TRUE(rule.trim.on());
  EXPECT_FALSE(PortRuleFrom("{}").trim.on());
  const TrimSettings trim = rule.trim.settings();
  EXPECT_EQ(trim.when, TrimSettings::When::kMark);
  EXPECT_EQ(trim.victim, TrimSettings::Victim::kNewest);
  EXPECT_EQ(trim.overflow, TrimSettings::Overflow::kBack);
  EXPECT_EQ(trim.header, 80);
  EXPECT_EQ(trim.classes, 0b10001010);
}

}  // namespace heddle::port_rule_test
