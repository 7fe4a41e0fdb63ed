// SPDX-License-Identifier: Apache-2.0
// DCQCN (Zhu et al., SIGCOMM 2015): receivers turn congestion marks into CNPs, each CNP cuts the
// rate of its queue pair, and time and bytes without one raise it again. Two variants of the
// sender: that of the paper, and that of ConnectX-4 NICs, as HPCC's and ConWeave's simulators model
// it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "settings/quantity.h"
#include "transport/congestion_controls.h"

namespace heddle {
namespace {

struct DcqcnSettings {
  enum class Variant { kPaper, kNic };

  Variant rp = Variant::kPaper;
  double g = 1.0 / 256;
  std::optional<Duration> alpha_interval = std::nullopt;     // Not set: 55 us, nic 1 us.
  std::optional<Duration> increase_interval = std::nullopt;  // 55 us, nic 300 us.
  Duration decrease_interval = 4_us;                         // nic.
  Bytes byte_counter{10'000'000};                            // paper.
  std::optional<int64_t> threshold = std::nullopt;           // F. 5, nic 1.
  std::optional<BitRate> rai = std::nullopt;                 // Not set: from the line's rate.
  std::optional<BitRate> rhai = std::nullopt;
  std::optional<BitRate> min_rate = std::nullopt;
  bool clamp_target = false;       // nic.
  double rate_on_first_cnp = 1.0;  // nic.
  CnpRule::Mode cnp_mode = CnpRule::Mode::kPacket;
  std::optional<Duration> cnp_interval = std::nullopt;  // 50 us, nic 4 us.
  bool cnp_trailing = false;
  bool cnp_on_ooo = false;

  bool is_nic() const { return rp == Variant::kNic; }
  void Declare(Fields& fields);
};

// x^n by squaring: std::pow need not round alike everywhere.
double Power(double x, int64_t n) {
  double power = 1;
  for (; n > 0; n >>= 1, x *= x) {
    if (n & 1) power *= x;
  }
  return power;
}

// The rates that follow from the line's rate unless they are set.
struct Rates {
  double ai;
  double hai;
  double min;
};

Rates RatesOf(const DcqcnSettings& settings, double line) {
  // Paper: 40 Mbps at 40 Gbps. NIC: 5 and 50 Mbps at 25 Gbps, as vendors set them.
  const double ai = line * (settings.is_nic() ? 0.2e-3 : 1e-3);
  const auto bps = [](const std::optional<BitRate>& rate, double otherwise) {
    return rate ? static_cast<double>(rate->bps) : otherwise;
  };
  const double rai = bps(settings.rai, ai);
  return {rai, bps(settings.rhai, 10 * rai), std::min(bps(settings.min_rate, line * 1e-3), line)};
}

// Recovery halves the distance to the target. It ends because the last bit per second up to the
// line's rate is added.
double Approach(double rate, double target, double line) {
  const double next = (rate + target) / 2;
  return line - next < 1 ? line : next;
}

class Dcqcn : public RateControl {
 public:
  explicit Dcqcn(const DcqcnSettings& settings)
      : settings_(settings),
        alpha_interval_(settings.alpha_interval.value_or(settings.is_nic() ? 1_us : 55_us)),
        increase_interval_(settings.increase_interval.value_or(settings.is_nic() ? 300_us : 55_us)),
        threshold_(settings.threshold.value_or(settings.is_nic() ? 1 : 5)) {}

  CnpRule cnp_rule() const override {
    return {settings_.cnp_mode, settings_.cnp_interval.value_or(settings_.is_nic() ? 4_us : 50_us),
            settings_.cnp_trailing, settings_.cnp_on_ooo};
  }

  AutoValues ValuesOfAuto(const RateState& state) const override {
    const Rates rates = RatesOf(settings_, state.line);
    const auto rate = [](double bps) { return FormatQuantity(BitRate{std::llround(bps)}); };
    AutoValues values;
    const auto add = [&](bool is_set, const char* name, const std::string& value) {
      if (!is_set) values.emplace_back(name, value);
    };
    add(settings_.alpha_interval.has_value(), "alpha_interval", FormatQuantity(alpha_interval_));
    add(settings_.increase_interval.has_value(), "increase_interval",
        FormatQuantity(increase_interval_));
    add(settings_.threshold.has_value(), "threshold", FormatQuantity(threshold_));
    add(settings_.rai.has_value(), "rai", rate(rates.ai));
    add(settings_.rhai.has_value(), "rhai", rate(rates.hai));
    add(settings_.min_rate.has_value(), "min_rate", rate(rates.min));
    add(settings_.cnp_interval.has_value(), "cnp_interval", FormatQuantity(cnp_rule().interval));
    return values;
  }

