// SPDX-License-Identifier: Apache-2.0
// The benchmark's decision loop does what a run does, and it measures every load balancer.

#include "bench/decision/cost_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/decision/cost_cases.h"
#include "fabric/around_policy.h"
#include "tests/support/experiment_kit.h"

namespace heddle::cost_meter_test {

// --- Decisions in a run and in the loop ---

// The packet of one decision, and which of the candidates was chosen: ports have other numbers in a
// run, where those to hosts come first.
struct Note {
  RecordedPacket asked;
  int64_t chosen;
};

// Decides as the scheme, and writes down every decision.
class NotingPolicy final : public AroundSwitchPolicy {
 public:
  NotingPolicy(SwitchPolicyPtr scheme, std::vector<Note>* notes)
      : AroundSwitchPolicy(std::move(scheme)), notes_(notes) {}
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    const Decision decision = AroundSwitchPolicy::OnPacket(view, packet, in_port, candidates);
    const auto chosen = std::ranges::find(candidates.ports, decision.port);
    notes_->push_back({{view.now(), packet}, chosen - candidates.ports.begin()});
    return decision;
  }

 private:
  std::vector<Note>* const notes_;
};

// A registered load balancer, of which switch 0 takes notes.
class NotingBalancer final : public LoadBalancer {
 public:
  NotingBalancer(const std::string& scheme, std::vector<Note>* notes)
      : scheme_(PreparedBalancer(scheme, 4).value()), notes_(notes) {}
  void Declare(Fields& /*fields*/) override {}
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    auto policy = scheme_.settings->ForSwitch(id, seed);
    if (id != 0) return policy;
    return std::make_unique<NotingPolicy>(std::move(policy), notes_);
  }

 private:
  const Chosen<LoadBalancer> scheme_;
  std::vector<Note>* const notes_;
};

// The decisions that leaf 0 of a leaf-spine with four spines makes in a simulation.
std::vector<Note> DecisionsInARun(const std::string& scheme) {
  Experiment experiment = ExperimentFrom(
      "name: run\nseed: 1\n"
      "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 16,"
      " host_link: {rate: 25Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us}}\n"
      "lb: ecmp\nworkload: [{kind: poisson, sizes: websearch, load: 0.6, duration: 2ms}]\n"
      "measure: {warm_up: 0us, unfinished: drop, t_max: 2ms}\n");
  std::vector<Note> notes;
  experiment.settings.lb = {"noting", std::make_unique<NotingBalancer>(scheme, &notes)};
  const auto run = Simulate(experiment, {}, [](std::string_view) { return true; });
  EXPECT_TRUE(run.ok()) << run.status();
  return notes;
}

// The packets of these notes, between the hosts of the measured leaf.
std::vector<RecordedPacket> PacketsOf(const std::vector<Note>& notes) {
  std::vector<RecordedPacket> packets;
  for (const Note& note : notes) {
    packets.push_back(note.asked);
    packets.back().at = note.asked.at - (notes.front().asked.at - Time{});
    packets.back().packet.src = 0;
    packets.back().packet.dst = 1;
  }
  return packets;
}

std::vector<int64_t> ChoicesOf(const std::vector<Note>& notes) {
  std::vector<int64_t> choices;
  for (const Note& note : notes) choices.push_back(note.chosen);
  return choices;
}

// These four look at nothing but the packet, its number and their random stream, so idle queues and
// common times of a visit make no difference.
class CostMeterTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, CostMeterTest, testing::Values("ecmp", "wcmp", "rps", "rr_pkt"),
                         [](const auto& name) { return name.param; });

TEST_P(CostMeterTest, DecidesAsARunOnTheSamePackets) {
  const std::vector<Note> run = DecisionsInARun(GetParam());
  ASSERT_GT(run.size(), 1'000u);
  const std::vector<RecordedPacket> packets = PacketsOf(run);
  for (const CostPart part : {CostPart::kDecide, CostPart::kSwitch}) {
    std::vector<Note> loop;
    const NotingBalancer balancer(GetParam(), &loop);
    CostMeter(balancer, /*candidates=*/4, part, packets).Round();
    ASSERT_EQ(loop.size(), run.size());
    EXPECT_EQ(ChoicesOf(loop), ChoicesOf(run));
  }
  const std::vector<int64_t> choices = ChoicesOf(run);
  EXPECT_EQ(std::set<int64_t>(choices.begin(), choices.end()), (std::set<int64_t>{0, 1, 2, 3}));
}

TEST(CostMeterTest, AsksAboutEveryPacketOnceInARound) {
  std::vector<RecordedPacket> packets = WithLiveFlows(RecordLeaf(), 3'000, 100);
  std::vector<Note> notes;
  const NotingBalancer balancer("ecmp", &notes);
  CostMeter meter(balancer, 4, CostPart::kDecide, packets);
  size_t visited = 0;
  while (visited < packets.size()) {
    const size_t ahead = meter.packets_ahead();
    ASSERT_GT(ahead, 0u);
    // A visit is 4 us long.
    ASSERT_LT(packets[visited + ahead - 1].at, packets[visited].at + 4_us);
    EXPECT_GT(meter.Visit(), 0);
    visited += ahead;
    ASSERT_EQ(notes.size(), visited);
  }
  meter.Visit();
  meter.Round();  // The rest of the second round.
  ASSERT_EQ(notes.size(), 2 * packets.size());
  for (size_t i = 0; i < notes.size(); ++i) {
    ASSERT_EQ(notes[i].asked.packet.tuple_hash, packets[i % packets.size()].packet.tuple_hash);
    ASSERT_GE(notes[i].asked.at, notes[i > 0 ? i - 1 : 0].asked.at);
  }
}

// --- Which benchmarks there are ---

TEST(CostCasesTest, MeasureEveryLoadBalancerWhereverItActs) {
  std::map<std::string, std::multiset<CostPart>> parts;  // By load balancer.
  std::set<std::string> names;
  for (const CostCase& one : AllCostCases()) {
    parts[one.balancer].insert(one.part);
    EXPECT_TRUE(names.insert(one.Name()).second) << one.Name();
  }
  const size_t combinations = kCostCandidates.size() * kCostFlows.size();
  EXPECT_EQ(combinations, 12u);
  for (const std::string& name : LoadBalancers().Names()) {
    SCOPED_TRACE(name);
    const HostPolicyPtr at_host = PreparedBalancer(name, 4)->settings->ForHost(0, 1);
    const bool sends = (at_host.hooks() & HostPolicy::kSend) != 0;
    EXPECT_EQ(parts[name].count(CostPart::kDecide), combinations);
    EXPECT_EQ(parts[name].count(CostPart::kSwitch), combinations);
    EXPECT_EQ(parts[name].count(CostPart::kSend), sends ? combinations : 0);
    EXPECT_EQ(parts[name].count(CostPart::kHost), sends ? combinations : 0);
  }
  EXPECT_EQ(parts.size(), LoadBalancers().Names().size());
  EXPECT_TRUE(names.contains("decide/letflow/candidates:16/flows:100000"));
  EXPECT_TRUE(names.contains("host/presto/candidates:4/flows:1000"));
}

}  // namespace heddle::cost_meter_test
