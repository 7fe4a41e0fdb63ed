// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "fabric/flow.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::ecmp_test {

LbSwitch::Shape Uplinks(size_t n, SwitchId id = 0) {
  return {.uplinks = std::vector<BitRate>(n, 100_Gbps), .id = id};
}

TEST(EcmpTest, AFlowKeepsItsPathUntilItFails) {
  for (const char* settings : {"ecmp", "{kind: ecmp, resilient: true}"}) {
    LbSwitch leaf(settings, Uplinks(8));
    const Packet packet = LbPacket(0x1234567);
    const PortIndex port = leaf.PortFor(packet);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(leaf.PortFor(packet, Time{i * 1'000}), port);
    std::vector<PortIndex> live(leaf.uplinks().begin(), leaf.uplinks().end());
    std::erase(live, port);
    EXPECT_NE(leaf.PortFor(packet, Time{1'000'000}, live), port);
  }
}

TEST(EcmpTest, SpreadsManyFlowsEvenly) {
  for (const char* settings :
       {"ecmp", "{kind: ecmp, mapping: modulo}", "{kind: ecmp, hash: crc_init}",
        "{kind: ecmp, hash: same_salt}", "{kind: ecmp, resilient: true}"}) {
    SCOPED_TRACE(settings);
    LbSwitch leaf(settings, Uplinks(8));
    std::vector<int64_t> counts(8);
    for (const uint32_t tuple : RandomTuples(1, 100'000)) ++counts[leaf.PortFor(LbPacket(tuple))];
    EXPECT_LT(ChiSquare(counts, std::vector<double>(8, 1)), kChiSquare99[7]);
  }
}

TEST(EcmpTest, SpreadsEvenlyOverANumberOfPortsThatIsNoPowerOfTwo) {
  for (const char* settings : {"ecmp", "{kind: ecmp, mapping: modulo}"}) {
    LbSwitch leaf(settings, Uplinks(7));
    std::vector<int64_t> counts(7);
    for (const uint32_t tuple : RandomTuples(2, 50'000)) ++counts[leaf.PortFor(LbPacket(tuple))];
    EXPECT_LT(ChiSquare(counts, std::vector<double>(7, 1)), kChiSquare99[6]);
  }
}

TEST(EcmpTest, DataAndAcksTakeIndependentPaths) {
  LbSwitch leaf("ecmp");
  int same = 0;
  constexpr int kFlows = 10'000;
  for (int i = 0; i < kFlows; ++i) {
    const uint16_t sport = static_cast<uint16_t>(i);
    const Packet data = LbPacket(TupleHash(3, 77, sport, 80));
    const Packet ack = LbPacket(TupleHash(77, 3, 80, sport));
    same += leaf.PortFor(data) == leaf.PortFor(ack) ? 1 : 0;
  }
  EXPECT_NEAR(same, kFlows / 4, ThreeSigma(kFlows, 0.25));
}

TEST(EcmpTest, TheEntropyMovesAFlow) {
  for (const char* settings : {"ecmp", "{kind: ecmp, hash: crc_init}"}) {
    LbSwitch leaf(settings);
    std::vector<int64_t> counts(4);
    Packet packet = LbPacket(99);
    for (uint16_t entropy = 0; entropy < 10'000; ++entropy) {
      packet.entropy = entropy;
      ++counts[leaf.PortFor(packet)];
    }
    for (const int64_t count : counts) EXPECT_GT(count, 2'000);
  }
}

TEST(EcmpTest, NothingButTupleAndEntropyChooses) {
  LbSwitch leaf("ecmp", Uplinks(64));
  Packet packet = LbPacket(99);
  const PortIndex port = leaf.PortFor(packet);
  packet.seq = 5;
  packet.data.tx_id = 6;
  packet.bytes = 64;
  packet.path = 3;
  packet.Set(Packet::kRetransmission);
  EXPECT_EQ(leaf.PortFor(packet), port);
}

// Flows pass two tiers of four uplinks each. Returns how they spread at the upper switch that
// uplink `via` of the lower one leads to.
std::vector<int64_t> SpreadBehind(PortIndex via, const std::string& settings) {
  LbSwitch lower(settings, Uplinks(4, /*id=*/0));
  LbSwitch upper(settings, Uplinks(4, static_cast<SwitchId>(10 + via)));
  std::vector<int64_t> counts(4);
  for (const uint32_t tuple : RandomTuples(3, 20'000)) {
    if (lower.PortFor(LbPacket(tuple)) == via) ++counts[upper.PortFor(LbPacket(tuple))];
  }
  return counts;
}

TEST(EcmpTest, OneSaltForAllOrALinearHashPolarisesTheSecondTier) {
  for (const char* hash : {"same_salt", "crc_init"}) {
    for (const char* mapping : {"range", "modulo"}) {
      SCOPED_TRACE(hash);
      const std::string settings =
          std::string("{kind: ecmp, hash: ") + hash + ", mapping: " + mapping + "}";
      for (PortIndex via = 0; via < 4; ++via) EXPECT_EQ(Used(SpreadBehind(via, settings)), 1);
    }
  }
}

TEST(EcmpTest, TheGoodHashSpreadsFlowsAtTheSecondTierToo) {
  for (const char* mapping : {"range", "modulo"}) {
    const std::string settings = std::string("{kind: ecmp, mapping: ") + mapping + "}";
    double sum = 0;
    for (PortIndex via = 0; via < 4; ++via) {
      sum += ChiSquare(SpreadBehind(via, settings), std::vector<double>(4, 1));
    }
    EXPECT_LT(sum, 26.22);  // 99% of 4 x 3 degrees.
  }
}

TEST(EcmpTest, SwitchesAndSeedsChooseDifferently) {
  LbSwitch one("ecmp", {.id = 0, .seed = 1});
  LbSwitch other_switch("ecmp", {.id = 1, .seed = 1});
  LbSwitch other_seed("ecmp", {.id = 0, .seed = 2});
  int agree_switch = 0;
  int agree_seed = 0;
  for (const uint32_t tuple : RandomTuples(4, 10'000)) {
    agree_switch += one.PortFor(LbPacket(tuple)) == other_switch.PortFor(LbPacket(tuple)) ? 1 : 0;
    agree_seed += one.PortFor(LbPacket(tuple)) == other_seed.PortFor(LbPacket(tuple)) ? 1 : 0;
  }
  EXPECT_NEAR(agree_switch, 2'500, ThreeSigma(10'000, 0.25));
  EXPECT_NEAR(agree_seed, 2'500, ThreeSigma(10'000, 0.25));
}

// Returns the port of each of many flows.
std::vector<PortIndex> PortsOf(LbSwitch& leaf, const std::vector<PortIndex>& live) {
  std::vector<PortIndex> ports;
  for (const uint32_t tuple : RandomTuples(5, 20'000)) {
    ports.push_back(leaf.PortFor(LbPacket(tuple), Time{}, live));
  }
  return ports;
}

double ShareMoved(const std::string& settings, const std::vector<PortIndex>& live) {
  LbSwitch leaf(settings, Uplinks(8));
  const auto before = PortsOf(leaf, {leaf.uplinks().begin(), leaf.uplinks().end()});
  const auto after = PortsOf(leaf, live);
  double moved = 0;
  for (size_t i = 0; i < before.size(); ++i) moved += before[i] != after[i] ? 1 : 0;
  return moved / static_cast<double>(before.size());
}

TEST(EcmpTest, AFailureMovesManyFlowsUnlessResilient) {
  const std::vector<PortIndex> live{0, 1, 2, 4, 5, 6, 7};
  EXPECT_NEAR(ShareMoved("{kind: ecmp, mapping: modulo}", live), 7.0 / 8, 0.02);
  // Each share of 1/8 becomes one of 1/7, and the two that meet at the gap move apart from it.
  EXPECT_NEAR(ShareMoved("{kind: ecmp, mapping: range}", live), 2.0 / 7, 0.02);
  EXPECT_NEAR(ShareMoved("{kind: ecmp, resilient: true}", live), 1.0 / 8, 0.02);
}

TEST(EcmpTest, WhenResilientAFailureMovesOnlyFlowsOfTheFailedPortsAndEvenly) {
  const std::vector<std::vector<PortIndex>> failures{
      {3}, {0, 4}, {0, 2, 4}, {1, 3, 5, 7}, {0, 1, 2, 3, 4, 5}};
  for (const std::vector<PortIndex>& failed : failures) {
    LbSwitch leaf("{kind: ecmp, resilient: true}", Uplinks(8));
    std::vector<PortIndex> live(leaf.uplinks().begin(), leaf.uplinks().end());
    const auto before = PortsOf(leaf, live);
    std::erase_if(live, [&](PortIndex p) { return std::ranges::find(failed, p) != failed.end(); });
    const auto after = PortsOf(leaf, live);
    std::vector<double> counts(8);
    for (size_t i = 0; i < before.size(); ++i) {
      const bool had_failed = std::ranges::find(failed, before[i]) != failed.end();
      if (!had_failed) {
        ASSERT_EQ(after[i], before[i]);
      }
      ++counts[after[i]];
    }
    const double fair = 20'000.0 / static_cast<double>(live.size());
    for (const PortIndex port : live) EXPECT_NEAR(counts[port], fair, 0.08 * fair);
  }
}

// A set of candidates that is new after a failure further on: a switch begins with it, or has used
// another set before. The flows of other ports are where they would be without the failure.
TEST(EcmpTest, WhenResilientANewSetOfUplinksKeepsTheFlowsOfItsPorts) {
  LbSwitch before("{kind: ecmp, resilient: true}", Uplinks(8));
  const auto all = PortsOf(before, {before.uplinks().begin(), before.uplinks().end()});
  for (const PortIndex failed : {PortIndex{0}, PortIndex{3}}) {
    LbSwitch leaf("{kind: ecmp, resilient: true}", Uplinks(8));
    std::vector<PortIndex> live(leaf.uplinks().begin(), leaf.uplinks().end());
    std::erase(live, failed);
    const auto ports = PortsOf(leaf, live);
    std::vector<double> counts(8);
    for (size_t i = 0; i < all.size(); ++i) {
      ++counts[ports[i]];
      if (all[i] == failed) continue;
      ASSERT_EQ(ports[i], all[i]);
    }
    const double fair = 20'000.0 / static_cast<double>(live.size());
    for (const PortIndex port : live) EXPECT_NEAR(counts[port], fair, 0.08 * fair);
  }
}

TEST(EcmpTest, WhenResilientAPortThatComesBackGetsItsFlowsBack) {
  LbSwitch leaf("{kind: ecmp, resilient: true}", Uplinks(8));
  const std::vector<PortIndex> all(leaf.uplinks().begin(), leaf.uplinks().end());
  const auto before = PortsOf(leaf, all);
  PortsOf(leaf, {0, 1, 2, 4, 5, 6, 7});
  PortsOf(leaf, {0, 1, 2, 4, 5, 7});
  EXPECT_EQ(PortsOf(leaf, all), before);
}

// The policy that a switch would call if it did not know that this is ECMP.
class EcmpByCalls final : public SwitchPolicy {
 public:
  explicit EcmpByCalls(uint64_t salt) : salt_(salt) {}
  Decision OnPacket(SwitchView&, const Packet& packet, PortIndex,
                    const Candidates& candidates) override {
    return Decision::Forward(EcmpPort(packet, salt_, candidates.ports));
  }
  size_t StateBytes() const override { return 0; }

 private:
  const uint64_t salt_;
};

// Returns the record of each flow, and the counts of each switch.
std::vector<std::vector<int64_t>> FatTreeWithAFailure(
    std::function<SwitchPolicyPtr(SwitchId)> policy) {
  const Graph graph = GraphFrom("{kind: fat_tree, k: 4}");
  const uint32_t core = static_cast<uint32_t>(graph.links.size()) - 1;
  Lab lab({.graph = graph,
           .transport = "{kind: dctcp, min_rto: 1ms}",
           .port = "{buffer: 40KB, ecn_above: 20KB}",
           .switch_policy = std::move(policy),
           .events = {{.at = Time{} + 200_us, .link = core, .up = false, .rate = {}, .delay = {}},
                      {.at = Time{} + 600_us, .link = core, .up = true, .rate = {}, .delay = {}}}});
  Rng rng = Rng::Stream(1, "flows", 0);
  for (int i = 0; i < 200; ++i) {
    const HostId src = static_cast<HostId>(rng.Below(16));
    const HostId dst = static_cast<HostId>((src + 1 + rng.Below(15)) % 16);
    lab.AddFlow(src, dst, 1 + rng.Below(200'000), Time{} + i * 4_us);
  }
  lab.Run();
  std::vector<std::vector<int64_t>> seen;
  for (const FlowRecord& flow : lab.records()) {
    seen.push_back({flow.receiver.done.ps, flow.receiver.packets, flow.receiver.ce_marked,
                    flow.receiver.paths_used, flow.sender.retransmissions});
  }
  for (const auto& s : lab.network().switches()) {
    seen.push_back({s->asked(), s->drops(DropReason::kTail), s->drops(DropReason::kLinkDown),
                    s->drops(DropReason::kNoRoute)});
  }
  return seen;
}

TEST(EcmpTest, SwitchesThatChooseThemselvesChooseAsThePolicyDoes) {
  const auto by_switch = FatTreeWithAFailure(nullptr);
  const auto by_calls = FatTreeWithAFailure([](SwitchId id) -> SwitchPolicyPtr {
    return std::make_unique<EcmpByCalls>(EcmpSalt(id, 1));
  });
  EXPECT_EQ(by_switch, by_calls);
}

// Other hashes and mappings are not the switch's own.
TEST(EcmpTest, OnlyPlainEcmpIsLeftToTheSwitch) {
  const auto is_left = [](const std::string& settings) {
    return BalancerFrom(settings).settings->ForSwitch(0, 1)->ecmp_salt().has_value();
  };
  EXPECT_TRUE(is_left("ecmp"));
  EXPECT_TRUE(is_left("{kind: ecmp, hash: same_salt}"));
  EXPECT_FALSE(is_left("{kind: ecmp, hash: crc_init}"));
  EXPECT_FALSE(is_left("{kind: ecmp, mapping: modulo}"));
  EXPECT_FALSE(is_left("{kind: ecmp, resilient: true}"));
}

}  // namespace heddle::ecmp_test
