// SPDX-License-Identifier: Apache-2.0
// One of eight uplinks of a leaf goes silent: it swallows packets, and nobody is told. Each load
// balancer at the hosts loses the share of packets, or of flows, that its rule lets it lose.
//
// Eight hosts on each of two leaves, 100 Gbps everywhere, with trimming switches and a constant
// window, so that the load balancer alone decides.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/lab.h"

namespace heddle::silent_uplink_test {

constexpr int kSpines = 8;
constexpr HostId kHosts = 8;
constexpr Time kSilent = Time{} + 200_us;  // From here on the uplink is silent.

const std::string kTransport =
    "{kind: uet, framing: uet_htsim, ack_bytes: 1B, cc: constant, window: 116200B}";
// 15 us and six queues of a bandwidth-delay product, 120,350 bytes, at 100 Gbps.
constexpr Duration kRto = 72'768'000_ps;

Graph Fabric() {
  return LeafSpineFrom(
      "{leaves: 2, spines: 8, hosts_per_leaf: 8, host_link: {rate: 100Gbps, delay: 1us}, "
      "fabric_link: {rate: 100Gbps, delay: 1us}}");
}

Lab::Plan PlanOf(const std::string& balancer) {
  Graph graph = Fabric();
  LinkEvent silent{.at = kSilent, .link = 0, .up = false, .rate = {}, .delay = {}};
  while (graph.links[silent.link].name != "leaf0-spine3") ++silent.link;
  silent.direction = LinkChange::Direction::kUp;
  silent.silent = true;
  return {.graph = std::move(graph),
          .transport = kTransport,
          .balancer = balancer,
          .port = "{buffer: unlimited, ecn_above: unlimited, trim: {when: port}}",
          .events = {silent}};
}

// Packets lost and sent since the beginning, at multiples of 100 us.
class Losses {
 public:
  // Each host of leaf 0 sends to one of leaf 1, for ever.
  Losses(const std::string& balancer, Duration length) {
    Lab lab(PlanOf(balancer));
    for (HostId h = 0; h < kHosts; ++h) lab.AddFlow(h, static_cast<HostId>(kHosts + h), 1 << 30);
    lab.SampleEvery(kStep, [&](Time now) { Note(lab, now); });
    lab.Run(Time{} + length);
  }

  int64_t Lost(Duration from, Duration to) const { return At(to).lost - At(from).lost; }
  int64_t Sent(Duration from, Duration to) const { return At(to).sent - At(from).sent; }
  double Share(Duration from, Duration to) const {
    return static_cast<double>(Lost(from, to)) / static_cast<double>(Sent(from, to));
  }

 private:
  static constexpr Duration kStep = 100_us;
  struct Sample {
    int64_t lost;
    int64_t sent;
  };

  void Note(Lab& lab, Time now) {
    const PacketCounts counts = lab.Packets();
    samples_[now.ps] = {counts.dropped[static_cast<size_t>(DropReason::kLinkDown)],
                        counts.data_sent};
  }
  // The sample so long after the failure.
  const Sample& At(Duration since) const { return samples_.at((kSilent + since).ps); }

  std::map<int64_t, Sample> samples_;
};

// What is lost in a short time varies, as entropies share uplinks by chance: of 8 flows and 1,024
// entropies, a standard deviation is 0.4 % of all packets.
TEST(SilentUplinkTest, SprayingWithoutFeedbackLosesItsShareForEver) {
  for (const char* balancer : {"rps", "{kind: oblivious, paths: 1024}"}) {
    SCOPED_TRACE(balancer);
    const Losses losses(balancer, 4_ms);
    EXPECT_EQ(losses.Lost(Duration{0} - 100_us, 0_us), 0);
    EXPECT_NEAR(losses.Share(0_us, 1'800_us), 1.0 / kSpines, 0.015);
    EXPECT_NEAR(losses.Share(1'800_us, 3'600_us), 1.0 / kSpines, 0.015);
  }
}

// An entropy whose packet timed out is passed over 15 times, and tried once in 16 rounds. A round
// of 1,024 entropies takes longer than the timeout, so that each entropy is judged before its next
// turn.
TEST(SilentUplinkTest, PenaltiesLeaveASixteenthOfTheLosses) {
  const Losses losses("{kind: bitmap, paths: 1024}", 14_ms);
  EXPECT_NEAR(losses.Share(0_us, 200_us), 1.0 / kSpines, 0.015);
  const double share = losses.Share(1_ms, 13'600_us);
  const double tries = 1.0 / kSpines / 16;
  EXPECT_NEAR(share, tries / (1 - 1.0 / kSpines + tries), 0.004);
}

// Connections freeze after a timeout: for 10 ms they use entropies that came back since. Then a few
// packets explore, and so on.
TEST(SilentUplinkTest, RepsLosesNothingWhileItIsFrozen) {
  const Losses losses("reps", 12_ms);
  EXPECT_GT(losses.Lost(0_us, 200_us), 0);
  EXPECT_EQ(losses.Lost(200_us, 10_ms), 0);
  EXPECT_GT(losses.Lost(10_ms, 10'300_us), 0);
  EXPECT_LT(losses.Lost(10_ms, 10'300_us), losses.Lost(0_us, 200_us) + kHosts * 16);
  EXPECT_EQ(losses.Lost(10'400_us, 11'700_us), 0);
  EXPECT_LE(2 * kRto, 200_us);
}

// Flows that never meet: each host sends 64, one each 20 us, all begun after the failure.
std::vector<FlowRecord> ShortFlows(const std::string& balancer, size_t& unfinished) {
  Lab lab(PlanOf(balancer));
  constexpr int kRounds = 64;
  for (int round = 0; round < kRounds; ++round) {
    for (HostId h = 0; h < kHosts; ++h) {
      const HostId to = static_cast<HostId>(kHosts + (h + round) % kHosts);
      lab.AddFlow(h, to, 100'000, kSilent + 1_us + 20_us * round);
    }
  }
  lab.Run(Time{} + 20_ms);
  unfinished = 0;
  for (const FlowRecord& record : lab.records()) unfinished += record.sender.done == kNever ? 1 : 0;
  return lab.records();
}

// A share of 512 flows, and four standard deviations of it.
constexpr double kFlows = 512;
double Deviations(double share) { return 4 * std::sqrt(kFlows * share * (1 - share)); }

TEST(SilentUplinkTest, OneInEightFlowsOfEcmpNeverEnds) {
  size_t unfinished = 0;
  const std::vector<FlowRecord> records = ShortFlows("ecmp", unfinished);
  EXPECT_NEAR(static_cast<double>(unfinished), kFlows / kSpines, Deviations(1.0 / kSpines));
  for (const FlowRecord& record : records) {
    if (record.sender.done == kNever) {
      EXPECT_EQ(record.receiver.done, kNever);
    } else {
      EXPECT_EQ(record.sender.timeouts, 0);
    }
  }
}

// The same share of flows has a timeout, moves, and escapes.
TEST(SilentUplinkTest, PlbMovesAtTheTimeout) {
  size_t unfinished = 0;
  const std::vector<FlowRecord> records = ShortFlows("{kind: plb, suspend: 10ms}", unfinished);
  EXPECT_EQ(unfinished, 0u);
  double moved = 0;
  for (const FlowRecord& record : records) {
    if (record.sender.timeouts == 0) continue;
    ++moved;
    EXPECT_GT(FctTx(record), kRto);
  }
  EXPECT_NEAR(moved, kFlows / kSpines, Deviations(1.0 / kSpines));
}

}  // namespace heddle::silent_uplink_test
