// SPDX-License-Identifier: Apache-2.0
// The registry of congestion controls, how experiments choose from it, and what holds for each of
// them, also for those that are added after this was written.

#include "transport/congestion_controls.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/stress.h"

namespace heddle::congestion_controls_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

// --- Registering ---

struct ForBoth final : WindowControlModel, RateControlModel {
  struct Window final : WindowControl {
    bool OnAck(CongestionWindow&, const Acknowledgement&) const override { return false; }
  };
  void Declare(Fields&) override {}
  std::unique_ptr<const WindowControl> Prepare(const TcpSettings&) const override {
    return std::make_unique<Window>();
  }
  std::unique_ptr<const RateControl> Prepare() const override {
    return std::make_unique<RateControl>();
  }
};

TEST(CongestionControlRegistryTest, ServesEachTransportWithWhatIsMadeForIt) {
  const CongestionControlRegistry& all = CongestionControls();
  EXPECT_THAT(all.windows().Names(), IsSupersetOf({"dctcp", "reno"}));
  EXPECT_THAT(all.rates().Names(), IsSupersetOf({"dcqcn", "hpcc", "none", "swift", "timely"}));
  EXPECT_THAT(all.windows().Names(), Not(Contains("dcqcn")));
  EXPECT_THAT(all.rates().Names(), Not(Contains("dctcp")));
  EXPECT_THAT(all.subflows().Names(), IsSupersetOf({"dctcp", "lia", "olia", "reno"}));
  EXPECT_THAT(all.windows().Names(), Not(Contains("lia")));
  EXPECT_THAT(all.subflows().duplicates(), ElementsAre());
  EXPECT_THAT(all.windows().duplicates(), ElementsAre());
  EXPECT_THAT(all.rates().duplicates(), ElementsAre());
}

TEST(CongestionControlRegistryTest, ServesBothTransportsWithOneThatIsMadeForBoth) {
  CongestionControlRegistry registry;
  EXPECT_TRUE(registry.Add<ForBoth>({"both", "For both.", ""}));
  EXPECT_THAT(registry.windows().Names(), ElementsAre("both"));
  EXPECT_THAT(registry.rates().Names(), ElementsAre("both"));
  EXPECT_NE(registry.windows().Make("both").settings->Prepare(TcpSettings()), nullptr);
  EXPECT_NE(registry.rates().Make("both").settings->Prepare(), nullptr);
  EXPECT_FALSE(registry.Add<ForBoth>({"both", "Again.", ""}));
  EXPECT_THAT(registry.rates().duplicates(), ElementsAre("both"));
}

// --- Choosing ---

std::string WithTransport(const std::string& transport) {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 2}\nlb: ecmp\n"
         "workload: [{kind: permutation, size: 1KB}]\ntransport: " +
         transport + "\n";
}
std::string ErrorsWith(const std::string& transport) { return ErrorsOf(WithTransport(transport)); }

TEST(CongestionControlChoiceTest, SaysWhereOneOfTheOtherTransportBelongs) {
  const std::string tcp_cc = ErrorsWith("{kind: rocev2, cc: reno}");
  EXPECT_THAT(tcp_cc, HasSubstr(":4:31: transport.cc.kind: \"reno\" is a congestion control of "
                                "kind: tcp; kind: rocev2 takes one of: "));
  EXPECT_THAT(tcp_cc, HasSubstr("dcqcn, hpcc, none, swift, timely"));
  const std::string roce_cc = ErrorsWith("{kind: tcp, cc: {kind: dcqcn, rp: nic}}");
  EXPECT_THAT(roce_cc, HasSubstr(":4:35: transport.cc.kind: \"dcqcn\" is a congestion control of "
                                 "kind: rocev2; kind: tcp takes one of: "));
  EXPECT_THAT(roce_cc, HasSubstr("dctcp"));
}

