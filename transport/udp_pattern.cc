// SPDX-License-Identifier: Apache-2.0

#include "transport/udp_pattern.h"

#include <algorithm>
#include <cmath>

namespace heddle {
namespace {

Duration Rounded(double ps) { return {std::llround(std::min(ps, static_cast<double>(kNever.ps)))}; }

Time After(Time at, Duration length) { return std::min(at + length, kNever); }

}  // namespace

void UdpPattern::Declare(Fields& fields) {
  fields.Choice("pattern", kind,
                {{"cbr", Kind::kCbr}, {"poisson", Kind::kPoisson}, {"onoff", Kind::kOnOff}},
                "cbr: at a constant rate; poisson: after exponential gaps; onoff: at a constant "
                "rate in on periods that alternate with off periods.");
  fields.Add("jitter", jitter, Between(0.0, 1.0),
             "cbr and onoff: each gap is longer or shorter by up to this share of it, at random. "
             "Unless it is 0, each source begins at a random point of its first gap.");
  fields.Add("mean_on", mean_on, {.at_least = 1_ns, .at_most = 1000_s},
             "onoff: mean length of an on period, in which a source sends at rate * (mean_on + "
             "mean_off) / mean_on.");
  fields.Add("mean_off", mean_off, {.at_least = 1_ns, .at_most = 1000_s},
             "onoff: mean length of an off period, in which a source sends nothing.");
  const Choices<Lengths> lengths = {{"exponential", Lengths::kExponential},
                                    {"constant", Lengths::kConstant},
                                    {"pareto", Lengths::kPareto}};
  fields.Choice("on_dist", on, lengths, "onoff: distribution of the on periods.");
  fields.Choice("off_dist", off, lengths, "onoff: distribution of the off periods.");
  fields.Add("shape", shape, {.above = 1.0, .at_most = 100.0},
             "onoff: shape of Pareto distributions; up to 2 their variance is infinite.");
}

BitRate UdpPattern::PeakRate(BitRate average) const {
  if (kind != Kind::kOnOff) return average;
  const double on_ps = static_cast<double>(mean_on.ps);
  const double factor = (on_ps + static_cast<double>(mean_off.ps)) / on_ps;
  return {std::llround(std::min(static_cast<double>(average.bps) * factor, 1e18))};
}

UdpClock::UdpClock(const UdpPattern& pattern, Bytes wire, BitRate average, Time start, Rng rng)
    : pattern_(pattern),
      rate_(pattern.PeakRate(average).bps),
      wire_bits_(wire.count * 8 * kPicosecondsPerSecond),
      rng_(rng),
      next_(start) {
  switch (pattern_.kind) {
    case UdpPattern::Kind::kPoisson:
      Advance();
      break;
    case UdpPattern::Kind::kOnOff:
      BeginOnOrOff();
      BeginWithinGap();
      break;
    case UdpPattern::Kind::kCbr:
      BeginWithinGap();
  }
}

// Begins on or off, each as likely as at any other time.
void UdpClock::BeginOnOrOff() {
  const double on_ps = static_cast<double>(pattern_.mean_on.ps);
  const double off_ps = static_cast<double>(pattern_.mean_off.ps);
  if (rng_.Uniform() * (on_ps + off_ps) >= on_ps) {
    next_ = After(next_, Draw(pattern_.off, pattern_.mean_off));
  }
  on_left_ = Draw(pattern_.on, pattern_.mean_on);
}

// Begins at a random time within a gap, or else sources of one rate would stay in step.
void UdpClock::BeginWithinGap() {
  if (pattern_.jitter == 0) return;
  Move(Rounded(rng_.Uniform() * static_cast<double>(wire_bits_ / rate_)));
}

Duration UdpClock::Gap() {
  if (pattern_.kind == UdpPattern::Kind::kPoisson) {
    return rng_.ExponentialDuration(static_cast<double>(wire_bits_) / static_cast<double>(rate_));
  }
  const Duration gap = ConstantGap();
  if (pattern_.jitter == 0) return gap;
  const double more = pattern_.jitter * (2 * rng_.Uniform() - 1);
  return gap + Rounded(more * static_cast<double>(gap.ps));
}

// Adds to a gap what earlier gaps have lost by rounding.
Duration UdpClock::ConstantGap() {
  int64_t gap = wire_bits_ / rate_;
  carry_ += wire_bits_ % rate_;
  if (carry_ >= rate_) {
    carry_ -= rate_;
    ++gap;
  }
  return {gap};
}

Duration UdpClock::Draw(UdpPattern::Lengths lengths, Duration mean) {
  const double mean_ps = static_cast<double>(mean.ps);
  switch (lengths) {
    case UdpPattern::Lengths::kConstant:
      return mean;
    case UdpPattern::Lengths::kPareto: {
      const double least = mean_ps * (pattern_.shape - 1) / pattern_.shape;
      return Rounded(least * std::pow(1 - rng_.Uniform(), -1 / pattern_.shape));
    }
    case UdpPattern::Lengths::kExponential:
      break;
  }
  return rng_.ExponentialDuration(mean_ps);
}

// Gaps count only time on, so that the mean rate is met however short the times on are.
void UdpClock::Move(Duration gap) {
  if (next_ == kNever) return;
  if (pattern_.kind == UdpPattern::Kind::kOnOff) {
    while (gap >= on_left_ && next_ < kNever) {
      gap -= on_left_;
      next_ = After(next_ + on_left_, Draw(pattern_.off, pattern_.mean_off));
      on_left_ = Draw(pattern_.on, pattern_.mean_on);
    }
    on_left_ -= gap;
  }
  next_ = After(next_, gap);
}

}  // namespace heddle
