// SPDX-License-Identifier: Apache-2.0
// A plug-in with a congestion control and nothing else: senders keep the NIC's rate, as with
// `none`.

#include <memory>

#include "transport/congestion_controls.h"

namespace heddle {
namespace {

class LineRate final : public RateControl {
 public:
  void Start(RateState& /*state*/) const override {}
};

class LineRateModel final : public RateControlModel {
 public:
  void Declare(Fields& /*fields*/) override {}
  std::unique_ptr<const RateControl> Prepare() const override {
    return std::make_unique<LineRate>();
  }
};

[[maybe_unused]] const bool registered =
    CongestionControls().Add<LineRateModel>({"line_rate", "The NIC's rate, whatever happens.", ""});

}  // namespace
}  // namespace heddle
