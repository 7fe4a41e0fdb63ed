// SPDX-License-Identifier: Apache-2.0
// All window controls keep some rules, however they grow. The coupled ones are compared, over
// random subflows, with the formulas of RFC 6356 and of OLIA's draft.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/settings_from.h"
#include "tests/support/window_kit.h"
#include "transport/congestion_controls.h"

namespace heddle::every_window_test {

constexpr double kMss = kTestMss;
const std::vector<std::string> kKinds = {"reno", "cubic", "dctcp", "lia", "olia"};

std::unique_ptr<const WindowControl> ControlFrom(const std::string& kind,
                                                 const TcpSettings& tcp = {}) {
  return KindFrom(kind, CongestionControls().subflows()).settings->Prepare(tcp);
}

// A window does not grow in a recovery (RFC 5681 section 3.2), or while something other than the
// window limits the sender. It does otherwise, in slow start and after it.
TEST(EveryWindowTest, GrowsOnPlainAcksOfFullWindowsOnly) {
  for (const std::string& kind : kKinds) {
    for (const bool slow_start : {true, false}) {
      SCOPED_TRACE(kind + (slow_start ? ", slow start" : ""));
      const auto control = ControlFrom(kind);
      CongestionWindow window = WindowOf(20);
      if (!slow_start) window.ssthresh = window.cwnd;
      window.srtt = 100_us;
      control->Start(window, 20);
      control->OnLoss(window, 5);
      const double before = window.cwnd;
      Acknowledgement ack = Acked(6, 20);
      ack.in_recovery = true;
      EXPECT_FALSE(control->OnAck(window, ack));
      EXPECT_EQ(window.cwnd, before);
      ack = Acked(7, 20);
      ack.window_limited = false;
      EXPECT_FALSE(control->OnAck(window, ack));
      EXPECT_EQ(window.cwnd, before);
      ack = Acked(8, 20);
      ack.now = Time{} + 10_s;
      ack.srtt = 100_us;
      EXPECT_FALSE(control->OnAck(window, ack));
      EXPECT_GT(window.cwnd, before);
    }
  }
}

// A mark within the window of a loss, or of another mark, reduces nothing more; the next one beyond
// does (RFC 3168 section 6.1.2).
TEST(EveryWindowTest, IsReducedOnceInAWindowOfData) {
  for (const std::string& kind : kKinds) {
    SCOPED_TRACE(kind);
    const auto control = ControlFrom(kind);
    CongestionWindow window = WindowOf(20);
    control->Start(window, 20);
    control->OnLoss(window, 50);
    for (const uint32_t una : {30u, 49u, 50u}) {
      EXPECT_FALSE(control->OnAck(window, Acked(una, 20, true))) << una;
      EXPECT_EQ(window.cwnd, 20 * kMss);
    }
    EXPECT_TRUE(control->OnAck(window, Acked(51, 20, true)));
    const double reduced = window.cwnd;
    EXPECT_LT(reduced, 20 * kMss);
    EXPECT_EQ(window.ssthresh, reduced);
    EXPECT_FALSE(control->OnAck(window, Acked(71, 20, true)));
    EXPECT_EQ(window.cwnd, reduced);
    EXPECT_TRUE(control->OnAck(window, Acked(72, 8, true)));
    EXPECT_LT(window.cwnd, reduced);
  }
}

// The first ACK of a flow is as good as any other: it grows the window, or with an echo reduces it.
TEST(EveryWindowTest, HeedsTheFirstAckOfAFlow) {
  for (const std::string& kind : kKinds) {
    SCOPED_TRACE(kind);
    const auto control = ControlFrom(kind);
    CongestionWindow window = WindowOf(20);
    control->Start(window, 20);
    EXPECT_FALSE(control->OnAck(window, Acked(1, 20)));
    EXPECT_EQ(window.cwnd, 21 * kMss);
    CongestionWindow marked = WindowOf(20);
    control->Start(marked, 20);
    EXPECT_TRUE(control->OnAck(marked, Acked(1, 20, true)));
    EXPECT_LT(marked.cwnd, 20 * kMss);
  }
}

// RFC 3465: in slow start an ACK counts for one segment, and for two where ACKs are delayed.
TEST(EveryWindowTest, GrowsInSlowStartByTheLimitOfAnAck) {
  for (const std::string& kind : kKinds) {
    for (const int64_t delayed : {1, 2, 4}) {
      SCOPED_TRACE(kind);
      TcpSettings tcp;
      tcp.delack_count = delayed;
      const auto control = ControlFrom(kind, tcp);
      CongestionWindow window = WindowOf(20);
      control->Start(window, 20);
      for (const int64_t bytes : {400, 1'000, 1'700, 5'000}) {
        const double before = window.cwnd;
        Acknowledgement ack = Acked(30, 20);
        ack.bytes = bytes;
        control->OnAck(window, ack);
        const double most = delayed == 1 ? kMss : 2 * kMss;
        EXPECT_DOUBLE_EQ(window.cwnd - before, std::min(static_cast<double>(bytes), most));
      }
    }
  }
}

// --- Coupled increases ---

struct Subflow {
  CongestionWindow window;
  int64_t since_loss = 0;      // OLIA: bytes acknowledged since the last loss, and between the
  int64_t between_losses = 0;  // last two.

  double counted() const { return window.in_recovery ? window.ssthresh : window.cwnd; }
  double rtt() const { return static_cast<double>(window.srtt.ps); }
  double longest() const { return static_cast<double>(std::max(since_loss, between_losses)); }
  double quality() const { return longest() * longest() / rtt(); }
};

// RFC 6356 section 3.
double LiaIncrease(const std::vector<Subflow>& all, const Subflow& its, double bytes) {
  double total = 0;
  double best = 0;
  double rate = 0;
  for (const Subflow& subflow : all) {
    if (subflow.window.srtt == Duration{0}) continue;
    total += subflow.counted();
    best = std::max(best, subflow.counted() / (subflow.rtt() * subflow.rtt()));
    rate += subflow.counted() / subflow.rtt();
  }
  const double alpha = total * best / (rate * rate);
  return std::min(alpha * bytes * kMss / total, bytes * kMss / its.window.cwnd);
}

// draft-khalili-mptcp-congestion-control-05 section 3: w / rtt^2 / (sum of w / rtt)^2, and alpha /
// w, of each byte in units of the MSS.
double OliaIncrease(const std::vector<Subflow>& all, const Subflow& its, double bytes) {
  double rate = 0;
  double largest = 0;
  double best = 0;
  double count = 0;
  for (const Subflow& subflow : all) {
    if (subflow.window.srtt == Duration{0}) continue;
    ++count;
    rate += subflow.counted() / subflow.rtt();
    largest = std::max(largest, subflow.counted());
    best = std::max(best, subflow.quality());
  }
  double collected = 0;  // The best paths without the largest windows,
  double maximal = 0;    // and the paths with the largest.
  for (const Subflow& subflow : all) {
    if (subflow.window.srtt == Duration{0}) continue;
    if (subflow.counted() == largest) {
      ++maximal;
    } else if (subflow.quality() == best) {
      ++collected;
    }
  }
  double alpha = 0;
  if (collected > 0 && its.counted() == largest) alpha = -1 / count / maximal;
  if (collected > 0 && its.counted() != largest && its.quality() == best) {
    alpha = 1 / count / collected;
  }
  const double kelly = its.window.cwnd / (its.rtt() * its.rtt()) / (rate * rate);
  return bytes * kMss * (kelly + alpha / its.window.cwnd);
}

class RandomSubflows {
 public:
  RandomSubflows(const std::string& kind, uint64_t seed)
      : kind_(kind),
        control_(ControlFrom(kind)),
        rng_(Rng::Stream(seed, "subflows", 0)),
        subflows_(1 + rng_.Below(6)) {
    for (Subflow& subflow : subflows_) {
      subflow.window = WindowOf(1 + rng_.Below(30));
      subflow.window.ssthresh = kMss;
      subflow.window.srtt = 10_us * rng_.Below(5);
      subflow.window.coupling = &coupling_;
      control_->Start(subflow.window, 10);
      coupling_.windows.push_back(&subflow.window);
    }
  }

  void Step() {
    Subflow& its = subflows_[rng_.Below(static_cast<uint32_t>(subflows_.size()))];
    const uint32_t kind = rng_.Below(8);
    if (kind == 0) {
      its.window.srtt = 10_us * (1 + rng_.Below(5));
    } else if (kind == 1) {
      Lose(its);
    } else if (kind == 2) {
      its.window.in_recovery = !its.window.in_recovery;
      its.window.ssthresh = its.window.in_recovery ? kMss * (1 + rng_.Below(9)) : kMss;
    } else if (kind == 3) {  // Equal windows are common then.
      its.window.cwnd = kMss * (1 + rng_.Below(4));
      its.window.ssthresh = kMss * (1 + rng_.Below(6));
    } else {
      Acknowledge(its);
    }
  }

 private:
  void Lose(Subflow& its) {
    if (rng_.Below(2) == 0) {
      control_->OnLoss(its.window, una_);
    } else {
      control_->OnTimeout(its.window, una_);
    }
    its.between_losses = its.since_loss;
    its.since_loss = 0;
    if (kind_ == "lia") {
      EXPECT_TRUE(coupling_.is_stale);
    }
  }

  void Acknowledge(Subflow& its) {
    Acknowledgement ack = Acked(++una_, 100);
    ack.bytes = 1'000 * (1 + rng_.Below(2));
    ack.ecn_echo = rng_.Below(10) == 0;
    ack.in_recovery = its.window.in_recovery;
    const double bytes = static_cast<double>(ack.bytes);
    its.since_loss += ack.bytes;
    coupling_.is_stale = true;  // LIA computes alpha anew only now and then.
    const double before = its.window.cwnd;
    double expected = before;
    const bool may_grow = !ack.in_recovery && !ack.ecn_echo;
    if (may_grow && expected < its.window.ssthresh) {
      expected += std::min(bytes, kMss);
    } else if (may_grow && its.window.srtt > Duration{0}) {
      expected +=
          kind_ == "lia" ? LiaIncrease(subflows_, its, bytes) : OliaIncrease(subflows_, its, bytes);
      expected = std::max(expected, kMss);
    } else if (may_grow) {
      expected += bytes * kMss / its.window.cwnd;  // As a TCP alone.
    }
    if (control_->OnAck(its.window, ack)) {  // A mark, once in a window of data.
      EXPECT_TRUE(ack.ecn_echo);
      EXPECT_EQ(its.window.cwnd, std::min(before, 50 * kMss));
      its.between_losses = std::exchange(its.since_loss, 0);
      return;
    }
    ASSERT_NEAR(its.window.cwnd / expected, 1, 1e-12);
  }

  const std::string kind_;
  const std::unique_ptr<const WindowControl> control_;
  Rng rng_;
  std::vector<Subflow> subflows_;
  Coupling coupling_;
  uint32_t una_ = 0;
};

TEST(CoupledModelTest, WindowsGrowByTheFormulas) {
  for (const std::string kind : {"lia", "olia"}) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
      SCOPED_TRACE(testing::Message() << kind << ", seed " << seed);
      RandomSubflows subflows(kind, seed);
      for (int step = 0; step < 60; ++step) ASSERT_NO_FATAL_FAILURE(subflows.Step()) << step;
    }
  }
}

// RFC 6356 section 3: with other subflows ssthresh may fall to one segment, else to two.
TEST(CoupledModelTest, TheThresholdIsHalfOfTheFlight) {
  for (const std::string kind : {"lia", "olia"}) {
    const auto control = ControlFrom(kind);
    for (const size_t peers : {0u, 1u, 2u, 3u}) {
      Coupling coupling;
      std::vector<CongestionWindow> windows(3, WindowOf(30));
      for (CongestionWindow& window : windows) control->Start(window, 10);
      windows[0].coupling = peers == 0 ? nullptr : &coupling;
      for (size_t i = 0; i < peers; ++i) coupling.windows.push_back(&windows[i]);
      const double least = peers > 1 ? 1 : 2;
      for (const double flight : {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 40.0}) {
        control->SetThreshold(windows[0], flight * kMss);
        EXPECT_DOUBLE_EQ(windows[0].ssthresh / kMss, std::max(flight / 2, least));
        EXPECT_EQ(windows[0].cwnd, 30 * kMss);
      }
    }
  }
}

}  // namespace heddle::every_window_test
