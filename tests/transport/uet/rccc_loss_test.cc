// SPDX-License-Identifier: Apache-2.0
// Receiver-driven congestion control (RCCC) where pulls, data or a link are lost.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/support/lab.h"
#include "tests/support/rccc_kit.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/stress.h"
#include "transport/uet/uet_credit.h"

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

// --- Requests to send ---

// A request to send, as switch 0 sees it.
struct Request {
  Time at;
  uint32_t wish;
  int64_t data_before;  // Bytes of data that passed.
};

// All pulls but some are lost. A flow of 25 packets and one of 414 bytes begins with its first
// window of credit; the first ACK takes the rest away.
std::vector<Request> RequestsOf(const std::string& settings, int64_t lost_pulls, int64_t skip = 0) {
  std::vector<Request> requests;
  int64_t data = 0;
  Lab lab({.graph = Star(2, kLink),
           .transport = "{kind: uet, framing: uet_htsim, receiver: rccc, rto: 20us, rccc: "
                        "{quantum: 1B, pull: 4096}, " +
                        settings + "}",
           .port = kDeep,
           .switch_policy = Scripted(
               {WatchAt(0, Anything(PacketKind::kData),
                        [&](const SwitchView&, const Packet& packet) { data += packet.bytes; }),
                WatchAt(0, Anything(PacketKind::kSyn),
                        [&](const SwitchView& view, const Packet& packet) {
                          if (!packet.Has(Packet::kCwr)) return;
                          requests.push_back({view.now(), PullTarget(packet), data});
                        }),
                DropAt(0, Anything(PacketKind::kCnp)).Skip(skip).Times(lost_pulls)})});
  lab.AddFlow(0, 1, 25 * 4'086 + 350);
  lab.Run(Time{} + 5_ms);
  EXPECT_EQ(lab.finished(), lost_pulls < 1'000) << settings;
  EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
  return requests;
}

constexpr int64_t kAll = 25 * 4'150 + 414;

const std::string kAlone = "cc: none, loss: timeout, ack_bytes: 1B";

// All data that was sent has arrived, and no credit is left. So the wish is what was never sent, in
// quanta of one byte; with a window, no more than this and a packet.
TEST(RcccTest, ARequestToSendWishesForWhatWaits) {
  const std::vector<Request> alone = RequestsOf(kAlone, 1'000'000);
  ASSERT_GE(alone.size(), 3u);
  for (const Request& request : alone) {
    EXPECT_GT(request.data_before, 4'150);
    EXPECT_EQ(request.wish, kAll - request.data_before);
  }
  for (const int64_t window : {9'000, 20'000}) {
    const std::vector<Request> both = RequestsOf(
        fmt::format("cc: constant, window: {}B, loss: timeout, ack_bytes: 1B", window), 1'000'000);
    ASSERT_GE(both.size(), 3u);
    for (const Request& request : both) EXPECT_EQ(request.wish, window + 4'150);
  }
}

// The receiver acknowledges every 16 KB, and so not the last packet that comes before the credit
// ends. It times out, and the first request wishes for it, too. The answer shows that it has
// arrived.
TEST(RcccTest, ARequestToSendWishesForTheRepairThatBroughtItAbout) {
  const std::vector<Request> requests = RequestsOf("cc: none, loss: timeout", 1'000'000);
  ASSERT_GE(requests.size(), 3u);
  EXPECT_EQ(requests[0].wish, kAll - requests[0].data_before + 4'150);
  for (size_t i = 1; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].wish, kAll - requests[i].data_before) << i;
  }
}

void ExpectGaps(const std::vector<Request>& requests, size_t first, int64_t timeouts) {
  ASSERT_GE(requests.size(), first + 7);
  for (size_t i = first + 1; i < requests.size(); ++i) {
    // Answers take a round trip of four links, and the time of a few bytes.
    const Duration between = requests[i].at - requests[i - 1].at;
    EXPECT_GT(between, 20_us * timeouts + 4_us) << i;
    EXPECT_LT(between, 20_us * timeouts + 4'100_ns) << i;
    timeouts = std::min<int64_t>(2 * timeouts, 16);
  }
}

// The time from the answer to a request to the next one doubles up to sixteen timeouts of 20 us. A
// request for a repair does not count.
TEST(RcccTest, RequestsForCreditAloneComeEverMoreSlowly) {
  ExpectGaps(RequestsOf(kAlone, 1'000'000), 0, 2);
  ExpectGaps(RequestsOf("cc: none, loss: timeout", 1'000'000), 0, 1);
}

// The switch drops all pulls but one, behind the fourth request. That pull grants the largest
// window. Once it is used up, the flow asks after one timeout of 20 us again, and then after two.
TEST(RcccTest, APullLetsRequestsForCreditBeginAnew) {
  std::vector<Time> requests;
  int64_t passed = 0;
  const auto request = [&](const SwitchView& view, const Packet&) {
    requests.push_back(view.now());
  };
  const Match lost = [&](const Packet& packet) {
    return packet.kind == PacketKind::kCnp && (requests.size() != 4 || ++passed > 1);
  };
  Lab lab(
      {.graph = Star(2, kLink),
       .transport = "{kind: uet, framing: uet_htsim, receiver: rccc, rto: 20us, " + kAlone + "}",
       .port = kDeep,
       .switch_policy =
           Scripted({WatchAt(0, Anything(PacketKind::kSyn), request), DropAt(0, lost)})});
  lab.AddFlow(0, 1, 200 * 4'086);
  lab.Run(Time{} + 500_us);
  ASSERT_GE(requests.size(), 6u);
  const Duration last = requests[3] - requests[2];
  EXPECT_GT(last, 160_us);
  EXPECT_LT(requests[4] - requests[3], 45_us);
  EXPECT_GT(requests[5] - requests[4], 44_us);
  EXPECT_LT(requests[5] - requests[4], 45_us);
}

}  // namespace heddle::rccc_loss_test
