// SPDX-License-Identifier: Apache-2.0
// HPCC (Li et al., SIGCOMM 2019). From the telemetry of switches a sender computes how much is in
// flight on the busiest link of its path, in units of what the link holds in a round trip. It sets
// its window so that this comes to a little less than one.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>

#include "settings/quantity.h"
#include "transport/congestion_controls.h"

namespace heddle {
namespace {

struct HpccSettings {
  double eta = 0.95;
  int64_t max_stage = 5;
  std::optional<Duration> base_rtt = std::nullopt;  // Not set: that of the network.
  BaseRtt rtt_scope = BaseRtt::kLongest;
  std::optional<Bytes> w_ai = std::nullopt;       // On the wire. Not set: from the rate, or flows.
  std::optional<BitRate> ai_rate = std::nullopt;  // Not set: from the flows.
  int64_t flows = 100;
  std::optional<BitRate> min_rate = std::nullopt;  // Not set: 0.1 % of the NIC's.

  void Declare(Fields& fields);
};

// A measurement of the busiest link, from one ACK to the next.
struct Reading {
  double utilisation = 0;  // Bytes in flight / link's bytes per round trip; 1: full, no queue.
  double interval = 0;     // Seconds of the measurement.
};

// Only readings of the same links, one after the other, can be compared.
bool Follows(const Telemetry& now, const Telemetry& before) {
  if (now.hops == 0 || now.hops != before.hops || now.path != before.path) return false;
  for (size_t hop = 0; hop < now.hops; ++hop) {
    if (now.mbps[hop] != before.mbps[hop]) return false;
  }
  return true;
}

bool IsLater(const Telemetry& now, const Telemetry& before) {
  for (size_t hop = 0; hop < now.hops; ++hop) {
    if (now.at[hop] <= before.at[hop]) return false;
  }
  return true;
}

// The paper's algorithm 1, MeasureInflight. `rtt` in seconds.
Reading Read(const Telemetry& now, const Telemetry& before, double rtt) {
  Reading busiest;
  for (size_t hop = 0; hop < now.hops; ++hop) {
    const double rate = 1e6 * now.mbps[hop];
    const double interval = Seconds(now.at[hop] - before.at[hop]);
    const uint32_t sent = now.sent_bytes[hop] - before.sent_bytes[hop];
    const uint32_t queue = std::min(now.queue_bytes[hop], before.queue_bytes[hop]);
    const double utilisation = 8.0 * queue / (rate * rtt) + 8.0 * sent / (rate * interval);
    if (utilisation > busiest.utilisation) busiest = {utilisation, interval};
  }
  return busiest;
}

class Hpcc final : public RateControl {
 public:
  explicit Hpcc(const HpccSettings& settings) : settings_(settings) {}

  void Start(RateState& state) const override {
    Own& own = state.own.Begin<Own>();
    if (settings_.base_rtt) state.base_rtt = *settings_.base_rtt;
    own.window = own.reference = FullWindow(state);
    Apply(state, own);
  }

  AutoValues ValuesOfAuto(const RateState& state) const override {
    AutoValues values;
    if (!settings_.base_rtt) {
      const bool is_for_all = settings_.rtt_scope == BaseRtt::kLongest;
      values.emplace_back(is_for_all ? "base_rtt" : "longest_base_rtt",
                          FormatQuantity(state.base_rtt));
    }
    if (!settings_.w_ai) {
      values.emplace_back("w_ai", FormatQuantity(Bytes{std::llround(Increase(state))}));
    }
    if (!settings_.min_rate) {
      const double bps = LeastShare(state) * state.line;
      values.emplace_back("min_rate", FormatQuantity(BitRate{std::llround(bps)}));
    }
    return values;
  }

  void OnAck(RateState& state, const AckSignal& ack) const override {
    const Telemetry& now = *ack.telemetry;
    Telemetry& before = *state.told;
    const bool follows = Follows(now, before);
    if (follows && !IsLater(now, before)) return;  // Another ACK has overtaken this one.
    if (follows) Update(state, ack, Read(now, before, Seconds(state.base_rtt)));
    before = now;
  }

 private:
  struct Own {
    double window = 0;     // Bytes on the wire.
    double reference = 0;  // The window at the last update, which others start from.
    double utilisation = 1;
    int64_t stage = 0;         // Updates in a row that only added.
    uint32_t last_update = 0;  // The packet that was to be sent next then.
  };

  static double FullWindow(const RateState& state) {
    return state.line * Seconds(state.base_rtt) / 8;
  }

