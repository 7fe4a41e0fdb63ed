// SPDX-License-Identifier: Apache-2.0

#include "transport/rate_control.h"

#include <optional>

#include "transport/dcqcn.h"
#include "transport/hpcc.h"
#include "transport/swift.h"
#include "transport/timely.h"

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
                 "At which packets are sent, headers included; line: the NIC's.");
  }
  std::unique_ptr<const RateControl> Prepare() const override {
    return std::make_unique<FixedRate>(rate_);
  }

 private:
  std::optional<BitRate> rate_;
};

template <class Settings, std::unique_ptr<const RateControl> (*make)(const Settings&)>
class ModelOf final : public RateControlModel {
 public:
  void Declare(Fields& fields) override { settings_.Declare(fields); }
  std::unique_ptr<const RateControl> Prepare() const override { return make(settings_); }

 private:
  Settings settings_;
};

using DcqcnModel = ModelOf<DcqcnSettings, MakeDcqcn>;
class HpccModel final : public RateControlModel {
 public:
  void Declare(Fields& fields) override { settings_.Declare(fields); }
  std::unique_ptr<const RateControl> Prepare() const override { return MakeHpcc(settings_); }
  BaseRtt base_rtt() const override {
    return settings_.base_rtt ? BaseRtt::kNone : settings_.rtt_scope;
  }
  bool wants_telemetry() const override { return true; }

 private:
  HpccSettings settings_;
};

using SwiftModel = ModelOf<SwiftSettings, MakeSwift>;
using TimelyModel = ModelOf<TimelySettings, MakeTimely>;

}  // namespace

const Kinds<RateControlModel>& RateControls() {
  static const Kinds<RateControlModel> kinds = [] {
    Kinds<RateControlModel> all("congestion control");
    all.Add<DcqcnModel>({"dcqcn",
                         "DCQCN: marked packets cause CNPs, which cut the rate of their flow.",
                         "Zhu et al., SIGCOMM 2015"});
    all.Add<HpccModel>({"hpcc",
                        "HPCC: a window that follows what switches tell of their queues and links.",
                        "Li et al., SIGCOMM 2019"});
    all.Add<FixedRateModel>({"none", "A fixed rate, whatever happens.", ""});
    all.Add<SwiftModel>(
        {"swift", "Swift: a window that aims at a delay.", "Kumar et al., SIGCOMM 2020"});
    all.Add<TimelyModel>({"timely", "TIMELY: a rate that follows the gradient of the delay.",
                          "Mittal et al., SIGCOMM 2015"});
    return all;
  }();
  return kinds;
}

}  // namespace heddle
