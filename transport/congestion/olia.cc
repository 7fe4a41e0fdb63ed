// SPDX-License-Identifier: Apache-2.0
// OLIA, the opportunistic linked increases of MPTCP (Khalili et al., CoNEXT 2012;
// draft-khalili-mptcp-congestion-control-05, 2014). A term of Kelly and Voice's algorithm makes the
// allocation optimal; the term alpha moves windows from the subflows with the largest windows to
// the best ones that have small windows.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "transport/congestion/coupled.h"
#include "transport/congestion_controls.h"

namespace heddle {
namespace {

struct OliaState {
  uint32_t reduced_until = 0;
  int64_t since_loss = 0;      // Bytes acknowledged since the last loss,
  int64_t between_losses = 0;  // and between the last two.

  double longest() const { return static_cast<double>(std::max(since_loss, between_losses)); }
};

// What the sum over all subflows gives.
struct Overview {
  double rate = 0;        // Sum of windows over round trip times.
  double best = -1;       // The largest l^2 / rtt,
  double largest = -1;    // and the largest window.
  size_t subflows = 0;    // Those with a round trip time.
  size_t best_small = 0;  // Best subflows that do not have the largest window.
  size_t largest_count = 0;
};

double RttOf(const CongestionWindow& window) { return static_cast<double>(window.srtt.ps); }

double Quality(const CongestionWindow& window) {
  const double longest = window.own.As<OliaState>().longest();
  return longest * longest / RttOf(window);
}

Overview Look(const Coupling& coupling) {
  Overview all;
  for (const CongestionWindow* window : coupling.windows) {
    if (window->srtt.ps == 0) continue;
    ++all.subflows;
    all.rate += CountedWindow(*window) / RttOf(*window);
    all.best = std::max(all.best, Quality(*window));
    all.largest = std::max(all.largest, CountedWindow(*window));
  }
  for (const CongestionWindow* window : coupling.windows) {
    if (window->srtt.ps == 0) continue;
    const bool is_largest = CountedWindow(*window) == all.largest;
    all.largest_count += is_largest ? 1 : 0;
    all.best_small += !is_largest && Quality(*window) == all.best ? 1 : 0;
  }
  return all;
}

// Section 3 of the draft: positive for the best subflows with small windows, negative for those
// with the largest window, and 0 for all if the best have the largest windows.
double AlphaOf(const CongestionWindow& window, const Overview& all) {
  if (all.best_small == 0) return 0;
  const double share = 1 / static_cast<double>(all.subflows);
  if (CountedWindow(window) == all.largest) return -share / static_cast<double>(all.largest_count);
  if (Quality(window) == all.best) return share / static_cast<double>(all.best_small);
  return 0;
}

class Olia final : public CoupledControl<Olia, OliaState> {
 public:
  using CoupledControl::CoupledControl;

  bool OnAck(CongestionWindow& window, const Acknowledgement& ack) const override {
    window.own.As<OliaState>().since_loss += ack.bytes;
    const bool reduced = CoupledControl::OnAck(window, ack);
    if (reduced) NoteLoss(window);
    return reduced;
  }

  void Grow(CongestionWindow& window, const Acknowledgement& ack) const {
    if (GrowAlone(window, ack)) return;
    const Overview all = Look(*window.coupling);
    const double rtt = RttOf(window);
    const double kelly = window.cwnd / (rtt * rtt) / (all.rate * all.rate);
    const double acked = static_cast<double>(ack.bytes);
    const double growth = window.mss * (kelly + AlphaOf(window, all) / window.cwnd);
    window.cwnd = std::max(window.cwnd + acked * growth, window.mss);
  }

  void OnLoss(CongestionWindow& window, uint32_t recover) const override {
    CoupledControl::OnLoss(window, recover);
    NoteLoss(window);
  }
  void OnTimeout(CongestionWindow& window, uint32_t /*nxt*/) const override { NoteLoss(window); }

 private:
  static void NoteLoss(CongestionWindow& window) {
    OliaState& own = window.own.As<OliaState>();
    own.between_losses = own.since_loss;
    own.since_loss = 0;
  }
};

class OliaModel final : public CoupledControlModel {
 public:
  void Declare(Fields& /*fields*/) override {}
  std::unique_ptr<const WindowControl> Prepare(const TcpSettings& tcp) const override {
    return std::make_unique<Olia>(GrowthLimit(tcp));
  }
};

[[maybe_unused]] const bool registered = CongestionControls().Add<OliaModel>(
    {"olia", "Opportunistic linked increases: windows move to the best paths.",
     "Khalili et al., CoNEXT 2012"});

}  // namespace
}  // namespace heddle
