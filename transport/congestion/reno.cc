// SPDX-License-Identifier: Apache-2.0
// TCP Reno: slow start and congestion avoidance of RFC 5681, with the ECN response of RFC 3168
// section 6.1.2. Also the window of htsim's TCP, as a variant.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "transport/congestion/htsim.h"
#include "transport/congestion_controls.h"

namespace heddle {
namespace {

class Reno final : public WindowControl {
 public:
  explicit Reno(int growth_limit) : growth_limit_(growth_limit) {}

  void Start(CongestionWindow& window, uint32_t /*first_flight*/) const override {
    window.own.Begin<Own>();
  }

  bool OnAck(CongestionWindow& window, const Acknowledgement& ack) const override {
    Own& own = window.own.As<Own>();
    if (ack.ecn_echo && ack.una > own.reduced_until && !ack.in_recovery) {
      SetThreshold(window, static_cast<double>(ack.nxt - ack.una) * window.mss);
      window.cwnd = window.ssthresh;
      own.reduced_until = ack.nxt;
      return true;
    }
    if (!ack.ecn_echo && !ack.in_recovery && ack.window_limited) {
      GrowWindow(window, ack.bytes, growth_limit_);
    }
    return false;
  }

  void OnLoss(CongestionWindow& window, uint32_t recover) const override {
    window.own.As<Own>().reduced_until = recover;
  }

 private:
  struct Own {
    uint32_t reduced_until = 0;  // The next reduction for marks comes when `una` has passed it.
  };

  const int growth_limit_;
};

class RenoModel final : public WindowControlModel {
 public:
  void Declare(Fields& fields) override {
    fields.Choice("variant", variant_,
                  {{"rfc5681", Variant::kStandard}, {"htsim", Variant::kHtsim}},
                  "rfc5681: the window as the RFC has it, and growing only while it limits the "
                  "sender. htsim: as the simulator htsim has it, to compare with it: whole bytes, "
                  "and growing whether or not the sender uses it up.");
  }

  std::unique_ptr<const WindowControl> Prepare(const TcpSettings& tcp) const override {
    if (variant_ == Variant::kHtsim) return MakeHtsimTcp();
    return std::make_unique<Reno>(GrowthLimit(tcp));
  }

  void Check(const TcpSettings& tcp, Fields& fields) const override {
    if (variant_ != Variant::kHtsim) return;
    fields.Require(tcp.delack_count == 1, "delack_count", "variant: htsim has no delayed ACKs");
    fields.Require(tcp.ecn == TcpSettings::Ecn::kOff, "ecn", "variant: htsim of TCP has no ECN");
  }

 private:
  enum class Variant { kStandard, kHtsim };

  Variant variant_ = Variant::kStandard;
};

[[maybe_unused]] const bool registered = CongestionControls().Add<RenoModel>(
    {"reno", "TCP Reno: one segment more each round trip, half the window at a loss or mark.",
     "RFC 5681, 3168"});

}  // namespace
}  // namespace heddle
