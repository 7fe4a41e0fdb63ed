// SPDX-License-Identifier: Apache-2.0

#include "transport/uet/nscc.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr double kGamma = 0.8;
constexpr double kDeepestCut = 0.5;
constexpr double kGain = 0.0125;
constexpr Duration kAlmostNoDelay = 1_us;
constexpr double kPacketsPerAdjustment = 8;
constexpr int kNoPenalty = 255;
constexpr double kFairDecrease = 0.8;           // SMaRTT
constexpr double kMarkedBeforeDecrease = 0.25;  // SMaRTT

double Micros(Duration time) { return static_cast<double>(time.ps) * 1e-6; }

}  // namespace

double NsccRules::proportional() const {
  const double b = Micros(target) / 12;
  return 4 * payload * scale() * b / Micros(target);
}

void Nscc::Start(const NsccRules& rules, Duration base_rtt, double window) {
  *this = Nscc();
  rules_ = &rules;
  base_rtt_ = base_rtt;
  greatest_ = rules.GreatestWindow(base_rtt);
  window_ = window > 0 ? window : greatest_;
  if (rules.kind == NsccRules::Kind::kConstant) greatest_ = window_;
  if (!rules.has_window()) window_ = greatest_;
}

Duration Nscc::OnRoundTrip(Duration rtt) {
  if (rtt < base_rtt_) {
    base_rtt_ = rtt;
    if (rules_->kind != NsccRules::Kind::kConstant) greatest_ = rules_->GreatestWindow(rtt);
  }
  return rtt - base_rtt_;
}

void Nscc::OnSample(Duration delay, bool marked) {
  const double sample = !marked && delay > rules_->target ? 0.25 * static_cast<double>(base_rtt_.ps)
                                                          : static_cast<double>(delay.ps);
  average_ = kGain * sample + (1 - kGain) * average_;
}

void Nscc::OnBytes(int64_t newly) {
  received_ += newly;
  achieved_ += newly;
  ignored_ += newly;
}

void Nscc::OnPenalty(int64_t newly, int penalty) {
  if (penalty >= kNoPenalty || rules_->is_fixed()) return;
  window_ -= static_cast<double>(newly - newly * penalty / kNoPenalty);
  window_ = std::max(window_, rules_->packet);
}

void Nscc::OnAck(Time now, bool marked, Duration delay, int64_t newly, int64_t in_flight) {
  const double bytes = static_cast<double>(newly);
  switch (rules_->kind) {
    case NsccRules::Kind::kConstant:
    case NsccRules::Kind::kNone:
      return;
    case NsccRules::Kind::kDctcpAck:
    case NsccRules::Kind::kMprdmaAck: {
      const double share = rules_->kind == NsccRules::Kind::kDctcpAck ? 3 : 4;
      window_ += marked ? -bytes / share : bytes * rules_->packet / window_;
      return Clamp();
    }
    case NsccRules::Kind::kSmartt:
      marked_ = kGain * (marked ? 1 : 0) + (1 - kGain) * marked_;
      break;
    case NsccRules::Kind::kNscc:
      break;
  }
  if ((ignored_ < to_ignore_ && marked) || QuickAdapt(now, false, delay, in_flight)) {
    increase_ = 0;
    received_ = 0;
    return;
  }
  if (!marked) {
    Increase(now, delay, newly);
  } else {
    OnMark(now, delay, newly);
  }
  Clamp();
  Adjust(now);
}

// At the end of each period, which lasts a round trip and the target: after a loss, or a very long
// delay, the window becomes what has arrived, if that was little.
bool Nscc::QuickAdapt(Time now, bool is_loss, Duration delay, int64_t in_flight) {
  if (now <= period_end_) return false;
  bool acts = false;
  const bool is_due = is_loss || trigger_ || delay > 4 * rules_->target;
  const double gate = greatest_ / static_cast<double>(1 << rules_->gate);
  if (period_end_ != Time{} && is_due && static_cast<double>(achieved_) < gate) {
    window_ = std::max(static_cast<double>(achieved_), rules_->packet);
    to_ignore_ = in_flight;
    ignored_ = 0;
    trigger_ = false;
    acts = true;
  }
  achieved_ = 0;
  period_end_ = now + base_rtt_ + rules_->target;
  return acts;
}

void Nscc::Increase(Time /*now*/, Duration delay, int64_t newly) {
  const double bytes = static_cast<double>(newly);
  if (delay >= rules_->target) {
    increase_ += rules_->fair() * bytes;
  } else if (!IncreaseFast(delay, newly)) {
    increase_ += rules_->proportional() * bytes * Micros(rules_->target - delay);
  }
}

// A whole window almost without delay shows that the path is empty.
bool Nscc::IncreaseFast(Duration delay, int64_t newly) {
  const double bytes = static_cast<double>(newly);
  if (delay >= kAlmostNoDelay) {
    fast_count_ = 0;
    is_fast_ = false;
    return false;
  }
  fast_count_ += bytes;
  if (fast_count_ <= window_ && !is_fast_) return false;
  window_ += bytes * rules_->fast();
  is_fast_ = true;
  return true;
}

// Without delay, NSCC leaves a mark to the load balancer. SMaRTT takes a share of the bytes that
// the ACK answers, in proportion to the window.
void Nscc::OnMark(Time now, Duration delay, int64_t newly) {
  const bool is_smartt = rules_->kind == NsccRules::Kind::kSmartt;
  const bool may_decrease = !is_smartt || marked_ > kMarkedBeforeDecrease;
  if (delay >= rules_->target) {
    is_fast_ = false;
    fast_count_ = 0;
    if (may_decrease) Decrease(now);
  } else if (is_smartt && may_decrease) {
    window_ -= kFairDecrease * static_cast<double>(newly) * window_ / rules_->Bdp(base_rtt_);
  }
}

void Nscc::Decrease(Time now) {
  const double target = static_cast<double>(rules_->target.ps);
  if (average_ <= target || now - decreased_ < base_rtt_) return;
  window_ *= std::max(1 - kGamma * (average_ - target) / average_, kDeepestCut);
  decreased_ = now;
}

void Nscc::Adjust(Time now) {
  const bool is_due = now - adjusted_ > rules_->rtt;
  if (static_cast<double>(received_) <= kPacketsPerAdjustment * rules_->packet && !is_due) return;
  window_ += increase_ / window_;
  if (now - adjusted_ >= rules_->rtt) {
    window_ += rules_->eta();
    adjusted_ = now;
  }
  increase_ = 0;
  received_ = 0;
  Clamp();
}

void Nscc::Clamp() {
  window_ = std::clamp(window_, rules_->packet, std::max(greatest_, rules_->packet));
}

void Nscc::OnNack(Time now, int64_t size, int64_t in_flight, bool receiver_acts) {
  if (rules_->is_fixed()) return;
  if (rules_->aims_at_delay()) {
    ignored_ += size;
    OnSample(rules_->rtt, true);
    trigger_ = true;
    if (ignored_ < to_ignore_ || QuickAdapt(now, true, rules_->rtt, in_flight)) {
      increase_ = 0;
      received_ = 0;
      return;
    }
    if (receiver_acts) return;
  }
  window_ -= static_cast<double>(size);
  Clamp();
}

void Nscc::OnTimeout(int64_t size) {
  if (rules_->is_fixed()) return;
  window_ = std::max(window_ - static_cast<double>(size), rules_->packet);
}

}  // namespace heddle
