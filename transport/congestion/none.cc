// SPDX-License-Identifier: Apache-2.0
// No congestion control: a queue pair sends at one rate, whatever happens.

#include <memory>
#include <optional>

#include "transport/congestion_controls.h"

namespace heddle {
namespace {

class FixedRate final : public RateControl {
 public:
  explicit FixedRate(std::optional<BitRate> rate) : rate_(rate) {}

  void Start(RateState& state) const override {
    if (rate_) state.rate = static_cast<double>(rate_->bps);
  }

 private:
  const std::optional<BitRate> rate_;
};

class FixedRateModel final : public RateControlModel {
 public:
  void Declare(Fields& fields) override {
    fields.AddOr("line", "rate", rate_, Above(BitRate{0}),
                 "Rate at which packets are sent, headers included; line: the NIC's rate.");
  }
  std::unique_ptr<const RateControl> Prepare() const override {
    return std::make_unique<FixedRate>(rate_);
  }

 private:
  std::optional<BitRate> rate_;
};

[[maybe_unused]] const bool registered =
    CongestionControls().Add<FixedRateModel>({"none", "A fixed rate, whatever happens.", ""});

}  // namespace
}  // namespace heddle
