// SPDX-License-Identifier: Apache-2.0
// LIA, the linked increases of MPTCP (RFC 6356; Wischik et al., NSDI 2011). All subflows together
// take as much as one TCP on the best of their paths; on each ACK a subflow grows by the lesser of
// what its share of that and what a TCP alone would.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "transport/congestion/coupled.h"
#include "transport/congestion_controls.h"

namespace heddle {
namespace {

struct LiaState {
  uint32_t reduced_until = 0;
  uint32_t segments = 0;  // Whole segments in the window when it was last looked at.
};

// RFC 6356 section 3: alpha = total * max(w_i / rtt_i^2) / (sum(w_i / rtt_i))^2.
double Alpha(const Coupling& coupling) {
  double total = 0;
  double best = 0;
  double sum = 0;
  for (const CongestionWindow* window : coupling.windows) {
    if (window->srtt.ps == 0) continue;
    const double rtt = static_cast<double>(window->srtt.ps);
    const double counted = CountedWindow(*window);
    total += counted;
    best = std::max(best, counted / (rtt * rtt));
    sum += counted / rtt;
  }
  return total * best / (sum * sum);
}

double TotalWindow(const Coupling& coupling) {
  double total = 0;
  for (const CongestionWindow* window : coupling.windows) {
    if (window->srtt.ps > 0) total += CountedWindow(*window);
  }
  return total;
}

class Lia final : public CoupledControl<Lia, LiaState> {
 public:
  using CoupledControl::CoupledControl;

  void Grow(CongestionWindow& window, const Acknowledgement& ack) const {
    if (!GrowAlone(window, ack)) {
      Coupling& coupling = *window.coupling;
      if (coupling.is_stale) {
        coupling.alpha = Alpha(coupling);
        coupling.is_stale = false;
      }
      const double acked = static_cast<double>(ack.bytes) * window.mss;
      window.cwnd += std::min(coupling.alpha * acked / TotalWindow(coupling), acked / window.cwnd);
    }
    NoteWindow(window);
  }

  void OnLoss(CongestionWindow& window, uint32_t recover) const override {
    CoupledControl::OnLoss(window, recover);
    NoteChange(window);
  }
  void OnTimeout(CongestionWindow& window, uint32_t /*nxt*/) const override { NoteChange(window); }

 private:
  // Section 4.1: alpha is computed again when a window passes a whole segment, and at a loss.
  static void NoteWindow(CongestionWindow& window) {
    LiaState& own = window.own.As<LiaState>();
    const uint32_t segments = static_cast<uint32_t>(window.cwnd / window.mss);
    if (segments == own.segments) return;
    own.segments = segments;
    NoteChange(window);
  }
  static void NoteChange(CongestionWindow& window) {
    if (window.coupling != nullptr) window.coupling->is_stale = true;
  }
};

class LiaModel final : public CoupledControlModel {
 public:
  void Declare(Fields& /*fields*/) override {}
  std::unique_ptr<const WindowControl> Prepare(const TcpSettings& tcp) const override {
    return std::make_unique<Lia>(GrowthLimit(tcp));
  }
};

[[maybe_unused]] const bool registered = CongestionControls().Add<LiaModel>(
    {"lia", "Linked increases: all subflows together take as much as one TCP on the best path.",
     "RFC 6356; Wischik et al., NSDI 2011"});

}  // namespace
}  // namespace heddle