TEST(CongestionControlChoiceTest, SaysWhatAMisspeltOneMayMean) {
  EXPECT_THAT(ErrorsWith("{kind: tcp, cc: dtcp}"),
              HasSubstr("no congestion control of tcp is called \"dtcp\"; did you mean \"dctcp\""));
  EXPECT_THAT(ErrorsWith("{kind: rocev2, cc: dqcn}"),
              HasSubstr("no congestion control is called \"dqcn\"; did you mean \"dcqcn\""));
}

TEST(CongestionControlChoiceTest, SaysWhatToWriteInsteadOfWhatIsNotThere) {
  EXPECT_THAT(
      ErrorsWith("{kind: dctcp, cc: reno}"),
      HasSubstr(":4:26: transport.cc: kind: dctcp is short for {kind: tcp, cc: dctcp}; write "
                "kind: tcp"));
  EXPECT_THAT(ErrorsWith("{kind: tcp, cc: dctcp, ecn: rfc3168}"),
              HasSubstr("transport.ecn: this congestion control brings its own ECN; leave it out"));
  EXPECT_THAT(ErrorsWith("{kind: tcp, cc: dctcp, g: 1/32}"), HasSubstr("transport.g: unknown key"));
  for (const char* kind : {"tcp", "mptcp", "mmptcp"}) {
    EXPECT_THAT(ErrorsWith(fmt::format(
                    "{{kind: {}, cc: {{kind: dctcp, variant: htsim}}, delack_count: 2}}", kind)),
                HasSubstr("transport.delack_count: variant: htsim has no delayed ACKs"));
  }
  EXPECT_THAT(ErrorsWith("{kind: tcp, cc: {kind: reno, variant: htsim}, ecn: rfc3168}"),
              HasSubstr("transport.ecn: variant: htsim of TCP has no ECN"));
  EXPECT_THAT(ErrorsWith("{kind: rocev2, cc: {kind: hpcc, w_ai: 80B, ai_rate: 1Gbps}}"),
              HasSubstr("transport.cc.ai_rate: w_ai says the same; leave one of them out"));
  EXPECT_EQ(ErrorsWith("{kind: tcp, cc: {kind: dctcp, g: 1/32}}"), "");
}

