// SPDX-License-Identifier: Apache-2.0

#include "transport/resequencing/resequencing.h"

#include <optional>

#include "transport/resequencing/juggler.h"
#include "transport/resequencing/presto_gro.h"
#include "transport/resequencing/timeout_resequencer.h"

namespace heddle {
namespace {

class NoResequencing final : public ResequencingModel {
 public:
  void Declare(Fields& /*fields*/) override {}
  std::unique_ptr<Resequencer> MakeFor(Resequencer::Sink& /*sink*/) const override {
    return nullptr;
  }
};

template <class Kind, class Settings>
class ModelOf final : public ResequencingModel {
 public:
  void Declare(Fields& fields) override {
    settings_.Declare(fields);
    fields.AddOr("unlimited", "flow_packets", flow_packets_, Between<int64_t>(1, 1'000'000'000),
                 "Packets that a flow may hold. With one more it hands up all of them, in order. "
                 "Likewise if its segments lie more than 65536 apart.");
    fields.AddOr("unlimited", "host_bytes", host_bytes_,
                 {.at_least = 1_B, .at_most = Bytes{1'000'000'000'000}},
                 "Bytes, as buffered, that all flows of a host may hold. The flow whose packet "
                 "does not fit hands up all it holds, with this packet, in order.");
  }

  std::unique_ptr<Resequencer> MakeFor(Resequencer::Sink& sink) const override {
    HoldLimits limits;
    if (flow_packets_) limits.flow_packets = *flow_packets_;
    if (host_bytes_) limits.host_bytes = host_bytes_->count;
    return std::make_unique<Kind>(sink, limits, settings_);
  }

 private:
  Settings settings_;
  std::optional<int64_t> flow_packets_;
  std::optional<Bytes> host_bytes_;
};

using JugglerModel = ModelOf<Juggler, JugglerSettings>;
using PrestoGroModel = ModelOf<PrestoGro, PrestoGroSettings>;
using TimeoutModel = ModelOf<TimeoutResequencer, TimeoutSettings>;

}  // namespace

const Kinds<ResequencingModel>& Resequencings() {
  static const Kinds<ResequencingModel> kinds = [] {
    Kinds<ResequencingModel> all("resequencing");
    all.Add<JugglerModel>(
        {"juggler",
         "A table of few flows, with one timeout for what is in order and one for holes.",
         "Geng et al., EuroSys 2016"});
    all.Add<NoResequencing>({"off", "Packets go up as they arrive.", ""});
    all.Add<PrestoGroModel>(
        {"presto_gro",
         "Holds flowcells that came early; a gap inside a cell is a loss. With lb: presto.",
         "He et al., SIGCOMM 2015"});
    all.Add<TimeoutModel>({"timeout", "Holds packets that came early, each for a time at most.",
                           "Cao et al., CoNEXT 2013"});
    return all;
  }();
  return kinds;
}

}  // namespace heddle
