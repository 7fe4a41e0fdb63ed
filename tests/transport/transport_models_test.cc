// SPDX-License-Identifier: Apache-2.0
// Each transport tells the experiment, before anything runs, what it needs, what auto stands for
// and which settings it refuses. The network here has round numbers.

#include "transport/transports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/fixed_network.h"
#include "tests/support/lab.h"
#include "tests/support/settings_from.h"

namespace heddle::transport_models_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// The largest bandwidth-delay product is 100,001 bytes, the longest round trip 200 us.
FixedNetwork::Values Round() {
  return {.between = Bytes{50'000},
          .largest = Bytes{100'001},
          .round_trip = 10_us,
          .longest = 200_us,
          .queues = {.host_rate = 100_Gbps}};
}
FixedNetwork RoundNetwork() { return FixedNetwork(Round()); }
FixedNetwork RoundNetwork(Duration longest) {
  FixedNetwork::Values values = Round();
  values.longest = longest;
  return FixedNetwork(values);
}
FixedNetwork RoundNetwork(Bytes largest) {
  FixedNetwork::Values values = Round();
  values.largest = largest;
  return FixedNetwork(values);
}
FixedNetwork RoundNetwork(const BandwidthDelay::Queues& queues, uint32_t paths) {
  FixedNetwork::Values values = Round();
  values.queues = queues;
  values.paths = paths;
  return FixedNetwork(values);
}

AutoValues AutoOf(const std::string& transport, const FixedNetwork& network = RoundNetwork()) {
  return TransportFrom(transport).settings->ValuesOfAuto(100_Gbps, &network);
}

std::vector<std::string> ErrorsOf(const std::string& transport) {
  return KindDiagnostics(transport, Transports()).errors();
}

// --- What they say of themselves ---

TEST(TransportModelsTest, AreThoseThatTheirHeaderLists) {
  EXPECT_THAT(Transports().Names(),
              ElementsAre("dctcp", "mmptcp", "mprdma", "mptcp", "rocev2", "tcp", "uet"));
}

// The traits that hold, in the order of transports.h.
std::string TraitsOf(const std::string& transport) {
  const Chosen<TransportModel> chosen = TransportFrom(transport);
  const TransportModel& model = *chosen.settings;
  std::string traits;
  const auto add = [&](bool holds, const char* name) {
    if (holds) traits += (traits.empty() ? "" : " ") + std::string(name);
  };
  add(model.wants_red(), "red");
  add(model.marks_by_bandwidth_delay(), "by_bdp");
  add(model.wants_telemetry(), "telemetry");
  add(model.limits_rates(), "limits");
  add(model.needs_order(), "order");
  add(model.echoes_marks(), "marks");
  add(!model.wants_marks_at_last_hop(), "unmarked_last_hop");
  add(model.can_trim(), "trim");
  add(model.has_subflows(), "subflows");
  add(model.spreads(), "spreads");
  add(model.needs_planes(), "planes");
  add(model.cargo_in_place_of_waiting().has_value(), "cargo");
  add(model.needs_bandwidth_delay(), "bdp");
  add(model.counts_paths(), "paths");
  return traits;
}

TEST(TransportModelsTest, SayWhatTheyNeedAndWhatTheyCan) {
  const std::vector<std::pair<std::string, std::string>> traits = {
      // TCP hears of marks only with ECN, whether set or the congestion control's own.
      {"tcp", ""},
      {"{kind: tcp, ecn: rfc3168}", "marks"},
      {"{kind: tcp, cc: dctcp}", "marks"},
      {"{kind: tcp, cc: cubic}", ""},
      {"dctcp", "marks"},
      {"mptcp", "subflows spreads cargo"},
      {"{kind: mptcp, ecn: rfc3168}", "marks subflows spreads cargo"},
      {"{kind: mptcp, cc: dctcp}", "marks subflows spreads cargo"},
      {"mmptcp", "subflows spreads cargo bdp paths"},
      {"mprdma", "marks bdp"},
      // Go-back-N alone needs order, unless packets are put in order before.
      {"rocev2", "red limits order trim"},
      {"{kind: rocev2, resequencing: timeout}", "red limits trim"},
      {"{kind: rocev2, recovery: sr}", "red limits trim"},
      {"{kind: rocev2, recovery: irn}", "red limits trim bdp"},
      {"{kind: rocev2, recovery: ddp}", "red limits trim bdp"},
      // A product that is set needs no network; out-of-order placement needs its timeout.
      {"{kind: rocev2, recovery: irn, bdp: 100KB}", "red limits trim"},
      {"{kind: rocev2, recovery: ddp, bdp: 100KB}", "red limits trim bdp"},
      {"{kind: rocev2, window: bdp}", "red limits order trim bdp"},
      {"{kind: rocev2, window: bdp_var, bdp: 100KB}", "red limits order trim"},
      {"{kind: rocev2, bdp: 100KB}", "red limits order trim"},
      {"{kind: rocev2, cc: none}", "limits order trim"},
      {"{kind: rocev2, cc: hpcc}", "telemetry limits order trim bdp"},
      {"{kind: rocev2, cc: {kind: hpcc, rtt_scope: pair}}", "telemetry limits order trim bdp"},
      {"{kind: rocev2, cc: {kind: hpcc, base_rtt: 10us}}", "telemetry limits order trim"},
      {"uet", "red by_bdp marks trim bdp"},
      {"{kind: uet, preset: strack}", "red by_bdp marks bdp"},
      {"{kind: uet, planes: packet}", "red by_bdp marks trim spreads planes bdp"},
      // With credit, ports to hosts do not mark, and data packets carry wishes. NDP has none.
      {"{kind: uet, receiver: rccc}", "red by_bdp marks unmarked_last_hop trim cargo bdp"},
      {"{kind: uet, preset: eqds}", "red by_bdp marks unmarked_last_hop trim cargo bdp"},
      {"{kind: uet, preset: ndp}", "red by_bdp marks unmarked_last_hop trim bdp"},
  };
  for (const auto& [transport, expected] : traits) {
    EXPECT_EQ(TraitsOf(transport), expected) << transport;
  }
}

TEST(TransportModelsTest, NameTheirCongestionControl) {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"tcp", "reno"},
      {"{kind: tcp, cc: cubic}", "cubic"},
      {"dctcp", "dctcp"},
      {"mptcp", "lia"},
      {"{kind: mptcp, cc: olia}", "olia"},
      {"mprdma", "mprdma"},
      {"rocev2", "dcqcn"},
      {"{kind: rocev2, cc: swift}", "swift"},
      {"uet", "nscc"},
      {"{kind: uet, cc: dctcp_ack}", "dctcp_ack"},
      {"{kind: uet, cc: mprdma_ack}", "mprdma_ack"},
      {"{kind: uet, cc: constant}", "constant"},
      {"{kind: uet, cc: smartt}", "smartt"},
      {"{kind: uet, cc: none, receiver: rccc}", "none"}};
  for (const auto& [transport, name] : names) {
    EXPECT_EQ(TransportFrom(transport).settings->congestion_control(), name) << transport;
  }
}

