// SPDX-License-Identifier: Apache-2.0
// Compares NSCC and SMaRTT with a plain model of their rules, over random events.

#include "transport/uet/nscc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/nscc_kit.h"
#include "tests/support/printers.h"

namespace heddle::nscc_model_test {

using namespace nscc_kit;

// NSCC as uet-htsim has it and SMaRTT as its paper (arXiv 2404.01630) does, in microseconds and
// bytes since the start.
class PlainNscc {
 public:
  PlainNscc(const NsccRules& rules, Duration base, double window)
      : is_smartt_(rules.kind == NsccRules::Kind::kSmartt),
        packet_(rules.packet),
        rate_(rules.rate / 8e6),
        rtt_(rules.rtt),
        target_(rules.target),
        gate_(std::pow(2.0, rules.gate)),
        scale_(rate_ * Micros(rules.rtt) / 150'000),
        fair_(5 * rules.payload * scale_),
        proportional_(rules.payload * scale_ / 3),
        eta_(0.15 * rules.payload * scale_),
        base_(base),
        greatest_(1.5 * rate_ * Micros(base)),
        window_(window > 0 ? window : greatest_) {}

  double window() const { return window_; }
  double average() const { return average_; }
  double greatest() const { return greatest_; }
  // Times at which something becomes due.
  std::vector<Time> limits() const { return {adjusted_ + rtt_, period_end_, decreased_ + base_}; }

  Duration RoundTrip(Duration rtt) {
    base_ = std::min(base_, rtt);
    greatest_ = 1.5 * rate_ * Micros(base_);
    return rtt - base_;
  }
  void Sample(Duration delay, bool marked) {
    const bool is_odd = delay > target_ && !marked;  // A long delay without a mark.
    const double sample = static_cast<double>(is_odd ? base_.ps : delay.ps) / (is_odd ? 4 : 1);
    average_ += 0.0125 * (sample - average_);
  }
  void Bytes(int64_t newly) {
    since_adjustment_ += newly;
    in_period_ += newly;
    since_cut_ += newly;
  }
  void Ack(Time now, bool marked, Duration delay, int64_t newly, int64_t in_flight) {
    share_ += 0.0125 * ((marked ? 1 : 0) - share_);
    const bool ignores = marked && since_cut_ < to_ignore_;
    if (ignores || QuickAdapt(now, loss_ || delay > 4 * target_, in_flight)) {
      increase_ = 0;
      since_adjustment_ = 0;
      return;
    }
    const double bytes = static_cast<double>(newly);
    const bool is_late = delay >= target_;
    if (!marked && is_late) increase_ += fair_ * bytes;
    if (!marked && !is_late) GrowBelowTarget(delay, bytes);
    const bool yields = marked && (!is_smartt_ || share_ > 0.25);
    if (marked && is_late) {
      without_delay_ = 0;
      is_fast_ = false;
      if (yields) Cut(now);
    }
    if (yields && !is_late && is_smartt_)
      window_ -= 0.8 * bytes * window_ / (rate_ * Micros(base_));
    Limit();
    Adjust(now);
  }
  void Nack(Time now, int64_t size, int64_t in_flight, bool receiver_acts) {
    since_cut_ += size;
    Sample(rtt_, true);
    loss_ = true;
    if (since_cut_ < to_ignore_ || QuickAdapt(now, true, in_flight)) {
      increase_ = 0;
      since_adjustment_ = 0;
    } else if (!receiver_acts) {
      window_ -= static_cast<double>(size);
      Limit();
    }
  }
  void Lost(double bytes) { window_ = std::max(window_ - bytes, packet_); }

 private:
  static double Micros(Duration time) { return static_cast<double>(time.ps) / 1e6; }
  void Limit() {
    window_ = std::min(window_, greatest_);
    window_ = std::max(window_, packet_);
  }
  void GrowBelowTarget(Duration delay, double bytes) {
    const bool is_empty = delay < 1_us;
    without_delay_ = is_empty ? without_delay_ + bytes : 0;
    is_fast_ = is_empty && (is_fast_ || without_delay_ > window_);
    if (is_fast_) {
      window_ += bytes * 0.25 * scale_;
    } else {
      increase_ += proportional_ * bytes * Micros(target_ - delay);
    }
  }
  void Cut(Time now) {
    const double target = static_cast<double>(target_.ps);
    if (average_ <= target || now < decreased_ + base_) return;
    decreased_ = now;
    window_ -= window_ * std::min(0.8 * (1 - target / average_), 0.5);
  }
  void Adjust(Time now) {
    const Duration since = now - adjusted_;
    if (since <= rtt_ && static_cast<double>(since_adjustment_) <= 8 * packet_) return;
    window_ += increase_ / window_;
    if (since >= rtt_) window_ += eta_;
    if (since >= rtt_) adjusted_ = now;
    increase_ = 0;
    since_adjustment_ = 0;
    Limit();
  }
  bool QuickAdapt(Time now, bool is_due, int64_t in_flight) {
    if (now <= period_end_) return false;
    const bool is_first = period_end_ == Time{};
    const auto arrived = static_cast<double>(std::exchange(in_period_, 0));
    period_end_ = now + base_ + target_;
    if (is_first || !is_due || arrived >= greatest_ / gate_) return false;
    window_ = std::max(arrived, packet_);
    since_cut_ = 0;
    to_ignore_ = in_flight;
    loss_ = false;
    return true;
  }

  const bool is_smartt_;
  const double packet_;
  const double rate_;  // Bytes per microsecond.
  const Duration rtt_;
  const Duration target_;
  const double gate_;
  const double scale_;
  const double fair_;
  const double proportional_;
  const double eta_;
  Duration base_;
  double greatest_;
  double window_;
  double average_ = 0;
  double share_ = 0;  // Of ACKs with a mark.
  double increase_ = 0;
  double without_delay_ = 0;  // Bytes in a row.
  bool is_fast_ = false;
  bool loss_ = false;
  int64_t since_adjustment_ = 0;
  int64_t in_period_ = 0;
  int64_t since_cut_ = 0;
  int64_t to_ignore_ = 0;
  Time period_end_;
  Time adjusted_;
  Time decreased_{-1'000'000'000'000};
};

// One of the delays at which the rules change, or any.
Duration DrawDelay(const NsccRules& rules, Rng& rng) {
  const Duration target = rules.target;
  const Duration near[] = {0_ps,       1_us - 1_ps,      1_us, target - 1_ps, target,
                           4 * target, 4 * target + 1_ps};
  const uint32_t n = rng.Below(14);
  return n < 7 ? near[n] : Duration{static_cast<int64_t>(rng.Uniform() * 3e7)};
}

void ExpectAgreement(const NsccRules& rules, double window, uint64_t seed) {
  Rng rng = Rng::Stream(seed, "nscc test", 0);
  Nscc control;
  control.Start(rules, kRtt, window);
  PlainNscc plain(rules, kRtt, window);
  Time now = At(1_us);
  int64_t marks = 0;  // Of ten ACKs.
  for (int n = 0; n < 3'000; ++n) {
    if (n % 100 == 0) marks = rng.Below(11);
    const Time limit = plain.limits()[rng.Below(3)] + Duration{rng.Below(3)} - 1_ps;
    const bool jumps = rng.Below(8) == 0 && limit > now && limit < now + 100_us;
    now = jumps ? limit : now + Duration{rng.Below(2'000'000)};
    const int64_t size = rng.Below(4) == 0 ? 4'150 : rng.Below(20'000);
    const int64_t in_flight = rng.Below(100'000);
    if (const uint32_t kind = rng.Below(40); kind < 34) {
      const bool marked = rng.Below(10) < marks;
      const Duration delay = DrawDelay(rules, rng);
      control.OnBytes(size);
      plain.Bytes(size);
      if (kind < 25) {
        control.OnSample(delay, marked);
        plain.Sample(delay, marked);
      }
      control.OnAck(now, marked, delay, size, in_flight);
      plain.Ack(now, marked, delay, size, in_flight);
    } else if (kind < 36) {
      const bool receiver_acts = rng.Below(2) == 0;
      control.OnNack(now, size, in_flight, receiver_acts);
      plain.Nack(now, size, in_flight, receiver_acts);
    } else if (kind == 36) {
      control.OnTimeout(size);
      plain.Lost(static_cast<double>(size));
    } else if (kind == 37) {
      control.OnPenalty(size, 51);  // A fifth stays, in whole bytes.
      plain.Lost(static_cast<double>(size - size / 5));
    } else {
      const Duration rtt = kRtt - Duration{rng.Below(static_cast<uint32_t>(n) + 1) * 1'000};
      EXPECT_EQ(control.OnRoundTrip(rtt), plain.RoundTrip(rtt));
    }
    ASSERT_NEAR(control.window(), plain.window(), 1e-6) << "event " << n;
    ASSERT_NEAR(static_cast<double>(control.average().ps), plain.average(), 2) << "event " << n;
    ASSERT_NEAR(control.greatest(), plain.greatest(), 1e-6);
  }
}

TEST(NsccModelTest, TheWindowIsThatOfAPlainModelAfterEachEvent) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    for (const NsccRules::Kind kind : {NsccRules::Kind::kNscc, NsccRules::Kind::kSmartt}) {
      SCOPED_TRACE(seed);
      NsccRules rules = Rules();
      rules.kind = kind;
      rules.gate = static_cast<int>(seed % 4);
      ExpectAgreement(rules, seed % 3 == 0 ? 0 : 10'000.0 * static_cast<double>(seed), seed);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// The greatest window is less than a packet, which may be sent all the same.
TEST(NsccModelTest, AWindowHoldsOnePacketOnASlowPath) {
  NsccRules rules = Rules(kRtt, 1e9);
  rules.packet = 4'150;
  ExpectAgreement(rules, 0, 1);
  ExpectAgreement(rules, 4'150, 2);
}

}  // namespace heddle::nscc_model_test
