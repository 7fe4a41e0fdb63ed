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

#include "transport/htsim_control.h"

#include <algorithm>
#include <cmath>

namespace heddle {
namespace {

class HtsimTcp : public CongestionControl {
 public:
  bool marks_data() const override { return false; }

  void OnConnected(CongestionWindow& window) const override { Grow(window, 0); }

  bool OnAck(CongestionWindow& window, const Acknowledgement& ack) const override {
    if (!ack.in_recovery) Grow(window, ack.una);
    return false;
  }

  void OnTimeout(CongestionWindow& window, uint32_t /*nxt*/) const override {
    window.handed_over = 0;
  }

 protected:
  // By one segment at most; `una` is the first segment that is not acknowledged.
  static void Grow(CongestionWindow& window, uint32_t una) {
    const int64_t outstanding = std::max<int64_t>(window.handed_over - una, 0);
    const double room = window.cwnd - static_cast<double>(outstanding) * window.mss;
    const double most = std::min(room, window.mss);
    if (most > 0) {
      window.cwnd += window.cwnd < window.ssthresh ? std::min(window.ssthresh - window.cwnd, most)
                                                   : std::floor(most * window.mss / window.cwnd);
    }
    const int64_t allowed = una + static_cast<int64_t>(window.cwnd / window.mss);
    window.handed_over = std::max(window.handed_over, allowed);
  }
};

class HtsimDctcp final : public HtsimTcp {
 public:
  explicit HtsimDctcp(double g) : g_(g) {}

  bool marks_data() const override { return true; }

  void Start(CongestionWindow& window, uint32_t /*first_flight*/) const override {
    window.window_end = 2 * static_cast<int64_t>(window.mss);
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

 private:
  // One ACK; here `window_end` is the number of bytes after which an observation ends.
  bool Observe(CongestionWindow& window, bool marked) const {
    const auto mss = static_cast<int64_t>(window.mss);
    window.bytes_acked += mss;
    if (marked) {
      window.bytes_marked += mss;
      window.ssthresh = std::min(window.ssthresh, window.cwnd);
    }
    if (window.bytes_acked < window.window_end) return false;
    const double share =
        static_cast<double>(window.bytes_marked) / static_cast<double>(window.bytes_acked);
    window.alpha = (1 - g_) * window.alpha + g_ * share;
    window.bytes_acked = window.bytes_marked = 0;
    if (window.alpha > 0) {
      window.cwnd = std::max(std::floor(window.cwnd * (1 - window.alpha / 2)), window.mss);
      window.ssthresh = window.cwnd;
    }
    window.window_end = static_cast<int64_t>(window.cwnd);
    return window.alpha > 0;
  }

  const double g_;
};

}  // namespace

std::unique_ptr<CongestionControl> MakeHtsimTcp() { return std::make_unique<HtsimTcp>(); }

std::unique_ptr<CongestionControl> MakeHtsimDctcp(double g) {
  return std::make_unique<HtsimDctcp>(g);
}

}  // namespace heddle
