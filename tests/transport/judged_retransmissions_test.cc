// SPDX-License-Identifier: Apache-2.0
// Senders judge from the notices of drops if each retransmission was needed. The tests compare them
// with an oracle that sees every packet sent and every packet dropped, for all kinds of recovery of
// TCP, RoCE and MP-RDMA, in networks that lose data, ACKs and NACKs, and delay data until it is
// overtaken.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::judged_retransmissions_test {

struct Trouble {
  double data_lost;     // Probability at switch 1.
  double answers_lost;  // Probability at switch 0.
  double delayed;       // Probability at switch 2.
  Duration delay;       // The delay of a delayed packet.
};

class Oracle {
 public:
  std::vector<Rule> Rules(const Trouble& trouble, uint64_t seed) {
    const Match some = WithProbability(trouble.data_lost, seed, AllData(0));
    const Match lost = [this, some](const Packet& p) {
      if (!some(p)) return false;
      drops_[p.data.tx_id] = now_;
      return true;
    };
    const Match answer = [](const Packet& p) { return p.kind != PacketKind::kData; };
    return {
        WatchAt(0, AllData(0), [this](const SwitchView&, const Packet& p) { OnSent(p); }),
        WatchAt(1, AllData(0), [this](const SwitchView& at, const Packet&) { now_ = at.now(); }),
        DropAt(1, lost), DropAt(0, WithProbability(trouble.answers_lost, seed, answer)),
        HoldAt(2, WithProbability(trouble.delayed, seed + 100, AllData(0)), trouble.delay)};
  }

  // The first copies reach switch 1 late, and are lost there.
  std::vector<Rule> RulesOfLateLosses(Duration delay) {
    const Match first = [](const Packet& p) {
      return p.kind == PacketKind::kData && !p.Has(Packet::kRetransmission);
    };
    std::vector<Rule> rules = Rules({1, 0, 0, 1_us}, 1);
    rules[2].match = [first, drop = rules[2].match](const Packet& p) {
      return first(p) && drop(p);
    };
    rules[4] = HoldAt(0, first, delay);
    return rules;
  }

  int64_t loss = 0;
  int64_t spurious = 0;
  int64_t drops() const { return static_cast<int64_t>(drops_.size()); }

 private:
  void OnSent(const Packet& p) {
    if (const auto copy = latest_.find(p.seq); copy != latest_.end()) {
      EXPECT_TRUE(p.Has(Packet::kRetransmission));
      const auto drop = drops_.find(copy->second);
      ++(drop != drops_.end() && drop->second < p.sent ? loss : spurious);
    }
    latest_[p.seq] = p.data.tx_id;
  }

  Time now_;
  std::map<uint32_t, uint32_t> latest_;  // The latest transmission, by segment or packet.
  std::map<uint32_t, Time> drops_;       // By transmission number.
};

struct Case {
  Channel link;
  std::string transport;
  Trouble trouble;
  bool discards = false;  // The receiver discards packets out of order.
};

void ExpectJudgedAsByAnOracle(const Case& c) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << c.transport << ", seed " << seed);
    Oracle oracle;
    Lab lab({.graph = Line(4, c.link),
             .transport = c.transport,
             .switch_policy = Scripted(oracle.Rules(c.trouble, seed))});
    lab.AddFlow(0, 1, 1'000'000);
    lab.Run();
    ASSERT_TRUE(lab.finished());
    const SenderRecord& sender = lab.Record(0).sender;
    const ReceiverRecord& receiver = lab.Record(0).receiver;
    EXPECT_EQ(sender.retransmissions_loss, oracle.loss);
    EXPECT_EQ(sender.retransmissions_spurious, oracle.spurious);
    EXPECT_EQ(sender.retransmissions, oracle.loss + oracle.spurious);
    EXPECT_EQ(sender.packets_sent, sender.packets + sender.retransmissions);
    EXPECT_EQ(receiver.packets, sender.packets_sent - oracle.drops());
    EXPECT_EQ(receiver.packets, sender.packets + receiver.duplicates + receiver.discarded);
    EXPECT_TRUE(c.discards || receiver.discarded == 0);
  }
}

// Packets are sent again while their first copies are lost a few links away, a bit before or after:
// the sender hears of the losses only later, and judges none before.
TEST(JudgedRetransmissionsTest, AreNotJudgedBeforeTheSenderHearsOfTheDrop) {
  // 100 packets. RoCE's timeout counts from the last one, that of Ultra Ethernet from each.
  const std::string roce = "{kind: rocev2, framing: ns3_rdma, cc: none, ";
  for (const auto& [transport, size, resent] :
       {std::tuple(roce + "rto: 100us}", 100'000, 90_us),
        std::tuple(roce + "recovery: irn, bdp: 1MB, rto_high: 100us}", 100'000, 90_us),
        std::tuple(
            std::string("{kind: uet, framing: uet_htsim, rto: 100us, loss: timeout, cc: constant, "
                        "window: 1MB}"),
            408'600, 81_us)}) {
    int64_t most_lost = 0;
    int64_t most_spurious = 0;
    for (Duration delay = resent - 6_us; delay < resent; delay += 300_ns) {
      SCOPED_TRACE(testing::Message() << transport << ", " << delay.ps);
      Oracle oracle;
      Lab lab({.graph = Line(4, {100_Gbps, 10_us}),
               .transport = transport,
               .switch_policy = Scripted(oracle.RulesOfLateLosses(delay))});
      lab.AddFlow(0, 1, size);
      lab.Run();
      ASSERT_TRUE(lab.finished());
      EXPECT_EQ(lab.Record(0).sender.retransmissions_loss, oracle.loss);
      EXPECT_EQ(lab.Record(0).sender.retransmissions_spurious, oracle.spurious);
      most_lost = std::max(most_lost, oracle.loss);
      most_spurious = std::max(most_spurious, oracle.spurious);
    }
    EXPECT_GT(most_lost, 80) << transport;
    EXPECT_GT(most_spurious, 80) << transport;
  }
}

TEST(JudgedRetransmissionsTest, AreThoseOfAnOracleForTcp) {
  for (const std::string recovery : {"sack", "newreno"}) {
    ExpectJudgedAsByAnOracle({.link = {10_Gbps, 1_us},
                              .transport = "{kind: tcp, min_rto: 1ms, recovery: " + recovery + "}",
                              .trouble = {0.01, 0.02, 0.01, 6_us}});
  }
}

TEST(JudgedRetransmissionsTest, AreThoseOfAnOracleForRoce) {
  for (const std::string recovery :
       {"gbn", "gbn, nack: timer", "irn", "irn, nack_threshold: 3", "sr", "sr, nack: timer"}) {
    ExpectJudgedAsByAnOracle(
        {.link = {100_Gbps, 1_us},
         .transport =
             "{kind: rocev2, framing: ns3_rdma, cc: none, rto: 200us, recovery: " + recovery + "}",
         .trouble = {0.005, 0.01, 0.005, 2_us},
         .discards = recovery.starts_with("gbn")});
  }
}

TEST(JudgedRetransmissionsTest, AreThoseOfAnOracleForMpRdma) {
  for (const std::string more : {"", ", beyond: nack", ", message: 50KB"}) {
    ExpectJudgedAsByAnOracle(
        {.link = {100_Gbps, 1_us},
         .transport = "{kind: mprdma, framing: ns3_rdma, rto: 200us" + more + "}",
         .trouble = {0.005, 0.01, 0.005, 2_us},
         .discards = true});
  }
}

}  // namespace heddle::judged_retransmissions_test
