// SPDX-License-Identifier: Apache-2.0
// variant: htsim, against sequences of windows worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "settings/reader.h"
#include "settings/yaml.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "transport/congestion/htsim.h"

namespace heddle::htsim_test {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kMss = 1'500;

CongestionWindow TenSegments() { return {.mss = kMss, .cwnd = 10 * kMss}; }

Acknowledgement AckOf(uint32_t una, bool echo) {
  return {.bytes = 1'500,
          .una = una,
          .nxt = una + 1,
          .ecn_echo = echo,
          .in_recovery = false,
          .window_limited = false};  // The window grows all the same.
}

HtsimState& StateOf(CongestionWindow& window) { return window.own.As<HtsimState>(); }

// The windows after ACKs from segment `first` to `last`, the one of `marked` with an echo.
std::vector<double> Windows(const WindowControl& control, CongestionWindow& window, uint32_t first,
                            uint32_t last, uint32_t marked = 0) {
  std::vector<double> windows;
  for (uint32_t una = first; una <= last; ++una) {
    // Only the twelfth ACK closes an observation that reduces the window; see below.
    EXPECT_EQ(control.OnAck(window, AckOf(una, una == marked)), una == 12);
    windows.push_back(window.cwnd);
  }
  return windows;
}

// After the SYN-ACK the window has 11 segments. The first observation has the two packets that
// htsim begins with, the SYN-ACK one of them; the second 16 500 B, 11 ACKs. The fifth ACK has the
// only mark: slow start ends there, at 22 500 B, and 1500^2 / cwnd is cut to whole bytes from then
// on. The 12th ACK closes the window: alpha = 1/16 * 1/11, cwnd = 23188 (1 - 1/352) = 23 122.1.
TEST(HtsimDctcpTest, FollowsTheWindowThatIsWorkedOutByHand) {
  const auto control = MakeHtsimDctcp(1.0 / 16);
  CongestionWindow window = TenSegments();
  control->Start(window, 10);
  control->OnConnected(window);
  EXPECT_EQ(window.cwnd, 16'500);
  EXPECT_THAT(Windows(*control, window, 1, 4), ElementsAre(18'000, 19'500, 21'000, 22'500));
  EXPECT_THAT(Windows(*control, window, 5, 11, 5),
              ElementsAre(22'600, 22'699, 22'798, 22'896, 22'994, 23'091, 23'188));
  EXPECT_EQ(window.ssthresh, 22'500);
  EXPECT_EQ(control->MarkedShare(window), 0);
  EXPECT_TRUE(control->OnAck(window, AckOf(12, false)));
  EXPECT_DOUBLE_EQ(control->MarkedShare(window).value(), 1.0 / 176);
  EXPECT_EQ(window.ssthresh, 23'122);
  EXPECT_EQ(window.cwnd, 23'122 + 97);  // The increase of the same ACK.
}

// The next observation is of 23 122 B, 16 ACKs without a mark; alpha decays, and reduces.
TEST(HtsimDctcpTest, ReducesOnceAWindowEvenWithoutMarks) {
  const auto control = MakeHtsimDctcp(1.0 / 16);
  CongestionWindow window = TenSegments();
  control->Start(window, 10);
  control->OnConnected(window);
  Windows(*control, window, 1, 12, 5);
  Windows(*control, window, 13, 27);
  EXPECT_DOUBLE_EQ(control->MarkedShare(window).value(), 1.0 / 176);
  const double before = window.cwnd;
  control->OnAck(window, AckOf(28, false));
  const double alpha = 15.0 / 16 / 176;
  EXPECT_DOUBLE_EQ(control->MarkedShare(window).value(), alpha);
  EXPECT_EQ(window.ssthresh, std::floor(before * (1 - alpha / 2)));
  EXPECT_LT(window.ssthresh, before);
  EXPECT_EQ(window.cwnd, window.ssthresh + std::floor(kMss * kMss / window.ssthresh));
}

// All ten segments are out when a mark halves the window: only five may be, so nothing grows until
// the sixth ACK, and the window of one segment is the least.
TEST(HtsimDctcpTest, DoesNotGrowWhileMoreIsOutstandingThanTheReducedWindowAllows) {
  const auto control = MakeHtsimDctcp(1.0);  // alpha is the share of the newest window.
  CongestionWindow window = TenSegments();
  control->Start(window, 10);
  StateOf(window).handed_over = 10;
  StateOf(window).window_end = 1'500;
  control->OnAck(window, AckOf(1, true));
  EXPECT_EQ(window.cwnd, 7'500);
  EXPECT_EQ(StateOf(window).window_end, 7'500);
  EXPECT_THAT(Windows(*control, window, 2, 5), ElementsAre(7'500, 7'500, 7'500, 7'500));
  StateOf(window).window_end = 1'000'000;
  EXPECT_THAT(Windows(*control, window, 6, 7), ElementsAre(7'800, 8'088));
  window.cwnd = 2'000;
  StateOf(window).bytes_acked = 0;  // Only the next ACK, with its mark, is observed.
  StateOf(window).window_end = 1'500;
  control->OnAck(window, AckOf(8, true));
  EXPECT_EQ(window.ssthresh, 1'500);
}

// After a timeout all is to be sent again, so that nothing counts as handed over, and slow start
// begins with the first ACK.
TEST(HtsimTcpTest, GrowsAtOnceAfterATimeout) {
  const auto control = MakeHtsimTcp();
  CongestionWindow window = TenSegments();
  control->Start(window, 10);
  Windows(*control, window, 1, 8);
  window.cwnd = kMss;
  control->OnTimeout(window, 18);
  EXPECT_THAT(Windows(*control, window, 9, 11), ElementsAre(2 * kMss, 3 * kMss, 4 * kMss));
}

TEST(HtsimTcpTest, SendsPacketsThatAreNotEcnCapable) {
  const auto transport = TransportFrom("{kind: tcp, variant: htsim}");
  EXPECT_FALSE(transport.settings->echoes_marks());
}

TEST(HtsimTcpTest, GrowsWhetherOrNotTheWindowIsUsed) {
  const auto control = MakeHtsimTcp();
  CongestionWindow window = TenSegments();
  control->Start(window, 10);
  window.ssthresh = 17'000;
  control->OnConnected(window);
  EXPECT_EQ(window.cwnd, 16'500);
  // Up to ssthresh exactly, then 1500^2 / 17000 = 132.4 and 1500^2 / 17132 = 131.3.
  EXPECT_THAT(Windows(*control, window, 1, 3), ElementsAre(17'000, 17'132, 17'263));
}

// Data packets that leave before the first ACK is back, over links of 1 ms.
int FirstFlight(const std::string& transport) {
  int packets = 0;
  bool over = false;
  const auto data = [&](const SwitchView&, const Packet&) { packets += over ? 0 : 1; };
  const auto ack = [&](const SwitchView&, const Packet&) { over = true; };
  Lab lab({.graph = Line(2, {10_Gbps, 1_ms}),
           .transport = transport,
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kData), data),
                                      WatchAt(0, Anything(PacketKind::kAck), ack)})});
  lab.AddFlow(0, 1, 100'000);
  lab.Run();
  return packets;
}

TEST(HtsimHandshakeTest, OpensTheWindowByOneSegment) {
  const std::string rest = "setup: handshake, min_rto: 250ms, iw: 10}";
  for (const std::string kind : {"tcp", "dctcp"}) {
    EXPECT_EQ(FirstFlight("{kind: " + kind + ", variant: htsim, " + rest), 11);
    EXPECT_EQ(FirstFlight("{kind: " + kind + ", " + rest), 10);
  }
}

std::vector<std::string> ErrorsOf(const std::string& kind, const std::string& yaml) {
  Chosen<TransportModel> chosen = Transports().Make(kind);
  Diagnostics diagnostics;
  const std::optional<Value> document = ParseYaml(yaml, "t.yaml", diagnostics);
  ReadSettings(
      *document, [&](Fields& fields) { chosen.settings->Declare(fields); }, diagnostics);
  return diagnostics.errors();
}

TEST(HtsimSettingsTest, RefuseWhatTheVariantDoesNotHave) {
  EXPECT_THAT(ErrorsOf("dctcp", "variant: htsim\ng: 1/32"), ElementsAre());
  EXPECT_THAT(ErrorsOf("dctcp", "variant: htsim\nalpha0: 0"),
              ElementsAre(HasSubstr("htsim knows no alpha0")));
  EXPECT_THAT(ErrorsOf("dctcp", "variant: htsim\ndelack_count: 2"),
              ElementsAre(HasSubstr("has no delayed ACKs")));
  EXPECT_THAT(ErrorsOf("tcp", "variant: htsim\necn: rfc3168"),
              ElementsAre(HasSubstr("has no ECN")));
  EXPECT_THAT(ErrorsOf("tcp", "variant: htsin"), ElementsAre(HasSubstr("did you mean \"htsim\"")));
}

}  // namespace heddle::htsim_test
