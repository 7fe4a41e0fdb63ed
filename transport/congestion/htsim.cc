// SPDX-License-Identifier: Apache-2.0
// TCP and DCTCP as htsim (github.com/Broadcom/csg-htsim) has them, to compare with it. Windows are
// whole bytes, every packet is as long as the MSS, and:
// - The window grows whether or not the sender uses it up, and on ACKs with an echo too.
// - The SYN-ACK opens the window as any ACK does.
// - DCTCP observes a window of ACKs at a time, counted from the window's size when the last
//   observation ended. From the first mark on, alpha never is 0 again, so each observation reduces
//   the window, even one without marks. The increase of the same ACK follows.
// htsim hands all that the window allows to a NIC without bound at once. After a reduction nothing
// grows until what has been handed over fits into the window again.

#include "transport/congestion/htsim.h"

#include <algorithm>
#include <cmath>

namespace heddle {
namespace {

HtsimState& StateOf(CongestionWindow& window) { return window.own.As<HtsimState>(); }

class HtsimTcp : public WindowControl {
 public:
  void Start(CongestionWindow& window, uint32_t /*first_flight*/) const override {
    window.own.Begin<HtsimState>();
  }

  void OnConnected(CongestionWindow& window) const override { Grow(window, 0); }

  bool OnAck(CongestionWindow& window, const Acknowledgement& ack) const override {
    if (!ack.in_recovery) Grow(window, ack.una);
    return false;
  }

  void OnTimeout(CongestionWindow& window, uint32_t /*nxt*/) const override {
    StateOf(window).handed_over = 0;
  }

 protected:
  // Grows the window by one segment at most; `una` is the first segment that is not acknowledged.
  static void Grow(CongestionWindow& window, uint32_t una) {
    int64_t& handed_over = StateOf(window).handed_over;
    const int64_t outstanding = std::max<int64_t>(handed_over - una, 0);
    const double room = window.cwnd - static_cast<double>(outstanding) * window.mss;
    const double most = std::min(room, window.mss);
    if (most > 0) {
      window.cwnd += window.cwnd < window.ssthresh ? std::min(window.ssthresh - window.cwnd, most)
                                                   : std::floor(most * window.mss / window.cwnd);
    }
    const int64_t allowed = una + static_cast<int64_t>(window.cwnd / window.mss);
    handed_over = std::max(handed_over, allowed);
  }
};

class HtsimDctcp final : public HtsimTcp {
 public:
  explicit HtsimDctcp(double g) : g_(g) {}

  void Start(CongestionWindow& window, uint32_t /*first_flight*/) const override {
    window.own.Begin<HtsimState>().window_end = 2 * static_cast<int64_t>(window.mss);
  }

  void OnConnected(CongestionWindow& window) const override {
    Observe(window, false);
    HtsimTcp::OnConnected(window);
  }

  bool OnAck(CongestionWindow& window, const Acknowledgement& ack) const override {
    const bool reduced = Observe(window, ack.ecn_echo);
    HtsimTcp::OnAck(window, ack);
    return reduced;
  }

  std::optional<double> MarkedShare(const CongestionWindow& window) const override {
    return window.own.As<HtsimState>().alpha;
  }

 private:
  // Counts one ACK; `window_end` is the number of bytes after which an observation ends.
  bool Observe(CongestionWindow& window, bool marked) const {
    HtsimState& state = StateOf(window);
    const auto mss = static_cast<int64_t>(window.mss);
    state.bytes_acked += mss;
    if (marked) {
      state.bytes_marked += mss;
      window.ssthresh = std::min(window.ssthresh, window.cwnd);
    }
    if (state.bytes_acked < state.window_end) return false;
    const double share =
        static_cast<double>(state.bytes_marked) / static_cast<double>(state.bytes_acked);
    state.alpha = (1 - g_) * state.alpha + g_ * share;
    state.bytes_acked = state.bytes_marked = 0;
    if (state.alpha > 0) {
      window.cwnd = std::max(std::floor(window.cwnd * (1 - state.alpha / 2)), window.mss);
      window.ssthresh = window.cwnd;
    }
    state.window_end = static_cast<int64_t>(window.cwnd);
    return state.alpha > 0;
  }

  const double g_;
};

}  // namespace

std::unique_ptr<const WindowControl> MakeHtsimTcp() { return std::make_unique<HtsimTcp>(); }

std::unique_ptr<const WindowControl> MakeHtsimDctcp(double g) {
  return std::make_unique<HtsimDctcp>(g);
}

}  // namespace heddle
