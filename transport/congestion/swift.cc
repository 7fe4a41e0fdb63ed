// SPDX-License-Identifier: Apache-2.0
// Swift (Kumar et al., SIGCOMM 2020): the window aims at a delay, which grows with the hops and
// shrinks with the window. Hosts add no delay in Heddle, so only the fabric's window is modelled.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>

#include "settings/quantity.h"
#include "transport/congestion_controls.h"

namespace heddle {
namespace {

struct SwiftSettings {
  double ai = 1.0;
  double beta = 0.8;
  double max_mdf = 0.5;
  Duration base = 25_us;
  std::optional<Duration> per_hop = std::nullopt;   // Not set: base / 6.5.
  std::optional<Duration> fs_range = std::nullopt;  // Not set: 5 base.
  double fs_min = 0.1;
  double fs_max = 100;
  double min_cwnd = 0.001;
  double max_cwnd = 1'000;
  std::optional<double> initial_cwnd = std::nullopt;  // Not set: base at line rate.
  int64_t retx_reset = 5;

  Duration PerHop() const { return per_hop.value_or(base * 2 / 13); }
  Duration ScalingRange() const { return fs_range.value_or(base * 5); }
  void Declare(Fields& fields);
};

// Returns the delay that a window of `cwnd` packets aims at over `links` links. Section 3.2 of the
// paper: flow scaling is fs_range at fs_min, and 0 at fs_max.
Duration Target(const SwiftSettings& settings, double cwnd, int links) {
  const Duration per_hop = settings.PerHop();
  const double range = static_cast<double>(settings.ScalingRange().ps);
  const double least = 1 / std::sqrt(settings.fs_max);
  const double a = range / (1 / std::sqrt(settings.fs_min) - least);
  const double scaling = std::clamp(a * (1 / std::sqrt(cwnd) - least), 0.0, range);
  return settings.base + per_hop * links + Duration{static_cast<int64_t>(scaling)};
}

class Swift final : public RateControl {
 public:
  explicit Swift(const SwiftSettings& settings) : settings_(settings) {}

  void Start(RateState& state) const override {
    Own& own = state.own.Begin<Own>();
    own.cwnd = FirstWindow(state);
    Apply(state, own);
  }

  AutoValues ValuesOfAuto(const RateState& state) const override {
    AutoValues values;
    if (!settings_.per_hop) values.emplace_back("per_hop", FormatQuantity(settings_.PerHop()));
    if (!settings_.fs_range)
      values.emplace_back("fs_range", FormatQuantity(settings_.ScalingRange()));
    if (!settings_.initial_cwnd) {
      values.emplace_back("initial_cwnd", FormatQuantity(FirstWindow(state)));
    }
    return values;
  }

  void OnAck(RateState& state, const AckSignal& ack) const override {
    Own& own = state.own.As<Own>();
    own.rtt = ack.rtt;
    if (ack.packets > 0) own.timeouts = 0;
    const Duration target = Target(settings_, own.cwnd, ack.links);
    if (ack.rtt < target) {
      const double grown = settings_.ai * static_cast<double>(ack.packets);
      own.cwnd += own.cwnd >= 1 ? grown / own.cwnd : grown;
    } else {
      const double excess = Seconds(ack.rtt - target) / Seconds(ack.rtt);
      Cut(own, std::max(1 - settings_.beta * excess, 1 - settings_.max_mdf), ack.now);
    }
    Apply(state, own);
  }

  void OnLoss(RateState& state, Time now) const override {
    Own& own = state.own.As<Own>();
    Cut(own, 1 - settings_.max_mdf, now);
    Apply(state, own);
  }

  void OnTimeout(RateState& state, Time now) const override {
    Own& own = state.own.As<Own>();
    if (++own.timeouts >= settings_.retx_reset) {
      own.cwnd = settings_.min_cwnd;
    } else {
      Cut(own, 1 - settings_.max_mdf, now);
    }
    Apply(state, own);
  }

 private:
  struct Own {
    double cwnd = 0;
    Duration rtt{0};  // The last sample.
    Time may_cut;     // Once in a round trip.
    int64_t timeouts = 0;
  };

  void Cut(Own& own, double factor, Time now) const {
    if (now < own.may_cut) return;
    own.cwnd *= factor;
    own.may_cut = now + own.rtt;
  }

  double FirstWindow(const RateState& state) const {
    return settings_.initial_cwnd.value_or(state.line * Seconds(settings_.base) /
                                           state.packet_bits);
  }

  // A window below one packet is one packet in flight every rtt / cwnd.
  void Apply(RateState& state, Own& own) const {
    own.cwnd = std::clamp(own.cwnd, settings_.min_cwnd, settings_.max_cwnd);
    state.window = std::max(own.cwnd, 1.0);
    state.rate = state.line;
    if (own.cwnd < 1 && own.rtt.ps > 0) {
      state.rate = std::min(state.line, state.packet_bits * own.cwnd / Seconds(own.rtt));
    }
  }

  const SwiftSettings settings_;
};

void SwiftSettings::Declare(Fields& fields) {
  const Range<double> packets{.above = 0.0, .at_most = 1e6};
  const Range<Duration> time{.above = Duration{0}, .at_most = 1_s};
  fields.Add("ai", ai, {.above = 0.0, .at_most = 1'000.0},
             "Packets by which the window grows in a round trip.");
  fields.Add("beta", beta, {.above = 0.0, .at_most = 1.0},
             "Share of the excess delay by which the window is cut.");
  fields.Add("max_mdf", max_mdf, {.above = 0.0, .at_most = 1.0}, "Largest cut.");
  fields.Add("base", base, time, "Target delay without hops and flow scaling.");
  fields.AddOr("auto", "per_hop", per_hop, {.at_least = Duration{0}, .at_most = 1_s},
               "Target delay for each link. auto: base / 6.5.");
  fields.AddOr(
      "auto", "fs_range", fs_range, {.at_least = Duration{0}, .at_most = 1_s},
      "Largest addition to the target for small windows (flow scaling). auto: 5 times base.");
  fields.Add("fs_min", fs_min, packets,
             "Window, in packets, up to which all of fs_range is added.");
  fields.Add("fs_max", fs_max, packets,
             "Window, in packets, from which nothing of fs_range is added.");
  fields.Add("min_cwnd", min_cwnd, packets, "Least window in packets.");
  fields.Add("max_cwnd", max_cwnd, packets, "Largest window in packets.");
  fields.AddOr("auto", "initial_cwnd", initial_cwnd, packets,
               "Window of a new flow. auto: what the NIC sends in the time base.");
  fields.Add("retx_reset", retx_reset, Between<int64_t>(1, 1'000),
             "Timeouts in a row after which the window is the least.");
  fields.Require(fs_min < fs_max, "fs_max", "is not above fs_min");
  fields.Require(min_cwnd <= max_cwnd, "max_cwnd", "is less than min_cwnd");
}

class SwiftModel final : public RateControlModel {
 public:
  void Declare(Fields& fields) override { settings_.Declare(fields); }
  std::unique_ptr<const RateControl> Prepare() const override {
    return std::make_unique<Swift>(settings_);
  }

 private:
  SwiftSettings settings_;
};

[[maybe_unused]] const bool registered = CongestionControls().Add<SwiftModel>(
    {"swift", "Swift: a window that aims at a delay.", "Kumar et al., SIGCOMM 2020"});

}  // namespace
}  // namespace heddle