TEST(TransportModelsTest, NameTheClassesOfTheirPackets) {
  for (const std::string kind : {"tcp", "dctcp", "mptcp", "mmptcp", "rocev2", "uet", "mprdma"}) {
    const auto set =
        TransportFrom("{kind: " + kind + ", priority: 5, control_priority: 2}").settings->classes();
    EXPECT_EQ(set.data, 5) << kind;
    EXPECT_EQ(set.control, 2) << kind;
  }
  for (const std::string kind : {"tcp", "mptcp"}) {
    const auto follows = TransportFrom("{kind: " + kind + ", priority: 5}").settings->classes();
    EXPECT_EQ(follows.control, 5) << kind;
  }
}

// Numbers of packets have 32 bits. The highest stands for none, and the number after the last
// packet must be below it.
TEST(TransportModelsTest, CarryFlowsOfAsManyPacketsAsTheirNumbersCount) {
  for (const std::string kind : {"tcp", "mptcp", "mmptcp", "rocev2", "uet", "mprdma"}) {
    const Chosen<TransportModel> chosen = TransportFrom(kind);
    EXPECT_EQ(chosen.settings->max_flow_size(), chosen.settings->sizes().mss * 4'294'967'294)
        << kind;
  }
}

TEST(TransportModelsTest, DescribeTheirPacketsOnTheWire) {
  using Protocol = WireFormat::Protocol;
  const auto format = [](const std::string& t) { return TransportFrom(t).settings->wire_format(); };
  for (const std::string kind : {"tcp", "mptcp", "mmptcp"}) {
    EXPECT_EQ(format(kind).protocol, kind == "tcp" ? Protocol::kTcp : Protocol::kMptcp);
    EXPECT_TRUE(format(kind).sack);
    EXPECT_FALSE(format(kind).timestamps);
    const WireFormat other = format("{kind: " + kind + ", recovery: newreno, timestamps: true}");
    EXPECT_FALSE(other.sack) << kind;
    EXPECT_TRUE(other.timestamps) << kind;
    EXPECT_EQ(other.varies_ports, kind == "mmptcp");
  }
  // IRN acknowledges every packet, as do MP-RDMA and Ultra Ethernet where they are asked to.
  for (const auto& [transport, every] :
       {std::pair("{kind: rocev2, ack_interval: 7}", 7),
        std::pair("{kind: rocev2, recovery: sr, ack_interval: 7}", 7),
        std::pair("{kind: rocev2, recovery: irn, ack_interval: 7}", 1), std::pair("uet", 1),
        std::pair("mprdma", 1)}) {
    EXPECT_EQ(format(transport).protocol, Protocol::kRoceV2) << transport;
    EXPECT_EQ(format(transport).ack_every, every) << transport;
  }
}

// HPCC's telemetry has 42 bytes, RETH 16 (InfiniBand Architecture vol. 1, section 9.3).
TEST(TransportModelsTest, CountTheHeadersThatSettingsAdd) {
  const auto overhead = [](const std::string& more) {
    return TransportFrom("{kind: rocev2" + more + "}").settings->sizes().data_overhead;
  };
  EXPECT_EQ(overhead(""), 62);
  EXPECT_EQ(overhead(", cc: hpcc"), 62 + 42);
  EXPECT_EQ(overhead(", recovery: ddp"), 62 + 16);
  EXPECT_EQ(overhead(", recovery: ddp, cc: hpcc, lb_header: 5B"), 62 + 42 + 16 + 5);
  EXPECT_EQ(TransportFrom("mprdma").settings->sizes().data_overhead, 62 + 16);
}

// A remedy must be a setting that the transport has and that is not in use already.
TEST(TransportModelsTest, AdviseAgainstReorderingWithSettingsThatTheyHave) {
  const std::vector<std::pair<std::string, std::string>> remedies = {
      {"tcp", "set transport.resequencing, or raise transport.dupthresh"},
      {"{kind: tcp, loss: rack}", "set transport.resequencing"},
      {"{kind: tcp, resequencing: timeout}", "raise the timeouts of transport.resequencing"},
      {"{kind: dctcp, resequencing: juggler}", "raise the timeouts of transport.resequencing"},
      {"mptcp", "raise transport.dupthresh, or set transport.loss: rack"},
      {"{kind: mptcp, loss: rack}", "use a load balancer that keeps the order"},
      {"mmptcp", "raise transport.extra_dupacks"},
      {"rocev2", "set transport.resequencing, or transport.recovery: irn"},
      {"{kind: rocev2, recovery: irn}",
       "set transport.resequencing, or raise transport.nack_threshold"},
      {"{kind: rocev2, recovery: sr}", "set transport.resequencing, or transport.recovery: ddp"},
      {"{kind: rocev2, recovery: ddp}",
       "set transport.resequencing, or transport.ddp_loss: timeout"},
      {"{kind: rocev2, recovery: irn, resequencing: timeout}",
       "raise the timeouts of transport.resequencing"},
      {"uet", "raise transport.ack_bytes"},
      {"mprdma", "raise transport.rto"}};
  for (const auto& [transport, remedy] : remedies) {
    EXPECT_EQ(TransportFrom(transport).settings->RemedyForReordering(), remedy) << transport;
  }
}

TEST(TransportModelsTest, TellWhatTakesThePlaceOfWaiting) {
  const auto cargo = [](const std::string& transport) {
    return *TransportFrom(transport).settings->cargo_in_place_of_waiting();
  };
  EXPECT_EQ(cargo("mptcp").name, "their data's number");
  EXPECT_EQ(cargo("mptcp").remedy, "transport: tcp");
  EXPECT_EQ(cargo("{kind: uet, receiver: rccc}").name, "the credit that their sender would like");
  EXPECT_EQ(cargo("{kind: uet, receiver: rccc}").remedy, "transport.receiver: none");
}

// NDP's queues hold 15 packets (csg-htsim), here of 4096 bytes and 74 of headers.
TEST(TransportModelsTest, PresetsExpectTheSwitchesOfTheirSchemes) {
  const auto switches = [](const std::string& more) {
    return TransportFrom("{kind: uet" + more + "}").settings->expected_switches();
  };
  EXPECT_FALSE(switches(""));
  EXPECT_FALSE(switches(", preset: strack"));
  EXPECT_FALSE(switches(", receiver: rccc"));
  const auto eqds = switches(", preset: eqds");
  ASSERT_TRUE(eqds);
  EXPECT_EQ(eqds->preset, "eqds");
  EXPECT_FALSE(eqds->returns_headers);
  EXPECT_FALSE(eqds->queue);
  const auto ndp = switches(", preset: ndp");
  ASSERT_TRUE(ndp);
  EXPECT_EQ(ndp->preset, "ndp");
  EXPECT_TRUE(ndp->returns_headers);
  EXPECT_EQ(ndp->queue, Bytes{15 * 4'170});
}

// --- What auto stands for ---

TEST(AutoValuesTest, TcpHasNone) {
  EXPECT_THAT(AutoOf("tcp"), IsEmpty());
  EXPECT_THAT(AutoOf("dctcp"), IsEmpty());
  EXPECT_THAT(AutoOf("mptcp"), IsEmpty());
}

// As many extra duplicate ACKs as paths; 0 if there is one.
TEST(AutoValuesTest, MmptcpBearsAsManyDuplicatesAsThereArePaths) {
  for (const auto& [paths, extra] :
       {std::pair(1u, "0"), std::pair(2u, "2"), std::pair(16u, "16")}) {
    const FixedNetwork network = RoundNetwork({.host_rate = 100_Gbps}, paths);
    EXPECT_THAT(AutoOf("mmptcp", network), ElementsAre(Pair("largest_extra_dupacks", extra)));
    EXPECT_THAT(AutoOf("{kind: mmptcp, extra_dupacks: 5}", network), IsEmpty());
  }
}

TEST(AutoValuesTest, RocesPayloadIsThatOfItsFraming) {
  const auto mtu = [](const std::string& more) {
    return AutoOf("{kind: rocev2, cc: none, " + more + "}");
  };
  EXPECT_THAT(mtu("framing: rocev2"), ElementsAre(Pair("mtu", "1024")));
  EXPECT_THAT(mtu("framing: ns3_rdma"), ElementsAre(Pair("mtu", "1000")));
  EXPECT_THAT(mtu("framing: ip1500"), ElementsAre(Pair("mtu", "1460")));
  EXPECT_THAT(mtu("mtu: 4096"), IsEmpty());
}

// One product for each pair of hosts unless bdp_scope says that all have the largest.
TEST(AutoValuesTest, RocesWindowsFollowFromTheNetwork) {
  const auto values = [](const std::string& more) {
    return AutoOf("{kind: rocev2, mtu: 1000, cc: none, " + more + "}");
  };
  EXPECT_THAT(values("recovery: irn"), ElementsAre(Pair("largest_bdp", "100001B")));
  EXPECT_THAT(values("window: bdp, bdp_scope: max"), ElementsAre(Pair("bdp", "100001B")));
  EXPECT_THAT(values("recovery: irn, bdp: 7KB"), IsEmpty());
  EXPECT_THAT(values("recovery: gbn"), IsEmpty());
}

// Three of the longest round trips, at least 320 us.
TEST(AutoValuesTest, OutOfOrderPlacementTimesOutAfterThreeRoundTrips) {
  const auto values = [](Duration longest, const std::string& more) {
    return AutoOf("{kind: rocev2, mtu: 1000, cc: none, ddp_window: 9KB, " + more + "}",
                  RoundNetwork(longest));
  };
  EXPECT_THAT(values(200_us, "recovery: ddp"), ElementsAre(Pair("ddp_rto", "600us")));
  EXPECT_THAT(values(107_us, "recovery: ddp"), ElementsAre(Pair("ddp_rto", "321us")));
  EXPECT_THAT(values(106_us, "recovery: ddp"), ElementsAre(Pair("ddp_rto", "320us")));
  EXPECT_THAT(values(200_us, "recovery: ddp, ddp_rto: 1ms"), IsEmpty());
  EXPECT_THAT(values(200_us, "recovery: irn, bdp: 7KB"), IsEmpty());
}

TEST(AutoValuesTest, OutOfOrderPlacementHoldsTwoBandwidthDelayProducts) {
  const auto values = [](const std::string& more) {
    return AutoOf("{kind: rocev2, mtu: 1000, cc: none, ddp_rto: 1ms, " + more + "}");
  };
  EXPECT_THAT(values("recovery: ddp"), ElementsAre(Pair("ddp_window", "200002B")));
  EXPECT_THAT(values("recovery: ddp, ddp_window: 9KB"), IsEmpty());
}

// Paper: 1 Mbps for each Gbps of the line. NIC: a fifth of it, and the timers of ConnectX-4.
TEST(AutoValuesTest, DcqcnsValuesFollowFromItsVariantAndTheLine) {
  const auto values = [](const std::string& more, const std::string& line = "") {
    return AutoOf("{kind: rocev2, mtu: 1000, " + line + "cc: {kind: dcqcn" + more + "}}");
  };
  EXPECT_THAT(
      values(""),
      ElementsAre(Pair("cc.alpha_interval", "55us"), Pair("cc.increase_interval", "55us"),
                  Pair("cc.threshold", "5"), Pair("cc.rai", "100Mbps"), Pair("cc.rhai", "1Gbps"),
                  Pair("cc.min_rate", "100Mbps"), Pair("cc.cnp_interval", "50us")));
  EXPECT_THAT(
      values(", rp: nic", "line_rate: 25Gbps, "),
      ElementsAre(Pair("cc.alpha_interval", "1us"), Pair("cc.increase_interval", "300us"),
                  Pair("cc.threshold", "1"), Pair("cc.rai", "5Mbps"), Pair("cc.rhai", "50Mbps"),
                  Pair("cc.min_rate", "25Mbps"), Pair("cc.cnp_interval", "4us")));
  // Hyper increase follows from the additive one, and no least rate is above the line.
  EXPECT_THAT(values(", rai: 3Mbps, alpha_interval: 1us, increase_interval: 1us, threshold: 1, "
                     "cnp_interval: 1us, min_rate: 1Gbps"),
              ElementsAre(Pair("cc.rhai", "30Mbps")));
  EXPECT_THAT(values(", rai: 3Mbps, rhai: 4Mbps, alpha_interval: 1us, increase_interval: 1us, "
                     "threshold: 1, cnp_interval: 1us, min_rate: 1Gbps"),
              IsEmpty());
}

TEST(AutoValuesTest, TimelysRatesAreAThousandthOfTheLine) {
  const auto values = [](const std::string& more) {
    return AutoOf("{kind: rocev2, mtu: 1000, cc: {kind: timely" + more + "}}");
  };
  EXPECT_THAT(values(""), ElementsAre(Pair("cc.delta", "100Mbps"), Pair("cc.min_rate", "100Mbps")));
  EXPECT_THAT(values(", delta: 1Mbps"), ElementsAre(Pair("cc.min_rate", "100Mbps")));
  EXPECT_THAT(values(", min_rate: 1Mbps"), ElementsAre(Pair("cc.delta", "100Mbps")));
}

// Packets have 1250 bytes on the wire, 10,000 bits, so the line sends one in 100 ns: 260 in 26 us.
TEST(AutoValuesTest, SwiftsValuesFollowFromItsBaseDelay) {
  const auto values = [](const std::string& more) {
    return AutoOf("{kind: rocev2, mtu: 1168, cc: {kind: swift, base: 26us" + more + "}}");
  };
  EXPECT_THAT(values(""), ElementsAre(Pair("cc.per_hop", "4us"), Pair("cc.fs_range", "130us"),
                                      Pair("cc.initial_cwnd", "260")));
  EXPECT_THAT(values(", per_hop: 1us, fs_range: 1us, initial_cwnd: 3"), IsEmpty());
  EXPECT_THAT(AutoOf("{kind: rocev2, mtu: 1148, framing: rocev2, lb_header: 20B, line_rate: "
                     "50Gbps, cc: {kind: swift, base: 26us, per_hop: 1us, fs_range: 1us}}"),
              ElementsAre(Pair("cc.initial_cwnd", "130")));
}

// 100 Gbps times 200 us are 2,500,000 bytes; a hundredth of a quarter of them is 6250.
TEST(AutoValuesTest, HpccsValuesFollowFromTheLongestRoundTrip) {
  const auto values = [](const std::string& more) {
    return AutoOf("{kind: rocev2, mtu: 1000, cc: {kind: hpcc, eta: 0.75" + more + "}}");
  };
  EXPECT_THAT(values(""), ElementsAre(Pair("cc.base_rtt", "200us"), Pair("cc.w_ai", "6250B"),
                                      Pair("cc.min_rate", "100Mbps")));
  EXPECT_THAT(values(", rtt_scope: pair, min_rate: 1Gbps"),
              ElementsAre(Pair("cc.longest_base_rtt", "200us"), Pair("cc.w_ai", "6250B")));
  EXPECT_THAT(values(", base_rtt: 100us, min_rate: 1Gbps"), ElementsAre(Pair("cc.w_ai", "3125B")));
  EXPECT_THAT(values(", base_rtt: 125us, min_rate: 1Gbps, ai_rate: 800Mbps"),
              ElementsAre(Pair("cc.w_ai", "12500B")));
  EXPECT_THAT(values(", base_rtt: 100us, min_rate: 1Gbps, w_ai: 0B"), IsEmpty());
}

// The product of 100,001 bytes needs 98 packets of 1024 bytes, and 100 whole ones of 1000 do not
// hold it.
TEST(AutoValuesTest, MpRdmaBeginsWithAProductAndTimesOutAsPlacementDoes) {
  EXPECT_THAT(AutoOf("mprdma"), ElementsAre(Pair("mtu", "1024"), Pair("rto", "600us"),
                                            Pair("largest_first_window", "98")));
  EXPECT_THAT(AutoOf("{kind: mprdma, mtu: 1000}", RoundNetwork(107_us)),
              ElementsAre(Pair("rto", "321us"), Pair("largest_first_window", "101")));
  EXPECT_THAT(AutoOf("{kind: mprdma, mtu: 1000, rto: 1ms}", RoundNetwork(Bytes{100'000})),
              ElementsAre(Pair("largest_first_window", "100")));
  EXPECT_THAT(AutoOf("{kind: mprdma, first_window: 3}", RoundNetwork(106_us)),
              ElementsAre(Pair("mtu", "1024"), Pair("rto", "320us")));
  EXPECT_THAT(AutoOf("{kind: mprdma, mtu: 1000, rto: 1ms, first_window: 3}"), IsEmpty());
}

// Queues of 62.5 KB drain in 5 us at 100 Gbps, and 1.5 products of 2,500,000 bytes are the window.
TEST(AutoValuesTest, UltraEthernetsValuesFollowFromRoundTripAndQueues) {
  const FixedNetwork drops = RoundNetwork({.host_rate = 100_Gbps, .longest = Bytes{62'500}}, 1);
  EXPECT_THAT(AutoOf("uet", drops), ElementsAre(Pair("rto", "45us"), Pair("target", "200us"),
                                                Pair("window", "3750KB"), Pair("loss", "sleek")));
  const FixedNetwork trims =
      RoundNetwork({.host_rate = 100_Gbps, .longest = Bytes{62'500}, .trims = true}, 1);
  EXPECT_THAT(AutoOf("uet", trims), ElementsAre(Pair("rto", "45us"), Pair("target", "150us"),
                                                Pair("window", "3750KB"), Pair("loss", "timeout")));
  EXPECT_THAT(AutoOf("{kind: uet, cc: smartt, loss: sleek, rto: 1ms, window: 1MB}", trims),
              ElementsAre(Pair("target", "100us")));
  EXPECT_THAT(AutoOf("{kind: uet, loss: sleek, rto: 1ms, window: 1MB, target: 1us}"), IsEmpty());
}

// Beside credit alone there is no window. 64 quanta of 256 bytes take 1.3107 us at 100 Gbps, at
// 99 % of it 1.324 us. 3,750,000 bytes are 899.3 packets of 4170.
TEST(AutoValuesTest, CreditFollowsFromTheLineAndTheGreatestWindow) {
  const std::string common = "loss: sleek, rto: 1ms, target: 1us, receiver: rccc, ";
  const auto values = [&](const std::string& more, bool oversubscribed) {
    const FixedNetwork network =
        RoundNetwork({.host_rate = 100_Gbps, .oversubscribed = oversubscribed}, 1);
    return AutoOf("{kind: uet, " + common + more + "}", network);
  };
  const std::string interval = "1323959ps";  // 131072 bits / 99 Gbps, rounded down.
  EXPECT_THAT(values("cc: none", false),
              ElementsAre(Pair("rccc.fabric", "off"), Pair("rccc.interval", interval),
                          Pair("rccc.first_window", "900")));
  EXPECT_THAT(values("cc: none", true),
              ElementsAre(Pair("rccc.fabric", "on"), Pair("rccc.interval", interval),
                          Pair("rccc.first_window", "900")));
  EXPECT_THAT(values("cc: nscc, window: 1MB, rccc: {interval: 1us}", true),
              ElementsAre(Pair("rccc.fabric", "off"), Pair("rccc.first_window", "900")));
  EXPECT_THAT(values("cc: none, rccc: {fabric: on, first_window: 3, pull: 32}", true),
              ElementsAre(Pair("rccc.interval", "661979ps")));
  EXPECT_THAT(values("cc: none, rccc: {fabric: off, interval: 1us}", true),
              ElementsAre(Pair("rccc.first_window", "900")));
  // 1.5 times 100 Gbps for 1112 ns are 20,850 bytes, exactly 5 packets.
  EXPECT_THAT(AutoOf("{kind: uet, " + common + "cc: none, rccc: {fabric: off, interval: 1us}}",
                     RoundNetwork(1'112_ns)),
              ElementsAre(Pair("rccc.first_window", "5")));
}

// --- What they refuse ---

TEST(TransportErrorsTest, NameTheSettingAndSayWhatToDoInstead) {
  struct Refused {
    std::string transport;
    std::string place;
    std::string error;
  };
  const std::string own_ecn = "this congestion control brings its own ECN; leave it out";
  const std::vector<Refused> cases = {
      {"{kind: dctcp, cc: reno}", "cc", "kind: dctcp is short for {kind: tcp, cc: dctcp}"},
      {"{kind: dctcp, ecn: rfc3168}", "ecn", own_ecn},
      {"{kind: tcp, cc: dctcp, ecn: rfc3168}", "ecn", own_ecn},
      {"{kind: mptcp, cc: dctcp, ecn: rfc3168}", "ecn", own_ecn},
      {"{kind: mptcp, resequencing: timeout}", "resequencing", "mptcp has none"},
      {"{kind: mptcp, subflows: 1, setup: join}", "setup", "join needs several subflows"},
      {"{kind: mptcp, subflows: 1, scheduler: min_rtt}", "scheduler",
       "chooses among several subflows; leave it out with subflows: 1"},
      {"{kind: mmptcp, scheduler: redundant}", "scheduler",
       "redundant sends all data on every subflow"},
      {"{kind: mmptcp, resequencing: timeout}", "resequencing", "mptcp has none"},
      {"{kind: mprdma, resequencing: timeout}", "resequencing", "unknown"},
      {"{kind: uet, resequencing: timeout}", "resequencing", "unknown"}};
  for (const Refused& refused : cases) {
    const std::vector<std::string> errors = ErrorsOf(refused.transport);
    ASSERT_EQ(errors.size(), 1u) << refused.transport << testing::PrintToString(errors);
    EXPECT_THAT(errors[0], HasSubstr("chosen." + refused.place));
    EXPECT_THAT(errors[0], HasSubstr(refused.error)) << refused.transport;
  }
  for (const std::string kind : {"tcp", "dctcp", "mptcp", "mmptcp", "rocev2", "mprdma"}) {
    EXPECT_THAT(ErrorsOf("{kind: " + kind + ", receiver: rccc}"),
                ElementsAre(HasSubstr("kind: uet alone has credit from receivers")))
        << kind;
  }
}

TEST(TransportErrorsTest, NothingIsWrongJustWithinTheRules) {
  for (const std::string transport :
       {"{kind: mptcp, subflows: 2, setup: join}", "{kind: mptcp, subflows: 1}",
        "{kind: mptcp, subflows: 2, scheduler: min_rtt}", "{kind: mptcp, scheduler: redundant}",
        "{kind: mptcp, cc: reno, ecn: rfc3168}", "{kind: mmptcp, scheduler: min_rtt}",
        "{kind: mmptcp, subflows: 1, setup: join}", "{kind: tcp, cc: cubic, ecn: rfc3168}",
        "{kind: tcp, variant: htsim}", "{kind: dctcp, g: 1/32}"}) {
    EXPECT_THAT(ErrorsOf(transport), IsEmpty()) << transport;
  }
}

}  // namespace heddle::transport_models_test
