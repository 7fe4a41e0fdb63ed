// SPDX-License-Identifier: Apache-2.0
// The settings of the Ultra Ethernet transport: their limits, the presets, and the values that
// follow from the network.

#include "transport/uet/uet_settings.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/fixed_network.h"
#include "tests/support/lab.h"
#include "tests/support/limits.h"
#include "tests/support/printers.h"
#include "tests/support/settings_from.h"
#include "transport/transports.h"

namespace heddle::uet_settings_test {

TEST(UetSettingsTest, EachSettingHasItsLimits) {
  ExpectLimits<UetSettings>({
      {"{lb_header: %}", "0B", "-1B"},
      {"{lb_header: %}", "256B", "257B"},
      {"{ack_bytes: %}", "1B", "0B"},
      {"{ack_bytes: %}", "1GB", "1000000001B"},
      {"{rto: %}", "1ps", "0ps"},
      {"{rto: %}", "100s", "100000000000001ps"},
      {"{target: %}", "1ps", "0ps"},
      {"{target: %}", "1s", "1000000000001ps"},
      {"{qa_gate: %}", "0", "-1"},
      {"{qa_gate: %}", "16", "17"},
      {"{rcv_pen: %}", "0", "-1"},
      {"{rcv_pen: %}", "255", "256"},
      {"{window: %}", "4170B", "0B"},
      {"{window: %}", "1GB", "1000000001B"},
      {"{priority: %}", "1", "0"},
      {"{priority: %}", "7", "8"},
      {"{control_priority: %}", "0", "-1"},
      {"{control_priority: %}", "7", "8"},
      {"{rccc: {quantum: %}}", "1B", "0B"},
      {"{rccc: {quantum: %}}", "9000B", "9001B"},
      {"{rccc: {pull: %}}", "1", "0"},
      {"{rccc: {pull: %}}", "4096", "4097"},
      {"{rccc: {interval: %}}", "1ps", "0ps"},
      {"{rccc: {interval: %}}", "1s", "1000000000001ps"},
      {"{rccc: {first_window: %}}", "1", "0"},
      {"{rccc: {first_window: %}}", "1000000", "1000001"},
  });
}

TEST(UetSettingsTest, RefusesWhatDoesNotGoTogether) {
  ExpectClashes<UetSettings>({
      {"{cc: none}", "cc", "nothing limits senders"},
      {"{preset: strack, cc: smartt}", "cc", "goes with cc: nscc"},
      {"{preset: strack, receiver: rccc}", "receiver", "goes without credit"},
      {"{preset: strack, loss: timeout}", "loss", "goes with loss: sleek"},
      {"{planes: packet, receiver: rccc}", "planes", "paced for one link"},
  });
  for (const char* fine :
       {"{cc: none, receiver: rccc}", "{preset: strack}", "{preset: strack, loss: sleek}",
        "{planes: packet}", "{planes: flow, receiver: rccc}", "{loss: timeout}", "{cc: smartt}"}) {
    EXPECT_EQ(MistakesIn<UetSettings>(fine), "") << fine;
  }
}

UetSettings SettingsFrom(const std::string& yaml) {
  UetSettings settings;
  ReadTestSettings(yaml, [&](Fields& fields) { settings.Declare(fields); });
  return settings;
}

using Kind = NsccRules::Kind;
using Receivers = UetSettings::Receivers;
using Loss = UetSettings::Loss;
using Grants = RcccSettings::Grants;
using Fabric = RcccSettings::Fabric;

// What the descriptions of the presets say.
TEST(UetSettingsTest, APresetStandsForSettings) {
  const UetSettings none = SettingsFrom("{preset: none}");
  EXPECT_EQ(none.cc, Kind::kNscc);
  EXPECT_EQ(none.receiver, Receivers::kNone);
  EXPECT_EQ(none.loss, Loss::kAuto);
  EXPECT_EQ(none.rccc.fabric, Fabric::kAuto);
  EXPECT_EQ(none.rccc.grants, Grants::kWished);
  EXPECT_TRUE(none.can_trim());
  const UetSettings strack = SettingsFrom("{preset: strack}");
  EXPECT_EQ(strack.cc, Kind::kNscc);
  EXPECT_EQ(strack.receiver, Receivers::kNone);
  EXPECT_FALSE(strack.can_trim());
  const UetSettings eqds = SettingsFrom("{preset: eqds}");
  EXPECT_EQ(eqds.cc, Kind::kNone);
  EXPECT_EQ(eqds.receiver, Receivers::kRccc);
  EXPECT_EQ(eqds.loss, Loss::kTimeout);
  EXPECT_EQ(eqds.rccc.fabric, Fabric::kOff);
  EXPECT_EQ(eqds.rccc.grants, Grants::kWhole);
  EXPECT_EQ(eqds.rccc.quantum, 512_B);
  EXPECT_EQ(eqds.rccc.pull, 8);
  EXPECT_EQ(eqds.ack_bytes, none.ack_bytes);
  EXPECT_FALSE(eqds.rto);
  EXPECT_FALSE(eqds.rccc.first_window);
  const UetSettings ndp = SettingsFrom("{preset: ndp}");
  EXPECT_EQ(ndp.cc, Kind::kNone);
  EXPECT_EQ(ndp.receiver, Receivers::kRccc);
  EXPECT_EQ(ndp.loss, Loss::kTimeout);
  EXPECT_EQ(ndp.rccc.fabric, Fabric::kOff);
  EXPECT_EQ(ndp.rccc.grants, Grants::kArrivals);
  EXPECT_EQ(ndp.rccc.first_window, 15);
  EXPECT_EQ(ndp.rccc.quantum, none.rccc.quantum);
  EXPECT_EQ(ndp.rccc.pull, none.rccc.pull);
  EXPECT_EQ(ndp.ack_bytes, 1_B);
  EXPECT_EQ(ndp.rto, 50_ms);
}

TEST(UetSettingsTest, SettingsBesideAPresetOverrideIt) {
  const UetSettings settings = SettingsFrom(
      "{preset: ndp, cc: nscc, ack_bytes: 9B, rto: 7us, loss: sleek, rccc: {first_window: 3, "
      "grants: whole, fabric: on}}");
  EXPECT_EQ(settings.cc, Kind::kNscc);
  EXPECT_EQ(settings.receiver, Receivers::kRccc);
  EXPECT_EQ(settings.ack_bytes, 9_B);
  EXPECT_EQ(settings.rto, 7_us);
  EXPECT_EQ(settings.loss, Loss::kSleek);
  EXPECT_EQ(settings.rccc.first_window, 3);
  EXPECT_EQ(settings.rccc.grants, Grants::kWhole);
  EXPECT_EQ(settings.rccc.fabric, Fabric::kOn);
}

TEST(UetSettingsTest, AFramingHasItsSizes) {
  const PacketSizes uet = SettingsFrom("{framing: uet}").Sizes();
  EXPECT_EQ(uet.mss, 4'096);
  EXPECT_EQ(uet.DataPacket(4'096), 4'096 + 74);
  EXPECT_EQ(uet.DataPacket(1), 1 + 74);
  EXPECT_EQ(uet.wire_overhead, 20);
  EXPECT_EQ(uet.link_header, 18);
  EXPECT_EQ(uet.min_packet, 64);
  const PacketSizes htsim = SettingsFrom("{framing: uet_htsim}").Sizes();
  EXPECT_EQ(htsim.mss, 4'086);
  EXPECT_EQ(htsim.DataPacket(4'086), 4'150);
  EXPECT_EQ(htsim.wire_overhead, 0);
  EXPECT_EQ(htsim.link_header, 0);
  EXPECT_EQ(htsim.min_packet, 0);
  for (const PacketSizes& sizes : {uet, htsim}) {
    EXPECT_EQ(sizes.ack, 64);
    EXPECT_EQ(sizes.cnp, 64);
    EXPECT_EQ(sizes.syn, 64);
  }
  EXPECT_EQ(SettingsFrom("{lb_header: 10B}").Sizes().DataPacket(1), 1 + 74 + 10);
}

// --- Values that follow from the network ---

using Queues = BandwidthDelay::Queues;

constexpr BitRate kLine = 100_Gbps;

// Round trips take 10 us, or 4 us between neighbours.
UetShared Prepared(const std::string& yaml, const Queues& queues = {.host_rate = kLine}) {
  const FixedNetwork network({.between = 50_KB,
                              .largest = 125_KB,
                              .round_trip = 4_us,
                              .longest = 10_us,
                              .queues = queues});
  UetShared shared = PrepareUet(SettingsFrom(yaml), network, 3_us);
  EXPECT_EQ(shared.bandwidth_delay, &network);
  EXPECT_EQ(shared.close_delay, 3_us);
  shared.bandwidth_delay = nullptr;
  return shared;
}

TEST(UetSharedTest, RulesOfTheWindowFollowFromTheNetwork) {
  const NsccRules rules = Prepared("{framing: uet_htsim, qa_gate: 5}").rules;
  EXPECT_EQ(rules.kind, Kind::kNscc);
  EXPECT_EQ(rules.packet, 4'150);
  EXPECT_EQ(rules.payload, 4'086);
  EXPECT_EQ(rules.rate, 100e9);
  EXPECT_EQ(rules.rtt, 10_us);
  EXPECT_EQ(rules.gate, 5);
  EXPECT_EQ(Prepared("{planes: flow}", {.host_rate = kLine, .host_links = 4}).rules.rate, 100e9);
  EXPECT_EQ(Prepared("{planes: packet}", {.host_rate = kLine, .host_links = 4}).rules.rate, 400e9);
}

TEST(UetSharedTest, TheTargetIsARoundTripOrAPartOfIt) {
  EXPECT_EQ(Prepared("{}").rules.target, 10_us);
  EXPECT_EQ(Prepared("{}", {.host_rate = kLine, .trims = true}).rules.target, 7'500_ns);
  EXPECT_EQ(Prepared("{cc: smartt}").rules.target, 5_us);
  EXPECT_EQ(Prepared("{cc: smartt}", {.host_rate = kLine, .trims = true}).rules.target, 5_us);
  EXPECT_EQ(Prepared("{cc: smartt, target: 3us}").rules.target, 3_us);
  EXPECT_EQ(Prepared("{target: 3us}", {.host_rate = kLine, .trims = true}).rules.target, 3_us);
}

// 100 KB take 8 us at 100 Gbps. Queues without a limit count as five bandwidth-delay products of
// one link, here 625,000 bytes and 50 us.
TEST(UetSharedTest, TheTimeoutIsThatOfSixFullQueuesAndABit) {
  EXPECT_EQ(Prepared("{}", {.host_rate = kLine, .longest = 100_KB}).rto, 15_us + 48_us);
  EXPECT_EQ(Prepared("{}", {.host_rate = kLine, .longest = 1_B}).rto, 15_us + 480_ps);
  EXPECT_EQ(Prepared("{}").rto, 15_us + 300_us);
  EXPECT_EQ(Prepared("{planes: packet}", {.host_rate = kLine, .host_links = 2}).rto,
            15_us + 300_us);
  EXPECT_EQ(Prepared("{preset: strack}", {.host_rate = kLine, .longest = 100_KB}).rto,
            15_us + 48_us);
  EXPECT_EQ(Prepared("{preset: eqds}", {.host_rate = kLine, .longest = 100_KB}).rto,
            150_us + 48_us);
  EXPECT_EQ(Prepared("{preset: ndp}", {.host_rate = kLine, .longest = 100_KB}).rto, 50_ms);
  EXPECT_EQ(Prepared("{rto: 7us}", {.host_rate = kLine, .longest = 100_KB}).rto, 7_us);
}

TEST(UetSharedTest, CountsOfHeldPacketsShowLossesUnlessSwitchesTrim) {
  EXPECT_TRUE(Prepared("{}").sleek);
  EXPECT_FALSE(Prepared("{}", {.host_rate = kLine, .trims = true}).sleek);
  EXPECT_TRUE(Prepared("{loss: sleek}").sleek);
  EXPECT_TRUE(Prepared("{loss: sleek}", {.host_rate = kLine, .trims = true}).sleek);
  EXPECT_FALSE(Prepared("{loss: timeout}").sleek);
  EXPECT_FALSE(Prepared("{loss: timeout}", {.host_rate = kLine, .trims = true}).sleek);
}

TEST(UetSharedTest, ReceiversAdaptIfTheyAloneGuardAnOversubscribedFabric) {
  const std::string alone = "{cc: none, receiver: rccc, rccc: {fabric: ";
  const std::string both = "{cc: nscc, receiver: rccc, rccc: {fabric: ";
  for (const bool oversubscribed : {false, true}) {
    const auto adapts = [&](const std::string& yaml) {
      return Prepared(yaml, {.host_rate = kLine, .oversubscribed = oversubscribed})
          .adapts_to_fabric;
    };
    EXPECT_EQ(adapts(alone + "auto}}"), oversubscribed);
    EXPECT_FALSE(adapts(both + "auto}}"));
    for (const std::string& yaml : {alone, both}) {
      EXPECT_TRUE(adapts(yaml + "on}}"));
      EXPECT_FALSE(adapts(yaml + "off}}"));
    }
    EXPECT_FALSE(adapts("{rccc: {fabric: on}}")) << "receivers grant nothing";
  }
}

// As the description of rccc.interval has it.
TEST(UetSharedTest, PullsComeAtTheRateOfTheLine) {
  const auto picoseconds = [](const std::string& yaml, int64_t quanta, double share) {
    return static_cast<double>(Prepared(yaml).PullInterval(quanta, 200e9, share).ps);
  };
  // 64 quanta of 256 bytes, 131,072 bits, at 99 % of 200 Gbps.
  const std::string wished = "{receiver: rccc}";
  EXPECT_NEAR(picoseconds(wished, 64, 1), 131'072 / (0.99 * 0.2), 1);
  EXPECT_NEAR(picoseconds(wished, 64, 0.25), 4 * 131'072 / (0.99 * 0.2), 1);
  EXPECT_NEAR(picoseconds(wished, 4, 1), 4 * 2'048 / (0.99 * 0.2), 1);
  // EQDS: 8 quanta of 512 bytes are 4096; the packet has 4150 bytes, and 38 around it. On
  // Ethernet, 18 of these are in the packet.
  const std::string htsim = ", framing: uet_htsim}";
  EXPECT_NEAR(picoseconds("{preset: eqds" + htsim, 8, 1), 0.99 * 8 * 4'188 / 0.2, 1);
  EXPECT_NEAR(picoseconds("{preset: eqds}", 8, 1), 0.99 * 8 * (4'170 + 20) / 0.2, 1);
  EXPECT_NEAR(picoseconds("{preset: eqds, rccc: {pull: 3}" + htsim, 3, 0.5),
              0.99 * 8 * 4'188 * (3 * 512.0 / 4'096) / 0.1, 1);
  // NDP: a full packet at 99 %.
  EXPECT_NEAR(picoseconds("{preset: ndp" + htsim, 1, 1), 8 * 4'150 / (0.99 * 0.2), 1);
  EXPECT_NEAR(picoseconds("{preset: ndp}", 1, 0.5), 8 * 4'190 / (0.99 * 0.1), 1);
  for (const std::string preset : {"none, receiver: rccc", "eqds", "ndp"}) {
    const std::string yaml = "{preset: " + preset + ", rccc: {interval: 3us}}";
    EXPECT_EQ(picoseconds(yaml, 5, 1), 3e6);
    EXPECT_EQ(picoseconds(yaml, 5, 0.25), 12e6);
  }
}

// A greatest window is 1.5 times 12,500 bytes for each microsecond at 100 Gbps.
TEST(UetSharedTest, AFlowBeginsWithAWindowOfCreditOrWithPackets) {
  const auto terms = [](const std::string& more, Duration base = 4_us) {
    return Prepared("{framing: uet_htsim, " + more + "}").CreditFor(base);
  };
  EXPECT_FALSE(terms("cc: nscc").is_needed);
  const UetCredit::Terms window = terms("receiver: rccc, rccc: {quantum: 100B}");
  EXPECT_TRUE(window.is_needed);
  EXPECT_FALSE(window.counts_packets);
  EXPECT_EQ(window.quantum, 100);
  EXPECT_EQ(window.first, 75'000);
  EXPECT_EQ(window.most, 75'000);
  EXPECT_EQ(terms("receiver: rccc", 10_us).first, 187'500);
  const UetCredit::Terms few = terms("receiver: rccc, rccc: {first_window: 3}");
  EXPECT_EQ(few.first, 3 * 4'150);
  EXPECT_EQ(few.most, 75'000);
  const UetCredit::Terms many = terms("receiver: rccc, rccc: {first_window: 100}");
  EXPECT_EQ(many.first, 100 * 4'150);
  EXPECT_EQ(many.most, 100 * 4'150);
  const UetCredit::Terms ndp = terms("preset: ndp");
  EXPECT_TRUE(ndp.is_needed);
  EXPECT_TRUE(ndp.counts_packets);
  EXPECT_EQ(ndp.quantum, 4'150);
  EXPECT_EQ(ndp.first, 15 * 4'150);
  EXPECT_EQ(ndp.most, 75'000);
  // Without a number of packets, as many as the window takes, the last one whole.
  const UetCredit::Terms whole = terms("preset: ndp, rccc: {first_window: auto}");
  EXPECT_EQ(whole.first, 19 * 4'150);
  EXPECT_EQ(whole.most, 19 * 4'150);
}

}  // namespace heddle::uet_settings_test
