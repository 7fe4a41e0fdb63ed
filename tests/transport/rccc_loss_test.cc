// SPDX-License-Identifier: Apache-2.0
// Receiver-driven congestion control (RCCC) where pulls, data or a link are lost.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "core/random.h"
#include "tests/support/lab.h"
#include "tests/support/rccc_kit.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/stress.h"

namespace heddle::rccc_loss_test {

using rccc::kBoth;
using rccc::kCreditAlone;
using rccc::kDeep;
using rccc::kLink;
using rccc::kTrims;
using rccc::TimeWithLostPulls;

// --- Losses ---

// Every fifth pull is lost: the next one makes up for it, so the flow is hardly later.
TEST(RcccTest, LostPullsAreMadeUpForByTheNext) {
  const auto fct = [](double loss) { return TimeWithLostPulls(kCreditAlone, kTrims, loss); };
  EXPECT_LE(fct(0.2), 1.02 * fct(0));
}

// All pulls are lost for a while, but ACKs arrive: when nothing is in flight the sender asks again,
// a timeout later, and no data is sent twice.
TEST(RcccTest, ASenderWhosePullsAreAllLostAsksForThem) {
  for (const std::string& transport : {kCreditAlone, kBoth}) {
    int64_t requests = 0;
    Lab lab({.graph = Star(2, kLink),
             .transport = transport,
             .port = kTrims,
             .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kSyn),
                                                [&](const SwitchView&, const Packet& packet) {
                                                  EXPECT_TRUE(packet.Has(Packet::kCwr));
                                                  ++requests;
                                                }),
                                        DropAt(0, Anything(PacketKind::kCnp)).Skip(5).Times(60)})});
    lab.AddFlow(0, 1, 4'000'000);
    lab.Run(Time{} + 100_ms);
    ASSERT_TRUE(lab.finished());
    EXPECT_GT(requests, 0);
    EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
    EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
  }
}

// The link is dead for a while: timeouts and requests to send bring credit back.
TEST(RcccTest, AFlowSurvivesADeadLink) {
  const LinkEvent down{.at = Time{} + 30_us, .link = 1, .up = false, .rate = {}, .delay = {}};
  const LinkEvent up{.at = Time{} + 700_us, .link = 1, .up = true, .rate = {}, .delay = {}};
  for (const std::string& transport : {kCreditAlone, kBoth}) {
    for (const std::string& port : {kTrims, kDeep}) {
      Lab lab(
          {.graph = Line(4, kLink), .transport = transport, .port = port, .events = {down, up}});
      lab.AddFlow(0, 1, 2'000'000);
      lab.Run(Time{} + 100_ms);
      ASSERT_TRUE(lab.finished());
      EXPECT_GT(lab.Record(0).sender.timeouts, 0);
    }
  }
}

// A link damages packets of all kinds, pulls and requests among them. Lab counts every packet; all
// flows end.
TEST(RcccTest, RandomLossLeavesNoFlowBehind) {
  for (const std::string& transport :
       {kCreditAlone, kBoth, std::string("{kind: uet, receiver: rccc, rccc: {fabric: on}}")}) {
    for (const std::string& port : {kTrims, kDeep}) {
      for (const double loss : {0.01, 0.1}) {
        SCOPED_TRACE(fmt::format("{} {} {}", transport, port, loss));
        const LinkEvent lossy{
            .at = Time{}, .link = 1, .up = {}, .rate = {}, .delay = {}, .loss = loss};
        Lab lab({.graph = Line(4, kLink), .transport = transport, .port = port, .events = {lossy}});
        lab.AddFlow(0, 1, 1'000'000);
        lab.AddFlow(0, 1, 1);
        lab.AddFlow(1, 0, 300'000);
        lab.Run(Time{} + 1_s);
        ASSERT_TRUE(lab.finished());
        for (const FlowRecord& record : lab.records()) {
          const SenderRecord& sender = record.sender;
          EXPECT_EQ(sender.packets_sent, sender.packets + sender.retransmissions);
          EXPECT_EQ(sender.retransmissions,
                    sender.retransmissions_spurious + sender.retransmissions_loss);
          EXPECT_EQ(record.receiver.packets, sender.packets + record.receiver.duplicates);
        }
      }
    }
  }
}

std::string RandomTransport(Rng& rng) {
  std::string yaml = "{kind: uet, receiver: rccc, rto: 200us";
  yaml += OneOf(rng, {", cc: none", ", cc: nscc", ", cc: dctcp_ack", ", cc: smartt"});
  yaml += OneOf(rng, {"", ", framing: uet_htsim", ", ack_bytes: 1B"});
  yaml += OneOf(rng, {"", ", loss: timeout", ", loss: sleek"});
  yaml += OneOf(rng, {"", ", base_rtt: pair", ", rccc: {fabric: on}"});
  return yaml + "}";
}

TEST(RcccStressTest, EndsEveryFlowWithItsCountsInAgreement) {
  Stress(60, RandomTransport, [](const Packet& packet) {
    return packet.kind == PacketKind::kData && packet.Has(Packet::kEct);
  });
}

}  // namespace heddle::rccc_loss_test
