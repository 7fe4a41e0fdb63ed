// SPDX-License-Identifier: Apache-2.0
// TIMELY (Mittal et al., SIGCOMM 2015): the rate follows the gradient of the round-trip time.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "settings/quantity.h"
#include "transport/congestion_controls.h"

namespace heddle {
namespace {

struct TimelySettings {
  double alpha = 0.875;
  double beta = 0.8;
  Duration t_low = 50_us;
  Duration t_high = 500_us;
  Duration min_rtt = 20_us;
  std::optional<BitRate> delta = std::nullopt;  // Not set: 1 Mbps per Gbps of the NIC.
  int64_t hyperactive_after = 5;
  int64_t hyperactive_factor = 5;
  Bytes segment{16'000};
  std::optional<BitRate> min_rate = std::nullopt;  // Not set: 0.1 % of the NIC's.

  void Declare(Fields& fields);
};

class Timely final : public RateControl {
 public:
  explicit Timely(const TimelySettings& settings) : settings_(settings) {}

  void Start(RateState& state) const override { state.own.Begin<Own>(); }

  AutoValues ValuesOfAuto(const RateState& state) const override {
    AutoValues values;
    for (const auto& [name, rate] :
         {std::pair("delta", settings_.delta), std::pair("min_rate", settings_.min_rate)}) {
      if (rate) continue;
      const double bps = OrThousandth(rate, state);
      values.emplace_back(name, FormatQuantity(BitRate{std::llround(bps)}));
    }
    return values;
  }

  // One sample for each segment; the NIC of the paper reports completions of these.
  void OnAck(RateState& state, const AckSignal& ack) const override {
    Own& own = state.own.As<Own>();
    own.acked += ack.payload_bytes;
    if (own.acked < settings_.segment.count) return;
    own.acked = 0;
    Update(state, own, ack.rtt);
  }

 private:
  struct Own {
    Duration previous{0};   // The last sample; 0: none yet.
    double difference = 0;  // Smoothed difference of successive samples, in ps.
    int64_t acked = 0;      // Bytes since the last sample.
    int64_t falling = 0;    // Samples in a row whose gradient was not positive.
  };

  // The paper's algorithm 1.
  void Update(RateState& state, Own& own, Duration rtt) const {
    const Duration change = own.previous.ps == 0 ? Duration{0} : rtt - own.previous;
    own.previous = rtt;
    own.difference =
        (1 - settings_.alpha) * own.difference + settings_.alpha * static_cast<double>(change.ps);
    const double gradient = own.difference / static_cast<double>(settings_.min_rtt.ps);
    const bool between = rtt >= settings_.t_low && rtt <= settings_.t_high;
    own.falling = between && gradient <= 0 ? own.falling + 1 : 0;
    if (rtt < settings_.t_low) {
      Raise(state, 1);
    } else if (rtt > settings_.t_high) {
      const double excess = 1 - Seconds(settings_.t_high) / Seconds(rtt);
      Cut(state, 1 - settings_.beta * excess);
    } else if (gradient <= 0) {
      const bool hyperactive = own.falling >= settings_.hyperactive_after;
      Raise(state, hyperactive ? settings_.hyperactive_factor : 1);
    } else {
      Cut(state, 1 - settings_.beta * gradient);
    }
  }

  void Raise(RateState& state, int64_t steps) const {
    const double delta = OrThousandth(settings_.delta, state);
    state.rate = std::min(state.rate + static_cast<double>(steps) * delta, state.line);
  }

  void Cut(RateState& state, double factor) const {
    const double least = OrThousandth(settings_.min_rate, state);
    state.rate = std::max(state.rate * factor, std::min(least, state.line));
  }

  // Returns `rate`, or a thousandth of the line's if it is not set.
  static double OrThousandth(const std::optional<BitRate>& rate, const RateState& state) {
    return rate ? static_cast<double>(rate->bps) : state.line * 1e-3;
  }

  const TimelySettings settings_;
};

void TimelySettings::Declare(Fields& fields) {
  const Range<Duration> time{.above = Duration{0}, .at_most = 1_s};
  fields.Add("alpha", alpha, {.above = 0.0, .at_most = 1.0},
             "Weight of the newest difference of round-trip times.");
  fields.Add("beta", beta, {.above = 0.0, .at_most = 1.0}, "Share by which the rate is cut.");
  fields.Add("t_low", t_low, time, "Round-trip time below which the rate always grows.");
  fields.Add("t_high", t_high, time, "Round-trip time above which it always shrinks.");
  fields.Add("min_rtt", min_rtt, time, "Round-trip time by which gradients are normalised.");
  fields.AddOr("auto", "delta", delta, Above(BitRate{0}),
               "Additive increase. auto: 1Mbps per Gbps of the NIC.");
  fields.Add("hyperactive_after", hyperactive_after, Between<int64_t>(1, 1'000),
             "Samples in a row without a positive gradient from which the rate grows faster.");
  fields.Add("hyperactive_factor", hyperactive_factor, Between<int64_t>(1, 1'000),
             "Additive increases at once while the rate grows faster.");
  fields.Add("segment", segment, {.at_least = Bytes{1}, .at_most = Bytes{1'000'000}},
             "Payload acknowledged from one sample of the round-trip time to the next.");
  fields.AddOr("auto", "min_rate", min_rate, Above(BitRate{0}),
               "Least rate. auto: 0.1% of the NIC's.");
  fields.Require(t_low <= t_high, "t_high", "is less than t_low");
}

class TimelyModel final : public RateControlModel {
 public:
  void Declare(Fields& fields) override { settings_.Declare(fields); }
  std::unique_ptr<const RateControl> Prepare() const override {
    return std::make_unique<Timely>(settings_);
  }

 private:
  TimelySettings settings_;
};

[[maybe_unused]] const bool registered = CongestionControls().Add<TimelyModel>(
    {"timely", "TIMELY: a rate that follows the gradient of the delay.",
     "Mittal et al., SIGCOMM 2015"});

}  // namespace
}  // namespace heddle