// Everything that a run says of its flows, with losses and marks.
std::string Trace(const std::string& transport) {
  Lab lab({.graph = Dumbbell(3, {10_Gbps, 1_us}, {10_Gbps, 3_us}),
           .transport = transport,
           .port = "{buffer: 40pkts, ecn_above: 10pkts}",
           .switch_policy = Scripted({DropAt(0, WithProbability(0.002, 1, AllData(1)))})});
  for (HostId h = 0; h < 3; ++h) lab.AddFlow(h, static_cast<HostId>(3 + h), 700'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  std::string trace;
  for (const FlowRecord& record : lab.records()) trace += Describe(record) + "\n";
  return trace;
}

TEST(CongestionControlChoiceTest, OfDctcpMayStandInTheKindOfTheTransport) {
  EXPECT_EQ(Trace("{kind: dctcp}"), Trace("{kind: tcp, cc: dctcp}"));
  EXPECT_EQ(Trace("{kind: dctcp, g: 1/4, recovery: newreno}"),
            Trace("{kind: tcp, recovery: newreno, cc: {kind: dctcp, g: 1/4}}"));
  EXPECT_NE(Trace("{kind: dctcp}"), Trace("{kind: dctcp, g: 1/4}"));
}

TEST(CongestionControlChoiceTest, OfRenoIsThatOfTcpWithoutOne) {
  EXPECT_EQ(Trace("{kind: tcp}"), Trace("{kind: tcp, cc: reno}"));
  EXPECT_EQ(Trace("{kind: tcp, ecn: rfc3168}"), Trace("{kind: tcp, cc: reno, ecn: rfc3168}"));
  EXPECT_NE(Trace("{kind: tcp}"), Trace("{kind: tcp, ecn: rfc3168}"));
}

// A sweep names an experiment by its written settings: they stay as they were if nobody chooses.
TEST(CongestionControlChoiceTest, IsWrittenOnlyWhereItIsMade) {
  const auto resolved = [](const std::string& transport) {
    return ExperimentFrom(WithTransport(transport)).Resolved();
  };
  const std::string tcp = resolved("{kind: tcp}");
  EXPECT_THAT(tcp, Not(HasSubstr("cc:")));
  EXPECT_THAT(tcp, HasSubstr("  control_priority: data\n  variant: rfc5681\n  ecn: \"off\"\n  "
                             "resequencing:\n"));
  const std::string dctcp = resolved("{kind: dctcp}");
  EXPECT_THAT(dctcp, Not(HasSubstr("cc:")));
  EXPECT_THAT(dctcp, HasSubstr("  control_priority: data\n  variant: rfc8257\n  g: 0.0625\n  "
                               "alpha0: 1\n  min_cwnd: 2\n  grow_in_cwr: false\n  "
                               "resequencing:\n"));
  const std::string chosen = resolved("{kind: tcp, cc: {kind: dctcp, g: 1/4}}");
  EXPECT_THAT(chosen, HasSubstr("  control_priority: data\n  cc:\n    kind: dctcp\n    variant: "
                                "rfc8257\n    g: 0.25\n"));
  EXPECT_THAT(chosen, Not(HasSubstr("ecn:")));
  for (const std::string& yaml : {tcp, dctcp, chosen}) {
    EXPECT_EQ(ExperimentFrom(yaml).Resolved(), yaml);
  }
}

// --- What holds for each ---

// Losses, delays, reordering and marks: every flow ends with all its bytes, and the counts agree.
TEST(EveryCongestionControlTest, EndsEveryFlowWithItsCountsInAgreement) {
  for (const std::string& name : CongestionControls().windows().Names()) {
    const auto transport = [&](Rng& rng) {
      std::string yaml = "{kind: tcp, min_rto: 200us, cc: " + name;
      yaml += OneOf(rng, {", recovery: sack", ", recovery: newreno"});
      const bool marks = ErrorsWith(yaml + ", ecn: rfc3168}").empty();
      return yaml + (marks && rng.Below(2) == 0 ? ", ecn: rfc3168}" : "}");
    };
    Stress(12, transport, [](const Packet& packet) {
      return packet.kind == PacketKind::kData && packet.Has(Packet::kEct);
    });
  }
  for (const std::string& name : CongestionControls().rates().Names()) {
    const auto transport = [&](Rng& rng) {
      return "{kind: rocev2, rto: 200us, cc: " + name +
             OneOf(rng, {", recovery: gbn}", ", recovery: irn}"});
    };
    Stress(12, transport, Anything(PacketKind::kData));
  }
}

// One that keeps something outside of its flows would not.
TEST(EveryCongestionControlTest, GivesTheSameResultsForAnyNumberOfThreads) {
  const auto expect_same = [](const std::string& transport) {
    SCOPED_TRACE(transport);
    const Experiment experiment = ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 3, asymmetry: "
        "[{spines: [0], delay: 3us}], port: {buffer: 60KB, ecn_above: 20KB}}\ntransport: " +
        transport +
        "\nlb: rps\nworkload: [{kind: poisson, sizes: small, load: 0.5, flows: 100}, {kind: "
        "incast, fan_in: 6, bytes_each: 40KB, queries: 2, period: 200us}]\n"
        "measure: {unfinished: inf}\n");
    EXPECT_EQ(RunExperiment(experiment, 3).files, RunExperiment(experiment, 1).files);
  };
  for (const std::string& name : CongestionControls().windows().Names()) {
    expect_same("{kind: tcp, min_rto: 500us, cc: " + name + "}");
  }
  for (const std::string& name : CongestionControls().rates().Names()) {
    expect_same("{kind: rocev2, recovery: irn, cc: " + name + "}");
  }
}

}  // namespace heddle::congestion_controls_test