 protected:
  const DcqcnSettings settings_;
  const Duration alpha_interval_;
  const Duration increase_interval_;
  const int64_t threshold_;
};

// Section 3.1 of the paper. Alpha decays on a timer of its own there; here, on the next CNP, by as
// many steps as have passed.
class PaperDcqcn final : public Dcqcn {
 public:
  using Dcqcn::Dcqcn;

  void Start(RateState& state) const override {
    Own& own = state.own.Begin<Own>();
    own.target = state.line;
    own.rates = RatesOf(settings_, state.line);
  }

  void OnCnp(RateState& state, Time now) const override {
    Own& own = state.own.As<Own>();
    const double g = settings_.g;
    if (own.alpha_since != kNever) {
      own.alpha *= Power(1 - g, (now - own.alpha_since) / alpha_interval_);
    }
    own.target = state.rate;
    state.rate = std::max(state.rate * (1 - own.alpha / 2), own.rates.min);
    own.alpha = (1 - g) * own.alpha + g;
    own.alpha_since = now;
    own.timer_steps = own.byte_steps = own.bytes = 0;
    own.active = true;
    state.deadline = now + increase_interval_;
  }

  void OnSent(RateState& state, int64_t bytes, Time /*now*/) const override {
    Own& own = state.own.As<Own>();
    if (!own.active) return;
    own.bytes += bytes;
    if (own.bytes < settings_.byte_counter.count) return;
    own.bytes -= settings_.byte_counter.count;
    ++own.byte_steps;
    Increase(state);
  }

  void OnTimer(RateState& state, Time now) const override {
    state.deadline = now + increase_interval_;
    ++state.own.As<Own>().timer_steps;
    Increase(state);
  }

 private:
  struct Own {
    double target = 0;
    double alpha = 1;
    Time alpha_since = kNever;  // The last CNP. Before the first one, alpha stays 1.
    int64_t timer_steps = 0;
    int64_t byte_steps = 0;
    int64_t bytes = 0;    // Since the last byte step.
    bool active = false;  // Below the line's rate.
    Rates rates;
  };

  void Increase(RateState& state) const {
    Own& own = state.own.As<Own>();
    const int64_t slower = std::min(own.timer_steps, own.byte_steps);
    if (slower > threshold_) {
      own.target += own.rates.hai * static_cast<double>(slower - threshold_);
    } else if (std::max(own.timer_steps, own.byte_steps) > threshold_) {
      own.target += own.rates.ai;
    }
    own.target = std::min(own.target, state.line);
    state.rate = Approach(state.rate, own.target, state.line);
    own.active = state.rate < state.line;
    if (!own.active) state.deadline = kNever;
  }
};

// CNPs only set flags: alpha and the rate follow on grids of their own, which start with the first
// CNP. Neither has a timer of its own: the steps of alpha are made up for when it is read, and the
// next decrease is due only while a flag is set.
class NicDcqcn final : public Dcqcn {
 public:
  using Dcqcn::Dcqcn;

  void Start(RateState& state) const override {
    Own& own = state.own.Begin<Own>();
    own.target = state.line;
    own.rates = RatesOf(settings_, state.line);
  }

  void OnCnp(RateState& state, Time now) const override {
    Own& own = state.own.As<Own>();
    if (own.origin == kNever) {
      own.origin = own.alpha_at = now;
      state.rate = std::max(state.rate * settings_.rate_on_first_cnp, own.rates.min);
      own.target = state.rate;
    } else {
      UpdateAlpha(own, now - 1_ps);  // A step due now comes after this CNP.
      own.alpha_flag = true;
    }
    if (own.decrease_at == kNever) own.decrease_at = NextDecrease(own.origin, now);
    state.deadline = std::min(own.decrease_at, own.increase_at);
  }

  void OnTimer(RateState& state, Time now) const override {
    Own& own = state.own.As<Own>();
    if (own.decrease_at <= now) {
      Decrease(state, now);
    } else {
      Increase(state, now);
    }
    state.deadline = std::min(own.decrease_at, own.increase_at);
  }

 private:
  struct Own {
    double target = 0;
    double alpha = 1;
    Time origin = kNever;  // The first CNP.
    Time alpha_at;         // The last step of alpha.
    Time decrease_at = kNever;
    Time increase_at = kNever;
    uint32_t stage = 0;
    bool alpha_flag = false;
    Rates rates;
  };
  static constexpr Duration kDecreaseOffset = 1_ns;  // After the step of alpha.

  // Takes the steps of alpha up to `until`; the first one sees the flag.
  void UpdateAlpha(Own& own, Time until) const {
    const int64_t steps = (until - own.alpha_at) / alpha_interval_;
    if (steps <= 0) return;
    own.alpha_at += alpha_interval_ * steps;
    own.alpha = (1 - settings_.g) * own.alpha + (own.alpha_flag ? settings_.g : 0);
    own.alpha *= Power(1 - settings_.g, steps - 1);
    own.alpha_flag = false;
  }

