// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <string>

#include "settings/quantity.h"
#include "transport/model_parts.h"
#include "transport/rdma/mprdma.h"
#include "transport/rdma/mprdma_settings.h"
#include "transport/transports.h"

namespace heddle {
namespace {

// MP-RDMA. Its receivers place packets in any order, so it has no resequencing.
class MpRdmaModel final : public WithoutResequencing {
 public:
  void Declare(Fields& fields) override {
    settings_.Declare(fields, framing_);
    DeclareNoCredit(fields);
  }
  PacketSizes sizes() const override { return settings_.Sizes(*framing_.settings); }
  WireFormat wire_format() const override {
    return {.protocol = WireFormat::Protocol::kRoceV2, .sizes = sizes(), .ack_every = 1};
  }
  int64_t max_flow_size() const override { return LargestFlow(sizes()); }
  Classes classes() const override { return ClassesOf(settings_); }
  bool echoes_marks() const override { return true; }
  bool needs_bandwidth_delay() const override { return true; }
  std::string RemedyForReordering() const override { return "raise transport.rto"; }
  std::string congestion_control() const override { return "mprdma"; }
  AutoValues ValuesOfAuto(BitRate /*nic*/, const BandwidthDelay* bandwidth_delay) const override {
    const MpRdmaShared shared = PrepareMpRdma(settings_, sizes(), *bandwidth_delay, Duration{0});
    AutoValues values;
    if (!settings_.mtu) values.emplace_back("mtu", FormatQuantity(shared.sizes.mss));
    if (!settings_.rto) values.emplace_back("rto", FormatQuantity(shared.rto));
    if (!settings_.first_window) {
      const int64_t mss = shared.sizes.mss;
      values.emplace_back("largest_first_window",
                          FormatQuantity((bandwidth_delay->Largest().count + mss - 1) / mss));
    }
    return values;
  }
  std::unique_ptr<TransportMaker> Prepare(Duration close_delay,
                                          const BandwidthDelay* bandwidth_delay) const override {
    return std::make_unique<Maker<MpRdma, MpRdmaShared>>(
        PrepareMpRdma(settings_, sizes(), *bandwidth_delay, close_delay), model());
  }

 private:
  MpRdmaSettings settings_;
  Chosen<RoceFraming> framing_ = RoceFramings().Make("rocev2");
};

[[maybe_unused]] const bool mp_rdma_registered = Transports().Add<MpRdmaModel>(
    {"mprdma", "MP-RDMA: a queue pair over many paths, which ACKs keep in balance.",
     "Lu et al., NSDI 2018"});

}  // namespace
}  // namespace heddle
