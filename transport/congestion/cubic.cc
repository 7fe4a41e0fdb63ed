// SPDX-License-Identifier: Apache-2.0
// CUBIC (RFC 9438): after a congestion event the window follows a cubic function of time, steep far
// from the window at which the event happened and flat near it, and is never smaller than that of
// an AIMD sender that is as aggressive as Reno. Section numbers below are the RFC's. Its windows
// are in segments and its times in seconds, and so are they here.
//
// Two things are not here. Slow start is that of RFC 5681, which section 4.10 allows beside
// HyStart++. And at a window of one segment marks do not slow a flow down any more, for which
// section 4.6 points to the timer of RFC 3168.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "transport/congestion_controls.h"

namespace heddle {
namespace {

struct CubicSettings {
  double beta = 0.7;             // Section 4.6.
  double c = 0.4;                // Section 5.1.
  bool fast_convergence = true;  // Section 4.7.
};

// Newton's method, whose steps round alike everywhere, as std::cbrt need not. `x` is at least 0.
double CubeRoot(double x) {
  if (x <= 0) return 0;
  int exponent = 0;
  std::frexp(x, &exponent);
  // Not below the root, from where the steps only go down until rounding stops them.
  double root = std::ldexp(1.0, exponent >= 0 ? exponent / 3 + 1 : exponent / 3);
  for (;;) {
    const double next = (2 * root + x / (root * root)) / 3;
    if (next >= root) return root;
    root = next;
  }
}

class Cubic final : public WindowControl {
 public:
  Cubic(const CubicSettings& settings, int growth_limit)
      : beta_(settings.beta),
        c_(settings.c),
        fast_convergence_(settings.fast_convergence),
        alpha_(3 * (1 - beta_) / (1 + beta_)),  // Section 4.3.
        growth_limit_(growth_limit) {}

  void Start(CongestionWindow& window, uint32_t /*first_flight*/) const override {
    window.own.Begin<Own>();
  }

  bool OnAck(CongestionWindow& window, const Acknowledgement& ack) const override {
    Own& own = window.own.As<Own>();
    if (ack.ecn_echo && ack.una > own.reduced_until && !ack.in_recovery) {
      ReduceByMark(window, static_cast<double>(ack.nxt - ack.una) * window.mss);
      own.reduced_until = ack.nxt;
      return true;
    }
    const bool updates = !ack.ecn_echo && !ack.in_recovery && ack.window_limited;
    if (updates && window.cwnd < window.ssthresh) {
      GrowWindow(window, ack.bytes, growth_limit_);  // Section 4.10.
    } else if (updates) {
      AvoidCongestion(window, own, ack);
    }
    own.last = ack.now;
    return false;
  }

  void SetThreshold(CongestionWindow& window, double flight) const override {
    OnCongestion(window, window.own.As<Own>());
    window.ssthresh = std::max(flight * beta_, 2 * window.mss);  // Section 4.6.
  }

  void OnLoss(CongestionWindow& window, uint32_t recover) const override {
    window.own.As<Own>().reduced_until = recover;
  }

  // Section 4.8: the next stage of congestion avoidance begins on the plateau, wherever that is.
  void OnTimeout(CongestionWindow& window, uint32_t /*nxt*/) const override {
    Own& own = window.own.As<Own>();
    own.in_stage = false;
    own.w_max = 0;
  }

  // Section 4.9.2: restores the window, unless it is larger by now than it was.
  void Undo(CongestionWindow& window, const CongestionWindow& before) const override {
    if (window.cwnd < before.cwnd) window = before;
  }

 private:
  struct Own {
    double w_max = 0;       // 0: not known.
    double cwnd_prior = 0;  // The window before the last congestion event.
    double k = 0;
    double w_est = 0;
    Duration elapsed{0};         // Time in this stage of congestion avoidance: the RFC's t.
    Time last;                   // The last ACK.
    uint32_t reduced_until = 0;  // The next reduction for marks comes when `una` has passed it.
    bool in_stage = false;       // Congestion avoidance has begun since the last event.
  };

  // Sections 4.6 and 4.7, before the window is reduced.
  void OnCongestion(const CongestionWindow& window, Own& own) const {
    const double cwnd = window.cwnd / window.mss;
    own.w_max = fast_convergence_ && cwnd < own.w_max ? cwnd * (1 + beta_) / 2 : cwnd;
    own.cwnd_prior = cwnd;
    own.in_stage = false;
  }

  // Section 4.6: a mark leaves at least one segment of the window, a loss two.
  void ReduceByMark(CongestionWindow& window, double flight) const {
    SetThreshold(window, flight);
    window.cwnd = std::max(flight * beta_, window.mss);
  }

  // Section 4.2. After a timeout, or if no event is known, the stage begins on the plateau: K is 0
  // and W_max the window as it is (sections 4.8 and 4.10).
  void BeginStage(Own& own, double cwnd) const {
    own.w_max = std::max(own.w_max, cwnd);
    own.k = CubeRoot((own.w_max - cwnd) / c_);  // Equation 2.
    own.w_est = cwnd;
    own.elapsed = Duration{0};
    own.in_stage = true;
  }

  double WindowAt(const Own& own, double t) const {
    const double x = t - own.k;
    return c_ * x * x * x + own.w_max;  // Equation 1.
  }

  // Sections 4.2 to 4.5. If something else limited the flow, the window was not updated, and that
  // time does not count (section 5.8): `last` has moved on, but `elapsed` has not.
  void AvoidCongestion(CongestionWindow& window, Own& own, const Acknowledgement& ack) const {
    double cwnd = window.cwnd / window.mss;
    if (!own.in_stage) {
      BeginStage(own, cwnd);
    } else {
      own.elapsed += ack.now - own.last;
    }
    const double acked = static_cast<double>(ack.bytes) / window.mss;
    const double alpha = own.w_est >= own.cwnd_prior ? 1 : alpha_;
    own.w_est += alpha * acked / cwnd;  // Equation 4.
    const double t = Seconds(own.elapsed);
    if (WindowAt(own, t) < own.w_est) {
      cwnd = std::max(cwnd, own.w_est);
    } else {
      const double target = std::clamp(WindowAt(own, t + Seconds(ack.srtt)), cwnd, 1.5 * cwnd);
      cwnd += (target - cwnd) / cwnd;
    }
    window.cwnd = cwnd * window.mss;
  }

  const double beta_;
  const double c_;
  const bool fast_convergence_;
  const double alpha_;
  const int growth_limit_;
};

class CubicModel final : public WindowControlModel {
 public:
  void Declare(Fields& fields) override {
    fields.Add("beta", settings_.beta, {.above = 0.0, .at_most = 0.99},
               "Share of the outstanding data that the window keeps at a loss or ECN mark (RFC "
               "9438 section 4.6).");
    fields.Add("c", settings_.c, {.above = 0.0, .at_most = 1e9},
               "C of the cubic function, in segments per cubic second (RFC 9438 section 5.1).");
    fields.Add("fast_convergence", settings_.fast_convergence,
               "After two congestion events of which the second came at the smaller window, aim "
               "lower, which leaves room for new flows (RFC 9438 section 4.7).");
  }

  std::unique_ptr<const WindowControl> Prepare(const TcpSettings& tcp) const override {
    return std::make_unique<Cubic>(settings_, GrowthLimit(tcp));
  }

 private:
  CubicSettings settings_;
};

[[maybe_unused]] const bool registered = CongestionControls().Add<CubicModel>(
    {"cubic", "CUBIC: the window follows a cubic function of the time since the last loss.",
     "RFC 9438"});

}  // namespace
}  // namespace heddle
