// SPDX-License-Identifier: Apache-2.0
// TCP Reno: slow start and congestion avoidance of RFC 5681, with the ECN response of RFC 3168
// section 6.1.2. Also the window of htsim's TCP, as a variant.

#include <cstdint>
#include <memory>

#include "transport/congestion/htsim.h"
#include "transport/congestion/reno.h"
#include "transport/congestion_controls.h"

namespace heddle {
namespace {

struct RenoState {
  uint32_t reduced_until = 0;
};

class Reno final : public RenoLike<Reno, RenoState> {
 public:
  explicit Reno(int growth_limit) : growth_limit_(growth_limit) {}

  void Grow(CongestionWindow& window, const Acknowledgement& ack) const {
    GrowWindow(window, ack.bytes, growth_limit_);
  }

 private:
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