  // Returns the next time of a decrease; it is not before `now`.
  Time NextDecrease(Time origin, Time now) const {
    const Time first = origin + kDecreaseOffset;
    const Duration passed = now > first ? now - first : Duration{0};
    const Duration step = settings_.decrease_interval;
    const int64_t steps = std::max<int64_t>(1, (passed + step - 1_ps) / step);
    return first + step * steps;
  }

  void Decrease(RateState& state, Time now) const {
    Own& own = state.own.As<Own>();
    UpdateAlpha(own, now);
    // Cuts in a row keep the target: recovery is then fast.
    if (settings_.clamp_target || own.stage > 0) own.target = state.rate;
    state.rate = std::max(state.rate * (1 - own.alpha / 2), own.rates.min);
    own.stage = 0;
    own.decrease_at = kNever;
    own.increase_at = now + increase_interval_;
  }

  void Increase(RateState& state, Time now) const {
    Own& own = state.own.As<Own>();
    if (own.stage == threshold_) {
      own.target += own.rates.ai;
    } else if (own.stage > threshold_) {
      own.target += own.rates.hai;
    }
    own.target = std::min(own.target, state.line);
    state.rate = Approach(state.rate, own.target, state.line);
    ++own.stage;
    own.increase_at = state.rate < state.line ? now + increase_interval_ : kNever;
  }
};

void DcqcnSettings::Declare(Fields& fields) {
  const Range<Duration> interval{.above = Duration{0}, .at_most = 10_s};
  const Range<BitRate> rate{.above = BitRate{0}};
  fields.Choice("rp", rp, {{"paper", Variant::kPaper}, {"nic", Variant::kNic}},
                "Variant of the sender. paper: as in the paper; nic: as the ConnectX-4 NICs in "
                "HPCC's and ConWeave's simulators.");
  fields.Add("g", g, {.above = 0.0, .at_most = 1.0}, "Weight of the newest step in alpha.");
  fields.AddOr("auto", "alpha_interval", alpha_interval, interval,
               "Time without CNPs after which alpha decays by a step. auto: 55us; nic 1us.");
  fields.AddOr("auto", "increase_interval", increase_interval, interval,
               "Time from one increase of the rate to the next. auto: 55us; nic 300us.");
  fields.Add("decrease_interval", decrease_interval, interval,
             "nic: least time from one decrease to the next.");
  fields.Add("byte_counter", byte_counter, {.at_least = Bytes{1'000}},
             "paper: this many bytes sent cause an increase, too.");
  fields.AddOr("auto", "threshold", threshold, Between<int64_t>(0, 1'000),
               "F: increases that only halve the way back to the target. auto: 5; nic 1.");
  fields.AddOr("auto", "rai", rai, rate,
               "Additive increase of the target. auto: 1Mbps per Gbps of the NIC; nic 0.2Mbps.");
  fields.AddOr("auto", "rhai", rhai, rate, "Hyper increase of the target. auto: 10 times rai.");
  fields.AddOr("auto", "min_rate", min_rate, rate, "Least rate. auto: 0.1% of the NIC's.");
  fields.Add("clamp_target", clamp_target,
             "nic: every decrease lowers the target, not only the first of several in a row.");
  fields.Add("rate_on_first_cnp", rate_on_first_cnp, {.above = 0.0, .at_most = 1.0},
             "nic: factor of the rate at the first CNP of a flow.");
  fields.Choice("cnp_mode", cnp_mode,
                {{"packet", CnpRule::Mode::kPacket}, {"ack_flag", CnpRule::Mode::kAckFlag}},
                "packet: marks are answered by CNPs, at most one in cnp_interval; ack_flag: each "
                "mark by a bit in the ACK.");
  fields.AddOr("auto", "cnp_interval", cnp_interval, {.at_least = Duration{0}, .at_most = 10_s},
               "Least time between the CNPs of a flow. auto: 50us; nic 4us.");
  fields.Add("cnp_trailing", cnp_trailing,
             "Marks within the interval cause a CNP at its end, without another mark.");
  fields.Add("cnp_on_ooo", cnp_on_ooo, "Packets that come out of order count as marked.");
}

class DcqcnModel final : public RateControlModel {
 public:
  void Declare(Fields& fields) override { settings_.Declare(fields); }
  std::unique_ptr<const RateControl> Prepare() const override {
    if (settings_.is_nic()) return std::make_unique<NicDcqcn>(settings_);
    return std::make_unique<PaperDcqcn>(settings_);
  }
  bool wants_red() const override { return true; }

 private:
  DcqcnSettings settings_;
};

[[maybe_unused]] const bool registered = CongestionControls().Add<DcqcnModel>(
    {"dcqcn", "DCQCN: marked packets cause CNPs, which cut the rate of their flow.",
     "Zhu et al., SIGCOMM 2015"});

}  // namespace
}  // namespace heddle
