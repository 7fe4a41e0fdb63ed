// SPDX-License-Identifier: Apache-2.0

#include "tests/support/stress.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/lab.h"

namespace heddle {
namespace {

std::vector<Rule> RandomTrouble(Rng& rng, uint64_t seed, const Match& markable) {
  const double p = 0.03 * rng.Uniform();
  return {DropAt(0, WithProbability(p, seed, Anything())),
          HoldAt(1, WithProbability(2 * p, seed + 1, Anything()), Duration{rng.Below(100'000'000)}),
          HoldAt(1, WithProbability(2 * p, seed + 2, Anything()), Duration{rng.Below(5'000'000)}),
          MarkAt(0, WithProbability(5 * p, seed + 3, markable))};
}

void CheckCounts(const FlowRecord& flow) {
  const SenderRecord& s = flow.sender;
  const ReceiverRecord& r = flow.receiver;
  EXPECT_EQ(s.packets_sent, s.packets + s.retransmissions);
  EXPECT_EQ(s.retransmissions, s.retransmissions_spurious + s.retransmissions_loss);
  EXPECT_LE(s.fast_retransmits_reorder, s.fast_retransmits);
  EXPECT_LE(r.packets, s.packets_sent);
  EXPECT_EQ(r.packets, s.packets + r.duplicates + r.discarded);
  EXPECT_LE(r.done, s.done);
  EXPECT_LE(r.ce_marked, r.packets);
}

}  // namespace

void Stress(uint64_t count, const std::function<std::string(Rng&)>& transport,
            const Match& markable) {
  for (uint64_t seed = 0; seed < count; ++seed) {
    Rng rng = Rng::Stream(seed, "stress", 0);
    const std::string settings = transport(rng);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << settings);
    Lab lab({.graph = Dumbbell(2, {10_Gbps, 1_us}, {4_Gbps, 3_us}),
             .transport = settings,
             .port = OneOf(rng, {"{buffer: 30pkts, ecn_above: 10pkts}", "{buffer: 100KB}"}),
             .switch_policy = Scripted(RandomTrouble(rng, 10 * seed, markable)),
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
    const bool goes_back = settings.find("recovery: gbn") != std::string::npos;
    for (const FlowRecord& flow : lab.records()) {
      CheckCounts(flow);
      EXPECT_TRUE(goes_back || flow.receiver.discarded == 0);
    }
  }
}

}  // namespace heddle
