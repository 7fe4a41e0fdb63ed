// SPDX-License-Identifier: Apache-2.0
// Tests DCQCN's rates step by step.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/controls_from.h"

namespace heddle::dcqcn_test {

// One flow's rate at 100 Gbps, with CNPs at given times. CNPs come before timers of one instant, as
// packets do at a host.
class RateClock {
 public:
  explicit RateClock(const std::string& settings = "", BitRate line = 100_Gbps)
      : control_(RateControlFrom("{kind: dcqcn" + settings + "}")) {
    state_.line = state_.rate = static_cast<double>(line.bps);
    control_->Start(state_);
  }

  void Cnp(Time at) {
    RunTo(at - 1_ps);
    control_->OnCnp(state_, at);
  }
  void Send(Time at, int64_t bytes) {
    RunTo(at - 1_ps);
    control_->OnSent(state_, bytes, at);
  }
  double Gbps(Time at) {
    RunTo(at);
    return state_.rate * 1e-9;
  }
  Time deadline() const { return state_.deadline; }

 private:
  void RunTo(Time end) {
    while (state_.deadline <= end) {
      const Time now = state_.deadline;
      state_.deadline = kNever;
      control_->OnTimer(state_, now);
    }
  }

  std::unique_ptr<const RateControl> control_;
  RateState state_;
};

constexpr Time At(Duration since_start) { return Time{} + since_start; }

// --- The paper's sender (T9) ---

TEST(DcqcnPaperTest, HalvesTheRateAndHalvesTheWayBack) {
  RateClock rate;
  EXPECT_EQ(rate.Gbps(At(0_us)), 100);
  rate.Cnp(At(0_us));
  double expected = 50;
  for (const Duration at : {0_us, 55_us, 110_us, 165_us, 220_us, 275_us}) {
    EXPECT_DOUBLE_EQ(rate.Gbps(At(at)), expected);
    expected = (expected + 100) / 2;
  }
  EXPECT_DOUBLE_EQ(rate.Gbps(At(275_us)), 98.4375);
}

// Before the first CNP no timer runs, and alpha is 1.
TEST(DcqcnPaperTest, TheFirstCnpHalvesTheRateWheneverItComes) {
  for (const Duration at : {0_us, 54_us, 55_us, 10_ms, 1_s}) {
    RateClock rate;
    rate.Cnp(At(at));
    EXPECT_DOUBLE_EQ(rate.Gbps(At(at)), 50);
  }
}

TEST(DcqcnPaperTest, KeepsAlphaWhileCnpsComeInEveryInterval) {
  RateClock rate;
  for (const Duration at : {0_us, 50_us, 100_us}) rate.Cnp(At(at));
  EXPECT_DOUBLE_EQ(rate.Gbps(At(100_us)), 12.5);
  // Five steps towards 25 Gbps, at 155 to 375 us; the first additive one, by 0.1, at 430 us.
  const double recovered = 25 - 12.5 / 32;
  EXPECT_DOUBLE_EQ(rate.Gbps(At(375_us)), recovered);
  EXPECT_DOUBLE_EQ(rate.Gbps(At(430_us) - 1_ps), recovered);
  EXPECT_DOUBLE_EQ(rate.Gbps(At(430_us)), (recovered + 25.1) / 2);
}

TEST(DcqcnPaperTest, ForgetsOldCongestion) {
  // Half of alpha is forgotten after 177.1 intervals without a CNP.
  for (const int64_t intervals : {177, 178}) {
    RateClock rate;
    rate.Cnp(At(0_us));
    const Time again = At(55_us * intervals);
    const double before = rate.Gbps(again - 1_ps);
    rate.Cnp(again);
    const double alpha = 2 * (1 - rate.Gbps(again) / before);
    EXPECT_NEAR(alpha, std::pow(255.0 / 256, static_cast<double>(intervals)), 1e-9);
    EXPECT_EQ(alpha < 0.5, intervals == 178);
  }
}

TEST(DcqcnPaperTest, StopsItsClockAtTheLineRate) {
  RateClock rate;
  EXPECT_EQ(rate.deadline(), kNever);
  rate.Cnp(At(0_us));
  EXPECT_EQ(rate.Gbps(At(10_ms)), 100);
  EXPECT_EQ(rate.deadline(), kNever);
}

// After a halving, n steps of fast recovery leave 2^-(n+1) of the line's rate missing: at 100 Gbps
// 1.46 bit/s after 35 steps and 0.73 after 36. Heddle counts less than 1 bit/s as none, so that the
// clock can stop.
TEST(DcqcnPaperTest, ReachesTheLineWhereLessThanABitPerSecondIsMissing) {
  for (const BitRate line : {100_Gbps, BitRate{int64_t{1} << 36}}) {
    RateClock rate("", line);
    rate.Cnp(At(0_us));
    const double bps = static_cast<double>(line.bps);
    EXPECT_DOUBLE_EQ(rate.Gbps(At(35 * 55_us)) * 1e9, bps - std::ldexp(bps, -36));
    EXPECT_NE(rate.deadline(), kNever);
    EXPECT_EQ(rate.Gbps(At(36 * 55_us)), bps * 1e-9);
    EXPECT_EQ(rate.deadline(), kNever);
  }
}

TEST(DcqcnPaperTest, RaisesTheRateByBytesToo) {
  RateClock rate(", byte_counter: 10KB");
  for (const Duration at : {0_us, 50_us}) rate.Cnp(At(at));
  // 25 Gbps, target 50. Every tenth packet of 1000 bytes is a step.
  double expected = 25;
  for (int step = 1; step <= 5; ++step) {
    for (int i = 0; i < 9; ++i) rate.Send(At(51_us), 1'000);
    EXPECT_DOUBLE_EQ(rate.Gbps(At(51_us)), expected);
    rate.Send(At(51_us), 1'000);
    expected = (expected + 50) / 2;
    EXPECT_DOUBLE_EQ(rate.Gbps(At(51_us)), expected);
  }
  for (int i = 0; i < 10; ++i) rate.Send(At(52_us), 1'000);
  EXPECT_DOUBLE_EQ(rate.Gbps(At(52_us)), (expected + 50.1) / 2);
}

// Section 3.1 of the paper: a CNP resets the byte counter as well as the timer. Of nine packets
// before it none counts towards the ten that make a step after it.
TEST(DcqcnPaperTest, CountsBytesFromTheLastCnpOn) {
  RateClock rate(", byte_counter: 10KB");
  rate.Cnp(At(0_us));
  for (int i = 0; i < 9; ++i) rate.Send(At(1_us), 1'000);
  rate.Cnp(At(50_us));
  for (int i = 0; i < 9; ++i) rate.Send(At(51_us), 1'000);
  EXPECT_DOUBLE_EQ(rate.Gbps(At(51_us)), 25);
  rate.Send(At(51_us), 1'000);
  EXPECT_DOUBLE_EQ(rate.Gbps(At(51_us)), (25 + 50.0) / 2);
}

// Hyper increase begins when both the time and the bytes have made more than F steps.
TEST(DcqcnPaperTest, GrowsFasterWhenBothClocksAgree) {
  RateClock rate(", byte_counter: 1KB");
  for (const Duration at : {0_us, 50_us}) rate.Cnp(At(at));
  double target = 50;
  double expected = 25;
  const auto step = [&](double more) {
    target += more;
    expected = (expected + target) / 2;
  };
  for (int i = 1; i <= 7; ++i) {
    rate.Send(At(51_us), 1'000);
    step(i <= 5 ? 0 : 0.1);
  }
  EXPECT_DOUBLE_EQ(rate.Gbps(At(51_us)), expected);
  for (int i = 1; i <= 7; ++i) {
    // Time steps at 105 us and on; bytes are at 7 steps.
    step(i <= 5 ? 0.1 : 1.0 * (i - 5));
    EXPECT_DOUBLE_EQ(rate.Gbps(At(50_us + 55_us * i)), expected) << i;
  }
}

// Section 3.1 of the paper with a timer for alpha, too, at 100 Gbps: g is 1/16, alpha decays every
// 7 us, the rate grows every 11 us and every 20 KB, F is 2, and rates are in Gbps.
class PaperReference {
 public:
  void Cnp(Time now) {
    Run(now, now - 1_ps);
    target_ = rate_;
    rate_ = std::max(rate_ * (1 - alpha_ / 2), 1.5);
    alpha_ = 15.0 / 16 * alpha_ + 1.0 / 16;
    alpha_at_ = now + 7_us;
    increase_at_ = now + 11_us;
    steps_[0] = steps_[1] = bytes_ = 0;
    began_ = true;
  }
  void Send(Time now, int64_t bytes) {
    Run(now - 1_ps, now - 1_ps);
    bytes_ += bytes;
    if (bytes_ < 20'000 || !began_) return;
    bytes_ -= 20'000;
    Increase(1);
  }
  void Run(Time alpha_until, Time increase_until) {
    for (; alpha_at_ <= alpha_until; alpha_at_ += 7_us) alpha_ *= 15.0 / 16;
    for (; increase_at_ <= increase_until; increase_at_ += 11_us) Increase(0);
  }
  double rate() const { return rate_; }

 private:
  void Increase(size_t clock) {
    ++steps_[clock];
    const auto [least, most] = std::minmax(steps_[0], steps_[1]);
    if (most > 2) target_ += least > 2 ? 2.0 * static_cast<double>(least - 2) : 0.3;
    target_ = std::min(target_, 100.0);
    rate_ = (rate_ + target_) / 2;
  }

  double rate_ = 100;
  double target_ = 100;
  double alpha_ = 1;
  Time alpha_at_ = kNever;
  Time increase_at_ = kNever;
  int64_t steps_[2] = {0, 0};  // Of the timer and of the bytes.
  int64_t bytes_ = 0;
  bool began_ = false;
};

TEST(DcqcnPaperTest, AgreesWithTimersThatRunAllTheTime) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng = Rng::Stream(seed, "cnps", 0);
    RateClock rate(
        ", g: 1/16, alpha_interval: 7us, increase_interval: 11us, byte_counter: 20KB, threshold: "
        "2, rai: 300Mbps, rhai: 2Gbps, min_rate: 1500Mbps");
    PaperReference reference;
    Time now = At(1_us);
    Time cnp = now;
    for (int i = 0; i < 2'000; ++i) {
      if (now >= cnp) {
        rate.Cnp(now);
        reference.Cnp(now);
        cnp = now + 1_us * rng.Below(seed % 2 == 0 ? 20 : 300);
      } else {
        rate.Send(now, 1'500);
        reference.Send(now, 1'500);
      }
      reference.Run(now, now);
      ASSERT_NEAR(rate.Gbps(now), reference.rate(), 2e-9) << now.ps << " ps, seed " << seed;
      now += 100_ns * rng.Below(rng.Below(4) == 0 ? 100 : 10);
    }
  }
}

TEST(DcqcnPaperTest, NeverFallsBelowItsLeastRate) {
  RateClock rate;
  for (int i = 0; i < 100; ++i) rate.Cnp(At(50_us * i));
  EXPECT_DOUBLE_EQ(rate.Gbps(At(50_us * 99)), 0.1);
  RateClock other(", min_rate: 2Gbps");
  for (int i = 0; i < 100; ++i) other.Cnp(At(50_us * i));
  EXPECT_DOUBLE_EQ(other.Gbps(At(50_us * 99)), 2);
}

// --- The NIC's sender (T10) ---

constexpr const char* kNic = ", rp: nic";

TEST(DcqcnNicTest, CutsOnItsGrid) {
  RateClock rate(kNic);
  rate.Cnp(At(0_us));
  EXPECT_EQ(rate.Gbps(At(4_us)), 100);
  const double alpha = std::pow(255.0 / 256, 4);
  const double cut = 100 * (1 - alpha / 2);
  EXPECT_NEAR(cut, 50.78, 0.005);
  EXPECT_DOUBLE_EQ(rate.Gbps(At(4'001_ns)), cut);
  EXPECT_DOUBLE_EQ(rate.Gbps(At(304'001_ns) - 1_ps), cut);
  EXPECT_NEAR(rate.Gbps(At(304'001_ns)), 75.39, 0.005);
  EXPECT_NEAR(rate.Gbps(At(604'001_ns)), 87.69, 0.005);
  EXPECT_NEAR(rate.Gbps(At(904'001_ns)), 93.85, 0.005);
}

// The first CNP of a flow may cut its rate, which is then the target of the way back, too.
// Decreases are due 1 ns behind the first CNP and whole intervals later, never before a CNP that
// asks for them. A CNP at the instant of a step of alpha counts in that step: with g = 1/2, three
// further steps without one leave alpha at 1/8. A CNP 1 ps later counts in the next: 1/2, 3/4,
// 3/16.
TEST(DcqcnNicTest, ACnpAtTheInstantOfAStepCountsInThatStep) {
  for (const auto& [cnp, alpha] : {std::pair(1_us, 1.0 / 8), std::pair(1_us + 1_ps, 3.0 / 16)}) {
    RateClock clock(", rp: nic, g: 0.5");
    clock.Cnp(At(0_us));
    clock.Cnp(At(cnp));
    EXPECT_DOUBLE_EQ(clock.Gbps(At(5_us)), 100 * (1 - alpha / 2));
  }
  for (const int64_t intervals : {2, 7}) {
    const Time due = At(10_us + 1_ns + 4_us * intervals);
    const Time next = due + 4_us;
    for (const auto& [cnp, decrease] :
         {std::pair(due - 1_ps, due), std::pair(due, due), std::pair(due + 1_ps, next)}) {
      RateClock clock(", rp: nic, increase_interval: 10s");
      clock.Cnp(At(10_us));
      clock.Gbps(At(10_us + 1_ns + 4_us));  // The decrease of the first CNP.
      clock.Cnp(cnp);
      EXPECT_EQ(clock.deadline(), decrease) << intervals;
    }
  }
}

TEST(DcqcnNicTest, MayBeginAtAShareOfTheRate) {
  for (const auto& [least, first] : {std::pair(0.1, 25.0), std::pair(20.0, 25.0),
                                     std::pair(40.0, 40.0), std::pair(1'000.0, 100.0)}) {
    RateClock rate(fmt::format(", rp: nic, rate_on_first_cnp: 0.25, min_rate: {}Mbps",
                               static_cast<int64_t>(least * 1e3)));
    rate.Cnp(At(0_us));
    EXPECT_DOUBLE_EQ(rate.Gbps(At(4_us)), first);
    const double cut = std::max(first * (1 - std::pow(255.0 / 256, 4) / 2), std::min(least, first));
    EXPECT_DOUBLE_EQ(rate.Gbps(At(4'001_ns)), cut);
    EXPECT_DOUBLE_EQ(rate.Gbps(At(304'001_ns)), (cut + first) / 2);
  }
}

TEST(DcqcnNicTest, KeepsTheTargetOfCutsInARow) {
  for (const bool clamp : {false, true}) {
    RateClock rate(std::string(kNic) + (clamp ? ", clamp_target: true" : ""));
    rate.Cnp(At(0_us));
    double before = 100;
    for (int i = 1; i <= 9; ++i) {
      rate.Cnp(At(4_us * i));
      EXPECT_EQ(rate.Gbps(At(4_us * i)), before) << i;
      before = rate.Gbps(At(4_us * i + 1_ns));
    }
    const Time last = At(36'001_ns);
    if (clamp) {
      EXPECT_LT(rate.Gbps(last + 300_us), 1);
    } else {
      EXPECT_NEAR(rate.Gbps(last), 0.317, 0.0005);
      EXPECT_NEAR(rate.Gbps(last + 300_us), 50.16, 0.005);
    }
  }
}

// The rules written down tick by tick.
class NicReference {
 public:
  explicit NicReference(Time origin) : origin_(origin) {}

  void Cnp(bool first) {
    if (!first) alpha_flag_ = true;
    decrease_flag_ = true;
  }
  // `now` is a whole number of ns.
  void Tick(Time now) {
    const int64_t ns = (now - origin_) / 1_ns;
    if (ns > 0 && ns % 1'000 == 0) {
      alpha_ = alpha_ * (1 - kG) + (alpha_flag_ ? kG : 0);
      alpha_flag_ = false;
    }
    if (ns > 1 && ns % 4'000 == 1 && decrease_flag_) {
      if (stage_ > 0) target_ = rate_;
      rate_ = std::max(rate_ * (1 - alpha_ / 2), 0.1);
      stage_ = 0;
      decrease_flag_ = false;
      increase_at_ = now + 300_us;
    } else if (now == increase_at_) {
      if (stage_ == 1) target_ += 0.02;
      if (stage_ > 1) target_ += 0.2;
      target_ = std::min(target_, 100.0);
      rate_ = (rate_ + target_) / 2;
      ++stage_;
      increase_at_ = now + 300_us;
    }
  }
  double rate() const { return rate_; }

 private:
  static constexpr double kG = 1.0 / 256;
  const Time origin_;
  double rate_ = 100;
  double target_ = 100;
  double alpha_ = 1;
  bool alpha_flag_ = false;
  bool decrease_flag_ = false;
  int stage_ = 0;
  Time increase_at_ = kNever;
};

TEST(DcqcnNicTest, AgreesWithAClockThatTicks) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Rng rng = Rng::Stream(seed, "cnps", 0);
    std::vector<Time> cnps;
    for (Time at = At(3_us); at < At(3_ms);) {
      cnps.push_back(at);
      at += 1_ns * (rng.Below(4) == 0 ? rng.Below(900'000) : 1 + rng.Below(9'000));
    }
    RateClock rate(kNic);
    NicReference reference(cnps.front());
    size_t next = 0;
    for (Time now = At(0_us); now < At(4_ms); now += 1_ns) {
      while (next < cnps.size() && cnps[next] == now) {
        rate.Cnp(now);
        reference.Cnp(next++ == 0);
      }
      if (now >= cnps.front()) reference.Tick(now);
      if (now.ps % (1_us).ps == 2'000) {
        ASSERT_NEAR(rate.Gbps(now), reference.rate(), 1e-6) << now.ps << " ps, seed " << seed;
      }
    }
  }
}

}  // namespace heddle::dcqcn_test
