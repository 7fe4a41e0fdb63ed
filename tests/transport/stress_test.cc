// SPDX-License-Identifier: Apache-2.0
// Any settings, in a network that loses, delays, reorders and marks: every flow ends with all its
// bytes, and the counts agree.

#include <gtest/gtest.h>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle {
namespace {

template <size_t n>
std::string OneOf(Rng& rng, const char* const (&words)[n]) {
  return words[rng.Below(n)];
}

std::string RandomTransport(Rng& rng) {
  std::string yaml = OneOf(rng, {"{kind: dctcp", "{kind: tcp", "{kind: tcp, ecn: rfc3168"});
  yaml += OneOf(rng, {", recovery: sack", ", recovery: newreno"});
  yaml += OneOf(rng, {"", ", delack_count: 2", ", delack_count: 7, delack_timeout: 30us"});
  yaml += OneOf(rng, {"", ", setup: handshake", ", setup: persistent"});
  yaml += OneOf(rng, {"", ", framing: ip1500", ", timestamps: true", ", mtu: 9000"});
  yaml += OneOf(rng, {"", ", iw: 1", ", iw: 100", ", max_cwnd: 3", ", rwnd: 12"});
  yaml += OneOf(rng, {"", ", dupthresh: 1", ", dupthresh: inf", ", limited_transmit: false"});
  return yaml + ", min_rto: 200us}";
}

std::vector<Rule> RandomTrouble(Rng& rng, uint64_t seed) {
  const double p = 0.03 * rng.Uniform();
  const Match any = [](const Packet&) { return true; };
  const Match data = Anything(PacketKind::kData);
  return {DropAt(0, WithProbability(p, seed, any)),
          HoldAt(1, WithProbability(2 * p, seed + 1, any), Duration{rng.Below(100'000'000)}),
          HoldAt(1, WithProbability(2 * p, seed + 2, any), Duration{rng.Below(5'000'000)}),
          MarkAt(0, WithProbability(5 * p, seed + 3, [data](const Packet& packet) {
                   return data(packet) && packet.Has(Packet::kEct);
                 }))};
}

TEST(TcpStressTest, EndsEveryFlowWithItsCountsInAgreement) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Rng rng = Rng::Stream(seed, "stress", 0);
    const std::string transport = RandomTransport(rng);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << transport);
    Lab lab({.graph = Dumbbell(2, {10_Gbps, 1_us}, {4_Gbps, 3_us}),
             .transport = transport,
             .port = OneOf(rng, {"{buffer: 30pkts, ecn_above: 10pkts}", "{buffer: 100KB}"}),
             .switch_policy = Scripted(RandomTrouble(rng, 10 * seed)),
             .threads = 1 + static_cast<int>(rng.Below(2))});
    Time start;
    for (int i = 0; i < 12; ++i) {
      const HostId src = static_cast<HostId>(rng.Below(4));
      const HostId dst = static_cast<HostId>((src + 1 + rng.Below(3)) % 4);
      start += Duration{rng.Below(60'000'000)};
      lab.AddFlow(src, dst, 1 + rng.Below(rng.Below(3) == 0 ? 400'000 : 8'000), start);
    }
    lab.Run(Time{} + 60_s);
    ASSERT_TRUE(lab.finished());
    for (const FlowRecord& flow : lab.records()) {
      const SenderRecord& s = flow.sender;
      const ReceiverRecord& r = flow.receiver;
      EXPECT_EQ(s.packets_sent, s.packets + s.retransmissions);
      EXPECT_EQ(s.retransmissions, s.retransmissions_spurious + s.retransmissions_loss);
      EXPECT_LE(s.fast_retransmits_reorder, s.fast_retransmits);
      EXPECT_LE(r.packets, s.packets_sent);
      EXPECT_EQ(r.packets, s.packets + r.duplicates);
      EXPECT_LE(r.done, s.done);
      EXPECT_LE(r.ce_marked, r.packets);
    }
  }
}

}  // namespace
}  // namespace heddle