  // Algorithm 1, ComputeWind. ACKs of what was sent before the last update react to the congestion
  // they report, but always from the same reference, so that it is not answered twice.
  void Update(RateState& state, const AckSignal& ack, const Reading& reading) const {
    Own& own = state.own.As<Own>();
    const double rtt = Seconds(state.base_rtt);
    const double share = std::min(reading.interval, rtt) / rtt;
    own.utilisation = (1 - share) * own.utilisation + share * reading.utilisation;
    const bool adapts = own.utilisation >= settings_.eta || own.stage >= settings_.max_stage;
    const double factor = adapts ? settings_.eta / own.utilisation : 1;
    own.window = own.reference * factor + Increase(state);
    Apply(state, own);
    if (ack.next_expected <= own.last_update) return;
    own.stage = adapts ? 0 : own.stage + 1;
    own.reference = own.window;
    own.last_update = ack.next_to_send;
  }

  double Increase(const RateState& state) const {
    if (settings_.w_ai) return static_cast<double>(settings_.w_ai->count);
    if (settings_.ai_rate) {
      return static_cast<double>(settings_.ai_rate->bps) * Seconds(state.base_rtt) / 8;
    }
    return FullWindow(state) * (1 - settings_.eta) / static_cast<double>(settings_.flows);
  }

  // Returns the least rate as a share of the line's.
  double LeastShare(const RateState& state) const {
    return settings_.min_rate ? static_cast<double>(settings_.min_rate->bps) / state.line : 1e-3;
  }

  // A window in bytes lets one more packet begin as long as it is not full.
  void Apply(RateState& state, Own& own) const {
    const double full = FullWindow(state);
    own.window = std::clamp(own.window, full * std::min(LeastShare(state), 1.0), full);
    state.rate = state.line * (own.window / full);
    state.window = std::ceil(own.window * 8 / state.packet_bits);
  }

  const HpccSettings settings_;
};

void HpccSettings::Declare(Fields& fields) {
  fields.Add("eta", eta, {.above = 0.0, .at_most = 1.0},
             "Utilisation of the busiest link that is aimed at.");
  fields.Add("max_stage", max_stage, Between<int64_t>(0, 1'000),
             "Additive increases in a row after which the window follows the utilisation, up or "
             "down. 0: it always does, as in HPCC's simulator.");
  fields.AddOr("auto", "base_rtt", base_rtt, {.above = Duration{0}, .at_most = 1_s},
               "Round trip without queues. auto: of a full packet and its ACK through the idle "
               "network, see rtt_scope.");
  fields.Choice("rtt_scope", rtt_scope, {{"max", BaseRtt::kLongest}, {"pair", BaseRtt::kPair}},
                "base_rtt: auto is the longest between any two hosts, or that between the two of "
                "the flow.");
  fields.AddOr(
      "auto", "w_ai", w_ai, {.at_least = Bytes{0}, .at_most = Bytes{1'000'000'000}},
      "Additive increase of the window, bytes on the wire. auto: from ai_rate, or else 1 - "
      "eta of the first window, divided by flows.");
  fields.AddOr("none", "ai_rate", ai_rate, Above(BitRate{0}),
               "w_ai as a rate: w_ai is the bytes sent at this rate in base_rtt.");
  fields.Add("flows", flows, Between<int64_t>(1, 1'000'000),
             "Flows that are expected to share a link; the auto of w_ai is divided by it.");
  fields.AddOr("auto", "min_rate", min_rate, Above(BitRate{0}),
               "Least rate. auto: 1Mbps per Gbps of the NIC.");
  fields.Require(!w_ai || !ai_rate, "ai_rate", "w_ai says the same; leave one of them out");
}

class HpccModel final : public RateControlModel {
 public:
  void Declare(Fields& fields) override { settings_.Declare(fields); }
  std::unique_ptr<const RateControl> Prepare() const override {
    return std::make_unique<Hpcc>(settings_);
  }
  BaseRtt base_rtt() const override {
    return settings_.base_rtt ? BaseRtt::kNone : settings_.rtt_scope;
  }
  bool wants_telemetry() const override { return true; }

 private:
  HpccSettings settings_;
};

[[maybe_unused]] const bool registered = CongestionControls().Add<HpccModel>(
    {"hpcc", "HPCC: a window that follows the queues and link utilisation that switches report.",
     "Li et al., SIGCOMM 2019"});

}  // namespace
}  // namespace heddle
