// SPDX-License-Identifier: Apache-2.0
// TIMELY and Swift: single steps, and flows that share a port.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "tests/support/controls_from.h"
#include "tests/support/lab.h"
#include "transport/rdma/roce_sender.h"

namespace heddle::delay_based_test {

// One flow at 10 Gbps, in packets of 1000 bytes.
struct Flow {
  explicit Flow(std::unique_ptr<const RateControl> c) : control(std::move(c)) {
    state.line = state.rate = 10e9;
    state.packet_bits = 8'000;
    control->Start(state);
  }
  void Ack(Duration rtt, Time now = Time{}, int64_t packets = 1, int links = 4) {
    control->OnAck(state, {now, rtt, packets, packets * 1'000, links});
  }

  std::unique_ptr<const RateControl> control;
  RateState state;
};

constexpr Time At(Duration since_start) { return Time{} + since_start; }

// --- TIMELY ---

Flow TimelyAt(double gbps, const std::string& segment = "1B") {
  Flow flow(RateControlFrom("{kind: timely, segment: " + segment + "}"));
  flow.state.rate = gbps * 1e9;
  return flow;
}

TEST(TimelyTest, FollowsThePaperStepByStep) {
  Flow high = TimelyAt(5);
  high.Ack(1'000_us);
  EXPECT_DOUBLE_EQ(high.state.rate, 5e9 * 0.6);
  Flow low = TimelyAt(5);
  low.Ack(40_us);
  EXPECT_DOUBLE_EQ(low.state.rate, 5e9 + 10e6);
  Flow rising = TimelyAt(5);
  rising.Ack(90_us);  // No gradient yet.
  EXPECT_DOUBLE_EQ(rising.state.rate, 5e9 + 10e6);
  rising.Ack(100_us);
  EXPECT_DOUBLE_EQ(rising.state.rate, (5e9 + 10e6) * 0.65);
}

TEST(TimelyTest, GrowsFasterAfterFiveSamplesThatDoNotRise) {
  Flow flow = TimelyAt(5);
  for (int i = 0; i < 4; ++i) flow.Ack(100_us);
  EXPECT_DOUBLE_EQ(flow.state.rate, 5e9 + 4 * 10e6);
  flow.Ack(100_us);
  EXPECT_DOUBLE_EQ(flow.state.rate, 5e9 + 9 * 10e6);
  flow.Ack(40_us);  // Below t_low: the count starts again.
  flow.Ack(60_us);
  EXPECT_LT(flow.state.rate, 5e9 + 10 * 10e6);
}

// The next segment begins behind that packet.
TEST(TimelyTest, TheSampleComesWithThePacketThatCompletesTheSegment) {
  Flow flow = TimelyAt(5, "3000B");
  flow.Ack(40_us);
  flow.Ack(40_us);
  EXPECT_DOUBLE_EQ(flow.state.rate, 5e9);
  flow.Ack(40_us);
  EXPECT_DOUBLE_EQ(flow.state.rate, 5e9 + 10e6);
  flow.Ack(40_us, Time{}, 2);
  EXPECT_DOUBLE_EQ(flow.state.rate, 5e9 + 10e6);
  flow.Ack(40_us);
  EXPECT_DOUBLE_EQ(flow.state.rate, 5e9 + 20e6);
}

// The paper's cases are RTT < t_low and RTT > t_high, so both bounds belong to the case in between.
TEST(TimelyTest, CountsSamplesOfExactlyItsBounds) {
  for (const Duration bound : {50_us, 500_us}) {
    Flow flow = TimelyAt(5);
    for (int i = 0; i < 5; ++i) flow.Ack(bound);
    EXPECT_DOUBLE_EQ(flow.state.rate, 5e9 + 9 * 10e6) << Microseconds(bound);
  }
}

TEST(TimelyTest, StaysWithinItsBounds) {
  Flow flow = TimelyAt(5);
  for (int i = 0; i < 1'000; ++i) flow.Ack(10_us);
  EXPECT_EQ(flow.state.rate, 10e9);
  for (int i = 0; i < 1'000; ++i) flow.Ack(2_ms);
  EXPECT_EQ(flow.state.rate, 10e6);
}

TEST(TimelyTest, TakesOneSampleForEachSegment) {
  Flow flow = TimelyAt(5, "16KB");
  for (int i = 0; i < 47; ++i) flow.Ack(40_us);
  EXPECT_DOUBLE_EQ(flow.state.rate, 5e9 + 2 * 10e6);
}

// Algorithm 1 of the paper as it is printed; rates in Gbps, times in microseconds.
class TimelyReference {
 public:
  explicit TimelyReference(double rate) : rate_(rate) {}
  void OnCompletion(double new_rtt) {
    const double new_rtt_diff = previous_ > 0 ? new_rtt - previous_ : 0;
    previous_ = new_rtt;
    rtt_diff_ = (1 - 0.3) * rtt_diff_ + 0.3 * new_rtt_diff;
    const double normalised_gradient = rtt_diff_ / 25;
    completions_ = new_rtt < 40 || new_rtt > 90 || normalised_gradient > 0 ? 0 : completions_ + 1;
    if (new_rtt < 40) {
      rate_ += 0.07;
    } else if (new_rtt > 90) {
      rate_ *= 1 - 0.6 * (1 - 90 / new_rtt);
    } else if (normalised_gradient <= 0) {
      rate_ += (completions_ >= 3 ? 4 : 1) * 0.07;
    } else {
      rate_ *= 1 - 0.6 * normalised_gradient;
    }
    rate_ = std::clamp(rate_, 0.5, 10.0);
  }
  double rate() const { return rate_; }

 private:
  double rate_;
  double previous_ = 0;  // 0: there was none.
  double rtt_diff_ = 0;
  int completions_ = 0;
};

TEST(TimelyTest, AgreesWithThePaperWhateverItsSettings) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng = Rng::Stream(seed, "timely", 0);
    Flow flow(RateControlFrom(
        "{kind: timely, alpha: 0.3, beta: 0.6, t_low: 40us, t_high: 90us, min_rtt: 25us, delta: "
        "70Mbps, hyperactive_after: 3, hyperactive_factor: 4, segment: 1B, min_rate: 500Mbps}"));
    TimelyReference reference(10);
    uint32_t rtt = 60;
    for (int i = 0; i < 500; ++i) {
      const uint32_t step = rng.Below(seed % 2 == 0 ? 4 : 20);
      rtt = std::clamp(rng.Below(2) == 0 ? rtt + step : rtt - std::min(step, rtt), 30u, 110u);
      flow.Ack(1_us * rtt);
      reference.OnCompletion(rtt);
      ASSERT_NEAR(flow.state.rate * 1e-9, reference.rate(), 1e-9) << "ACK " << i << " of " << seed;
    }
  }
}

// --- Swift ---

// The delay that a window of `cwnd` packets aims at over so many links: the least at which an ACK
// does not make the window grow.
Duration SwiftTarget(const std::string& settings, double cwnd, int links) {
  const auto grows_at = [&](Duration rtt) {
    Flow flow(RateControlFrom(
        fmt::format("{{kind: swift{}, initial_cwnd: {}, max_cwnd: 1000000}}", settings, cwnd)));
    flow.Ack(rtt, At(1_ms), 1, links);
    return flow.state.window > std::max(cwnd, 1.0);
  };
  Duration below{0};
  Duration above = 1_ms;
  while (above - below > 1_ps) {
    const Duration middle = below + (above - below) / 2;
    (grows_at(middle) ? below : above) = middle;
  }
  return above;
}

TEST(SwiftTest, AimsAtADelayThatGrowsWithHopsAndShrinksWithTheWindow) {
  const std::string settings = ", base: 26us, per_hop: 2us, fs_range: 100us";
  EXPECT_EQ(SwiftTarget(settings, 100, 4), 34_us);
  EXPECT_EQ(SwiftTarget(settings, 1'000, 6), 38_us);
  EXPECT_EQ(SwiftTarget(settings, 0.1, 4), 134_us);
  EXPECT_EQ(SwiftTarget(settings, 0.01, 4), 134_us);
  // a = 100 / (sqrt(10) - 0.1) = 32.655; at one packet a (1 - 0.1) more.
  EXPECT_NEAR(Microseconds(SwiftTarget(settings, 1, 4)), 34 + 29.3895, 0.001);
  EXPECT_NEAR(Microseconds(SwiftTarget("", 100, 13)), 75, 1e-4);  // per_hop is base / 6.5.
}

// The base delay is 25 us, per_hop none over no link, and fs_range 5 times base.
TEST(SwiftTest, BeginsWithTheWindowOfItsBaseDelayAndScalesByFiveOfThem) {
  EXPECT_EQ(SwiftTarget("", 0.1, 0), 25_us + 125_us);
  EXPECT_EQ(SwiftTarget(", base: 10us", 0.1, 0), 10_us + 50_us);
  const Flow flow(RateControlFrom("{kind: swift}"));
  EXPECT_DOUBLE_EQ(flow.state.window, 10e9 * 25e-6 / 8'000);  // 31.25 packets.
}

Flow SwiftAt(double cwnd) {
  return Flow(RateControlFrom(
      fmt::format("{{kind: swift, per_hop: 0us, fs_range: 0us, initial_cwnd: {}}}", cwnd)));
}

TEST(SwiftTest, FollowsThePaperStepByStep) {
  Flow twice = SwiftAt(10);
  twice.Ack(50_us, At(1_ms));  // The target is 25 us.
  EXPECT_DOUBLE_EQ(twice.state.window, 6);
  twice.Ack(50_us, At(1_ms) + 49_us);  // Once in a round trip.
  EXPECT_DOUBLE_EQ(twice.state.window, 6);
  twice.Ack(50_us, At(1_ms) + 50_us);
  EXPECT_DOUBLE_EQ(twice.state.window, 3.6);
  Flow tenfold = SwiftAt(10);
  tenfold.Ack(250_us, At(1_ms));
  EXPECT_DOUBLE_EQ(tenfold.state.window, 5);
  Flow calm = SwiftAt(10);
  calm.Ack(24_us, At(1_ms), 2);
  EXPECT_DOUBLE_EQ(calm.state.window, 10.2);
}

// Algorithm 1 of the paper and its flow scaling (section 3.2), with windows in packets and times in
// microseconds.
class SwiftReference {
 public:
  void OnAck(double now, double rtt, int packets, int links) {
    rtt_ = rtt;
    if (packets > 0) retransmits_ = 0;
    const double alpha = 8 / (1 / std::sqrt(0.25) - 1 / std::sqrt(16.0));
    const double beta = -alpha / std::sqrt(16.0);
    const double scaling = std::max(0.0, std::min(alpha / std::sqrt(cwnd_) + beta, 8.0));
    const double target = 12 + 1.5 * links + scaling;
    if (rtt < target) {
      cwnd_ += cwnd_ >= 1 ? 0.5 / cwnd_ * packets : 0.5 * packets;
    } else {
      Cut(now, std::max(1 - 0.7 * (rtt - target) / rtt, 1 - 0.4));
    }
    Bound();
  }
  void OnLoss(double now) {
    Cut(now, 1 - 0.4);
    Bound();
  }
  void OnTimeout(double now) {
    if (++retransmits_ >= 3) {
      cwnd_ = 0.2;
    } else {
      Cut(now, 1 - 0.4);
    }
    Bound();
  }
  double cwnd() const { return cwnd_; }
  double Gbps() const { return cwnd_ < 1 ? std::min(8 * cwnd_ / rtt_, 10.0) : 10; }

 private:
  void Cut(double now, double factor) {
    if (now - t_last_decrease_ < rtt_at_decrease_) return;
    cwnd_ *= factor;
    t_last_decrease_ = now;
    rtt_at_decrease_ = rtt_;
  }
  void Bound() { cwnd_ = std::clamp(cwnd_, 0.2, 20.0); }

  double cwnd_ = 15;
  double rtt_ = 0;
  double t_last_decrease_ = 0;
  double rtt_at_decrease_ = 0;
  int retransmits_ = 0;
};

TEST(SwiftTest, AgreesWithThePaperWhateverItsSettings) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng = Rng::Stream(seed, "swift", 0);
    Flow flow(RateControlFrom(
        "{kind: swift, ai: 0.5, beta: 0.7, max_mdf: 0.4, base: 12us, per_hop: 1500ns, fs_range: "
        "8us, fs_min: 0.25, fs_max: 16, min_cwnd: 0.2, max_cwnd: 20, initial_cwnd: 15, retx_reset: "
        "3}"));
    SwiftReference reference;
    uint32_t now = 0;
    uint32_t rtt = 20;
    for (int i = 0; i < 500; ++i) {
      SCOPED_TRACE(fmt::format("step {} of {}", i, seed));
      now += rng.Below(10);
      rtt = std::clamp(rtt + rng.Below(9) - 4, 12u, seed % 2 == 0 ? 28u : 60u);
      const uint32_t what = i == 0 ? 9 : rng.Below(40);
      if (what == 0) {
        flow.control->OnLoss(flow.state, At(1_us * now));
        reference.OnLoss(now);
      } else if (what < (seed % 3 == 0 ? 9u : 3u)) {
        flow.control->OnTimeout(flow.state, At(1_us * now));
        reference.OnTimeout(now);
      } else {
        const int packets = static_cast<int>(rng.Below(3));
        const int links = 2 + static_cast<int>(rng.Below(3));
        flow.Ack(1_us * rtt, At(1_us * now), packets, links);
        reference.OnAck(now, rtt, packets, links);
      }
      ASSERT_NEAR(flow.state.window, std::max(reference.cwnd(), 1.0), 1e-4);
      ASSERT_NEAR(flow.state.rate * 1e-9, reference.Gbps(), 1e-4);
    }
  }
}

TEST(SwiftTest, PacesAWindowBelowOnePacket) {
  Flow flow = SwiftAt(0.5);
  flow.Ack(50_us, At(1_ms));
  // 0.3 packets of 8000 bits in 50 us.
  EXPECT_EQ(flow.state.window, 1);
  EXPECT_DOUBLE_EQ(flow.state.rate, 0.3 * 8'000 / 50e-6);
  flow.Ack(20_us, At(2_ms));
  EXPECT_DOUBLE_EQ(flow.state.window, 1.3);
  EXPECT_EQ(flow.state.rate, 10e9);
}

TEST(SwiftTest, GivesUpItsWindowAfterTimeoutsInARow) {
  Flow flow = SwiftAt(64);
  flow.Ack(24_us, At(1_us), 0);
  for (int i = 1; i <= 4; ++i) flow.control->OnTimeout(flow.state, At(1_ms * i));
  EXPECT_DOUBLE_EQ(flow.state.window, 4);
  flow.control->OnTimeout(flow.state, At(5_ms));
  EXPECT_DOUBLE_EQ(flow.state.rate, 0.001 * 8'000 / 24e-6);
  Flow other = SwiftAt(64);
  other.Ack(24_us, At(1_us), 0);
  other.control->OnLoss(other.state, At(1_ms));
  other.control->OnLoss(other.state, At(1_ms) + 1_us);
  EXPECT_DOUBLE_EQ(other.state.window, 32);
}

// An ACK that acknowledges nothing new does not end a row of timeouts, another one does.
TEST(SwiftTest, OnlyAnAckOfNewPacketsEndsARowOfTimeouts) {
  const auto window_after = [](int64_t acked) {
    Flow flow = SwiftAt(64);
    flow.Ack(24_us, At(1_us), 0);
    for (int i = 1; i <= 4; ++i) flow.control->OnTimeout(flow.state, At(1_ms * i));
    flow.Ack(24_us, At(4_ms) + 500_us, acked);
    flow.control->OnTimeout(flow.state, At(5_ms));
    return flow.state;
  };
  EXPECT_LT(window_after(0).rate, 10e9);            // The least window, 0.001 packets, is paced.
  EXPECT_DOUBLE_EQ(window_after(1).window, 2.125);  // (4 + 1 / 4) / 2.
}

// --- In a network ---

// Expects fair shares of two flows over one port of 10 Gbps in the second half, and a busy port.
void ExpectFairShares(const std::string& cc, Duration time) {
  SCOPED_TRACE(cc);
  Lab lab({.graph = Dumbbell(2, {10_Gbps, 1_us}, {10_Gbps, 1_us}),
           .transport = "{kind: rocev2, cc: " + cc + "}"});
  lab.AddFlow(0, 2, 1'000'000'000);
  lab.AddFlow(1, 3, 1'000'000'000, At(500_us));
  int64_t first = 0;
  int64_t all = 0;
  const auto sent = [&](uint32_t from, uint32_t to) { return lab.PortTo(from, to).Committed(); };
  lab.SampleEvery(time / 2, [&](Time now) {
    if (now != At(time / 2)) return;
    first = sent(0, 4).busy_ps;
    all = sent(4, 5).busy_ps;
  });
  lab.Run(At(time));
  const double port = static_cast<double>(sent(4, 5).busy_ps - all);
  EXPECT_NEAR(static_cast<double>(sent(0, 4).busy_ps - first) / port, 0.5, 0.1);
  EXPECT_GT(port / static_cast<double>((time / 2).ps), 0.85);
  EXPECT_EQ(lab.Packets().dropped_total(), 0);
}

// 1168 bytes of payload, 62 of headers and 20 of preamble and gap are 10,000 bits on the wire,
// which the line sends in 100 ns: 260 packets in 26 us.
TEST(SwiftTest, CountsAllBytesOfPacketsOnTheWire) {
  Lab lab({.graph = Line(2, {100_Gbps, 100_us}),
           .transport = "{kind: rocev2, mtu: 1168, cc: {kind: swift, base: 26us}}"});
  lab.AddFlow(0, 1, 1'000'000);
  bool looked = false;
  lab.SampleEvery(50_us, [&](Time now) {
    if (now != At(50_us)) return;
    looked = true;
    EXPECT_EQ(lab.QueuePair(0)->rate().packet_bits, 10'000);
    EXPECT_DOUBLE_EQ(lab.QueuePair(0)->rate().window, 260);
  });
  lab.Run(At(60_us));
  EXPECT_TRUE(looked);
}

// The round trip over four links is 8 us, four packets of 83.84 ns and four ACKs of 4.8 ns: 8.355
// us. The target has 2 us for each link.
TEST(SwiftTest, CountsTheLinksOfItsPath) {
  const auto window = [](const std::string& base) {
    Lab lab({.graph = Line(4, {100_Gbps, 1_us}),
             .transport = "{kind: rocev2, framing: ns3_rdma, cc: {kind: swift, base: " + base +
                          ", per_hop: 2us, fs_range: 0us, initial_cwnd: 10}}"});
    lab.AddFlow(0, 1, 1'000'000);
    double cwnd = 0;
    lab.SampleEvery(12_us, [&](Time now) {
      if (now == At(12_us)) cwnd = lab.QueuePair(0)->rate().window;
    });
    lab.Run(At(20_us));
    return cwnd;
  };
  EXPECT_LT(window("300ns"), 10);
  EXPECT_GT(window("400ns"), 10);
}

TEST(SwiftTest, SharesAPort) { ExpectFairShares("swift", 20_ms); }

// TIMELY has no single fixed point (Zhu et al., CoNEXT 2016): of fairness nothing is expected. A
// steep rise of the delay takes a flow down to its least rate, at which it hardly gets samples; so
// that is not the default here.
TEST(TimelyTest, FillsAPortAndKeepsItsQueueShort) {
  Lab lab({.graph = Dumbbell(2, {10_Gbps, 1_us}, {10_Gbps, 1_us}),
           .transport = "{kind: rocev2, cc: {kind: timely, min_rate: 1Gbps}}"});
  lab.AddFlow(0, 2, 1'000'000'000);
  lab.AddFlow(1, 3, 1'000'000'000);
  Duration longest{0};
  int64_t before = 0;
  lab.SampleEvery(10_us, [&](Time now) {
    if (now <= At(20_ms)) before = lab.PortTo(4, 5).Committed().busy_ps;
    if (now >= At(20_ms)) longest = std::max(longest, lab.PortTo(4, 5).QueueingDelay(now));
  });
  lab.Run(At(40_ms));
  const double busy = static_cast<double>(lab.PortTo(4, 5).Committed().busy_ps - before);
  EXPECT_LT(longest, 500_us);
  EXPECT_GT(busy / 20e9, 0.7);
}

}  // namespace heddle::delay_based_test
